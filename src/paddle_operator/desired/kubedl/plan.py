"""From what was observed of a TFJob or PyTorchJob to what is to be written: the one door to this package."""

import hashlib
import json
from dataclasses import replace
from datetime import datetime

import msgspec

from paddle_operator.api.training import TrainingCleanPodPolicy, TrainingJobStatus
from paddle_operator.desired.kubedl.failures import failures_of, uid
from paddle_operator.desired.kubedl.frameworks import (
    MOST_REPLICAS,
    Member,
    TrainingJob,
    count,
    framework_of,
    members_of,
    replicas_of,
)
from paddle_operator.desired.kubedl.notices import notices
from paddle_operator.desired.kubedl.progress import View, go_on, refused
from paddle_operator.desired.kubedl.refusal import refusal_of
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.kubedl.state import Phase, State, deadline_of, end_of, verdict_on
from paddle_operator.desired.kubedl.status import status_of_ended
from paddle_operator.desired.moments import after
from paddle_operator.desired.training import numbers
from paddle_operator.desired.training.abandoned import without_abandoned
from paddle_operator.desired.training.decision import GANGS, Decision, Piece, Pieces, pieces, stopped
from paddle_operator.desired.training.fleet import Edition, Fleet, sorted_pods

TrainingDecision = Decision[TrainingJobStatus]


def plan(snapshot: Snapshot) -> TrainingDecision:
    decision = without_abandoned(snapshot, _decide(snapshot))
    return replace(decision, notices=notices(snapshot, decision.status))


def _decide(snapshot: Snapshot) -> TrainingDecision:
    if snapshot.job.metadata.deletion_timestamp is not None:
        return Decision(snapshot.before)  # what was made for it goes by itself, since the job owns it
    if end_of(snapshot.before) is not None:
        return _clean_up(snapshot)
    return _proceed(view_of(snapshot)).looked_at_again(snapshot.now, deadline_of(snapshot))


def _proceed(view: View) -> TrainingDecision:
    """Write down what has become clear, and nothing else: acting on it destroys what it was seen by."""
    if (verdict := verdict_on(view.snapshot, view.fleet, view.failures)) is not None:
        return Decision(view.status(verdict))
    if view.failures.new:
        return _count(view)
    if (refusal := refusal_of(view.snapshot)) is not None:
        return refused(view, refusal)
    if view.fleet.outdated:
        state = State(Phase.RESTARTING, "the spec has changed: all pods start anew")
        delete = stopped((*view.fleet.outdated, *view.fleet.surplus, *view.fleet.current.values()))
        return Decision(view.status(state), delete=delete)
    return go_on(view)


def _count(view: View) -> TrainingDecision:
    """Count each failed pod once, by its uid, before another takes its place."""
    before, failed = view.snapshot.before, view.failures
    status = msgspec.structs.replace(
        view.status(),
        restarts=before.restarts + len(failed.new),
        restarting=tuple(sorted(uid(pod) for pod in (*failed.counted, *failed.new))),
    )
    return Decision(status)


def view_of(snapshot: Snapshot) -> View:
    edition = Edition(revision_of(snapshot.job), 0)
    fleet = fleet_of(snapshot, edition)
    return View(snapshot, edition, fleet, failures_of(snapshot, fleet))


def fleet_of(snapshot: Snapshot, edition: Edition) -> Fleet[Member]:
    """Sort the pods; who was seen to end well before is known from the status, as long as the spec is the same."""
    before, job = snapshot.before, snapshot.job
    completed = {
        f"{job.metadata.name}-{name.lower()}-{number}"
        for name, status in before.replica_statuses.items()
        if before.revision == edition.revision
        for number in numbers.read(status.completed, MOST_REPLICAS)
    }
    return sorted_pods(members_of(job), snapshot.pods, snapshot.leftovers, edition, completed)


def revision_of(job: TrainingJob) -> str:
    """Sum up what a pod keeps from its start: when it changes, all pods are made anew."""
    kept = {name: {"template": spec.template, "replicas": count(spec)} for name, spec in replicas_of(job).items()}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def _clean_up(snapshot: Snapshot) -> TrainingDecision:
    """Delete of an ended job what its policy says; the gang goes in any case."""
    policy = snapshot.job.spec.clean_pod_policy or framework_of(snapshot.job).clean_pod_policy
    delete = (*_cleaned(snapshot, policy), *gangs(snapshot))
    expiry = _expiry(snapshot)
    expired = expiry is not None and expiry <= snapshot.now
    decision = Decision(status_of_ended(snapshot), delete=delete, expired=expired)
    return decision.looked_at_again(snapshot.now, expiry)


def _cleaned(snapshot: Snapshot, policy: TrainingCleanPodPolicy) -> Pieces:
    if policy is TrainingCleanPodPolicy.NONE:
        return ()
    everything = policy is TrainingCleanPodPolicy.ALL
    pods = [pod for pod in snapshot.pods if everything or not pod.bucket.is_over]
    kept = {pod.name for pod in snapshot.pods} - {pod.name for pod in pods}
    services = [found for found in snapshot.services if found["metadata"]["name"] not in kept]
    return (*stopped(pods), *pieces(Piece.SERVICE, services))


def gangs(snapshot: Snapshot) -> Pieces:
    piece = GANGS.get(snapshot.scheduling)
    return () if piece is None else pieces(piece, snapshot.gangs)


def _expiry(snapshot: Snapshot) -> datetime | None:
    """Give the time at which an ended job itself goes."""
    end, seconds = snapshot.before.completion_time, snapshot.job.spec.ttl_seconds_after_finished
    return None if end is None or seconds is None else after(end, seconds)
