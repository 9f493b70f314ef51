"""Talks to a supervisor from outside: start, stop, signal a program; ask how it goes; find its process."""

import json
import signal
import socket
import struct
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from localkube import commands, errors
from localkube.waiting import wait_until

GRACE = 5.0
QUICKLY = 0.02


@dataclass(frozen=True)
class Program:
    """What a supervisor is asked to keep running; `wait_for` is a path that must exist first."""

    name: str
    argv: list[str]
    environment: dict[str, str]
    log: str
    restart: bool = True
    wait_for: str | None = None


@dataclass(frozen=True)
class State:
    name: str
    wanted: bool
    pid: int | None = field(metadata={"why": "as the supervisor's own PID namespace counts"})
    restarts: int
    last_exit: int | None
    seconds: float


@dataclass(frozen=True)
class Control:
    """A supervisor's socket. `what` names it in errors: cluster x, node y."""

    path: Path
    what: str

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(5.0)
        try:
            connection.connect(str(self.path))
        except OSError:
            connection.close()
            raise errors.NotRunningError(f"{self.what} is not running") from None
        return connection

    def _ask(self, request: dict[str, Any]) -> list[State]:
        with self._connect() as connection, connection.makefile("rb") as answers:
            try:
                connection.sendall(json.dumps(request).encode() + b"\n")
                line = answers.readline()
            except OSError:
                line = b""
        if not line:
            raise errors.NotRunningError(f"{self.what} went away while it was asked")
        reply = json.loads(line)
        if "error" in reply:
            raise errors.LocalkubeError(f"{self.what}: {reply['error']}")
        return [State(**unit) for unit in reply["units"]]

    def status(self) -> dict[str, State]:
        return {state.name: state for state in self._ask({"do": "status"})}

    def runs(self, names: Iterable[str]) -> bool:
        states = self.status()
        return all(name in states and states[name].pid for name in names)

    def start(self, program: Program) -> None:
        self._ask({"do": "start", "unit": asdict(program)})

    def stop(self, name: str, grace: float = GRACE) -> None:
        """Ask to end, kill after the grace, and return when it has ended."""
        self._known(name)
        self._ask({"do": "stop", "name": name, "grace": grace})
        otherwise = f"{name} of {self.what} does not end"
        wait_until(lambda: self.status()[name].pid is None, grace + 5.0, otherwise, QUICKLY)

    def kill(self, name: str) -> None:
        self._known(name)
        self._ask({"do": "signal", "name": name, "signal": int(signal.SIGKILL)})

    def _known(self, name: str) -> None:
        if name not in (states := self.status()):
            raise errors.LocalkubeError(f"{self.what} has no {name}; it has {', '.join(states) or 'nothing'}")

    def shut_down(self, grace: float = GRACE) -> None:
        """Stop every program, then the supervisor itself, and return when its socket is dead."""
        self._ask({"do": "shutdown", "grace": grace})
        wait_until(lambda: not self.alive(), grace + 5.0, f"{self.what} does not shut down", QUICKLY)

    def alive(self) -> bool:
        try:
            self._connect().close()
        except errors.NotRunningError:
            return False
        return True

    def answers(self) -> bool:
        """Tell whether it serves: who listens may still be busy with its disk and network."""
        try:
            self.status()
        except errors.NotRunningError:
            return False
        return True

    def wait(self, timeout: float = 15.0) -> None:
        wait_until(self.answers, timeout, f"{self.what} did not come up", QUICKLY)

    def pid(self) -> int:
        """Ask the kernel who listens: the answer is in our own PID namespace, and never stale."""
        with self._connect() as connection:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        process, _, _ = struct.unpack("3i", credentials)
        return int(process)

    def run_inside(self, argv: list[str], *, stdin: str | bytes | None = None, timeout: float = 60.0) -> str:
        """Run one command to its end in the supervisor's mount and network namespaces."""
        enter = ["nsenter", "--target", str(self.pid()), "--mount", "--net", "--root", "--wd=/", "--"]
        return commands.run([*enter, *argv], stdin=stdin, timeout=timeout)
