"""A runtime server that is a program of its own on a real JuiceFS, in the place of one that only pretends."""

import asyncio
import json
from collections.abc import Callable

from paddle_operator.api.manifest import Manifest
from paddle_operator.engines.operations import OperationState
from support.cachecluster import MakeServer
from support.enginebox import Box, Volume
from support.fakeruntime import FakeRuntime, Spool
from support.runtimeprogram import RuntimeProgram


class RealRuntime(FakeRuntime):
    """What it did is in its own spool; the endings that a test asks for are not its business."""

    def __init__(self, volume: Volume, name: str, token: Callable[[], str], endings: dict[str, OperationState]) -> None:
        super().__init__(Spool(), token, endings)
        self.program = RuntimeProgram(volume.box, volume, name=name, token=token())
        self.port = self.program.port

    async def start(self) -> None:
        await asyncio.to_thread(self.program.start)

    async def stop(self) -> None:
        await asyncio.to_thread(self.program.kill)

    async def crash(self) -> None:
        """Kill it, and start it again as a kubelet does."""
        await self.stop()
        await self.start()

    def done(self) -> list[Manifest]:
        """Give all operations that it was ever given."""
        found: list[Manifest] = json.loads(self.program.ask("GET", "/v1/operations").text)
        return found


def servers_of(box: Box, volume: Volume) -> MakeServer:
    """Make servers that share a volume and its cache, and nothing else."""
    assert volume.box is box
    made: list[RealRuntime] = []

    def make(_: Spool, token: Callable[[], str], endings: dict[str, OperationState]) -> RealRuntime:
        made.append(RealRuntime(volume, f"server-{len(made)}", token, endings))
        return made[-1]

    return make
