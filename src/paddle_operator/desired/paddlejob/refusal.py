"""Jobs that cannot work, whoever let them in: what is wrong, and what to do."""

from collections.abc import Callable, Mapping

import msgspec

from paddle_operator.api import names
from paddle_operator.api.paddlejob import LONGEST_NAME, MOST_REPLICAS, Role
from paddle_operator.desired.paddlejob.elastic import SERVER, has_etcd
from paddle_operator.desired.paddlejob.environment import LONGEST_VARIABLE
from paddle_operator.desired.paddlejob.network import Network
from paddle_operator.desired.paddlejob.roles import RoleName, is_elastic, roles_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.telling import Refusal
from paddle_operator.desired.training.template import template_of


def refusal_of(snapshot: Snapshot) -> Refusal | None:
    """Look for what no pod could come of; most of it the API server refuses already, but not every version of it."""
    checks: tuple[Callable[[Snapshot], Refusal | None], ...] = (_shape, _elasticity, _data)
    return next((found for check in checks if (found := check(snapshot)) is not None), None)


def _invalid(message: str) -> Refusal:
    return Refusal(names.REASON_INVALID, message)


def _shape(snapshot: Snapshot) -> Refusal | None:
    roles = roles_of(snapshot.job.spec)
    if not roles:
        return _invalid("the job has no role: give ps, worker or heter")
    if len(snapshot.job.metadata.name) > LONGEST_NAME:
        return _invalid(f"the job's name has more than {LONGEST_NAME} characters: its pods' names would be too long")
    found = (_shape_of_role(name, role) for name, role in roles.items())
    return next((refusal for refusal in found if refusal is not None), None)


def _shape_of_role(name: RoleName, role: Role) -> Refusal | None:
    if role.replicas < 1:
        return _invalid(f"{name}.replicas is {role.replicas}: ask for at least 1, or leave out {name}")
    if role.replicas > MOST_REPLICAS:
        return _invalid(f"{name}.replicas is {role.replicas}: ask for at most {MOST_REPLICAS}")
    try:
        containers = template_of(role).spec.containers
    except msgspec.ValidationError as error:
        return _invalid(f"{name}.template is no pod template: {error}")
    return None if containers else _invalid(f"{name}.template has no containers: give at least the one that trains")


def _elasticity(snapshot: Snapshot) -> Refusal | None:
    spec = snapshot.job.spec
    if not is_elastic(spec):
        return None
    if spec.worker is None:
        return _invalid("an elastic job needs workers: give worker too")
    if (out_of_range := _out_of_range(spec.worker)) is not None:
        return out_of_range
    if has_etcd(template_of(spec.worker).spec.containers[0], snapshot.settings.etcd_server):
        return None
    return Refusal(
        names.REASON_NO_ETCD,
        f"an elastic job needs etcd: start the manager with --etcd-server=HOST:2379, or set {SERVER} in worker",
    )


def _out_of_range(workers: Role) -> Refusal | None:
    if workers.limits and workers.replicas > workers.limits:
        bound = f"at most limits, {workers.limits}"
    elif workers.requests is not None and workers.replicas < workers.requests:
        bound = f"at least requests, {workers.requests}"
    else:
        return None
    return _invalid(f"worker.replicas is {workers.replicas}, and an elastic job has {bound}: change one of the two")


def _data(snapshot: Snapshot) -> Refusal | None:
    reference, own = snapshot.job.spec.sample_set_ref, snapshot.job.metadata.namespace
    if reference is None or reference.namespace in (None, "", own):
        return None
    return _invalid(
        f"sampleSetRef.namespace is {reference.namespace} and the job is in {own}: pods can only mount the claim of"
        " a SampleSet in their own namespace"
    )


def refusal_of_config(data: Mapping[str, str], network: Network) -> Refusal | None:
    """Look for a list of addresses with which no container would start."""
    name, value = max(data.items(), key=lambda item: len(item[1]))
    if len(value) <= LONGEST_VARIABLE:
        return None
    return Refusal(
        names.REASON_TOO_LARGE,
        f"{name} would have {len(value)} characters for {len(network.hosts)} pods, and a program can be given"
        f" {LONGEST_VARIABLE}: ask for fewer pods, or give the job a shorter name",
    )
