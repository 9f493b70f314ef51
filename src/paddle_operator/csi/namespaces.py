"""Work done in another mount namespace: on a thread of its own, because a namespace belongs to a thread."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

from paddle_operator.csi import mounttable, syscalls
from paddle_operator.csi.errors import NoAnswerError

PROC = Path("/proc")
Result = TypeVar("Result")


class _Errand(Generic[Result]):
    """A thread that enters a namespace, does one thing there, and ends; what it raises is raised to who asked."""

    def __init__(self, namespace: Path, work: Callable[[], Result]) -> None:
        self._work = work
        self._results: list[Result] = []
        self._errors: list[OSError] = []
        self._namespace = namespace
        self.thread = threading.Thread(target=self._run, name="errand", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            descriptor = os.open(self._namespace, os.O_RDONLY | os.O_CLOEXEC)
            try:
                syscalls.unshare(syscalls.CLONE_FS)
                syscalls.setns(descriptor)
            finally:
                os.close(descriptor)
            self._results.append(self._work())
        except OSError as error:
            self._errors.append(error)

    def result(self, patience: float | None = None) -> Result:
        self.thread.join(patience)
        if self._errors:
            raise self._errors[0]
        if not self._results:
            raise NoAnswerError
        return self._results[0]


@dataclass(frozen=True)
class Namespace:
    """The mount namespace of a process."""

    process: int

    @property
    def path(self) -> Path:
        return PROC / str(self.process) / "ns/mnt"

    @property
    def identity(self) -> str:
        return str(self.path.readlink())

    def run(self, work: Callable[[], Result]) -> Result:
        """Do something there. It must not ask a FUSE mount anything: use `Questions` for that."""
        return _Errand(self.path, work).result()

    def mounts(self) -> list[mounttable.Mount]:
        text = (PROC / str(self.process) / "mountinfo").read_text(errors="surrogateescape")
        return mounttable.parse(text)


def others(known: set[str]) -> Iterator[Namespace]:
    """Give every other mount namespace that a process of this machine is in, once."""
    for process in sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()):
        namespace = Namespace(process)
        try:
            identity = namespace.identity
        except OSError:
            continue  # ended meanwhile
        if identity not in known:
            known.add(identity)
            yield namespace


@dataclass
class Questions:
    """Questions to file systems that may not answer: each holds one thread at most, however often it is asked."""

    namespace: Namespace
    patience: float
    _asked: dict[str, threading.Thread] = field(default_factory=dict)

    def ask(self, name: str, work: Callable[[], Result]) -> Result:
        """Raise NoAnswerError when it takes too long, be it this question or the same one asked before."""
        earlier = self._asked.get(name)
        if earlier is not None:
            earlier.join(self.patience)
            if earlier.is_alive():
                raise NoAnswerError
        errand = _Errand(self.namespace.path, work)
        self._asked[name] = errand.thread
        try:
            return errand.result(self.patience)
        finally:
            if not errand.thread.is_alive():
                self._asked.pop(name, None)
