"""Tells the person what is going on: a line per step with its time; on a terminal, a live line for the long ones."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

# How often a long step says where it is when nobody can watch a live line.
QUIET_INTERVAL = 20.0
Update = Callable[[str], None]


class Progress:
    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(file=sys.stderr, highlight=False, soft_wrap=True)

    def say(self, message: str) -> None:
        self.console.print(escape(message))

    @contextmanager
    def step(self, what: str) -> Iterator[Update]:
        """Show `what` while it goes on, and how long it took; the block may call the update with a detail."""
        begun = said = time.monotonic()
        with self.console.status(escape(what)) as live:

            def update(detail: str) -> None:
                nonlocal said
                live.update(escape(f"{what}: {detail}"))
                if not self.console.is_terminal and time.monotonic() - said > QUIET_INTERVAL:
                    said = time.monotonic()
                    self.say(f"  … {what}: {detail}")

            yield update
        self.console.print(f"[green]✓[/] {escape(what)} [dim]{time.monotonic() - begun:.1f} s[/]")
