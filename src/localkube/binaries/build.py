"""Builds binaries from the pinned Go module, and tells how far it is."""

import os
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from localkube import commands, errors, preflight
from localkube.binaries import catalog
from localkube.binaries.catalog import Binary
from localkube.progress import Progress, Update

NEEDED_SPACE = 6 * preflight.GIB
LAST_WORDS = 5
FEW = 3
_VERSION_PACKAGE = "k8s.io/component-base/version"
# Compilers end soon: to collect their garbage before it is much costs a fifth of the whole build.
_HASTE = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}


@dataclass
class Tally:
    """Which of a build's packages were compiled; those in Go's cache are not mentioned and not counted."""

    packages: frozenset[str]
    compiled: set[str] = field(default_factory=set)

    def count(self, line: str) -> bool:
        known = line in self.packages
        if known:
            self.compiled.add(line)
        return known

    def __str__(self) -> str:
        return f"{len(self.compiled)} of {len(self.packages)} packages"


@dataclass(frozen=True)
class Builder:
    """`draft` takes the binaries and Go's own temporary files; it is the caller's to remove."""

    go: Path
    draft: Path
    progress: Progress
    module: Path = catalog.MODULE

    def build(self, binaries: Sequence[Binary], take: Callable[[Sequence[Binary]], None] = lambda _: None) -> None:
        """Build them, and hand each lot to `take` when it is there."""
        self._check_space()
        self.progress.say(f"Building {names(binaries)} from source: {_expected(binaries)}, once per machine.")
        with self.progress.step("downloading Go modules") as update:
            tally = Tally(self._packages(binaries, update))
        for lot in lots(binaries):
            self._compile(lot, tally)
            take(lot)

    def _check_space(self) -> None:
        go_cache = commands.run([str(self.go), "env", "GOCACHE"], environment=self._environment()).strip()
        for place in (self.draft, Path(go_cache)):
            if preflight.free_space(place) < NEEDED_SPACE:
                needed = NEEDED_SPACE // preflight.GIB
                raise errors.LocalkubeError(
                    f"building needs {needed} GiB of free disk at {place}: make room there first"
                )

    def _packages(self, binaries: Iterable[Binary], update: Update) -> frozenset[str]:
        """Name every package of the build; Go downloads what it needs to know that."""
        listing = self.draft / "packages"
        fetched = 0

        def notice(line: str) -> bool:
            nonlocal fetched
            if line.startswith("go: downloading "):
                fetched += 1
                update(f"{fetched} so far")
                return True
            return False

        self._run(["list", "-deps", *(binary.package for binary in binaries)], listing, notice)
        packages = frozenset(listing.read_text().split())
        listing.unlink()
        return packages

    def _compile(self, binaries: Sequence[Binary], tally: Tally) -> None:
        output = f"{self.draft}/{binaries[0].name if len(binaries) == 1 else ''}"
        argv = ["build", "-v", "-trimpath", "-buildvcs=false", "-o", output, compiler_flags(), linker_flags()]
        with self.progress.step(f"compiling {_shortly(binaries)}") as update:

            def notice(line: str) -> bool:
                known = tally.count(line)
                if known:
                    update(str(tally))
                return known

            self._run([*argv, *(binary.package for binary in binaries)], Path(os.devnull), notice)

    def _run(self, arguments: Sequence[str], output: Path, notice: Callable[[str], bool]) -> None:
        """Hand every line of standard error to `notice`; what it does not know is told should Go fail."""
        unknown: list[str] = []
        with output.open("wb") as file, self._start(arguments, file) as process:
            try:
                lines = (line.rstrip() for line in process.stderr or ())
                unknown.extend(line for line in lines if line and not notice(line))
                process.wait()
            finally:
                process.kill()  # does nothing where it has ended
        if process.returncode != 0:
            words = "\n".join(unknown[-LAST_WORDS:]) or "it printed nothing"
            raise errors.LocalkubeError(f"`go {arguments[0]}` ended with {process.returncode}:\n{words}")

    def _start(self, arguments: Sequence[str], output: IO[bytes]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            commands.bound_to_parent([str(self.go.absolute()), *arguments]),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            cwd=self.module,
            env={**_HASTE, **os.environ, **self._environment()},
            text=True,
            errors="replace",
        )

    def _environment(self) -> dict[str, str]:
        """Set what decides the result; where Go downloads from and keeps its cache stays the machine's own business."""
        return {
            "CGO_ENABLED": "0",
            "GO111MODULE": "on",
            "GOARCH": catalog.architecture(),
            "GOFLAGS": "-mod=readonly",
            "GOOS": "linux",
            "GOTMPDIR": str(self.draft),
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "HOME": str(Path.home()),
        }


def lots(binaries: Sequence[Binary]) -> list[list[Binary]]:
    """Put together what shares packages, which is then loaded once.

    kubectl is first, since it is of use alone; etcd has a lot of its own, since its package is not named after it.
    """
    kubectl = [binary for binary in binaries if binary.is_kubectl]
    etcd = [binary for binary in binaries if binary.is_etcd]
    others = [binary for binary in binaries if not (binary.is_kubectl or binary.is_etcd)]
    return [lot for lot in (kubectl, others, etcd) if lot]


def names(binaries: Iterable[Binary]) -> str:
    *others, last = [binary.name for binary in binaries]
    return f"{', '.join(others)} and {last}" if others else last


def _shortly(binaries: Sequence[Binary]) -> str:
    return names(binaries) if len(binaries) <= FEW else f"{len(binaries)} programs"


def _expected(binaries: Iterable[Binary]) -> str:
    large = any(binary.package.startswith("k8s.io/") for binary in binaries)
    return f"about {5 if large else 3} minutes on 2 cores"


def compiler_flags() -> str:
    """Leave out what only debuggers read, and much of the parallel work in one package: as many compilers run at once.

    On two processors that is a sixth of the compilers' time.
    """
    return f"-gcflags=all=-dwarf=false -c={max(1, (os.cpu_count() or 1) // 2)}"


def linker_flags() -> str:
    """Without these the nodes would report v0.0.0."""
    version = catalog.kubernetes_version()
    values = {
        "gitVersion": f"v{catalog.dotted(version)}",
        "gitMajor": str(version[0]),
        "gitMinor": str(version[1]),
        "gitTreeState": "clean",
    }
    return " ".join(["-ldflags=-s -w", *(f"-X {_VERSION_PACKAGE}.{name}={value}" for name, value in values.items())])
