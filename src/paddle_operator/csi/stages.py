"""A volume on this node: its client, its one mount, and the copies of it that pods have."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from paddle_operator.csi import mounts, mounttable
from paddle_operator.csi.clients import Clients
from paddle_operator.csi.errors import Code, NoAnswerError, RefusedError
from paddle_operator.csi.mounttable import Mount
from paddle_operator.csi.namespaces import Namespace, Questions
from paddle_operator.csi.places import Places
from paddle_operator.csi.probing import Life, observe_life
from paddle_operator.csi.records import Records
from paddle_operator.csi.recovery import Recovery
from paddle_operator.csi.syscalls import Attribute
from paddle_operator.csi.targets import Targets
from paddle_operator.csi.volumes import Volume

LOG = logging.getLogger(__name__)
PATIENCE = 10.0


@dataclass(frozen=True)
class Ground:
    """What all volumes of a node share."""

    node: Namespace
    places: Places
    clients: Clients
    records: Records
    targets: Targets
    questions: Questions
    recovery: Recovery


@dataclass
class Stage:
    """One volume; what happens to it happens one after the other."""

    handle: str
    directory: str
    ground: Ground
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(timeout=PATIENCE):
            raise RefusedError(
                Code.UNAVAILABLE, f"volume {self.handle} is being mounted or mended: it goes on by itself"
            )
        try:
            yield
        finally:
            self._lock.release()

    @property
    def place(self) -> Path:
        return self.ground.places.stage(self.directory)

    def publish(self, volume: Volume, target: Path, *, read_only: bool) -> None:
        """Have the volume at a pod's place; what is so already stays as it is."""
        with self._alone():
            try:
                self._keep(volume)
                stage = self._mended(volume)
                self._bind(stage, target, read_only=read_only)
            except (RefusedError, OSError):
                self._release_if_unused()
                raise

    def unpublish(self, target: Path) -> None:
        """Take the volume from a pod's place, and let go of it with the last."""
        with self._alone():
            mounts.detach(self.ground.node, target)
            self.ground.node.run(lambda: target.rmdir() if target.exists() else None)
            self._release_if_unused()

    def mend(self) -> bool:
        """Bring the client back, and the pods' mounts with it; tell whether the volume is still in use."""
        with self._alone():
            volume = self.ground.records.find(self.directory)
            if volume is None or self._release_if_unused():
                return False
            self._mended(volume)
            return True

    def is_kept(self) -> bool:
        """Tell whether the volume is to be mounted here."""
        return self.ground.records.find(self.directory) is not None

    def observe_life(self) -> Life:
        return observe_life(self.ground.questions, self.place) if self._mounted() else Life.DEAD

    def _mounted(self) -> Mount | None:
        layers = mounttable.layers(self.ground.node.mounts(), self.place)
        return layers[-1] if layers else None

    def _targets(self, table: list[Mount]) -> list[Path]:
        return self.ground.targets.of(self.handle, self.place, table)

    def _keep(self, volume: Volume) -> None:
        if self.ground.records.find(self.directory) != volume:
            self.ground.records.keep(volume)

    def _mended(self, volume: Volume) -> Mount:
        """Have a client that lives, and no copy of a dead one's mount."""
        stage, targets = self._mounted(), self._targets(self.ground.node.mounts())
        life = self.observe_life()
        if life is Life.SILENT:
            raise self._silent()
        if stage is None or life is Life.DEAD:
            stage = self.ground.clients.start(volume)
        else:
            self.ground.clients.check(volume, stage)  # an earlier plugin may have ended before it did
        try:
            mended = self.ground.recovery.mend(stage, targets)
        except NoAnswerError:
            raise self._silent() from None
        if mended:
            LOG.info("mended volume=%r mounts=%d", self.handle, mended)
        return stage

    def _silent(self) -> RefusedError:
        return RefusedError(Code.UNAVAILABLE, f"the JuiceFS client of volume {self.handle} does not answer")

    def _bind(self, stage: Mount, target: Path, *, read_only: bool) -> None:
        node = self.ground.node
        layers = mounttable.layers(node.mounts(), target)
        if layers and layers[-1].device == stage.device:
            return
        if not layers:
            node.run(lambda: target.mkdir(parents=True, exist_ok=True))
        mounts.bind(node, stage.place, target, Attribute.RDONLY if read_only else Attribute(0))
        LOG.info("published volume=%r target=%s read_only=%s", self.handle, target, read_only)

    def _release_if_unused(self) -> bool:
        """Let go of a volume that no pod has; its client ends by itself."""
        table = self.ground.node.mounts()
        if any(mounttable.layers(table, target) for target in self._targets(table)):
            return False
        self.ground.clients.stop(self.directory)
        self.ground.records.drop(self.directory)
        LOG.info("released volume=%r", self.handle)
        return True
