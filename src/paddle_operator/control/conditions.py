"""The conditions in an object's status: what holds, since when, and why."""

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from paddle_operator.api.manifest import Manifest


class Truth(StrEnum):
    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


@dataclass(frozen=True)
class Condition:
    type: str
    status: Truth
    reason: str
    message: str = ""
    observed_generation: int | None = None


def with_condition(conditions: list[Manifest], condition: Condition, now: datetime) -> list[Manifest]:
    """Give the list with this condition in its place; the time changes only when the status does."""
    before = find(conditions, condition.type)
    written = _written(condition, _since(before, condition, now))
    if before is None:
        return [*conditions, written]
    return [written if present is before else present for present in conditions]


def find(conditions: list[Manifest], kind: str) -> Manifest | None:
    return next((present for present in conditions if present.get("type") == kind), None)


def holds(conditions: list[Manifest], kind: str) -> bool:
    found = find(conditions, kind)
    return found is not None and found.get("status") == Truth.TRUE


def _since(before: Manifest | None, condition: Condition, now: datetime) -> str:
    if before is not None and before.get("status") == condition.status and before.get("lastTransitionTime"):
        return str(before["lastTransitionTime"])
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _written(condition: Condition, since: str) -> Manifest:
    generation = condition.observed_generation
    return {
        "type": condition.type,
        "status": condition.status.value,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionTime": since,
        **({} if generation is None else {"observedGeneration": generation}),
    }
