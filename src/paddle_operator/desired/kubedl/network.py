"""How a job's pods find each other: the services behind their names, and what each is told of the others."""

import json

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import (
    LABEL_GROUP,
    LABEL_JOB,
    LABEL_JOB_ROLE,
    LABEL_REPLICA_INDEX,
    LABEL_REPLICA_TYPE,
)
from paddle_operator.api.training import GROUP, TFJob
from paddle_operator.desired.kubedl.frameworks import (
    AI_MASTER,
    CHIEF,
    EVALUATOR,
    MASTER,
    WORKER,
    Member,
    TrainingJob,
    framework_of,
    members_of,
    replicas_of,
)
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.training.template import Container, template_of


def job_labels(job: TrainingJob) -> dict[str, str]:
    return {LABEL_GROUP: GROUP, LABEL_JOB: job.metadata.name.replace("/", "-")}


def labels(job: TrainingJob, member: Member) -> dict[str, str]:
    found = {**job_labels(job), LABEL_REPLICA_TYPE: member.role, LABEL_REPLICA_INDEX: str(member.index)}
    return {**found, LABEL_JOB_ROLE: "master"} if member.type in (CHIEF, MASTER) else found


def main_container(job: TrainingJob, type_: str) -> int:
    """Give the number of the container that trains: the one with the framework's name, or the first."""
    name = framework_of(job).container
    found = [container.name for container in template_of(replicas_of(job)[type_]).spec.containers]
    return found.index(name) if name in found else 0


def port_of(job: TrainingJob, type_: str) -> int:
    """Give the port that pods of the type listen on: the container's, by name, or the usual one."""
    framework = framework_of(job)
    container: Container = template_of(replicas_of(job)[type_]).spec.containers[main_container(job, type_)]
    ports = (port.container_port for port in container.ports or [] if port.name == framework.port_name)
    return next(ports, 0) or framework.port


def services(job: TrainingJob) -> tuple[Manifest, ...]:
    """Give a service for each pod that others look for, also while it is not ready: they wait for each other."""
    sought = members_of(job) if isinstance(job, TFJob) else leaders(job)
    return tuple(service(job, member) for member in sought)


def leaders(job: TrainingJob) -> tuple[Member, ...]:
    """Give who of a PyTorchJob is looked for: its masters, or where it has none its first worker."""
    return members_of(job, MASTER) or members_of(job, WORKER)[:1] or members_of(job)[:1]


def service(job: TrainingJob, member: Member) -> Manifest:
    port = port_of(job, member.type)
    selector = {**job_labels(job), LABEL_REPLICA_TYPE: member.role, LABEL_REPLICA_INDEX: str(member.index)}
    return {
        "metadata": owned(job, member.name, selector),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector,
            "ports": [{"name": framework_of(job).port_name, "port": port, "targetPort": port}],
        },
    }


def variables(job: TrainingJob, member: Member) -> dict[str, str]:
    """Tell a pod who it is and who the others are."""
    return tf_variables(job, member) if isinstance(job, TFJob) else torch_variables(job, member)


def trainers_of(job: TrainingJob) -> list[Member]:
    """Give who is counted: an AIMaster looks on."""
    return [found for found in members_of(job) if found.type != AI_MASTER]


def tf_variables(job: TrainingJob, member: Member) -> dict[str, str]:
    """Give nothing to a job of one pod, an AIMaster aside: TensorFlow then trains alone."""
    trainers = trainers_of(job)
    if len(trainers) <= 1:
        return {}
    cluster: dict[str, list[str]] = {}
    for other in trainers:
        if other.type != EVALUATOR:
            address = f"{other.name}.{job.metadata.namespace}.svc:{port_of(job, other.type)}"
            cluster.setdefault(other.role, []).append(address)
    task = {"type": member.role, "index": member.index}
    config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return {"TF_CONFIG": json.dumps(config, separators=(",", ":"))}


def torch_variables(job: TrainingJob, member: Member) -> dict[str, str]:
    trainers, leader = trainers_of(job), leaders(job)[0]
    rank = trainers.index(member) if member in trainers else 0
    return {
        "MASTER_PORT": str(port_of(job, leader.type)),
        "MASTER_ADDR": "localhost" if member == leader else leader.name,
        "WORLD_SIZE": str(len(trainers)),
        "RANK": str(rank),
        "PYTHONUNBUFFERED": "0",
    }
