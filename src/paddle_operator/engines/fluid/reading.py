"""What Fluid says of a Dataset, its runtime and its preload: all of it strings, some of them odd."""

import re
from dataclasses import replace

from paddle_operator.api.cachebackend import WaitFor
from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.cachebackend.engine import Progress, Stage

# While it changes its mounts or moves data, a Dataset that was bound can be read all the same.
USABLE = ("Bound", "Updating", "DataMigrating")
SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([KMGTPE]i?)?B?")
UNITS = {"": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGTPE", start=1)
    for suffix, base in (("i", 1024), ("", 1000))
}
LARGEST = 2**63
LONGEST_QUOTE = 500
COMPONENTS = ("master", "worker", "fuse")


def progress(dataset: Manifest, runtime: Manifest) -> Progress:
    """Trust the phase: the condition Ready is False after every change of the mounts, though all is well."""
    status = _mapping(dataset.get("status"))
    states = _mapping(status.get("cacheStates"))
    figures = Progress(Stage.WORKING, "", size(status.get("ufsTotal")), size(states.get("cached")))
    phase = status.get("phase") or ""
    if phase in USABLE:
        return replace(figures, stage=Stage.READY, message=_standing(phase, states, _mapping(runtime.get("status"))))
    told = _told(status) or _components(_mapping(runtime.get("status")))
    if phase == "Failed":
        return replace(figures, stage=Stage.FAILED, message=f"Fluid's Dataset is Failed{told}")
    return replace(figures, message=f"Fluid's Dataset is {phase or 'not begun'}{told}")


def preloaded(told: Progress, load: Manifest, wait_for: WaitFor | None) -> Progress:
    """Say how far the preload is; one that failed keeps nobody from reading: the data comes as it is read."""
    status = _mapping(load.get("status"))
    phase = status.get("phase") or "Pending"
    why = next((str(found.get("message") or "") for found in _list(status.get("conditions"))), "")
    words = f"its DataLoad is {phase}" + (f": {why[:LONGEST_QUOTE]}" if why and phase == "Failed" else "")
    waits = wait_for is WaitFor.LOADED and phase not in ("Complete", "Failed")
    stage = Stage.WORKING if waits and told.stage is Stage.READY else told.stage
    return replace(told, stage=stage, message=f"{told.message}; {words}")


def size(written: object) -> int | None:
    """Read a size such as 11.06MiB; nothing for what is not known yet, which Fluid writes in several ways."""
    found = SIZE.fullmatch(written.strip()) if isinstance(written, str) else None
    if found is None:
        return None
    number = float(found[1]) * UNITS[found[2] or ""]
    return int(number) if number < LARGEST else None


def _standing(phase: str, states: Manifest, runtime: Manifest) -> str:
    share = states.get("cachedPercentage")
    words = f"Fluid's Dataset is {phase}" + (f", {share} of it cached" if isinstance(share, str) and share else "")
    idle = runtime.get("desiredWorkerNumberScheduled") == 0 and "desiredWorkerNumberScheduled" in runtime
    return f"{words}; it has no workers, so nothing is cached" if idle else words


def _told(status: Manifest) -> str:
    """Quote why it is not ready, as Fluid says it."""
    for found in reversed(_list(status.get("conditions"))):
        failed = found.get("type") == "NotReady" or found.get("reason") in ("DatasetFailed", "DatasetFailedToSetup")
        if failed and found.get("status") == "True" and found.get("message"):
            return f": {str(found['message'])[:LONGEST_QUOTE]}"
    return ""


def _components(status: Manifest) -> str:
    parts = [
        f"{name} {status[f'{name}Phase']}" + (f" ({reason})" if (reason := status.get(f"{name}Reason")) else "")
        for name in COMPONENTS
        if status.get(f"{name}Phase")
    ]
    return f": {', '.join(parts)}"[:LONGEST_QUOTE] if parts else ""


def _mapping(found: object) -> Manifest:
    return found if isinstance(found, dict) else {}


def _list(found: object) -> list[Manifest]:
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
