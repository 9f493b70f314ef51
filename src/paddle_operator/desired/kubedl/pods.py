"""A pod of a job: the user's template, untouched but for what makes it part of the job."""

import copy

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import ANNOTATION_ATTEMPT, ANNOTATION_TEMPLATE_HASH
from paddle_operator.api.training import RestartPolicy, SpotReplicaSpec, TFJob, TrainingSchedulingPolicy
from paddle_operator.desired.kubedl.frameworks import WORKER, Member, count, framework_of, replicas_of, restart_policy
from paddle_operator.desired.kubedl.gang import scheduling_of
from paddle_operator.desired.kubedl.network import labels, main_container, port_of, variables
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.training import gang
from paddle_operator.desired.training.fleet import Edition
from paddle_operator.desired.training.mounting import supplied
from paddle_operator.desired.training.template import template_of


def pod(snapshot: Snapshot, member: Member, edition: Edition) -> Manifest:
    job = snapshot.job
    template = template_of(replicas_of(job)[member.type]).meta
    spot = spot_of(snapshot, member)
    own = {**(template.labels or {}), **(spot.labels if spot is not None else {}), **labels(job, member)}
    metadata = owned(job, member.name, own)
    policy = job.spec.scheduling_policy or TrainingSchedulingPolicy()
    metadata["annotations"] = {
        **(template.annotations or {}),
        ANNOTATION_TEMPLATE_HASH: edition.revision,
        ANNOTATION_ATTEMPT: str(edition.attempt),
        **gang.pod_annotations(scheduling_of(snapshot), job.metadata.name, member.role, policy.queue or ""),
    }
    if template.finalizers:
        metadata["finalizers"] = template.finalizers
    return {"metadata": metadata, "spec": _spec(snapshot, member, spot)}


def spot_of(snapshot: Snapshot, member: Member) -> SpotReplicaSpec | None:
    """Give how the pod may be taken away; only those with the highest numbers may."""
    spec = replicas_of(snapshot.job)[member.type]
    spot = spec.spot_replica_spec
    if spot is None or member.index < count(spec) - (spot.spot_replica_number or 0):
        return None
    return spot


def _spec(snapshot: Snapshot, member: Member, spot: SpotReplicaSpec | None) -> Manifest:
    job = snapshot.job
    spec: Manifest = copy.deepcopy(replicas_of(job)[member.type].template["spec"])
    policy = restart_policy(job, member.type)
    spec["restartPolicy"] = "Never" if policy is RestartPolicy.EXIT_CODE else policy.value
    if spot is not None and spot.priority_class_name:
        spec["priorityClassName"] = spot.priority_class_name
    main = main_container(job, member.type)
    everywhere = not isinstance(job, TFJob)  # PyTorch's are few and short, and side containers read them too
    told = variables(job, member)
    spec["containers"] = [
        with_variables(container, told if everywhere or number == main else {})
        for number, container in enumerate(spec["containers"])
    ]
    spec["containers"][main] = _with_port(snapshot, member, spec["containers"][main])
    spec |= gang.pod_scheduling(scheduling_of(snapshot), job.metadata.name)
    return supplied(spec, snapshot.supply, member.index if member.type == WORKER else None)


def with_variables(container: Manifest, told: dict[str, str]) -> Manifest:
    """Put ours first, so that the user's win and can be made of ours."""
    given: list[Manifest] = container.get("env") or []
    chosen = {variable.get("name") for variable in given}
    ours = [{"name": name, "value": value} for name, value in told.items() if name not in chosen]
    return {**container, "env": [*ours, *given]} if ours else container


def _with_port(snapshot: Snapshot, member: Member, container: Manifest) -> Manifest:
    ports: list[Manifest] = container.get("ports") or []
    framework, number = framework_of(snapshot.job), port_of(snapshot.job, member.type)
    if any(port.get("name") == framework.port_name or port.get("containerPort") == number for port in ports):
        return container
    return {**container, "ports": [*ports, {"name": framework.port_name, "containerPort": number}]}
