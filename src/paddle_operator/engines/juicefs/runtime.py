"""JuiceFS in a runtime server: sync, warmup, rmr and clear on what is mounted, and how it stands."""

import dataclasses
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from paddle_operator.engines.juicefs import cachefiles, counters, flags, identity, places, removal, selection, syncing
from paddle_operator.engines.juicefs.fetching import Place
from paddle_operator.engines.juicefs.study import study
from paddle_operator.engines.juicefs.warmup import warm_up
from paddle_operator.engines.operations import ClearOrder, Order, Result, RmrOrder, SyncOrder, WarmupOrder
from paddle_operator.engines.reports import Cache, Report
from paddle_operator.engines.runtime import OperationError, OrderError, Told

ENGINE = "juicefs"
MOUNTS = Path("/proc/self/mountinfo")


@dataclass
class JuiceFS:
    """A mounted volume with its cache directories on this node, and the directories that a sync may read."""

    place: Place
    version: flags.Version
    sources: tuple[Path, ...] = ()
    _inventory: cachefiles.Inventory = field(default_factory=cachefiles.Inventory)

    def check(self, order: Order) -> None:
        try:
            match order:
                case SyncOrder():
                    syncing.invocation(self.version, order, self.place.mount, self.sources)
                case WarmupOrder():
                    selection.check(order)
                case RmrOrder():
                    removal.parse_paths(order)
                case ClearOrder():
                    removal.meant_caches(order, self.place.caches)
        except (flags.FlagError, places.PlaceError) as error:
            raise OrderError(str(error)) from error

    async def run(self, order: Order, told: Told) -> tuple[Result, str]:
        shutil.rmtree(self.place.scratch, ignore_errors=True)
        self.place.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            self.check(order)
            return await self._run(order, told)
        except (OrderError, places.PlaceError, identity.IdentityError) as error:
            raise OperationError(str(error)) from error
        except OSError as error:
            raise OperationError(f"the data set or its cache cannot be reached: {error.strerror}") from error
        finally:
            shutil.rmtree(self.place.scratch, ignore_errors=True)

    async def _run(self, order: Order, told: Told) -> tuple[Result, str]:
        if not isinstance(order, ClearOrder) and not self._is_mounted():
            raise OperationError(f"{self.place.mount} is no JuiceFS mount")
        match order:
            case SyncOrder():
                command_line = syncing.invocation(self.version, order, self.place.mount, self.sources)
                return await syncing.sync(command_line, order, self.place.mount, told), ""
            case WarmupOrder():
                # A thread of an earlier run that was cancelled may still write to that run's directory.
                scratch = Path(tempfile.mkdtemp(dir=self.place.scratch))
                return await warm_up(dataclasses.replace(self.place, scratch=scratch), order, told)
            case RmrOrder():
                return await removal.rmr(order, self.place.mount, told)
            case ClearOrder():
                return await removal.clear(order, self.place, told), ""

    async def tend(self) -> None:
        await study(self.place.ledgers, self.place.caches)

    def _is_mounted(self) -> bool:
        return counters.is_mounted(self.place.mount, MOUNTS.read_text(errors="surrogateescape"))

    def observe(self) -> Report:
        held = self._inventory.count(tuple(cachefiles.raw_trees(self.place.caches)))
        capacity, free = cachefiles.disks(self.place.caches)
        identity = cachefiles.identity(self.place.caches)
        cache = Cache(used=held.bytes, blocks=held.blocks, capacity=capacity, free=free, identity=identity)
        report = Report(engine=ENGINE, version=str(self.version), cache=cache)
        if not self._is_mounted():
            return replace(report, message=f"{self.place.mount} is no JuiceFS mount")
        try:
            data, counted = counters.data(self.place.mount), counters.read(self.place.mount)
        except OSError as error:
            return replace(report, message=f"{self.place.mount} does not answer: {error.strerror}")
        cache = replace(cache, hits=counted.get(counters.HITS, 0), misses=counted.get(counters.MISSES, 0))
        return replace(report, mounted=True, data=data, cache=cache)
