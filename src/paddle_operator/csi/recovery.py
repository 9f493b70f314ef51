"""Giving the copies of a volume's mount a client again, after the one that they were made of has died."""

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from paddle_operator.csi import mounts, mounttable, namespaces, syscalls
from paddle_operator.csi.mounts import WHOLE
from paddle_operator.csi.mounttable import JUICEFS, Mount
from paddle_operator.csi.namespaces import Namespace, Questions
from paddle_operator.csi.targets import Targets

LOG = logging.getLogger(__name__)
MOST_LAYERS = 8


@dataclass(frozen=True)
class Recovery:
    """`injects`: enter the containers' mount namespaces too, which need not ask for mounts of the node then."""

    node: Namespace
    targets: Targets
    questions: Questions
    injects: bool

    def mend(self, stage: Mount, targets: Iterable[Path]) -> int:
        """Put copies of the living mount over the dead ones, and give their number; nothing is done where none is dead.

        Containers come first: what the node's places hand down to them then slips beneath, and cannot undo what a
        container forbids on its own mount. Parts of volumes come last: to find them the volume must answer.
        """
        places = list(targets)
        table = self.node.mounts()
        layers = [mount for place in places for mount in mounttable.layers(table, place)]
        dead = frozenset(mount.device for mount in layers if mount.kind == JUICEFS and mount.device != stage.device)
        if not dead:
            return 0
        within = list(namespaces.others({self.node.identity, own().identity})) if self.injects else []
        found = [(namespace, mount) for namespace in within for mount in self._dead_in(namespace, dead)]
        found += [(self.node, mount) for mount in self._dead_parts(dead)]
        mended = sum(self._cover(namespace, stage, mount) for namespace, mount in found if mount.root == WHOLE)
        mended += sum(self._renew(place, stage) for place in places)
        return mended + sum(self._cover(namespace, stage, mount) for namespace, mount in found if mount.root != WHOLE)

    def _dead_parts(self, dead: frozenset[str]) -> list[Mount]:
        """Give what the kubelet mounted of a part of a volume, for a container that may start again."""
        found = mounttable.uncovered(self.node.mounts(), dead)
        return [mount for mount in found if self.targets.is_subpath(mount.place)]

    def _dead_in(self, within: Namespace, dead: frozenset[str]) -> list[Mount]:
        """Give what one container has; one that ends meanwhile needs nothing more."""
        try:
            self._peel(within, dead)
            return self._containers_own(within.mounts(), dead)
        except OSError:
            return []

    def _containers_own(self, table: list[Mount], dead: frozenset[str]) -> list[Mount]:
        """Leave out views of the node's places: they follow the node, and what is put there might not go with them."""
        return [mount for mount in mounttable.uncovered(table, dead) if not self.targets.is_of_node(mount.place)]

    def _peel(self, within: Namespace, dead: frozenset[str]) -> None:
        """Take away what an earlier recovery put there, so that layers do not grow with every death."""
        for _ in range(MOST_LAYERS):
            table = within.mounts()
            uppers = [mount for mount in self._containers_own(table, dead) if mounttable.is_upper(table, mount)]
            if not uppers:
                return
            for mount in uppers:
                within.run(partial(syscalls.detach, mount.place))

    def _cover(self, within: Namespace, stage: Mount, dead: Mount) -> bool:
        """Put a living mount over one dead one; what is no longer there, or now a link, is left as it is."""
        forbidden = mounts.forbidden_by(dead)
        try:
            copy = self.questions.ask(f"copy {stage.place}", lambda: mounts.copied(stage.place, dead.root, forbidden))
            with mounts.closing(copy):
                return mounts.cover(within, dead, copy)
        except OSError as error:
            LOG.warning("not mended place=%s root=%r process=%d error=%r", dead.place, dead.root, within.process, error)
            return False

    def _renew(self, place: Path, stage: Mount) -> bool:
        """Leave the lowest layer, which containers follow, and put a living one on top of it."""
        layers = mounttable.layers(self.node.mounts(), place)
        if not layers or layers[-1].device == stage.device:
            return False
        mounts.detach(self.node, place, leave=1)
        mounts.bind(self.node, stage.place, place, mounts.forbidden_by(layers[0]))
        return True


def own() -> Namespace:
    return Namespace(os.getpid())
