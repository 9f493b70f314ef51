"""All clusters of this machine: asks for one, finds one, removes one."""

import hashlib
import ipaddress
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from localkube import addresses, binaries, errors, lock, packages, preflight, sizes, spec
from localkube.cluster import Cluster, sweep, take_down
from localkube.images import archive
from localkube.init import network
from localkube.init.control import Control
from localkube.paths import ClusterPaths, Home
from localkube.progress import Progress
from localkube.spec import ClusterSpec

SMALLEST_DISK = 2 << 30
# Of the machine, not of a home: clusters of all homes share its addresses.
NETWORKS = Path("/run/localkube.lock")


@dataclass(frozen=True)
class Request:
    """What `up` is asked for."""

    name: str
    nodes: int = 3
    disk: str = "20G"
    feature_gates: str = ""
    runtime_config: str = ""


def revision() -> str:
    """Change with every line of localkube, so that a cluster made by other code is known as such."""
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for file in sorted(package.rglob("*.py")):
        digest.update(str(file.relative_to(package)).encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def prepare(home: Home, progress: Progress) -> Path:
    """Have everything that a cluster is made of on this machine, and return where its binaries are; start nothing."""
    preflight.check(home, needs_memory=False)
    return _provide(home, progress)


def _provide(home: Home, progress: Progress) -> Path:
    packages.ensure(progress)
    return binaries.ensure(home, progress)


def find(home: Home, name: str) -> Cluster:
    paths = home.cluster(name)
    known = spec.load(paths.spec)
    if known is None:
        others = ", ".join(other.name for other in home.clusters())
        raise errors.NotRunningError(
            f"there is no cluster {name}; {f'there are: {others}' if others else 'none is up'}"
        )
    return Cluster(known, paths, packages.cni_directory())


def up(home: Home, request: Request, progress: Progress, *, replace_other: bool = False) -> Cluster:
    """Bring the cluster up, or finish what an earlier call began; `replace_other` rebuilds one that is not as asked."""
    paths = home.cluster(request.name)
    _refuse_impossible(request)
    _refuse_foreign(paths)
    if not replace_other:
        _refuse_strange(paths)
    # One that runs has what it needs already.
    runs = _runs(paths)
    preflight.check(home, needs_disk=not runs, needs_memory=not runs, new_nodes=0 if runs else request.nodes)
    programs = _provide(home, progress)
    with _alone(paths, progress) as descriptor:
        known = spec.load(paths.spec)
        if replace_other and paths.root.exists() and not _reusable(known, request, paths, programs):
            progress.say(
                f"Cluster {request.name} is from another version, was asked for otherwise, is ill, or was left by a "
                "test run that was killed: making it anew."
            )
            take_down(paths)
            known = None
        if known is None:
            wanted = _begin(home, request, programs, progress)
        else:
            wanted = _continued(known, request)
            _keep_network(wanted, paths, progress)
        wanted.save(paths.spec)
        cluster = Cluster(wanted, paths, packages.cni_directory())
        cluster.up(progress, descriptor)
        pause = archive.pause_archive(home, programs)
        cluster.load(pause, progress)
    return cluster


def _refuse_impossible(request: Request) -> None:
    """Say at once what could not be, before minutes are spent on binaries."""
    spec.nodes_of(str(addresses.CANDIDATES[0]), request.nodes)
    if sizes.parse(request.disk) < SMALLEST_DISK:
        raise errors.LocalkubeError(f"a node's disk of {request.disk} is too small: images need at least 2G")


def _refuse_foreign(paths: ClusterPaths) -> None:
    """Leave alone what is no cluster: somebody may have named a home in which other things are."""
    if paths.is_foreign:
        raise errors.LocalkubeError(
            f"{paths.root} is not of localkube: choose another --name, or another directory in LOCALKUBE_HOME"
        )


def _refuse_strange(paths: ClusterPaths) -> None:
    """Leave a cluster alone that we do not understand: it may run, and its network is not known."""
    if paths.spec.exists() and spec.load(paths.spec) is None:
        raise errors.LocalkubeError(
            f"cluster {paths.name} is from another version of localkube, or its {paths.spec.name} is damaged: "
            f"`localkube down --name {paths.name}` removes it, `up --replace` makes it anew"
        )


def _reusable(known: ClusterSpec | None, request: Request, paths: ClusterPaths, programs: Path) -> bool:
    """Tell whether it is what a new one would be; another checkout's binaries may be gone while it still runs."""
    return (
        known is not None
        and known.revision == revision()
        and known.binaries == str(programs)
        and not _differences(known, request)
        and len(known.nodes) == request.nodes
        and not paths.dirty.exists()
        and Cluster(known, paths, packages.cni_directory()).healthy()
    )


def _differences(known: ClusterSpec, request: Request) -> list[str]:
    names = ("disk", "feature_gates", "runtime_config")
    differing = [name for name in names if getattr(known, name) != getattr(request, name)]
    return differing + (["nodes"] if len(known.nodes) > request.nodes else [])


def _continued(known: ClusterSpec, request: Request) -> ClusterSpec:
    """Let a cluster grow; anything else would need a new one, which only a person decides."""
    if differing := _differences(known, request):
        raise errors.LocalkubeError(
            f"cluster {request.name} exists with other settings ({', '.join(differing)}): "
            f"`localkube down --name {request.name}` removes it, `up --replace` makes it anew"
        )
    return replace(known, nodes=spec.nodes_of(known.block, request.nodes))


def _keep_network(known: ClusterSpec, paths: ClusterPaths, progress: Progress) -> None:
    """Claim it again after a reboot, which forgets claims, unless somebody took it meanwhile."""
    if _runs(paths):
        return
    with _choosing(progress):
        if known.block in network.claims(known.ident):
            return
        if not addresses.is_free(ipaddress.IPv4Network(known.block), addresses.networks_in_use()):
            raise errors.LocalkubeError(
                f"something else uses the network {known.block} of cluster {known.name} now: "
                f"`localkube down --name {known.name}` removes it, `up --replace` makes it anew in another"
            )
        network.claim(known.block, known.ident)


def _begin(home: Home, request: Request, programs: Path, progress: Progress) -> ClusterSpec:
    """Decide everything about a new cluster and write it down, before the first thing is made."""
    paths = home.cluster(request.name)
    sweep(paths)
    with _choosing(progress):
        others = (spec.block_of(other.spec) for other in home.clusters())
        blocks = [ipaddress.IPv4Network(other) for other in others if other is not None]
        block = addresses.free_block([*addresses.networks_in_use(), *blocks])
        wanted = ClusterSpec(
            name=request.name,
            ident=spec.ident_of(paths.root),
            block=block,
            disk=request.disk,
            binaries=str(programs),
            revision=revision(),
            feature_gates=request.feature_gates,
            runtime_config=request.runtime_config,
            nodes=spec.nodes_of(block, request.nodes),
        )
        paths.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        wanted.save(paths.spec)
        network.claim(block, wanted.ident)
    return wanted


def _runs(paths: ClusterPaths) -> bool:
    return Control(paths.socket, f"cluster {paths.name}").alive()


def _choosing(progress: Progress) -> AbstractContextManager[int]:
    return lock.exclusive(NETWORKS, "Another cluster is choosing its network; waiting for it.", progress.say)


def _alone(paths: ClusterPaths, progress: Progress) -> AbstractContextManager[int]:
    waiting = f"Another localkube is working on {paths.name}; waiting for it to finish."
    return lock.exclusive(paths.lock, waiting, progress.say)


def down(home: Home, name: str, progress: Progress) -> bool:
    """Remove the cluster and all that is left of one; return whether there was anything."""
    paths = home.cluster(name)
    _refuse_foreign(paths)
    existed = paths.root.exists() or paths.removed.exists()
    with _alone(paths, progress), progress.step(f"cluster {name} down"):
        take_down(paths)
    return existed
