"""A pod from its place in the network to its end: volumes, init containers, containers, and what is told of them."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from paddle_operator.api.manifest import Manifest, key_of, uid_of
from paddle_operator.embedded.node import environment, hosts, podstatus, volumes
from paddle_operator.embedded.node.commands import Inside
from paddle_operator.embedded.node.containerlife import ContainerLife
from paddle_operator.embedded.node.environment import Whereabouts
from paddle_operator.embedded.node.launch import Spec
from paddle_operator.embedded.node.machine import NAME, Machine
from paddle_operator.embedded.node.network import NetworkError, Place
from paddle_operator.embedded.node.plugin import MountError
from paddle_operator.embedded.node.podstatus import ContainerState
from paddle_operator.embedded.node.rootfs import Mount
from paddle_operator.embedded.node.sidecars import Sidecars
from paddle_operator.embedded.node.sources import ConfigurationError, observe_sources
from paddle_operator.embedded.node.volumes import Source
from paddle_operator.kube import errors
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.events import Event, EventType
from paddle_operator.kube.request import PODS, Preconditions, delete

log = logging.getLogger(__name__)
DEFAULT_GRACE = 30
AGAIN = Backoff(first=0.5, longest=15.0)


@dataclass
class PodLife:
    machine: Machine
    pod: Manifest
    _place: Place | None = None
    _volumes: dict[str, Source] = field(default_factory=dict)
    _first: list[ContainerLife] = field(default_factory=list)
    _main: list[ContainerLife] = field(default_factory=list)
    _began: datetime = field(default_factory=lambda: datetime.now(UTC))
    _status: Manifest = field(default_factory=dict)
    _ending: asyncio.Event = field(default_factory=asyncio.Event)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)
    _work: asyncio.Task[None] | None = None

    @property
    def where(self) -> Whereabouts:
        address = self._place.address if self._place else ""
        return Whereabouts(NAME, self.machine.network.gateway, address)

    @property
    def hostname(self) -> str:
        return str(self.pod["spec"].get("hostname") or key_of(self.pod).name)

    @property
    def _grace(self) -> float:
        grace = self.pod["metadata"].get("deletionGracePeriodSeconds")
        return float(self.pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE) if grace is None else grace)

    @property
    def policy(self) -> str:
        return str(self.pod["spec"].get("restartPolicy") or "Always")

    def inside(self, container: str) -> Inside | None:
        """Give the way into a container, while it runs."""
        lives = [life for life in (*self._main, *self._first) if life.state.name == container]
        return lives[0].inside if lives else None

    async def live(self) -> None:
        """Run the pod to its end, also when it is deleted meanwhile; nothing of it is left then."""
        self._work = asyncio.create_task(self._run())
        ended = asyncio.create_task(self._ending.wait())
        try:
            await asyncio.wait([self._work, ended], return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await self._stop()
            await self._work_over()
            await self._clear()
            await self._write()
            if not ended.done():
                await ended  # a pod that has ended stays until somebody deletes it
        finally:
            ended.cancel()
            self._work.cancel()
        await self._gone()

    def end(self, pod: Manifest) -> None:
        """Note that somebody deleted it."""
        self.pod = pod
        self._ending.set()

    async def _work_over(self) -> None:
        if self._work is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await self._work

    async def _run(self) -> None:
        spec = self.pod["spec"]
        once = "OnFailure" if self.policy == "Always" else self.policy
        self._first = [self._life(container, once) for container in spec.get("initContainers") or []]
        for life in self._first:
            life.is_first = not life.state.sidecar
        self._main = [self._life(container, self.policy) for container in spec["containers"]]
        if not await self._prepare():
            return
        sidecars = Sidecars(self._ending, lambda: self._grace)
        async with sidecars.kept():
            for container in self._first:
                container.address = self.where.address
                if not (await sidecars.begin(container) if container.state.sidecar else await container.run() == 0):
                    return
            self._tell_main("ContainerCreating")
            await asyncio.gather(*(container.run() for container in self._main))

    async def _prepare(self) -> bool:
        """Have a network and the volumes; what fails is told, and tried again until the pod is deleted."""
        failures = 0
        while not self._ending.is_set():
            try:
                if self._place is None:
                    self._place = self.machine.network.join()
                    self._write_names(self._place)
                    await self._write()
                sources = await observe_sources(self.machine.client, key_of(self.pod).namespace, self.pod["spec"])
                self._volumes = await self.machine.volumes.prepare(self.pod, sources, self.where)
            except (ConfigurationError, MountError, NetworkError, OSError) as error:
                failures += 1
                self.machine.recorder.record(Event(self.pod, "FailedMount", str(error), EventType.WARNING))
                log.warning("pod cannot start pod=%s: %s", key_of(self.pod), error)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(AGAIN.after(failures)):
                        await self._ending.wait()
                continue
            return True
        return False

    def _write_names(self, place: Place) -> None:
        directory = self.machine.directory(self.pod)
        for name in ("stage", "scratch"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        hosts.write_in_place(directory / "host.conf", hosts.RESOLVER)
        self.machine.hosts.add(uid_of(self.pod), directory / "hosts", self.pod, place.address)

    def _life(self, container: Manifest, policy: str) -> ContainerLife:
        sidecar = container.get("restartPolicy") == "Always"
        image = str(container.get("image") or "")
        reason = "PodInitializing" if self.pod["spec"].get("initContainers") else "ContainerCreating"
        return ContainerLife(
            container=container,
            address=self.where.address,
            policy="Always" if sidecar else policy,
            specify=partial(self._specify, container),
            log=partial(self._log, container),
            changed=self._write,
            state=ContainerState(container["name"], image, podstatus.waiting(reason), sidecar=sidecar),
            grace=float(self.pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE)),
        )

    def _log(self, container: Manifest, run: int) -> Path:
        return self.machine.log(self.pod, container["name"], run)

    async def _specify(self, container: Manifest) -> Spec:
        sources = await observe_sources(self.machine.client, key_of(self.pod).namespace, self.pod["spec"])
        given = environment.variables(self.pod, container, sources, self.where)
        known = self.machine.programs.variables(str(container.get("image") or ""), self.hostname)
        directory = self.machine.directory(self.pod)
        if self._place is None:
            raise ConfigurationError("the pod has no network")
        return Spec(
            argv=environment.command_line(container, given),
            environment={**known, **given},
            directory=container.get("workingDir") or "/",
            hostname=self.hostname,
            stage=str(directory / "stage"),
            scratch=str(directory / "scratch"),
            mounts=(
                Mount(str(directory / "hosts"), "/etc/hosts"),
                Mount(str(directory / "host.conf"), "/etc/host.conf"),
                *self.machine.programs.mounts,
                *volumes.mounts(container, self._volumes),
            ),
            network=self._place.descriptor,
            outside=str(self.machine.outside),
            report=-1,
        )

    def _tell_main(self, reason: str) -> None:
        for container in self._main:
            container.address = self.where.address
            container.state.state = podstatus.waiting(reason)

    async def _stop(self) -> None:
        running = [life for life in (*self._first, *self._main) if not life.state.sidecar]
        await asyncio.gather(*(container.stop(self._grace) for container in running))

    async def _clear(self) -> None:
        """Give back all that the pod had; a volume that cannot be given back now is tried again."""
        self.machine.hosts.remove(uid_of(self.pod))
        failures = 0
        while True:
            try:
                await self.machine.volumes.release(self.pod)
            except (MountError, OSError) as error:
                failures += 1
                log.warning("volume not released pod=%s: %s", key_of(self.pod), error)
                await asyncio.sleep(AGAIN.after(failures))
                continue
            break
        self._volumes = {}
        if self._place is not None:
            self._place.close()
            self._place = Place(self._place.address, -1)

    async def _write(self) -> None:
        """Tell how the pod stands, if that has changed."""
        async with self._writing:
            status = self._made()
            if status == self._status:
                return
            try:
                change = {"metadata": {"uid": uid_of(self.pod)}, "status": status}
                await self.machine.client.patch(PODS, key_of(self.pod), change, subresource="status")
            except (errors.NotFoundError, errors.ConflictError, errors.InvalidError):
                self._ending.set()  # it is gone, or another one has its name
            self._status = status

    def _made(self) -> Manifest:
        first, main = _states(self._first), _states(self._main)
        phase = podstatus.phase(self.policy, first, main)
        now = datetime.now(UTC)
        conditions = podstatus.conditions(self._status.get("conditions") or [], podstatus.held(phase, first, main), now)
        made: Manifest = {
            "phase": phase,
            "conditions": conditions,
            "hostIP": self.where.host_address,
            "startTime": podstatus.time_text(self._began),
            "containerStatuses": [state.written() for state in main],
            "qosClass": "BestEffort",
        }
        if first:
            made["initContainerStatuses"] = [state.written() for state in first]
        if self._place is not None:
            made |= {"podIP": self._place.address, "podIPs": [{"ip": self._place.address}]}
        return made

    async def _gone(self) -> None:
        """Let the API server forget the pod, now that nothing of it runs."""
        asked = delete(PODS, key_of(self.pod), Preconditions(uid_of(self.pod)), grace_seconds=0)
        with contextlib.suppress(errors.NotFoundError, errors.ConflictError):
            await self.machine.client.send(asked)


def _states(lives: Sequence[ContainerLife]) -> list[ContainerState]:
    return [life.state for life in lives]
