"""The manager as a program whose clock is ahead of the machine's by as many seconds as a file says."""

import datetime as dt
import os
import sys
from pathlib import Path

from paddle_operator.cli.main import main
from paddle_operator.control import manager
from support.managerprogram import ManagerProgram

VARIABLE = "CLOCK_AHEAD"


class ClockedManager(ManagerProgram):
    """Started again, it has the clock that it had."""

    def __init__(self, kubeconfig: Path, namespace: str, log: Path, *options: str) -> None:
        super().__init__(kubeconfig, namespace, log, *options)
        self._argv[:1] = [sys.executable, "-m", "support.clockedmanager"]
        self._ahead = log.with_suffix(".ahead")
        self._environment = {VARIABLE: str(self._ahead)}
        # Half past: only who moves the clock makes it strike.
        self.move(dt.timedelta(minutes=30 - dt.datetime.now(dt.UTC).minute))

    def move(self, step: dt.timedelta) -> None:
        before = float(self._ahead.read_text()) if self._ahead.exists() else 0.0
        self._ahead.write_text(str(before + step.total_seconds()))


class Clock(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]  # a plain time will do
        return dt.datetime.now(tz) + dt.timedelta(seconds=float(Path(os.environ[VARIABLE]).read_text()))


if __name__ == "__main__":
    manager.datetime = Clock  # type: ignore[attr-defined]  # imported there
    main()
