"""Starts a first process in namespaces and control groups of its own."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# Descriptor 9 keeps a way back to the network namespace that the new one is to be linked to; 8 may hold a lock.
OUTSIDE = 9
_JOIN = """
exec 9</proc/self/ns/net
for group in $1; do echo 0 >"$group" || exit 1; done
exec 8<&-
shift
exec "$@"
"""
_UNSHARE = ("unshare", "--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc")


def cluster(arguments: Sequence[str], groups: Sequence[Path]) -> list[str]:
    return _joining(groups, [*_UNSHARE, *_first_process("cluster", arguments)])


def node(arguments: Sequence[str], groups: Sequence[Path], inner: Sequence[Path]) -> list[str]:
    return _joining(groups, enclosed([*_UNSHARE, *_first_process("node", arguments)], inner))


def enclosed(argv: Sequence[str], inner: Sequence[Path]) -> list[str]:
    """Have it take the groups it is in for the roots of all, and be itself, with whom it starts, in one below.

    Only a node is enclosed: who is may not send processes to groups outside, and the cluster sends them to its nodes'.
    """
    return ["unshare", "--cgroup", *_joining(inner, argv)]


def _joining(groups: Sequence[Path], argv: Sequence[str]) -> list[str]:
    return ["/bin/sh", "-c", _JOIN, "localkube", " ".join(str(group) for group in groups), *argv]


def _first_process(module: str, arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", f"localkube.init.{module}", *arguments, str(OUTSIDE)]


def environment() -> dict[str, str]:
    source = Path(__file__).parents[2]
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PYTHONPATH": str(source),
        "PYTHONDONTWRITEBYTECODE": "1",
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
