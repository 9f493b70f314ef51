"""What Paddle is told by environment variables: the same for all pods in a config map, and each pod's own."""

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import LABEL_RESOURCE_NAME
from paddle_operator.api.paddlejob import Intranet, PaddleJob, PaddleJobMode, Role
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.paddlejob.hostport import PORTS_OF_A_JOB
from paddle_operator.desired.paddlejob.network import Network, dns_name, endpoint, job_labels
from paddle_operator.desired.paddlejob.roles import (
    Member,
    RoleName,
    is_elastic,
    members_of,
    mode_of,
    pod_name,
    roles_of,
)

# The words that Paddle's role maker knows.
TRAINING_ROLES = {RoleName.PS: "PSERVER", RoleName.WORKER: "TRAINER", RoleName.HETER: "HETER_TRAINER"}
# Ports of a pod that its trainers do not use, counted from its first.
RENDEZVOUS_PORT = 17
GLOO_PORT = 18
GLOO_OVER_HTTP = "3"
ELASTIC_TIMEOUT_SECONDS = "60"
ELASTIC_SERVER = "PADDLE_ELASTIC_SERVER"
ELASTIC_TIMEOUT = "PADDLE_ELASTIC_TIMEOUT"
# Of what a pod is told, users know these better; who it is and where, we do.
USERS_CHOICE = {ELASTIC_SERVER, ELASTIC_TIMEOUT}
# The kernel starts no program with a longer variable.
LONGEST_VARIABLE = 128 * 1024 - 256


def config_map(job: PaddleJob, network: Network) -> Manifest:
    name = job.metadata.name
    metadata = owned(job, name, {**job_labels(job), LABEL_RESOURCE_NAME: name})
    return {"metadata": metadata, "data": config(job, network)}


def config(job: PaddleJob, network: Network) -> dict[str, str]:
    """Give what is the same for all pods."""
    listed: dict[str, str] = {}
    for role in roles_of(job.spec):
        listed |= _addresses(role, members_of(job, role), network)
    return {
        "TRAINER_PORTS_NUM": str(PORTS_OF_A_JOB),
        "PADDLE_PORT": str(network.port),
        **listed,
        **_nodes(job),
        **_gloo(job, network),
        **_numbers(job, network),
    }


def _addresses(role: RoleName, members: tuple[Member, ...], network: Network) -> dict[str, str]:
    endpoints = ",".join(network.endpoint(member) for member in members)
    match role:
        case RoleName.PS:
            return {"PADDLE_PSERVERS_IP_PORT_LIST": endpoints}
        case RoleName.WORKER:
            return {
                "PADDLE_TRAINER_ENDPOINTS": endpoints,
                "PADDLE_TRAINERS": ",".join(network.hosts[member.name] for member in members),
                "PADDLE_TRAINERS_NUM": str(len(members)),
            }
        case RoleName.HETER:  # the first name is the original operator's, the second is the one that Paddle reads
            return {"PADDLE_HETER_ENDPOINTS": endpoints, "PADDLE_HETER_TRAINER_IP_PORT_LIST": endpoints}


def _nodes(job: PaddleJob) -> dict[str, str]:
    """Tell Paddle's launcher how many pods meet; an elastic job's meet in etcd."""
    if job.spec.worker is None or not _meets_at_first_worker(job):
        return {}
    return {"PADDLE_NNODES": str(job.spec.worker.replicas)}


def _meets_at_first_worker(job: PaddleJob) -> bool:
    return mode_of(job.spec) is PaddleJobMode.COLLECTIVE and not is_elastic(job.spec)


def _gloo(job: PaddleJob, network: Network) -> dict[str, str]:
    servers = members_of(job, RoleName.PS)
    if not job.spec.with_gloo or not servers:
        return {}
    return {
        "PADDLE_WITH_GLOO": str(job.spec.with_gloo),
        "PADDLE_GLOO_RENDEZVOUS": GLOO_OVER_HTTP,
        "PADDLE_GLOO_HTTP_ENDPOINT": endpoint(network.hosts[servers[0].name], network.port + GLOO_PORT),
    }


def _numbers(job: PaddleJob, network: Network) -> dict[str, str]:
    """Give each pod its own address as the lists have it: what the kubelet tells would lack IPv6's brackets."""
    if job.spec.intranet is not Intranet.POD_IP:
        return {}
    return {_number_of(member): network.hosts[member.name] for member in members_of(job)}


def _number_of(member: Member) -> str:
    return f"POD_IP_{member.role.upper()}_{member.index}"


def own_variables(job: PaddleJob, member: Member, network: Network, etcd_server: str) -> list[Manifest]:
    """Give what each pod has for itself."""
    role = TRAINING_ROLES[member.role]
    by_number = job.spec.intranet is Intranet.POD_IP
    written = {"valueFrom": {"configMapKeyRef": {"name": job.metadata.name, "key": _number_of(member)}}}
    host = "$(POD_IP)" if by_number else network.hosts[member.name]
    named = {
        "PADDLE_TRAINER_ID": str(member.index),
        "TRAINING_ROLE": role,
        "PADDLE_TRAINING_ROLE": role,
        "PADDLE_CURRENT_ENDPOINT": f"{host}:{network.port}",
        **_rendezvous(job, member, network),
        **_elastic(job, etcd_server),
    }
    own = {"name": "POD_IP", **(written if by_number else {"value": host})}
    return [own, *({"name": name, "value": value} for name, value in named.items())]


def _rendezvous(job: PaddleJob, member: Member, network: Network) -> dict[str, str]:
    """Lead Paddle's launcher to worker 0, which must see itself there: it compares numbers, not names."""
    if not _meets_at_first_worker(job) or member.role is not RoleName.WORKER:
        return {}
    host = "127.0.0.1" if member.index == 0 else dns_name(job, pod_name(job, RoleName.WORKER, 0))
    return {"PADDLE_MASTER": f"{host}:{network.port + RENDEZVOUS_PORT}"}


def _elastic(job: PaddleJob, etcd_server: str) -> dict[str, str]:
    if not is_elastic(job.spec) or job.spec.worker is None:
        return {}
    return {
        "PADDLE_ELASTIC_JOB_ID": f"{job.metadata.namespace}-{job.metadata.name}",
        "PADDLE_ELASTIC_NP": elastic_range(job.spec.worker),
        ELASTIC_TIMEOUT: ELASTIC_TIMEOUT_SECONDS,
        **({ELASTIC_SERVER: etcd_server} if etcd_server else {}),
    }


def elastic_range(workers: Role) -> str:
    """Give the fewest and the most workers, MIN:MAX, or their number where it is not to change."""
    if workers.requests is None and workers.limits is None:
        return str(workers.replicas)
    fewest = workers.replicas if workers.requests is None else workers.requests
    return f"{fewest}:{workers.replicas if workers.limits is None else workers.limits}"
