"""Keeps programs running as process 1 of a PID namespace: starts, restarts, reaps, and answers on a socket."""

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESTART_DELAYS = (0.2, 0.5, 1.0, 2.0, 5.0)
SETTLED = 20.0
POLL = 0.05
LONGEST_REQUEST = 1 << 20
Reply = dict[str, Any]


@dataclass
class Unit:
    """One program: what it is asked to be, and what it is."""

    name: str
    argv: list[str]
    environment: dict[str, str]
    log: str
    restart: bool
    wait_for: str | None
    wanted: bool = True
    pid: int | None = None
    started: float = 0.0
    due: float = 0.0
    starts: int = 0
    failures: int = 0
    last_exit: int | None = None
    kill_at: float | None = None

    def same_as(self, other: "Unit") -> bool:
        return (self.argv, self.environment, self.log, self.restart, self.wait_for) == (
            other.argv, other.environment, other.log, other.restart, other.wait_for
        )  # fmt: skip


class Supervisor:
    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._units: dict[str, Unit] = {}
        self._selector = selectors.DefaultSelector()
        self._stopping = False

    def run(self) -> None:
        """Serve until asked to shut down; then every unit is stopped and the kernel ends what is left."""
        wake_read, wake_write = socket.socketpair()
        wake_read.setblocking(False)
        wake_write.setblocking(False)
        signal.set_wakeup_fd(wake_write.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._shut_down(5.0))
        self._selector.register(self._listener, selectors.EVENT_READ, self._answer)
        self._selector.register(wake_read, selectors.EVENT_READ, lambda: _drain(wake_read))
        while not (self._stopping and all(unit.pid is None for unit in self._units.values())):
            for key, _ in self._selector.select(self._pause()):
                key.data()
            self._reap()
            self._step()

    def _pause(self) -> float | None:
        """Sleep until the next thing is due; for ever when nothing is."""
        now = time.monotonic()
        moments = [unit.kill_at for unit in self._units.values() if unit.kill_at is not None]
        waiting = [unit for unit in self._units.values() if unit.wanted and unit.pid is None]
        moments += [now + POLL if unit.wait_for and unit.due <= now else unit.due for unit in waiting]
        return max(0.0, min(moments) - now) if moments else None

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for unit in self._units.values():
                if unit.pid == pid:
                    self._ended(unit, os.waitstatus_to_exitcode(status))

    def _ended(self, unit: Unit, code: int) -> None:
        now = time.monotonic()
        quick = unit.failures if now - unit.started < SETTLED else 0
        unit.pid, unit.kill_at, unit.last_exit = None, None, code
        unit.wanted = unit.wanted and unit.restart
        unit.due = now + RESTART_DELAYS[min(quick, len(RESTART_DELAYS) - 1)]
        unit.failures = quick + 1
        say(f"{unit.name} ended with {code}")

    def _step(self) -> None:
        now = time.monotonic()
        for unit in self._units.values():
            if unit.kill_at is not None and unit.kill_at <= now and unit.pid is not None:
                unit.kill_at = None
                os.kill(unit.pid, signal.SIGKILL)
            elif unit.wanted and unit.pid is None and unit.due <= now and not self._stopping:
                self._start(unit)

    def _start(self, unit: Unit) -> None:
        if unit.wait_for and not Path(unit.wait_for).exists():
            return
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        try:
            unit.pid = os.posix_spawn(
                unit.argv[0],
                unit.argv,
                unit.environment,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, unit.log, append, 0o640),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,
                setsigdef=[signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT],
            )
        except OSError as error:
            say(f"{unit.name} cannot start: {error}")
            self._ended(unit, 127)
            return
        unit.started = time.monotonic()
        unit.starts += 1
        say(f"{unit.name} started as {unit.pid}")

    def _answer(self) -> None:
        connection, _ = self._listener.accept()
        with connection:
            connection.settimeout(2.0)
            try:
                line = _receive_line(connection)
                if not line:
                    return  # somebody looked whether we are here
                reply = self._do(json.loads(line))
            except (OSError, ValueError, KeyError, TypeError) as error:
                reply = {"error": f"{type(error).__name__}: {error}"}
            try:
                connection.sendall(json.dumps(reply).encode() + b"\n")
            except OSError:
                say("a client left before its answer")

    def _do(self, request: dict[str, Any]) -> Reply:
        match request["do"]:
            case "start":
                self._apply(Unit(**request["unit"]))
            case "stop":
                self._stop(self._units[request["name"]], request["grace"])
            case "signal":
                unit = self._units[request["name"]]
                if unit.pid is None:
                    return {"error": f"{unit.name} is not running"}
                os.kill(unit.pid, request["signal"])
            case "shutdown":
                self._shut_down(request["grace"])
            case "status":
                pass
            case other:
                return {"error": f"no such request: {other}"}
        return {"units": [_described(unit) for unit in self._units.values()]}

    def _apply(self, unit: Unit) -> None:
        known = self._units.get(unit.name)
        if known is None or (known.pid is None and not known.same_as(unit)):
            self._units[unit.name] = unit
        else:
            known.wanted, known.due, known.kill_at = True, min(known.due, time.monotonic()), None
        self._step()

    def _stop(self, unit: Unit, grace: float) -> None:
        unit.wanted = False
        if unit.pid is not None:
            os.kill(unit.pid, signal.SIGTERM)
            unit.kill_at = time.monotonic() + grace

    def _shut_down(self, grace: float) -> None:
        self._stopping = True
        for unit in self._units.values():
            self._stop(unit, grace)


def _described(unit: Unit) -> Reply:
    return {
        "name": unit.name,
        "wanted": unit.wanted,
        "pid": unit.pid,
        "restarts": max(0, unit.starts - 1),
        "last_exit": unit.last_exit,
        "seconds": time.monotonic() - unit.started if unit.pid else 0.0,
    }


def _receive_line(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\n") and len(received) < LONGEST_REQUEST:
        part = connection.recv(65536)
        if not part:
            break
        received += part
    return received


def _drain(wake: socket.socket) -> None:
    try:
        while wake.recv(4096):
            pass
    except BlockingIOError:
        return


def say(message: str) -> None:
    """Write to the supervisor's own log, which is its standard error; a line that a full disk refuses is dropped."""
    with contextlib.suppress(OSError):
        os.write(sys.stderr.fileno(), f"{time.strftime('%H:%M:%S')} {message}\n".encode())


def listen(path: Path) -> socket.socket:
    """Take the control socket; a file that a killed predecessor left is in nobody's use."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(16)
    return listener
