"""What the controller of PaddleJobs remembers between two looks: who reads which data, who was promised which port."""

from collections import defaultdict
from collections.abc import Iterable

from paddle_operator.api.manifest import Key, Manifest, key_of


class Memory:
    """All of it can be lost: it is known again from the time that each job is next looked at."""

    def __init__(self) -> None:
        self._readers: defaultdict[Key, set[Key]] = defaultdict(set)
        self._ports: dict[Key, int] = {}

    def forget(self, job: Key) -> None:
        self._ports.pop(job, None)
        for sample_set in [found for found, jobs in self._readers.items() if job in jobs]:
            self._readers[sample_set].discard(job)
            if not self._readers[sample_set]:
                del self._readers[sample_set]

    def reads(self, sample_set: Key, job: Key) -> None:
        self._readers[sample_set].add(job)

    def readers(self, sample_set: Manifest) -> Iterable[Key]:
        """Name the jobs that want this SampleSet."""
        return tuple(self._readers.get(key_of(sample_set), ()))

    def promise(self, job: Key, port: int | None) -> None:
        """Keep a port for a job until it is written on the job itself; nothing: it is."""
        if port is None:
            self._ports.pop(job, None)
        else:
            self._ports[job] = port

    def promised(self, job: Key) -> frozenset[int]:
        """Give the ports that other jobs were promised."""
        return frozenset(port for other, port in self._ports.items() if other != job)
