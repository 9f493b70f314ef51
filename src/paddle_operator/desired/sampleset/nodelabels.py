"""The labels that lead workers to the nodes of their partitions."""

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest, labels_of
from paddle_operator.desired.sampleset.naming import key_of_set, pod_name
from paddle_operator.desired.sampleset.snapshot import Snapshot

Change = tuple[str, dict[str, str | None]]


def label_changes(snapshot: Snapshot) -> tuple[Change, ...]:
    """Give the labels to set, and those to remove, on nodes that are there.

    The node of a server that has none now keeps its label: a cache is there, and the next pod is to find it.
    """
    servers = {found.node: found.name for found in snapshot.wanted if found.node}
    wanted = awaiting(snapshot) | servers
    changes = ((name, _change(snapshot, node, wanted.get(name))) for name, node in sorted(snapshot.nodes.items()))
    return tuple((name, change) for name, change in changes if change)


def awaiting(snapshot: Snapshot) -> dict[str, str]:
    """Give the nodes that servers are to come back to, which are nowhere now, with the names of these."""
    names_of_all = {pod_name(snapshot.sample_set, number) for number in range(snapshot.partitions)}
    away = names_of_all - {found.name for found in snapshot.wanted if found.node}
    return {name: label for name, node in snapshot.nodes.items() if (label := _own_label(snapshot, node)) in away}


def labels_left(snapshot: Snapshot) -> tuple[Change, ...]:
    """Give all labels to remove, when the set ends."""
    changes = ((name, _change(snapshot, node, None)) for name, node in sorted(snapshot.nodes.items()))
    return tuple((name, change) for name, change in changes if change)


def _change(snapshot: Snapshot, node: Manifest, wanted: str | None) -> dict[str, str | None]:
    """Change our own label, and the one that is only of the set's name if we set it or nobody did.

    The second is what people know from the original operator. A set of the same name in another namespace may have it
    on this node, and keeps it: jobs go by the first.
    """
    present = labels_of(node)
    own, shared = _own(snapshot), names.sampleset_label(snapshot.sample_set.metadata.name)
    change: dict[str, str | None] = {} if present.get(own) == wanted else {own: wanted}
    is_ours = present.get(shared) in (None, present.get(own)) or bool(snapshot.originals)
    if is_ours and present.get(shared) != wanted:
        change[shared] = wanted
    return change


def _own(snapshot: Snapshot) -> str:
    return names.sampleset_node_label(*key_of_set(snapshot.sample_set))


def _own_label(snapshot: Snapshot, node: Manifest) -> str:
    return labels_of(node).get(_own(snapshot), "")
