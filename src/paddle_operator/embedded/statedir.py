"""Where a machine without a cluster keeps what it has: one directory, used by one run at a time."""

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# Every machine has it, and its name is short: a socket's path has 107 letters at most.
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 in a directory of our own
PATIENCE = 10.0
PAUSE = 0.05


class StateError(Exception):
    """The directory is in use, or is not ours."""


def default_place(environment: Mapping[str, str] = os.environ) -> Path:
    if given := environment.get("PADDLE_OPERATOR_STATE"):
        return Path(given)
    root = environment.get("XDG_STATE_HOME") or str(Path(environment.get("HOME", "/"), ".local/state"))
    return Path(root) / "paddle-operator"


@dataclass(frozen=True)
class StateDirectory:
    root: Path

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def journal(self) -> Path:
        return self.root / "objects.jsonl"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def memory(self) -> Path:
        """Stand for a node's /dev/shm, in the machine's: caches that are there stay warm until it restarts."""
        return SHARED_MEMORY / f"paddle-operator-{hashlib.sha256(bytes(self.root)).hexdigest()[:12]}"

    @property
    def node(self) -> Path:
        """Hold what pods have of their own while they run."""
        return self.root / "node"

    @property
    def volumes(self) -> Path:
        """Hold JuiceFS' metadata and data, of volumes whose Secret does not say where."""
        return self.root / "volumes"

    @property
    def own_log(self) -> Path:
        return self.root / "operator.log"

    @property
    def plugin_log(self) -> Path:
        return self.root / "csi.log"

    @property
    def programs(self) -> Path:
        return self.root / "bin"

    def make(self) -> None:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in (self.memory, self.node, self.volumes, self.logs, self.programs):
            path.mkdir(mode=0o700, exist_ok=True)
        # In a directory that everybody may write to, somebody else may have been quicker.
        if self.memory.is_symlink() or self.memory.stat().st_uid != os.geteuid():
            raise StateError(f"{self.memory} is somebody else's: use another --state-dir")

    @contextlib.contextmanager
    def held(self, patience: float = PATIENCE) -> Iterator[None]:
        """Be the only one; the kernel takes the lock back when the last process of a run is gone."""
        deadline = time.monotonic() + patience
        while (descriptor := self._locked()) is None:
            if time.monotonic() > deadline:
                raise StateError(f"{self.root} is in use by process {self.holder}: end that first, or use --state-dir")
            time.sleep(PAUSE)
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(descriptor)

    def _locked(self) -> int | None:
        """Take the lock that is there now: who held it may have removed it, and the directory with it."""
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            return None
        with contextlib.suppress(FileNotFoundError):
            if _taken(descriptor) and os.path.samestat(os.fstat(descriptor), self.lock.stat()):
                return descriptor
        os.close(descriptor)
        return None

    @property
    def holder(self) -> int | None:
        """Give the process that holds the lock; none if nobody does."""
        try:
            descriptor = os.open(self.lock, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            if _taken(descriptor):
                return None
            number = os.pread(descriptor, 20, 0).decode()
            return int(number) if number.isdecimal() else None
        finally:
            os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
