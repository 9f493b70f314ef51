"""Which pods belong together: those made from the same spec, in the same attempt."""

import hashlib
import json

from paddle_operator.api.paddlejob import MOST_REPLICAS, PaddleJob
from paddle_operator.desired.paddlejob.elastic import range_of
from paddle_operator.desired.paddlejob.roles import Member, RoleName, is_elastic, members_of, pod_name, roles_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.training import fleet, numbers
from paddle_operator.desired.training.fleet import Edition, sorted_pods

Fleet = fleet.Fleet[Member]


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


def fleet_of(snapshot: Snapshot, edition: Edition) -> Fleet:
    completed = _completed(snapshot, edition)
    return sorted_pods(members_of(snapshot.job), snapshot.pods, snapshot.leftovers, edition, completed)


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
