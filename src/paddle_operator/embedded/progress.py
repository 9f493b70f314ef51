"""How an object that somebody waits for stands: in one line, and whether it has come to its end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest

CACHE = "CacheBackend"
READY = "Ready"
GOOD = {
    "PaddleJob": {"Completed"},
    "SampleJob": {"Succeeded"},
    "TFJob": {"Succeeded"},
    "PyTorchJob": {"Succeeded"},
    "SampleSet": {"Ready"},
    CACHE: {"PVCCreated"},
    "Pod": {"Succeeded", READY},
    "StatefulSet": {READY},
}
BAD = {
    "PaddleJob": {"Failed", "Aborted", "Terminated"},
    "SampleJob": {"Failed"},
    "TFJob": {"Failed"},
    "PyTorchJob": {"Failed"},
    CACHE: {"CacheFailed"},
    "Pod": {"Failed"},
}
# What somebody may still correct, or a later try may: so many seconds are waited.
PASSING = {"SyncFailed": 30.0, "Stalled": 3.0}
JOBS = {"PaddleJob", "SampleJob", "TFJob", "PyTorchJob"}
STALLED = "Stalled"


@dataclass(frozen=True)
class Standing:
    """`good` is None as long as it goes on; with `patience`, it has failed when that lasts for so many seconds."""

    phase: str
    words: str
    good: bool | None
    patience: float | None = None


def standing(manifest: Manifest) -> Standing:
    status = manifest.get("status") or {}
    kind = manifest["kind"]
    phase = _phase(manifest)
    stalled = _condition(status, STALLED)
    if stalled is not None:
        return Standing(phase or STALLED, str(stalled.get("message") or ""), None, PASSING[STALLED])
    if kind not in GOOD:
        return Standing(phase, "", good=True)
    if phase in GOOD[kind]:
        return Standing(phase, _figures(manifest), good=True)
    if phase in BAD.get(kind, set()):
        return Standing(phase, _why(status, phase), good=False)
    words = _why(status, names.CONDITION_SYNCED) if phase in PASSING else _figures(manifest) or _why(status)
    return Standing(phase or "Pending", words, None, PASSING.get(phase))


def _phase(manifest: Manifest) -> str:
    """Give the word for where it stands; what is to run for ever has come to its end when it is ready."""
    spec, status = manifest.get("spec") or {}, manifest.get("status") or {}
    kind = manifest["kind"]
    if kind == CACHE:
        return str(status.get("cacheStatus") or "")
    if kind == "Pod" and spec.get("restartPolicy", "Always") == "Always" and _condition(status, READY):
        return READY
    if kind == "StatefulSet":
        return READY if status.get("readyReplicas", 0) >= spec.get("replicas", 1) else ""
    return str(status.get("phase") or _last(status))


def _condition(status: Manifest, kind: str) -> Manifest | None:
    found: Iterable[Manifest] = status.get("conditions") or []
    return next((one for one in found if one.get("type") == kind and one.get("status") == "True"), None)


def _last(status: Manifest) -> str:
    """Give what the newest condition of a job says, for kinds without a phase."""
    true = [one for one in status.get("conditions") or [] if one.get("status") == "True"]
    return str(true[-1]["type"]) if true else ""


def _why(status: Manifest, named: str = "") -> str:
    """Give the words of the condition of this name, or else of the newest."""
    conditions = [one for one in status.get("conditions") or [] if one.get("message")]
    newest = sorted(conditions, key=lambda one: (one.get("type") == named, str(one.get("lastTransitionTime"))))
    return str(newest[-1]["message"]) if newest else ""


def _figures(manifest: Manifest) -> str:
    return ", ".join(_parts(manifest.get("status") or {}))


def _parts(status: Manifest) -> Iterator[str]:
    """Name the figures that say something: of roles, of copied and of cached data, of an order's work."""
    for role in ("ps", "worker", "heter"):
        if counts := status.get(role):
            there_are = [f"{number} {word}" for word, number in counts.items() if isinstance(number, int) and number]
            yield f"{role}: {' '.join(there_are)}" if there_are else f"{role}: none yet"
    cache = status.get("cacheStatus")
    if isinstance(cache, dict) and cache.get("totalSize"):
        yield f"{cache.get('cachedSize') or '0 B'} of {cache['totalSize']} cached"
    if progress := status.get("progress"):
        yield str(progress)
