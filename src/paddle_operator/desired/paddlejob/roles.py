"""The roles of a PaddleJob, and the pods that each has."""

from dataclasses import dataclass
from enum import StrEnum

from paddle_operator.api.paddlejob import MOST_REPLICAS, PaddleJob, PaddleJobMode, PaddleJobSpec, Role


class RoleName(StrEnum):
    """In the order in which pods start."""

    __hash__ = str.__hash__  # an enum's own is many times slower, and roles are keys everywhere

    PS = "ps"
    WORKER = "worker"
    HETER = "heter"


@dataclass(frozen=True)
class Member:
    """One pod that a job shall have."""

    role: RoleName
    index: int
    name: str


def roles_of(spec: PaddleJobSpec) -> dict[RoleName, Role]:
    given = ((RoleName.PS, spec.ps), (RoleName.WORKER, spec.worker), (RoleName.HETER, spec.heter))
    return {name: role for name, role in given if role is not None}


def mode_of(spec: PaddleJobSpec) -> PaddleJobMode:
    if spec.ps is not None:
        return PaddleJobMode.PS
    if spec.worker is not None and spec.worker.replicas > 1:
        return PaddleJobMode.COLLECTIVE
    return PaddleJobMode.SINGLE


def is_elastic(spec: PaddleJobSpec) -> bool:
    """Tell whether workers may come and go; any number says so, even 0."""
    return spec.elastic is not None


def pod_name(job: PaddleJob, role: RoleName, index: int | str) -> str:
    return f"{job.metadata.name}-{role}-{index}"


def members_of(job: PaddleJob, role: RoleName | None = None) -> tuple[Member, ...]:
    """Give the pods that the job shall have, of one role or of all; never more than any job may have."""
    return tuple(
        Member(name, index, pod_name(job, name, index))
        for name, spec in roles_of(job.spec).items()
        if role in (None, name)
        for index in range(min(spec.replicas, MOST_REPLICAS))
    )
