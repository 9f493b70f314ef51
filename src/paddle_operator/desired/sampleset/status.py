"""The status of a set: phase, figures, servers, orders and conditions."""

import msgspec

from paddle_operator.api import names
from paddle_operator.api.conditions import condition, renewed
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Condition
from paddle_operator.api.sampleset import JobsName, RuntimeStatus, SampleSetPhase, SampleSetStatus
from paddle_operator.desired.sampleset.figures import cache_status, node_statuses
from paddle_operator.desired.sampleset.leftovers import left_nodes
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.sampleset.state import State, View
from paddle_operator.desired.sampleset.warming import job_name

# More would not fit into an object: the API server takes about 1.5 MB.
MOST_NODES = 1000


def status_of(view: View, state: State) -> SampleSetStatus:
    snapshot = view.snapshot
    nodes = node_statuses(snapshot, view.warming)
    conditions = [ready_condition(state), view.sync.condition, view.warming.condition]
    return SampleSetStatus(
        phase=state.phase.value,
        cache_status=cache_status(snapshot, nodes),
        runtime_status=_runtime_status(view),
        jobs_name=_jobs_name(view),
        nodes=nodes[:MOST_NODES],
        left_nodes=left_nodes(snapshot),
        observed_generation=snapshot.sample_set.metadata.generation,
        conditions=_renewed(snapshot, conditions),
    )


def status_of_ending(snapshot: Snapshot, state: State, others: list[Condition]) -> SampleSetStatus:
    """Leave all as it was but the reason why it is not ready any more."""
    return msgspec.structs.replace(
        snapshot.before,
        observed_generation=snapshot.sample_set.metadata.generation,
        conditions=_renewed(snapshot, [ready_condition(state), *others]),
    )


def ready_condition(state: State) -> Condition:
    holds = state.phase is SampleSetPhase.READY and state.reason == names.REASON_READY
    return condition(names.CONDITION_READY, state.reason, state.message, holds=holds)


def written(status: SampleSetStatus) -> Manifest:
    """Give the status as it comes back from the API server, so that the two can be compared."""
    manifest: Manifest = msgspec.json.decode(msgspec.json.encode(status))
    return manifest


def _renewed(snapshot: Snapshot, conditions: list[Condition]) -> tuple[Condition, ...]:
    generation = snapshot.sample_set.metadata.generation
    return renewed(snapshot.before.conditions, conditions, generation, snapshot.now)


def _runtime_status(view: View) -> RuntimeStatus | None:
    if view.snapshot.stateful_set is None:
        return view.snapshot.before.runtime_status
    partitions = view.snapshot.partitions
    return RuntimeStatus(f"{view.serving}/{partitions}", partitions, view.serving)


def _jobs_name(view: View) -> JobsName | None:
    before = view.snapshot.before.jobs_name or JobsName()
    sync = ",".join(found.id for found in view.sync.tries) or before.sync_job_name
    warmup = job_name(view.snapshot) if view.sync.done and view.started else before.warmup_job_name
    return JobsName(sync, warmup) if sync or warmup else None
