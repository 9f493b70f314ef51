"""Which pods belong together: those made from the same spec, in the same attempt."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from paddle_operator.api.paddlejob import MOST_REPLICAS, PaddleJob
from paddle_operator.desired.paddlejob import numbers
from paddle_operator.desired.paddlejob.elastic import range_of
from paddle_operator.desired.paddlejob.observedpod import Bucket, ObservedPod
from paddle_operator.desired.paddlejob.roles import Member, RoleName, is_elastic, members_of, pod_name, roles_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot


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


def edition_of(snapshot: Snapshot, port: int) -> Edition:
    """Give the edition that pods shall have.

    How often the job was started anew cannot be seen once the pods are gone, so the status remembers it.
    Should the status be lost, pods that are left tell it.
    """
    attempts = [pod.attempt for pod in snapshot.pods]
    return Edition(revision_of(snapshot.job, port), max([snapshot.before.restarts, *attempts]))


def revision_of(job: PaddleJob, port: int) -> str:
    """Sum up what a pod keeps from its start: when it changes, all pods are made anew.

    The number of pods belongs to it, or of an elastic job how many there may be. What the manager was started with does
    not, so that another version of it leaves running jobs alone.
    """
    roles = roles_of(job.spec)
    kept = {
        "templates": {role: spec.template for role, spec in roles.items()},
        "replicas": {} if is_elastic(job.spec) else {role: spec.replicas for role, spec in roles.items()},
        "range": range_of(job),
        "gloo": job.spec.with_gloo or 0,
        "port": port,
    }
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Fleet:
    """The pods of a job, and those that it lacks.

    `current` are by name, of this edition, wanted, and not being deleted. `outdated` are of another edition, also while
    they are being deleted. `surplus` are of this edition and not wanted any more. `done` names who has ended well in
    this edition and is not run again, whether the pod is still there or not. `blocked` are wanted, and an earlier job's
    pods have their names.
    """

    current: Mapping[str, ObservedPod]
    outdated: tuple[ObservedPod, ...]
    surplus: tuple[ObservedPod, ...]
    missing: tuple[Member, ...]
    done: frozenset[str]
    blocked: tuple[ObservedPod, ...]

    def of(self, *buckets: Bucket) -> tuple[ObservedPod, ...]:
        return tuple(pod for pod in self.current.values() if pod.bucket in buckets)


def fleet_of(snapshot: Snapshot, edition: Edition) -> Fleet:
    members = members_of(snapshot.job)
    wanted = {member.name for member in members}
    present = {pod.name for pod in (*snapshot.pods, *snapshot.leftovers)}
    made = [pod for pod in snapshot.pods if edition.made(pod)]
    current = {pod.name: pod for pod in made if pod.name in wanted and not pod.stopping}
    succeeded = {name for name, pod in current.items() if pod.bucket is Bucket.SUCCEEDED}
    done = (succeeded | _completed(snapshot, edition)) & wanted
    return Fleet(
        current=current,
        outdated=tuple(pod for pod in snapshot.pods if not edition.made(pod)),
        surplus=tuple(pod for pod in made if pod.name not in wanted),
        missing=tuple(member for member in members if member.name not in present | done),
        done=frozenset(done),
        blocked=tuple(pod for pod in snapshot.leftovers if pod.name in wanted - done),
    )


def _completed(snapshot: Snapshot, edition: Edition) -> set[str]:
    """Name who was seen to end well: that cannot be seen once the pod is gone, so the status remembers it."""
    before = snapshot.before
    if Edition(before.revision, before.restarts) != edition:
        return set()
    roles = {RoleName.PS: before.ps, RoleName.WORKER: before.worker, RoleName.HETER: before.heter}
    return {
        pod_name(snapshot.job, role, number)
        for role, status in roles.items()
        if status is not None
        for number in numbers.read(status.completed, MOST_REPLICAS)
    }


def have_succeeded(job: PaddleJob, fleet: Fleet) -> bool:
    """Tell whether all workers, or all pods of a job without workers, have ended well."""
    decisive = members_of(job, RoleName.WORKER) or members_of(job)
    return bool(decisive) and all(member.name in fleet.done for member in decisive)
