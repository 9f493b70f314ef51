"""A pod of a job: the user's template, untouched but for what makes it part of the job."""

import copy

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import (
    ANNOTATION_ATTEMPT,
    ANNOTATION_ROLE,
    ANNOTATION_TEMPLATE_HASH,
    LABEL_RESOURCE_NAME,
    LABEL_RESOURCE_TYPE,
)
from paddle_operator.api.paddlejob import Intranet, PaddleJob
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.paddlejob import gang
from paddle_operator.desired.paddlejob.coordination import coordinator
from paddle_operator.desired.paddlejob.environment import own_variables
from paddle_operator.desired.paddlejob.hostport import PORTS_OF_A_JOB
from paddle_operator.desired.paddlejob.network import Network, job_labels
from paddle_operator.desired.paddlejob.roles import Member, RoleName, is_elastic, roles_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.training.fleet import Edition
from paddle_operator.desired.training.mounting import supplied
from paddle_operator.desired.training.template import ALWAYS, template_of


def pod(
    snapshot: Snapshot, member: Member, network: Network, edition: Edition, done: frozenset[str] = frozenset()
) -> Manifest:
    job = snapshot.job
    template = template_of(roles_of(job.spec)[member.role]).meta
    metadata = owned(job, member.name, {**(template.labels or {}), **_labels(job, member)})
    metadata["annotations"] = {
        **(template.annotations or {}),
        ANNOTATION_ROLE: member.role.value,
        ANNOTATION_TEMPLATE_HASH: edition.revision,
        ANNOTATION_ATTEMPT: str(edition.attempt),
        **gang.annotations(snapshot, member),
    }
    if template.finalizers:
        metadata["finalizers"] = template.finalizers
    return {"metadata": metadata, "spec": _spec(snapshot, member, network, done)}


def _labels(job: PaddleJob, member: Member) -> dict[str, str]:
    return {**job_labels(job), LABEL_RESOURCE_NAME: member.name, LABEL_RESOURCE_TYPE: member.role.value}


def _spec(snapshot: Snapshot, member: Member, network: Network, done: frozenset[str]) -> Manifest:
    job = snapshot.job
    spec: Manifest = copy.deepcopy(roles_of(job.spec)[member.role].template["spec"])
    spec["restartPolicy"] = _restart_policy(job, member, spec.get("restartPolicy"))
    spec = supplied(spec, snapshot.supply, member.index if member.role is RoleName.WORKER else None)
    first, *others = spec["containers"]
    spec["containers"] = [_training(job, member, network, first, snapshot.settings.etcd_server), *others]
    if (waiting := coordinator(job, member, network, snapshot.settings.init_image, done)) is not None:
        spec["initContainers"] = [*(spec.get("initContainers") or []), waiting]
    spec |= _place_in_network(job, member, spec) | gang.scheduling(snapshot)
    return spec


def _restart_policy(job: PaddleJob, member: Member, given: str | None) -> str:
    if is_elastic(job.spec):
        return "OnFailure"
    by_default = member.role is RoleName.WORKER and job.spec.intranet is Intranet.SERVICE
    if given == ALWAYS:
        return "OnFailure"  # else a worker that ended well would begin again, and its job never end
    return given or ("OnFailure" if by_default else "Never")


def _place_in_network(job: PaddleJob, member: Member, spec: Manifest) -> Manifest:
    named = {} if job.spec.intranet is Intranet.SERVICE else {"hostname": member.name, "subdomain": job.metadata.name}
    if job.spec.intranet is not Intranet.HOST:
        return named
    # With the node's own DNS no pod would find another by name.
    return {**named, "hostNetwork": True, "dnsPolicy": spec.get("dnsPolicy") or "ClusterFirstWithHostNet"}


def _training(job: PaddleJob, member: Member, network: Network, container: Manifest, etcd_server: str) -> Manifest:
    """Tell the container that trains who it is; first, so that the user's variables win and can be made of ours."""
    given: list[Manifest] = container.get("env") or []
    chosen = {variable.get("name"): variable for variable in given}
    own = own_variables(job, member, network, etcd_server)
    names = {variable["name"] for variable in own}
    return {
        **container,
        "env": [
            *(chosen.get(variable["name"], variable) for variable in own),
            *(variable for variable in given if variable.get("name") not in names),
        ],
        "envFrom": [{"configMapRef": {"name": job.metadata.name}}, *(container.get("envFrom") or [])],
        **_ports(job, network.port, container.get("ports") or []),
    }


def _ports(job: PaddleJob, first: int, given: list[Manifest]) -> Manifest:
    """Declare ports: on the hosts' network all of them, so that the scheduler keeps apart who would collide."""
    if job.spec.intranet is Intranet.HOST:
        numbers = range(first, first + PORTS_OF_A_JOB)
        ours = [{"containerPort": number, "hostPort": number} for number in numbers]
    elif job.spec.intranet is Intranet.SERVICE:
        ours = [{"containerPort": first}]
    else:
        return {}
    taken = {port.get("containerPort") for port in given}
    return {"ports": [*given, *(port for port in ours if port["containerPort"] not in taken)]}
