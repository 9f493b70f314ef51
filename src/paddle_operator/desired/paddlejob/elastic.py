"""Elastic jobs: how many workers they may have, and the etcd where these meet."""

from paddle_operator.api.paddlejob import MOST_REPLICAS, PaddleJob, PaddleJobMode, Role
from paddle_operator.desired.paddlejob.roles import is_elastic, mode_of
from paddle_operator.desired.training.template import Container, Variable

SERVER = "PADDLE_ELASTIC_SERVER"
MEETING_PLACE = "PADDLE_MASTER"
PROTOCOL = "etcd://"
PORT = "2379"
TIMEOUT_SECONDS = "60"
# Each change of the workers counts as one; Paddle would end after the third.
MOST_RESTARTS = "1000"
RESTARTED_INSIDE = "1"


def meets_in_etcd(job: PaddleJob) -> bool:
    """Tell whether Paddle's launcher brings the workers together; with parameter servers it has no part."""
    return is_elastic(job.spec) and job.spec.worker is not None and mode_of(job.spec) is not PaddleJobMode.PS


def elastic_variables(job: PaddleJob, container: Container, etcd_server: str) -> dict[str, str]:
    """Give what the older launcher reads, as the original operator did, and what today's reads."""
    if not is_elastic(job.spec) or job.spec.worker is None:
        return {}
    older = {
        "PADDLE_ELASTIC_JOB_ID": f"{job.metadata.namespace}-{job.metadata.name}",
        "PADDLE_ELASTIC_NP": asked_for(job.spec.worker),
        "PADDLE_ELASTIC_TIMEOUT": TIMEOUT_SECONDS,
        # Before what is made of it, also where the user's own takes its place.
        **({SERVER: etcd_server} if etcd_server or _own_server(container) else {}),
    }
    if not meets_in_etcd(job):
        return older
    return {
        **older,
        MEETING_PLACE: meeting_place(container, etcd_server),
        # A job's keys begin with this, and it deletes all that do: no job's may be the beginning of another's.
        "PADDLE_JOB_ID": job.metadata.uid,
        "PADDLE_NNODES": allowed(job.spec.worker),
        "PADDLE_ELASTIC_LEVEL": RESTARTED_INSIDE,
        "PADDLE_MAX_RESTART": MOST_RESTARTS,
    }


def asked_for(workers: Role) -> str:
    """Give the fewest and the most workers, MIN:MAX, or their number where the user gives none of these."""
    if workers.requests is None and workers.limits is None:
        return str(workers.replicas)
    fewest = workers.replicas if workers.requests is None else workers.requests
    return f"{fewest}:{workers.replicas if workers.limits is None else workers.limits}"


def allowed(workers: Role) -> str:
    """Give how many workers there may ever be: those that run keep this while the replicas are edited."""
    return f"{workers.requests or 1}:{workers.limits or MOST_REPLICAS}"


def range_of(job: PaddleJob) -> str:
    return allowed(job.spec.worker) if job.spec.worker is not None and meets_in_etcd(job) else ""


def has_etcd(container: Container, etcd_server: str) -> bool:
    own = {variable.name for variable in container.env or []}
    return bool(etcd_server or own & {SERVER, MEETING_PLACE})


def meeting_place(container: Container, etcd_server: str) -> str:
    """Lead to the first etcd of the user's own or the manager's; one that only its pod can look up, by reference."""
    own = _own_server(container)
    if own is not None and not own.value:
        return f"{PROTOCOL}$({SERVER})"
    first, *_ = (own.value if own is not None and own.value else etcd_server).split(",")
    host, _, port = first.strip().rpartition("//")[2].rstrip("/").partition(":")
    return f"{PROTOCOL}{_as_paddle_reads(host)}:{port or PORT}"


def _own_server(container: Container) -> Variable | None:
    return next((variable for variable in container.env or [] if variable.name == SERVER), None)


def _as_paddle_reads(host: str) -> str:
    """Write the first letter large where Paddle strips it off, as it does all of etcd:// there; DNS does not mind."""
    return host.capitalize() if host[:1] in set(PROTOCOL) else host
