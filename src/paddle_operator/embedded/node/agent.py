"""The node's agent: pods that are to run here run, names lead to them, and one that is deleted ends."""

import asyncio
from asyncio.subprocess import Process
from dataclasses import dataclass, field

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.control.controller import Controller, Trigger, World
from paddle_operator.control.outcome import Done, Outcome
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.embedded.apiserver.channels import Asked
from paddle_operator.embedded.node import commands, hosts
from paddle_operator.embedded.node.machine import NAME, Machine
from paddle_operator.embedded.node.podlife import PodLife
from paddle_operator.kube.request import PODS, Kind

SERVICES = Kind("", "v1", "services", "Service")
ENDED = ("Succeeded", "Failed")
PAUSE = 0.1
EVERYWHERE = Key("", "all")


@dataclass
class Agent:
    """Each pod is a task of its own; what it does is told to the API server, and to nobody else."""

    machine: Machine
    _lives: dict[Key, tuple[PodLife, asyncio.Task[None]]] = field(default_factory=dict)

    def controllers(self) -> tuple[Controller, ...]:
        pods = Controller("pods", (Trigger(PODS),), self._reconcile, workers=4)
        everyone = lambda _: (EVERYWHERE,)  # noqa: E731 one key for all
        names = Controller("names", (Trigger(PODS, everyone), Trigger(SERVICES, everyone)), self._name, workers=1)
        return pods, names

    async def _reconcile(self, world: World, key: Key) -> Outcome:
        pod = world.stores[PODS].get(key)
        known = self._lives.get(key)
        if known is not None and known[1].done():
            del self._lives[key]
            known[1].result()
            known = None
        if known is not None:
            return self._look_after(known[0], pod)
        if pod is not None and pod["spec"].get("nodeName") == NAME and not _is_over(pod):
            life = PodLife(self.machine, pod)
            task = asyncio.create_task(life.live(), name=f"pod {key}")
            self._lives[key] = (life, task)
        return Done()

    def _look_after(self, life: PodLife, pod: Manifest | None) -> Outcome:
        """End a pod that was deleted; another one of its name waits until it is gone."""
        if pod is None or uid_of(pod) != uid_of(life.pod):
            life.end(_at_once(life.pod))
            return Done(look_again=None if pod is None else PAUSE)
        if "deletionTimestamp" in pod["metadata"]:
            life.end(pod)
        return Done()

    async def _name(self, world: World, _: Key) -> Outcome:
        self.machine.hosts.update(hosts.names(world.stores[SERVICES], world.stores[PODS]))
        return Done()

    async def execute(self, pod: Manifest, asked: Asked) -> Process:
        """Begin a command in a container, as `kubectl exec` asks for it."""
        name = asked.container or pod["spec"]["containers"][0]["name"]
        known, phase = self._lives.get(key_of(pod)), (pod.get("status") or {}).get("phase")
        if phase in ENDED:
            raise refusals.bad_request(f"cannot exec into a container in a completed pod; current phase is {phase}")
        inside = known[0].inside(name) if known is not None and uid_of(known[0].pod) == uid_of(pod) else None
        if inside is None:
            raise refusals.bad_request(f'container not found ("{name}")')
        return await commands.begin(inside, asked.argv, heard=True, stdin=asked.stdin)

    async def stop(self, grace: int) -> None:
        """End all pods, as when a machine is shut down; who takes longer is ended with the box that all are in."""
        for life, _ in self._lives.values():
            life.end(_at_once(life.pod, grace))
        tasks = [task for _, task in self._lives.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=grace + 0.5)


def _at_once(pod: Manifest, grace: int = 0) -> Manifest:
    return {**pod, "metadata": {**pod["metadata"], "deletionGracePeriodSeconds": grace}}


def _is_over(pod: Manifest) -> bool:
    return (pod.get("status") or {}).get("phase") in ENDED
