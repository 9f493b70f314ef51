"""The log of an object store that is a Redis: which objects were read."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from localkube.init.control import Program
from localkube.node import Node
from localkube.waiting import wait_until

NAME = "redis-monitor"
# Objects are in database 1; metadata, in 0, are asked for at every read.
READ = re.compile(
    r'^\S+ \[1 [^\]]*\] "(?:get|getrange|mget|strlen)" "([^"]*chunks/[^"]*)"', re.MULTILINE | re.IGNORECASE
)
PATIENCE = 90


class Log(Protocol):
    def reads(self) -> list[str]:
        """Name the objects that somebody read since it was begun."""
        ...


@dataclass(frozen=True)
class ObjectLog:
    node: Node

    def text(self) -> str:
        return (self.node.paths.logs / f"{NAME}.log").read_text(errors="replace")

    def reads(self) -> list[str]:
        return READ.findall(self.text().rpartition("\nOK\n")[2])


@contextlib.contextmanager
def logged(node: Node) -> Iterator[ObjectLog]:
    """Log all that the Redis on a node is asked for."""
    log = ObjectLog(node)
    (node.paths.logs / f"{NAME}.log").write_text("\n")
    argv = ["/usr/bin/env", "redis-cli", "monitor"]
    environment = {"PATH": "/usr/bin:/bin"}
    node.control.start(Program(NAME, argv, environment, f"/var/log/localkube/{NAME}.log", restart=False))
    wait_until(lambda: "\nOK\n" in log.text(), PATIENCE, "Redis does not tell what it is asked for")
    try:
        yield log
    finally:
        node.control.stop(NAME)
