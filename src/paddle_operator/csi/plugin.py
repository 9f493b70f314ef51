"""The plugin as a whole: made ready, served, and stopped; what it mounted goes on without it."""

import fcntl
import logging
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from paddle_operator.csi import launch, mounts, registration, syscalls, wire
from paddle_operator.csi.clients import Clients
from paddle_operator.csi.namespaces import PROC, Namespace, Questions
from paddle_operator.csi.node import NodePlugin
from paddle_operator.csi.places import Places
from paddle_operator.csi.records import Records
from paddle_operator.csi.recovery import Recovery
from paddle_operator.csi.stages import Ground
from paddle_operator.csi.targets import Targets
from paddle_operator.csi.watch import Watch
from paddle_operator.engines.juicefs.flags import VERSION, Version, parse_version

LOG = logging.getLogger(__name__)
ANSWERS_WITHIN = 5.0
GRACE = 10.0
RESOLVER = Path("/etc/resolv.conf")
NODES_FIRST_PROCESS = 1


@dataclass(frozen=True)
class Settings:
    """`process` is one of the node's own, by which its namespaces are found."""

    node_name: str
    program: Path
    places: Places = field(default_factory=Places)
    process: int = NODES_FIRST_PROCESS
    injects: bool = True


def serve(settings: Settings, stop: threading.Event) -> None:
    """Answer the kubelet until told to stop; it is told where to ask last, and that we are gone first."""
    places = settings.places
    with only_one(places.lock):
        ground = prepared(settings)
        watch = Watch(ground)
        watch.resume()
        volumes = wire.serve(places.socket, NodePlugin(settings.node_name, watch).services())
        kubelet = wire.serve(places.registration, registration.services(places))
        LOG.info("serving node=%s socket=%s", settings.node_name, places.socket)
        stop.wait()
        kubelet.stop(0)
        places.registration.unlink(missing_ok=True)
        watch.stop()
        volumes.stop(GRACE)
        places.socket.unlink(missing_ok=True)
        if not ground.records.all():
            remove(ground)
        LOG.info("stopped node=%s", settings.node_name)


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Wait for a plugin that is still stopping: two would undo each other's mounts."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def prepared(settings: Settings) -> Ground:
    syscalls.check_kernel()
    node, places = Namespace(settings.process), settings.places
    version = install(settings.program, places.program)
    mounts.prepare_state(node, places.state)
    servers = RESOLVER.read_bytes() if RESOLVER.exists() else b""
    node.run(lambda: places.resolver.write_bytes(servers))
    targets, questions = Targets(node, places), Questions(node, ANSWERS_WITHIN)
    return Ground(
        node,
        places,
        Clients(node, places, version),
        Records(node, places),
        targets,
        questions,
        Recovery(node, targets, questions, settings.injects),
    )


def install(program: Path, place: Path) -> Version:
    """Put JuiceFS where the node can run it; clients that run keep the file that they were started from."""
    said = subprocess.run([program, *VERSION[1:]], capture_output=True, text=True, check=True, timeout=GRACE)
    version = parse_version(said.stdout)
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_suffix(".new")
    shutil.copyfile(program, beside)
    beside.chmod(0o755)
    beside.replace(place)
    LOG.info("installed juicefs version=%s place=%s", version, place)
    return version


def remove(ground: Ground) -> None:
    """Leave nothing on a node that has no volume of ours: this may be the end."""
    mounts.detach(ground.node, ground.places.state)
    table = (PROC / str(ground.node.process) / "mounts").read_text()
    left = [ground.places.state, *launch.groups(table)]

    def clear() -> None:
        shutil.rmtree(ground.places.plugin, ignore_errors=True)
        for directory in left:
            with suppress(OSError):
                directory.rmdir()

    ground.node.run(clear)
    LOG.info("removed plugin=%s state=%s", ground.places.plugin, ground.places.state)
