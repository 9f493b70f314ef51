"""`paddle-operator run` as a program: this machine as a node, with a state directory of the test's own."""

import contextlib
import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from localkube import binaries
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.waiting import wait_until
from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded import ending
from paddle_operator.embedded.statedir import StateDirectory
from support import juicefs

PROGRAM = "from paddle_operator.cli.main import main; main()"
SOURCE = Path(__file__).parents[2] / "src"
PATIENCE = 90
AWHILE = 0.5
# Containers find the programs of the tests where the tests' image has them.
TESTBOX = f"--mount={Path(__file__).parents[1] / 'cluster/testbox'}=/opt/testbox"


@dataclass(frozen=True)
class Told:
    """What a run ended with, and what it said."""

    code: int
    output: str
    errors: str

    @property
    def items(self) -> dict[str, Manifest]:
        """Give the objects of a run that was asked for JSON, by kind and name."""
        found = json.loads(self.output)["items"]
        return {f"{item['kind']}/{item['metadata']['name']}": item for item in found}


@dataclass(frozen=True)
class OneMachine:
    root: Path

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def environment(self) -> dict[str, str]:
        """Have containers find Python itself, not a machine's wrapper that adds variables of its own."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        own = {"PATH": path, "PYTHONPATH": str(SOURCE), "PADDLE_OPERATOR_STATE": str(self.state), "TERM": "xterm"}
        return {**os.environ, **own}

    def file(self, name: str, *manifests: Manifest) -> Path:
        file = self.root / f"{name}.yaml"
        file.write_text(yaml.safe_dump_all(manifests))
        return file

    def begin(self, *words: str | Path, errors: int = subprocess.PIPE) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *map(str, words)],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )

    def call(self, *words: str | Path) -> Told:
        """Run the command to its end, which must come."""
        begun = self.begin(*words)
        try:
            output, errors = begun.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            begun.kill()
            output, errors = begun.communicate()
            raise AssertionError(f"it did not end: {errors}{self.own_log}") from None
        return Told(begun.returncode, output, errors)

    def says(self, words: str, *argv: str | Path) -> bool:
        """Tell whether a command says this at some time; then it is ended."""
        begun = self.begin(*argv)
        late = threading.Timer(PATIENCE, begun.kill)
        late.start()
        try:
            return any(words in line for line in begun.stderr or ())
        finally:
            late.cancel()
            begun.send_signal(signal.SIGTERM)
            begun.communicate(timeout=20)

    def watch(self, *words: str | Path) -> Told:
        """Run the command at a terminal; its errors are all that was ever drawn there."""
        screen, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 160))
        begun = self.begin(*words, errors=theirs)
        os.close(theirs)
        late = threading.Timer(PATIENCE, begun.kill)
        late.start()
        drawn = b"".join(_read(screen))
        late.cancel()
        os.close(screen)
        output, _ = begun.communicate(timeout=PATIENCE)
        return Told(begun.returncode, output, drawn.decode(errors="replace"))

    def run(self, *manifests: Manifest, options: Sequence[str | Path] = ()) -> Told:
        return self.call("run", self.file("manifests", *manifests), "-o", "json", *self.options, *options)

    @property
    def options(self) -> tuple[str, ...]:
        return (f"--juicefs={juicefs.PROGRAM}",)

    @property
    def own_log(self) -> str:
        log = self.state / "operator.log"
        return log.read_text() if log.exists() else ""

    def log(self, pod: str, container: str = "main", namespace: str = "default") -> str:
        """Give what a container of a pod printed, in all its runs and under all its uids."""
        found = sorted((self.state / "logs" / namespace / pod).glob(f"*/{container}/*.log"))
        return "".join(file.read_text() for file in found)

    def processes(self) -> list[str]:
        """Name the processes that have to do with this directory."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_text(errors="replace").replace("\0", " ")
            except OSError:
                continue
            if str(self.root) in words:
                found.append(words)
        return found

    def mounts(self) -> list[str]:
        """Name the mounts that any process of this machine has of this directory, or of JuiceFS below it."""
        found = []
        for table in Path("/proc").glob("[0-9]*/mountinfo"):
            try:
                lines = table.read_text(errors="replace").splitlines()
            except OSError:
                continue
            found += [line for line in lines if str(self.root) in line]
        return found


def _read(screen: int) -> Iterator[bytes]:
    """Read until nobody has the terminal any more, which the kernel calls an error."""
    with contextlib.suppress(OSError):
        while drawn := os.read(screen, 1 << 16):
            yield drawn


def sample_set(source: Path) -> Manifest:
    """Give a data set of the files in a directory of this machine."""
    return {
        "apiVersion": "batch.paddlepaddle.org/v1alpha1",
        "kind": "SampleSet",
        "metadata": {"name": "numbers"},
        "spec": {"partitions": 1, "source": {"uri": f"file://{source}"}, "secretRef": {"name": "numbers"}},
    }


def address_outside() -> str:
    """Give an address of this machine by which others know it."""
    asked = ["ip", "-4", "-oneline", "address", "show", "scope", "global"]
    listed = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    if (found := re.search(r"inet ([0-9.]+)", listed)) is None:
        pytest.skip("THIS MACHINE HAS NO NETWORK")
    return found[1]


@contextlib.contextmanager
def serving(machine: OneMachine, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Have a run that stays, for as long as the `with`."""
    begun = machine.begin("run", "--stay", *machine.options, *options)
    try:
        wait_until((machine.state / "kubeconfig").exists, 90, "it does not serve", 0.05)
        yield begun
    finally:
        begun.send_signal(signal.SIGTERM)
        begun.communicate(timeout=20)


@contextlib.contextmanager
def at_service(root: Path, *options: str) -> Iterator[OneMachine]:
    """Have a machine that serves several tests, and at last nothing of it."""
    juicefs.require()
    machine = OneMachine(root)
    try:
        with serving(machine, *options):
            yield machine
    finally:
        sys.stdout.write(f"--- the run's own log\n{machine.own_log}\n")
        ending.remove(StateDirectory(machine.state))


def kubectl(machine: OneMachine, namespace: str = "default") -> Kubectl:
    """Give the kubectl that the local cluster has, for a run that serves; wait for it while it is being built."""
    home = Home.from_environment()
    program = binaries.place(home) / "kubectl"
    while not program.exists() and binaries.are_awaited(home):
        time.sleep(AWHILE)
    if not program.exists():
        reason = "NO KUBECTL HERE: localkube prepare builds it"
        if os.environ.get("LOCALKUBE_REQUIRED") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return Kubectl(program, machine.state / "kubeconfig", namespace)
