"""The init container that lets a pod train only when those that it needs are there."""

from collections.abc import Sequence

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import Intranet, PaddleJob
from paddle_operator.desired import quantities
from paddle_operator.desired.paddlejob.elastic import meets_in_etcd
from paddle_operator.desired.paddlejob.network import Network, dns_name, ready_servers
from paddle_operator.desired.paddlejob.roles import Member, RoleName, is_elastic, pod_name, roles_of
from paddle_operator.desired.training import numbers
from paddle_operator.desired.training.observedpod import COORDINATOR

# Nodes may be busy for hours; what a pod waits for is told in the job's conditions all the while.
LONGEST_WAIT_SECONDS = 24 * 3600
# Python alone, not our whole command, so that a pod is not held up by what it does not use.
PROGRAM = ("python3", "-m", "paddle_operator.cli.waitfor")
# Servers look for servers; workers and heter workers for all.
SOUGHT = {RoleName.PS: (RoleName.PS,), RoleName.WORKER: tuple(RoleName), RoleName.HETER: tuple(RoleName)}
RESOURCES = {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}}
UNPRIVILEGED = {
    "runAsUser": 65532,
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def coordinator(
    job: PaddleJob, member: Member, network: Network, image: str, done: frozenset[str] = frozenset()
) -> Manifest | None:
    """Give the init container; nothing for a pod that waits for nobody.

    With PodIP each waits at least for its own name: it leads to the pod only when all addresses are written down.
    Whom the others find in etcd waits for it too, so that they find it, and so does a server: Paddle's crashes if it
    listens before its name is known. Those who are done are not waited for: their names lead nowhere any more.
    """
    waited_for = _peers(job, member, network, done)
    needs_own_name = job.spec.intranet is Intranet.POD_IP or meets_in_etcd(job) or member.role is RoleName.PS
    if not image or not (waited_for or needs_own_name):
        return None
    return {
        "name": COORDINATOR,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": list(PROGRAM),
        "args": [f"--timeout={LONGEST_WAIT_SECONDS}", f"--own={dns_name(job, member.name)}", *waited_for],
        "env": [{"name": "POD_IPS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIPs"}}}],
        "resources": _resources(job, member),
        "securityContext": UNPRIVILEGED,
    }


def _resources(job: PaddleJob, member: Member) -> Manifest:
    """Ask for what the container that trains asks for, unless that is too little: it is free, since we end before.

    So whatever limits a namespace sets, we are within them if the user is, and the pod's quality of service is theirs.
    """
    container = roles_of(job.spec)[member.role].template["spec"]["containers"][0]
    given: Manifest = container.get("resources") or {}
    sources = {name: given if _will_do(given, name) else RESOURCES for name in RESOURCES["requests"]}
    asked = {
        kind: {name: source[kind][name] for name, source in sources.items() if name in (source.get(kind) or {})}
        for kind in RESOURCES
    }
    return {kind: values for kind, values in asked.items() if values}


def _will_do(given: Manifest, resource: str) -> bool:
    """Tell whether the user asks for any of the resource, and for as much as we need."""
    request, limit = ((given.get(kind) or {}).get(resource) for kind in ("requests", "limits"))
    enough = limit is None or (quantities.parse(limit) or 0) >= (quantities.parse(RESOURCES["requests"][resource]) or 0)
    return enough and (request is not None or limit is not None)


def waits_in_vain(job: PaddleJob, member: Member, network: Network, pod: Manifest, done: frozenset[str]) -> bool:
    """Tell whether the pod was made to wait for somebody who has ended since, maybe before the pod could see it."""
    made = pod["spec"].get("initContainers") or []
    wanted = coordinator(job, member, network, COORDINATOR, done) or {}
    return bool(done) and [found.get("args") for found in made if found["name"] == COORDINATOR] != [wanted.get("args")]


def _peers(job: PaddleJob, member: Member, network: Network, done: frozenset[str]) -> list[str]:
    """Name whom the pod waits for: the addresses of all whom it will look for, and the parameter servers themselves.

    A pattern for each role and not a name for each pod: large jobs stay within what a pod's spec may hold.
    Workers of an elastic job wait for none of their own, since they may be fewer than was asked for.
    """
    roles = roles_of(job.spec)
    named = [role for role in roles if role in SOUGHT[member.role]]
    if is_elastic(job.spec):
        named = [role for role in named if role is RoleName.PS]
    if sum(roles[role].replicas for role in named) <= 1:
        named = [role for role in named if role is not member.role]
    going_on = {role: _going_on(job, role, spec.replicas, done) for role, spec in roles.items()}
    waits = [_all(job, role, going_on[role]) for role in named if going_on[role]]
    if member.role is not RoleName.PS and going_on.get(RoleName.PS) and not job.spec.with_gloo:
        waits += _servers(job, going_on[RoleName.PS], network)
    return waits


def _going_on(job: PaddleJob, role: RoleName, replicas: int, done: frozenset[str]) -> Sequence[int]:
    """Give the numbers of those who are not done; as a rule nobody is, and there may be many."""
    all_of_them = range(replicas)
    return [number for number in all_of_them if pod_name(job, role, number) not in done] if done else all_of_them


def _servers(job: PaddleJob, numbered: Sequence[int], network: Network) -> list[str]:
    """Wait until they are ready and listen. Not with Gloo: the first server then does so only when the workers came."""
    return [f"{ready_servers(job)}={len(numbered)}", _all(job, RoleName.PS, numbered, f":{network.port}")]


def _all(job: PaddleJob, role: RoleName, numbered: Sequence[int], port: str = "") -> str:
    """Name those with these numbers, in few words: mostly these are all."""
    pattern = dns_name(job, pod_name(job, role, "{}")) + port
    is_all = numbered[-1] == len(numbered) - 1
    return f"{pattern}={len(numbered)}" if is_all else f"{pattern}@{numbers.written_short(numbered)}"
