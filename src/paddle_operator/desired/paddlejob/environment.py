"""What Paddle is told by environment variables: the same for all pods in a config map, and each pod's own."""

from collections.abc import Iterable

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import LABEL_RESOURCE_NAME
from paddle_operator.api.paddlejob import Intranet, PaddleJob, PaddleJobMode
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.paddlejob.devices import computes_on_cpu
from paddle_operator.desired.paddlejob.elastic import elastic_variables, meets_in_etcd
from paddle_operator.desired.paddlejob.heter import ALL, has_stages, stage_variables
from paddle_operator.desired.paddlejob.hostport import PORTS_OF_A_JOB
from paddle_operator.desired.paddlejob.network import Network, endpoint, job_labels
from paddle_operator.desired.paddlejob.roles import Member, RoleName, members_of, mode_of, roles_of
from paddle_operator.desired.training.template import Template, template_of

# The words that Paddle's role maker knows.
TRAINING_ROLES = {RoleName.PS: "PSERVER", RoleName.WORKER: "TRAINER", RoleName.HETER: "HETER_TRAINER"}
# A port of a pod that its trainers do not use, counted from its first.
GLOO_PORT = 18
GLOO_OVER_HTTP = "3"
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
        listed |= _addresses(job, role, network)
    return {
        "TRAINER_PORTS_NUM": str(PORTS_OF_A_JOB),
        "PADDLE_PORT": str(network.port),
        **listed,
        **_gloo(job, network),
        **_numbers(job, network),
    }


def _addresses(job: PaddleJob, role: RoleName, network: Network) -> dict[str, str]:
    members = members_of(job, role)
    endpoints = ",".join(network.endpoint(member) for member in members)
    match role:
        case RoleName.PS:
            return {"PADDLE_PSERVERS_IP_PORT_LIST": endpoints}
        case RoleName.WORKER:
            return {
                # With this list Paddle's launcher would not look into etcd.
                **({} if meets_in_etcd(job) else {"PADDLE_TRAINER_ENDPOINTS": endpoints}),
                "PADDLE_TRAINERS": ",".join(network.hosts[member.name] for member in members),
                "PADDLE_TRAINERS_NUM": str(len(members)),
            }
        case RoleName.HETER:  # the first two names are the original operator's, the third is the one that Paddle reads
            original = {"PADDLE_HETER_ENDPOINTS": endpoints, "PADDLE_HETER_TRAINER_IP_PORT_LIST": endpoints}
            return {**original, **({ALL: endpoints} if has_stages(job) else {})}


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
    return {number_of(member): network.hosts[member.name] for member in members_of(job)}


def number_of(member: Member) -> str:
    return f"POD_IP_{member.role.upper()}_{member.index}"


def noted_hosts(config_maps: Iterable[Manifest]) -> dict[str, str]:
    """Give what was written down last, each pod's own address among it."""
    return {name: host for found in config_maps for name, host in (found.get("data") or {}).items()}


def own_variables(job: PaddleJob, member: Member, network: Network, etcd_server: str) -> list[Manifest]:
    """Give what each pod has for itself."""
    role = TRAINING_ROLES[member.role]
    template = template_of(roles_of(job.spec)[member.role])
    by_number = job.spec.intranet is Intranet.POD_IP
    written = {"valueFrom": {"configMapKeyRef": {"name": job.metadata.name, "key": number_of(member)}}}
    host = "$(POD_IP)" if by_number else network.hosts[member.name]
    named = {
        # Paddle's launcher numbers those that it finds in etcd; told numbers, it would fail where one is missing.
        **({} if meets_in_etcd(job) else {"PADDLE_TRAINER_ID": str(member.index)}),
        "TRAINING_ROLE": role,
        "PADDLE_TRAINING_ROLE": role,
        "PADDLE_CURRENT_ENDPOINT": f"{host}:{network.port}",
        **_backend(job, template),
        **elastic_variables(job, template.spec.containers[0], etcd_server),
    }
    own = {"name": "POD_IP", **(written if by_number else {"value": host})}
    return [own, *({"name": name, "value": value} for name, value in named.items()), *stage_variables(job, member)]


def _backend(job: PaddleJob, template: Template) -> dict[str, str]:
    """Name what only Paddle's launcher would find out by itself; on a device this would keep it from being used."""
    collective = mode_of(job.spec) is PaddleJobMode.COLLECTIVE
    return {"PADDLE_DISTRI_BACKEND": "gloo"} if collective and computes_on_cpu(template) else {}
