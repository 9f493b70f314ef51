"""The end of all that runs left on a machine: processes, data sets, caches and the state directory itself."""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from paddle_operator.api.sampleset import SampleSet
from paddle_operator.embedded import journal
from paddle_operator.embedded.statedir import PAUSE, SHARED_MEMORY, StateDirectory, StateError
from paddle_operator.engines.juicefs.objects import own_directories

PATIENCE = 15.0
OURS = {"lock", "objects.jsonl", "node", "volumes", "logs", "bin"}


def end_run(state: StateDirectory) -> bool:
    """End who runs in the directory, at first politely; tell whether there was one."""
    holder = state.holder
    if holder is None:
        return False
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(holder, number)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if state.holder != holder:
                return True
            time.sleep(PAUSE)
    raise StateError(f"process {holder}, which runs in {state.root}, does not end")


def remove(state: StateDirectory) -> None:
    """Remove the directory, and the caches that data sets have elsewhere; refuse what is no directory of ours."""
    if not state.root.exists():
        shutil.rmtree(state.memory, ignore_errors=True)
        return
    strange = {path.name for path in state.root.iterdir()} - OURS - _written(state)
    if strange:
        raise StateError(
            f"{state.root} has {', '.join(sorted(strange)[:3])} in it, which is not ours: remove it yourself"
        )
    with state.held():
        for cache in caches(state):
            shutil.rmtree(cache, ignore_errors=True)
        shutil.rmtree(state.memory, ignore_errors=True)
        _empty(state)


def _empty(state: StateDirectory) -> None:
    """Remove the lock as the last thing; who waited for it may have made another at once, and keeps the directory."""
    for path in state.root.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path != state.lock:
            path.unlink()
    state.lock.unlink()
    with contextlib.suppress(OSError):
        state.root.rmdir()


def _written(state: StateDirectory) -> set[str]:
    files = (state.kubeconfig, state.own_log, state.plugin_log, state.journal)
    return {name for file in files for name in (file.name, file.with_suffix(".new").name)}


def caches(state: StateDirectory) -> Iterator[Path]:
    """Name the directories outside that data sets cache in: those that carry a data set's own name."""
    kind = SampleSet.definition
    last = {entry.key: entry.manifest for entry in journal.read(state.journal) if entry.plural == kind.plural}
    for manifest in last.values():
        with contextlib.suppress(msgspec.ValidationError):
            if manifest is not None:
                found = msgspec.convert({**manifest, "status": None}, SampleSet)
                yield from (Path(path) for path in own_directories(found) if SHARED_MEMORY not in Path(path).parents)
