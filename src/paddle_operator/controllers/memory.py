"""What the controller of a kind of jobs remembers between two looks: who reads which data, who was promised a port."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.kube.request import Kind


class Memory:
    """All of it can be lost: it is known again from the time that each job is next looked at."""

    def __init__(self) -> None:
        self._readers: defaultdict[tuple[Kind, Key], set[Key]] = defaultdict(set)
        self._ports: dict[Key, int] = {}

    def forget(self, job: Key) -> None:
        self._ports.pop(job, None)
        for data in [found for found, jobs in self._readers.items() if job in jobs]:
            self._readers[data].discard(job)
            if not self._readers[data]:
                del self._readers[data]

    def reads(self, kind: Kind, data: Key, job: Key) -> None:
        self._readers[kind, data].add(job)

    def readers(self, kind: Kind) -> Callable[[Manifest], Iterable[Key]]:
        """Name the jobs that want an object of this kind."""
        return lambda data: tuple(self._readers.get((kind, key_of(data)), ()))

    def promise(self, job: Key, port: int | None) -> None:
        """Keep a port for a job until it is written on the job itself; nothing: it is."""
        if port is None:
            self._ports.pop(job, None)
        else:
            self._ports[job] = port

    def promised(self, job: Key) -> frozenset[int]:
        """Give the ports that other jobs were promised."""
        return frozenset(port for other, port in self._ports.items() if other != job)
