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
        """Mend at once, and whenever the client is dead; after a failure try again later and later."""
        pause, is_whole = 0.0, False
        while not self._stopped.wait(pause):
            try:
                self.ground.clients.shorten_log(stage.directory)
                in_use = stage.is_kept() and (self._lives(stage, is_whole=is_whole) or stage.mend())
            except (RefusedError, OSError) as error:
                pause, is_whole = min(max(2 * pause, PAUSE), LONGEST_PAUSE), False
                LOG.warning("not mended volume=%r again_in=%.0f reason=%r", stage.handle, pause, str(error))
                continue
            pause, is_whole = PAUSE, True
            if not in_use and self._forget(stage):
                return

    def _lives(self, stage: Stage, *, is_whole: bool) -> bool:
        return is_whole and stage.observe_life() is not Life.DEAD

    def _forget(self, stage: Stage) -> bool:
        """Stop looking, unless the volume was taken into use this very moment."""
        with self._lock:
            if stage.is_kept():
                return False
            self._watched.discard(stage.directory)
            return True
