"""Which pods belong together: those made from the same spec, in the same attempt; and those that a job lacks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from paddle_operator.desired.training.observedpod import Bucket, ObservedPod


class Named(Protocol):
    """A pod that a job shall have."""

    @property
    def name(self) -> str: ...


Wanted = TypeVar("Wanted", bound=Named)


@dataclass(frozen=True)
class Edition:
    """`revision` sums up the spec, `attempt` is how often the job was started anew."""

    revision: str
    attempt: int

    @property
    def next(self) -> "Edition":
        return Edition(self.revision, self.attempt + 1)

    def made(self, pod: ObservedPod) -> bool:
        """Tell whether the pod is of this edition; the original operator's pods tell no revision and are left alone."""
        return pod.attempt == self.attempt and pod.revision in ("", self.revision)


@dataclass(frozen=True)
class Fleet(Generic[Wanted]):
    """The pods of a job, and those that it lacks.

    `current` are by name, of this edition, wanted, and not being deleted. `outdated` are of another edition, also while
    they are being deleted. `surplus` are of this edition and not wanted any more. `done` names who has ended well in
    this edition and is not run again, whether the pod is still there or not. `blocked` are wanted, and an earlier job's
    pods have their names.
    """

    current: Mapping[str, ObservedPod]
    outdated: tuple[ObservedPod, ...]
    surplus: tuple[ObservedPod, ...]
    missing: tuple[Wanted, ...]
    done: frozenset[str]
    blocked: tuple[ObservedPod, ...]

    def of(self, *buckets: Bucket) -> tuple[ObservedPod, ...]:
        return tuple(pod for pod in self.current.values() if pod.bucket in buckets)


def sorted_pods(
    members: Sequence[Wanted],
    pods: Sequence[ObservedPod],
    leftovers: Sequence[ObservedPod],
    edition: Edition,
    completed: Iterable[str],
) -> Fleet[Wanted]:
    """Sort the pods; `completed` names who was seen to end well before."""
    wanted = {member.name for member in members}
    present = {pod.name for pod in (*pods, *leftovers)}
    made = [pod for pod in pods if edition.made(pod)]
    current = {pod.name: pod for pod in made if pod.name in wanted and not pod.stopping}
    succeeded = {name for name, pod in current.items() if pod.bucket is Bucket.SUCCEEDED}
    done = (succeeded | set(completed)) & wanted
    return Fleet(
        current=current,
        outdated=tuple(pod for pod in pods if not edition.made(pod)),
        surplus=tuple(pod for pod in made if pod.name not in wanted),
        missing=tuple(member for member in members if member.name not in present | done),
        done=frozenset(done),
        blocked=tuple(pod for pod in leftovers if pod.name in wanted - done),
    )
