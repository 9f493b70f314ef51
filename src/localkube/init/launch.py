"""Starts a first process in namespaces and control groups of its own."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# Descriptor 9 keeps a way back to the network namespace that the new one is to be linked to; 8 may hold a lock.
OUTSIDE = 9
_SCRIPT = """
exec 9</proc/self/ns/net
for group in $LOCALKUBE_GROUPS; do echo 0 >"$group" || exit 1; done
exec 8<&-
exec unshare "$@"
"""
_NAMESPACES = ("--net", "--mount", "--pid", "--ipc", "--uts", "--cgroup", "--fork", "--kill-child", "--mount-proc")


def command(module: str, arguments: Sequence[str]) -> list[str]:
    python = [sys.executable, "-m", f"localkube.init.{module}", *arguments, str(OUTSIDE)]
    return ["/bin/sh", "-c", _SCRIPT, "localkube", *_NAMESPACES, *python]


def environment(groups: Sequence[Path]) -> dict[str, str]:
    source = Path(__file__).parents[2]
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LOCALKUBE_GROUPS": " ".join(str(group) for group in groups),
    }


def last_words(log: Path) -> str:
    """Give what the process said at last, for who wonders why it is not there."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return lines[-1] if lines else f"nothing in {log}"


def detached(argv: Sequence[str], variables: Mapping[str, str], log: Path, lock: int) -> None:
    """Leave a process behind that outlives us. It holds our lock until its control group can find it."""
    with log.open("ab") as output:
        subprocess.run(
            ["/bin/sh", "-c", 'exec 8<&0; "$@" &', "localkube", *argv],
            stdin=lock,
            stdout=output,
            stderr=output,
            env=variables,
            start_new_session=True,
            cwd="/",
            check=True,
        )
