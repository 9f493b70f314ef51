"""How an object goes: at once, or marked until those who wait for it have let it go."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from paddle_operator.api.manifest import Manifest, key_of, uid_of, version_of
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.embedded.apiserver.resources import Resource
from paddle_operator.kube.request import Kind, Propagation

NAMESPACES = Kind("", "v1", "namespaces", "Namespace", namespaced=False)
FINALIZER_ORPHAN, FINALIZER_FOREGROUND = "orphan", "foregroundDeletion"
WAITING = {Propagation.ORPHAN: FINALIZER_ORPHAN, Propagation.FOREGROUND: FINALIZER_FOREGROUND}
DEFAULT_GRACE = 30


@dataclass(frozen=True)
class Deletion:
    """How a deletion is meant."""

    propagation: Propagation = Propagation.BACKGROUND
    grace_seconds: int | None = None
    uid: str = ""
    version: str = ""
    dry_run: bool = False


def is_released(manifest: Manifest) -> bool:
    """Tell whether a deleted object has nobody left to wait for."""
    found = manifest["metadata"]
    if not found.get("deletionTimestamp") or found.get("finalizers") or found.get("deletionGracePeriodSeconds"):
        return False
    return not (manifest["kind"] == NAMESPACES.kind and (manifest.get("spec") or {}).get("finalizers"))


def refuse_unmet(resource: Resource, how: Deletion, before: Manifest) -> None:
    asked = (
        ("UID", how.uid, uid_of(before), "deleted and then recreated"),
        ("ResourceVersion", how.version, version_of(before), "modified"),
    )
    for word, wanted, found, became in asked:
        if wanted and wanted != found:
            why = (
                f"the {word} in the precondition ({wanted}) does not match the {word} in record ({found}). "
                f"The object might have been {became}"
            )
            raise refusals.conflict(resource.kind, key_of(before).name, why, resource.kind.kind)


def _grace(resource: Resource, before: Manifest, how: Deletion) -> int:
    """Give a pod that runs time to end, and nothing else."""
    if resource.custom or resource.kind.plural != "pods":
        return 0
    spec, phase = before.get("spec") or {}, (before.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    if how.grace_seconds is not None:
        return max(how.grace_seconds, 0)
    return int(spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE))


def marked(resource: Resource, before: Manifest, how: Deletion) -> Manifest:
    """Give the object as it waits for its end."""
    grace = _grace(resource, before, how)
    found = dict(before["metadata"])
    finalizers = [name for name in found.get("finalizers") or [] if name not in WAITING.values()]
    finalizers += [WAITING[how.propagation]] if how.propagation in WAITING else []
    if finalizers:
        found["finalizers"] = finalizers
    else:
        found.pop("finalizers", None)
    already = found.get("deletionGracePeriodSeconds")
    if already is None or grace < already:
        found["deletionTimestamp"] = (datetime.now(UTC) + timedelta(seconds=grace)).strftime("%Y-%m-%dT%H:%M:%SZ")
        found["deletionGracePeriodSeconds"] = grace
        if already is None and resource.has_generation:
            found["generation"] = found.get("generation", 0) + 1
    closing = {"status": {"phase": "Terminating"}} if resource.kind == NAMESPACES else {}
    return {**before, **closing, "metadata": found}
