"""A runtime server as a program of its own, on a volume in a box, and the requests of those who use it."""

import contextlib
import http.client
import json
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from localkube.waiting import wait_until
from paddle_operator.api.manifest import Manifest
from support.enginebox import AREA, PATIENCE, Box, Volume, free_port

FINAL = {"Succeeded", "Failed", "Cancelled"}
COMMAND = """
from paddle_operator.cli.main import main
main()
"""
# The same program, in more of a hurry: it looks more often, gives a mount up sooner, and soon says that it lives.
IN_A_HURRY = f"""
from paddle_operator.engines.juicefs import removal
from paddle_operator.runtime import report
report.LOOKING, report.PATIENCE, report.HEARTBEAT, removal.PATIENCE = 0.5, 4.0, 4.0, 4.0
{COMMAND}"""
# SQLite looks for its files by names that only those inside have.
UNREAD = """
import contextlib, pathlib, sqlite3, sys
count = 0
for file in pathlib.Path(sys.argv[1]).glob("*.ledger"):
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for query in ("SELECT count(*) FROM blocks WHERE crc IS NULL", "SELECT count(*) FROM notes"):
            count += connection.execute(query).fetchone()[0]
print(count)
"""


class Answer(NamedTuple):
    """An answer's status, and its JSON, or what else it says."""

    status: int
    body: Manifest
    text: str = ""


class RuntimeProgram:
    """Killed and started again, it has the same spool, token and port."""

    def __init__(
        self, box: Box, volume: Volume, *options: str, name: str = "server", token: str = "", command: str = IN_A_HURRY
    ) -> None:
        self.box, self.volume, self.name = box, volume, name
        self.port = free_port()
        self.token = token or secrets.token_hex(16)
        self.spool, token_file = AREA / f"{name}-spool", AREA / f"{name}-token"
        self.renew()
        box.inside(token_file).write_text(f"{self.token}\n")
        self.argv = [
            sys.executable, "-c", command, "runtime-server", f"--mount-path={volume.mount}",
            f"--cache-dirs={volume.cache}", f"--token-file={token_file}", f"--spool={self.spool}",
            "--host=127.0.0.1", f"--port={self.port}", "--log-level=debug", *options,
        ]  # fmt: skip

    def start(self) -> None:
        self.process = self.box.start(self.name, *self.argv)
        wait_until(self.is_ready, PATIENCE, f"the server is not ready: {self.box.log(self.name)}", pause=0.02)

    def is_ready(self) -> bool:
        try:
            return self.ask("GET", "/readyz", token="").status == 200
        except OSError:
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def ask(self, method: str, path: str, body: object = None, token: str | None = None) -> Answer:
        """Send a request; bytes go as they are, everything else as JSON."""
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token if token is None else token}"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, sent, headers)
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        is_json = (response.getheader("Content-Type") or "").startswith("application/json")
        return Answer(response.status, json.loads(text) if is_json else {}, text)

    @contextlib.contextmanager
    def watching(self) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request("GET", "/v1/watch", headers={"Authorization": f"Bearer {self.token}"})
            with connection.getresponse() as response:
                assert response.status == 200
                yield response

    def renew(self) -> None:
        """Give operations other ids from now on, so that tests may share a server and still use plain names."""
        self._prefix = secrets.token_hex(4)

    def path(self, name: str) -> str:
        return f"/v1/operations/{self._prefix}-{name}"

    def order(self, name: str, **order: object) -> Answer:
        return self.ask("PUT", self.path(name), order)

    def cancel(self, name: str) -> Answer:
        return self.ask("DELETE", self.path(name))

    def operation(self, name: str) -> Manifest:
        return self.ask("GET", self.path(name)).body

    def until_studied(self) -> None:
        """Wait until it has read all blocks that it has seen, which it does while it has nothing else to do."""
        wait_until(lambda: self.unread() == 0, PATIENCE * 2, "blocks are not read")

    def unread(self) -> int:
        """Count the blocks that it has seen and never read."""
        return int(self.box.run(sys.executable, "-c", UNREAD, str(self.spool / "ledger")))

    def ended(self, name: str) -> Manifest:
        """Wait for an operation's end."""
        wait_until(lambda: self.operation(name)["state"] in FINAL, PATIENCE * 2, f"{name} does not end", pause=0.02)
        return self.operation(name)

    def done(self, name: str, **order: object) -> Manifest:
        answer = self.order(name, **order)
        assert answer.status == 202, answer
        return self.ended(name)

    def status(self) -> Manifest:
        return self.ask("GET", "/v1/status").body

    def spooled(self) -> list[Path]:
        return [path for path in self.box.inside(self.spool).rglob("*") if path.is_file()]
