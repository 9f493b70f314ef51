"""Caches on nodes that their servers left: each is emptied by a pod that lives for no longer than that takes."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from paddle_operator.api import names
from paddle_operator.api.conditions import find
from paddle_operator.desired.sampleset.cleaners import cleaner, cleaner_name
from paddle_operator.desired.sampleset.clearing import has_emptied
from paddle_operator.desired.sampleset.decision import Decision, Piece, Pieces
from paddle_operator.desired.sampleset.nodelabels import awaiting
from paddle_operator.desired.sampleset.snapshot import Snapshot
from paddle_operator.desired.training.observedpod import Bucket, ObservedPod, created_at, observed_pod

# As many as the status has of those with servers.
MOST_NODES = 1000
# A pod that its node did not take is made again, and no more often.
PAUSE = timedelta(seconds=60)


@dataclass(frozen=True)
class Leftovers:
    """`nodes` have blocks and no server any more; `open` are those of them that are there to be emptied.

    `due`: a pod that failed is made again then.
    """

    nodes: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    create: Pieces = ()
    delete: Pieces = ()
    due: tuple[datetime, ...] = ()

    def added_to(self, decision: Decision, now: datetime) -> Decision:
        return decision.also(create=self.create, delete=self.delete).looked_at_again(now, *self.due)


def leftovers_of(snapshot: Snapshot, until: datetime | None = None) -> Leftovers:
    """Empty what no server is on, nor to come back to; `until` is when patience ends, at the end of a set."""
    nodes = left_nodes(snapshot)
    is_late = until is not None and until <= snapshot.now
    there = () if is_late else tuple(name for name in nodes if name in snapshot.nodes)
    taken = {found.node for found in snapshot.runtimes.values()} | set(() if snapshot.ends else awaiting(snapshot))
    # What is not in the status yet would be forgotten by a manager that is killed now.
    free = [name for name in there if name not in taken and name in snapshot.before.left_nodes]
    wanted = {cleaner_name(snapshot, name): name for name in free}
    present = [found for found in map(observed_pod, snapshot.cleaners) if not found.stopping]
    spent = [found for found in present if found.name not in wanted or _is_spent(found, snapshot.now)]
    missing = wanted.keys() - {found.name for found in present}
    return Leftovers(
        nodes,
        there,
        tuple((Piece.POD, cleaner(snapshot, wanted[name])) for name in sorted(missing)),
        tuple((Piece.POD, found.manifest) for found in spent),
        tuple(end for found in present if (end := _retried(found)) is not None),
    )


def left_nodes(snapshot: Snapshot) -> tuple[str, ...]:
    """Name them; nothing but the status remembers where servers were."""
    before, runtimes = snapshot.before, snapshot.runtimes.values()
    known = {
        *before.left_nodes,
        *(found.node for found in before.nodes),
        *(found.node for found in runtimes if found.ready),
        *_read_on(snapshot),
    }
    kept = set() if snapshot.ends and not snapshot.users else {found.node for found in snapshot.wanted}
    emptied = {found.node for found in runtimes if has_emptied(snapshot, found)}
    return tuple(sorted(known - kept - emptied - _cleaned(snapshot) - {""}))[:MOST_NODES]


def _read_on(snapshot: Snapshot) -> tuple[str, ...]:
    """Name the nodes where others have the data; once these have ended, the status knows what is left."""
    said = find(snapshot.before.conditions, names.CONDITION_IN_USE)
    return () if said is not None and said.status == "False" else snapshot.read_on


def _cleaned(snapshot: Snapshot) -> set[str]:
    """Name the nodes that pods emptied, since the servers left."""
    ended = (found for found in map(observed_pod, snapshot.cleaners) if found.bucket is Bucket.SUCCEEDED)
    names_of_ended = {found.name for found in ended}
    return {node for node in snapshot.before.left_nodes if cleaner_name(snapshot, node) in names_of_ended}


def _is_spent(pod: ObservedPod, now: datetime) -> bool:
    again = _retried(pod)
    return again is not None and again <= now


def _retried(pod: ObservedPod) -> datetime | None:
    created = created_at(pod)
    return created + PAUSE if pod.bucket is Bucket.FAILED and created is not None else None
