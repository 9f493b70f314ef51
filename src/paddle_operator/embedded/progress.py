"""How an object that somebody waits for stands: in one line, and whether it has come to its end."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest, controller_of, key_of, uid_of

CACHE = "CacheBackend"
GOOD = {
    "PaddleJob": {"Completed"},
    "SampleJob": {"Succeeded"},
    "TFJob": {"Succeeded"},
    "PyTorchJob": {"Succeeded"},
    "SampleSet": {"Ready"},
    CACHE: {"PVCCreated"},
}
BAD = {
    "PaddleJob": {"Failed", "Aborted", "Terminated"},
    "SampleJob": {"Failed"},
    "TFJob": {"Failed"},
    "PyTorchJob": {"Failed"},
    CACHE: {"CacheFailed"},
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
    phase = str((status.get("cacheStatus") if kind == CACHE else status.get("phase") or _last(status)) or "")
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
    """Name the counters that say something: of roles, of copied and of cached data."""
    for role in ("ps", "worker", "heter"):
        if counts := status.get(role):
            there_are = [f"{number} {word}" for word, number in counts.items() if isinstance(number, int) and number]
            yield f"{role}: {' '.join(there_are)}" if there_are else f"{role}: none yet"
    cache = status.get("cacheStatus")
    if isinstance(cache, dict) and cache.get("totalSize"):
        yield f"{cache.get('cachedSize') or '0 B'} of {cache['totalSize']} cached"


def exit_code(job: Manifest, pods: Iterable[Manifest]) -> int:
    """Give the code of a job that did not end well: that of its first container that failed, or 1."""
    for pod in sorted(pods, key=key_of):
        owner = controller_of(pod)
        if owner is None or owner.get("uid") != uid_of(job):
            continue
        for container in (pod.get("status") or {}).get("containerStatuses") or []:
            ended = (container.get("state") or {}).get("terminated") or {}
            if ended.get("exitCode"):
                return int(ended["exitCode"])
    return 1
