"""A manager as a process: started, ended, and asked what it has used."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from crews.moments import Moments

BENCH = Path(__file__).parents[1]
LOCK = BENCH / "kopf.lock"
TICKS = os.sysconf("SC_CLK_TCK")
KIB, MB = 1024, 1_000_000
PATIENCE = 20.0
# The managers on kopf: their modules, and the clients that they do without.
MANAGERS = {
    "tutorial": (("tutorial",), ("kubernetes_asyncio",)),
    "typed": (("onkopf", "typed"), ("kubernetes",)),
    "plain": (("onkopf", "plain"), ("kubernetes", "kubernetes_asyncio")),
}


@dataclass(frozen=True)
class Program:
    """How to start a manager; the namespace it looks at comes last."""

    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]


def ours(kubeconfig: Path) -> Program:
    """Use the very packages that this process uses."""
    paths = os.pathsep.join(path for path in (str(BENCH), *sys.path) if path)
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": paths}
    return Program("ours", (sys.executable, "-m", "crews.ours"), environment)


def on_kopf(kubeconfig: Path, scratch: Path) -> list[Program]:
    """Install what is locked into venvs of their own, which go with the scratch directory.

    kopf loads every client that it finds, and grows by it: each venv has only the one that its manager uses.
    """
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig), "PYTHONPATH": str(BENCH)}
    programs = []
    for name, (modules, without) in MANAGERS.items():
        venv = scratch / name
        uv("venv", "--python", sys.executable, str(venv))
        uv("pip", "install", "--compile-bytecode", "--python", str(venv), "--require-hashes", "-r", str(LOCK))
        uv("pip", "uninstall", "--python", str(venv), *without)
        words = [word for module in modules for word in ("--module", f"crews.{module}")]
        argv = (str(venv / "bin/kopf"), "run", "--standalone", *words, "--namespace")
        programs.append(Program(name, argv, environment))
    return programs


def uv(*words: str) -> None:
    """Run the uv beside this Python, where it finds its settings."""
    subprocess.run([str(Path(sys.executable).with_name("uv")), "--quiet", *words], cwd=BENCH, check=True)


class Running:
    """What it has used so far, and which crews it has looked at since it was started."""

    def __init__(self, process: asyncio.subprocess.Process, begun: float) -> None:
        self.begun = begun
        self.called: Moments[str] = Moments()
        self._process = process

    @property
    def cpu(self) -> float:
        """Give the seconds of all its threads, in the kernel too."""
        fields = self._read("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory(self) -> float:
        return self._megabytes("VmRSS")

    @property
    def peak(self) -> float:
        return self._megabytes("VmHWM")

    def _megabytes(self, name: str) -> float:
        row = next(row for row in self._read("status").splitlines() if row.startswith(f"{name}:"))
        return int(row.split()[1]) * KIB / MB

    def _read(self, name: str) -> str:
        return Path(f"/proc/{self._process.pid}/{name}").read_text()

    async def read_calls(self) -> None:
        if self._process.stdout is not None:
            async for line in self._process.stdout:
                self.called.mark(line.decode().strip())

    async def end(self) -> None:
        """Ask it to stop; one that does not is killed."""
        with contextlib.suppress(TimeoutError, ProcessLookupError):
            self._process.terminate()
            async with asyncio.timeout(PATIENCE):
                await self._process.wait()

    async def kill(self) -> None:
        """End it as a machine does that fails."""
        self._process.kill()
        await self._process.wait()


@contextlib.asynccontextmanager
async def running(program: Program, namespace: str, log: Path) -> AsyncIterator[Running]:
    begun = time.monotonic()
    with log.open("ab") as said:
        process = await asyncio.create_subprocess_exec(
            *program.argv,
            namespace,
            env=program.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
        )
    manager = Running(process, begun)
    reading = asyncio.create_task(manager.read_calls())
    try:
        yield manager
        await manager.end()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await reading
