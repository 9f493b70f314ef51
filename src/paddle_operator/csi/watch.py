"""Looking after the clients of all volumes: one that dies is brought back, each volume on a thread of its own."""

import logging
import threading
from dataclasses import dataclass, field

from paddle_operator.csi.errors import RefusedError
from paddle_operator.csi.probing import Life
from paddle_operator.csi.stages import Ground, Stage
from paddle_operator.csi.volumes import directory_of

LOG = logging.getLogger(__name__)
PAUSE = 1.0
LONGEST_PAUSE = 30.0


@dataclass
class Watch:
    """The volumes of this node; those in use are looked at every second."""

    ground: Ground
    _stages: dict[str, Stage] = field(default_factory=dict)
    _watched: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def stage(self, handle: str) -> Stage:
        """Give a volume; there is one of each for as long as we run, since it holds the lock."""
        directory = directory_of(handle)
        with self._lock:
            return self._stages.setdefault(directory, Stage(handle, directory, self.ground))

    def follow(self, stage: Stage) -> None:
        """Look after a volume from now on, if that is not done already."""
        with self._lock:
            if stage.directory in self._watched:
                return
            self._watched.add(stage.directory)
        threading.Thread(target=self._look_after, args=(stage,), name=f"watch {stage.directory}", daemon=True).start()

    def resume(self) -> None:
        """Look after what an earlier plugin mounted; who died meanwhile is brought back, what nobody uses let go of."""
        for volume in self.ground.records.all():
            self.follow(self.stage(volume.handle))

    def stop(self) -> None:
        self._stopped.set()

    def _look_after(self, stage: Stage) -> None:
        pause, first = PAUSE, True
        while first or not self._stopped.wait(pause):
            in_use, pause = self._looked(stage, pause, first=first)
            first = False
            if not in_use and self._forget(stage):
                return

    def _looked(self, stage: Stage, pause: float, *, first: bool) -> tuple[bool, float]:
        """Tell whether the volume is in use, and when to look again: after a failure later and later."""
        try:
            self.ground.clients.shorten_log(stage.directory)
            if not stage.is_kept():
                return False, PAUSE
            if first or stage.observe_life() is Life.DEAD:
                return stage.mend(), PAUSE
        except (RefusedError, OSError) as error:
            later = min(2 * pause, LONGEST_PAUSE)
            LOG.warning("not mended volume=%s again_in=%.0f reason=%r", stage.handle, later, str(error))
            return True, later
        return True, PAUSE

    def _forget(self, stage: Stage) -> bool:
        """Stop looking, unless the volume was taken into use this very moment."""
        with self._lock:
            if stage.is_kept():
                return False
            self._watched.discard(stage.directory)
            return True
