"""The manager as a program of its own, as users start it: killed at will, its log kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

PATIENCE = 90


class ManagerProgram:
    """One that looks at one namespace; all its lives write one log."""

    def __init__(self, kubeconfig: Path, namespace: str, log: Path, *options: str) -> None:
        self.log = log
        self._argv = [
            str(Path(sys.executable).with_name("paddle-operator")), "manager", f"--kubeconfig={kubeconfig}",
            f"--namespace={namespace}", "--metrics-bind-address=0", "--health-probe-bind-address=0", *options,
        ]  # fmt: skip
        self._environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **self._environment}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._argv, stdout=log, stderr=log, env=environment)

    def restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        """End it as a crash does; one that has ended stays so."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
