"""How a job's pods find each other: one address each, one port for all, and the services behind the names."""

from collections.abc import Mapping
from dataclasses import dataclass

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import LABEL_PADDLEJOB, LABEL_RESOURCE_NAME, LABEL_RESOURCE_TYPE
from paddle_operator.api.paddlejob import Intranet, PaddleJob, PaddleJobMode
from paddle_operator.desired.ownership import owned
from paddle_operator.desired.paddlejob.hostport import PORTS_OF_A_JOB, host_port
from paddle_operator.desired.paddlejob.roles import Member, RoleName, members_of, mode_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot

BASE_PORT = 36000
READY_SUFFIX = "-ps-ready"


@dataclass(frozen=True)
class Network:
    """`hosts` are by pod; with PodIP a pod has none before its node gave it one."""

    port: int
    hosts: Mapping[str, str]

    def endpoint(self, member: Member) -> str:
        return endpoint(self.hosts[member.name], self.port)


def endpoint(host: str, port: int) -> str:
    return f"{host}:{port}"


def as_host(address: str) -> str:
    """Write an address so that a port can follow it; Paddle looks for itself in lists of these."""
    return f"[{address}]" if ":" in address else address


def network_of(snapshot: Snapshot) -> Network:
    job = snapshot.job
    port = host_port(snapshot) if job.spec.intranet is Intranet.HOST else BASE_PORT
    if job.spec.intranet is Intranet.POD_IP:
        hosts = {pod.name: as_host(pod.address) for pod in snapshot.pods if pod.address and not pod.stopping}
    else:
        hosts = {member.name: dns_name(job, member.name) for member in members_of(job)}
    return Network(port or BASE_PORT, hosts)


def dns_name(job: PaddleJob, pod: str) -> str:
    """Give the name that leads to the pod from every pod of its namespace, also when it was made anew.

    Paddle's launcher takes only a name with a dot in it for an address.
    """
    domain = job.metadata.namespace if job.spec.intranet is Intranet.SERVICE else job.metadata.name
    return f"{pod}.{domain}"


def services(job: PaddleJob, network: Network) -> tuple[Manifest, ...]:
    """Give the services behind the names, and the one that tells workers how many parameter servers are ready."""
    if job.spec.intranet is Intranet.SERVICE:
        named = [_service_of_pod(job, member, network.port) for member in members_of(job)]
    else:
        named = [_service_of_job(job, network.port)]
    ready = [_service_of_ready_servers(job, network.port)] if mode_of(job.spec) is PaddleJobMode.PS else []
    return (*named, *ready)


def ready_servers(job: PaddleJob) -> str:
    return job.metadata.name + READY_SUFFIX


def job_labels(job: PaddleJob) -> dict[str, str]:
    return {LABEL_PADDLEJOB: job.metadata.name}


def _service_of_job(job: PaddleJob, port: int) -> Manifest:
    return _headless(job, job.metadata.name, job_labels(job), _ports(port, 1))


def _service_of_pod(job: PaddleJob, member: Member, port: int) -> Manifest:
    return _headless(job, member.name, {LABEL_RESOURCE_NAME: member.name}, _ports(port, PORTS_OF_A_JOB))


def _service_of_ready_servers(job: PaddleJob, port: int) -> Manifest:
    selector = {**job_labels(job), LABEL_RESOURCE_TYPE: RoleName.PS.value}
    service = _headless(job, ready_servers(job), selector, _ports(port, 1))
    del service["spec"]["publishNotReadyAddresses"]
    return service


def _headless(job: PaddleJob, name: str, selector: dict[str, str], ports: list[Manifest]) -> Manifest:
    """Give a service whose names lead to pods as soon as they have an address: they wait for each other by name."""
    return {
        "metadata": owned(job, name, job_labels(job)),
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector, "ports": ports},
    }


def _ports(first: int, count: int) -> list[Manifest]:
    return [{"name": f"p-{number}", "port": first + number} for number in range(count)]
