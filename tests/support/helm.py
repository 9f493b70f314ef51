"""Helm, from cluster/helm: built once from its pinned Go module, and used as people use it."""

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from localkube import commands, lock
from localkube.binaries import build, golang
from localkube.binaries.catalog import Binary
from localkube.kubectl import PATIENCE
from localkube.paths import Home
from localkube.progress import Progress

MODULE = Path(__file__).parents[1] / "cluster/helm"
HELM = Binary("helm", "helm.sh/helm/v3/cmd/helm")
READILY = ("--wait", f"--timeout={PATIENCE}s")


def built(home: Home, progress: Progress) -> Path:
    """Return the program, built only when there is none for these versions."""
    cache = home.cache.absolute() / "helm"
    program = cache / _key() / HELM.name
    with lock.exclusive(cache / ".lock", "somebody else builds Helm: waiting", progress.say):
        if not program.exists():
            program.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=cache) as draft:
                build.Builder(golang.ensure(home, progress), Path(draft), progress, MODULE).build([HELM])
                os.sync()
                (Path(draft) / HELM.name).rename(program)
    return program


def _key() -> str:
    read = b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
    return hashlib.sha256(read).hexdigest()[:12]


@dataclass(frozen=True)
class Helm:
    """Bound to one namespace; what it remembers between two calls is in `home`."""

    program: Path
    kubeconfig: Path
    namespace: str
    home: Path

    def run(self, *words: str) -> str:
        argv = [str(self.program), f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *words]
        homes = {f"HELM_{name}_HOME": str(self.home / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        return commands.run(argv, timeout=PATIENCE + 10, environment=homes)

    def install(self, release: str, chart: Path, *words: str) -> str:
        """Wait until all of it is ready, in a namespace that is made if there is none."""
        return self.run("install", release, str(chart), "--create-namespace", *READILY, *words)

    def upgrade(self, release: str, chart: Path, *words: str) -> str:
        return self.run("upgrade", release, str(chart), *READILY, *words)

    def uninstall(self, release: str) -> str:
        """Wait until all of it is gone, and the pods too."""
        return self.run("uninstall", release, "--cascade=foreground", *READILY)
