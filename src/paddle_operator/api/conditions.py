"""Conditions of a status: as they are now, each with the time since when it is so."""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition


def condition(kind: str, reason: str, message: str, *, holds: bool) -> Condition:
    return Condition(kind, "True" if holds else "False", reason, message)


def find(conditions: Iterable[Condition], kind: str) -> Condition | None:
    return next((found for found in conditions if found.type == kind), None)


def renewed(
    before: Iterable[Condition], now_so: Iterable[Condition], generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Give what is so now; the time changes only when the status of a condition does."""
    known = tuple(before)
    return tuple(
        msgspec.structs.replace(
            wanted,
            last_transition_time=_since(known, wanted) or now.replace(microsecond=0),
            observed_generation=generation or None,
        )
        for wanted in now_so
    )


def _since(before: tuple[Condition, ...], wanted: Condition) -> datetime | None:
    known = find(before, wanted.type)
    return known.last_transition_time if known is not None and known.status == wanted.status else None


def conditions_of(manifest: Manifest) -> tuple[Condition, ...]:
    """Read what an object's status says, whatever its kind; what nobody can read counts as not said."""
    status = manifest.get("status")
    try:
        return (
            msgspec.convert(status.get("conditions") or (), tuple[Condition, ...]) if isinstance(status, dict) else ()
        )
    except msgspec.ValidationError:
        return ()


def written(conditions: Iterable[Condition]) -> list[Manifest]:
    """Give them as they come back from the API server."""
    found: list[Manifest] = msgspec.json.decode(msgspec.json.encode(tuple(conditions)))
    return found
