"""The program that becomes a JuiceFS client: it leaves our container for the node, so that it outlives us."""

import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from paddle_operator.csi import syscalls

GROUP = "juicefs-csi"
NAMESPACES = ("cgroup", "ipc", "uts", "net", "mnt")
RESOLVER = Path("/etc/resolv.conf")
PYTHON = "PYTHON"
KILL_LAST = "-900"


def main() -> None:
    """Arguments: a process of the node, the directory of our state, a file of name servers or '', the program's own."""
    process, state, resolver, *argv = sys.argv[1:]
    enter(process)
    leave_groups(Path("/proc/self/mounts").read_text())
    _attempt("a low oom_score_adj", lambda: Path("/proc/self/oom_score_adj").write_text(KILL_LAST))
    if resolver:
        _attempt("the cluster's name servers", lambda: use_resolver(Path(state), Path(resolver)))
    os.chdir("/")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(PYTHON)}
    os.execve(argv[0], argv, environment)  # noqa: S606 it is meant to take our place


def enter(process: str) -> None:
    """Open all before entering any: what the last one leads to may not be found from the first.

    Those that are ours already stay: without root of the machine nobody may enter them.
    """
    theirs, ours = Path("/proc", process, "ns"), Path("/proc/self/ns")
    others = [name for name in NAMESPACES if (theirs / name).readlink() != (ours / name).readlink()]
    descriptors = [os.open(theirs / name, os.O_RDONLY | os.O_CLOEXEC) for name in others]
    for descriptor in descriptors:
        syscalls.setns(descriptor)


def leave_groups(mounts: str) -> None:
    """Join groups of our own: those of the container are emptied, by killing, when it ends."""
    for group in groups(mounts):
        _attempt(f"the group {group}", partial(join, group))


def groups(mounts: str) -> list[Path]:
    """Name our control group in every hierarchy of a list of mounts."""
    rows = (line.split() for line in mounts.splitlines())
    return [Path(place, GROUP) for _, place, kind, *_ in rows if kind in {"cgroup", "cgroup2"}]


def join(group: Path) -> None:
    group.mkdir(exist_ok=True)
    for name in ("cpuset.cpus", "cpuset.mems"):  # a new one is empty on v1, and takes nobody in
        own, above = group / name, group.parent / name
        if own.exists() and above.exists() and not own.read_text().strip():
            own.write_text(above.read_text())
    (group / "cgroup.procs").write_text("0")


def use_resolver(state: Path, resolver: Path) -> None:
    """See the cluster's name servers as the node's own, in mounts that the node sees nothing of but our state's."""
    syscalls.unshare(syscalls.CLONE_NEWNS)
    shared = syscalls.cloned_mount(_opened(state))
    syscalls.make_all_slaves(Path("/"))
    syscalls.attach(shared, _opened(state))
    syscalls.attach(syscalls.cloned_mount(_opened(resolver)), _opened(RESOLVER))


def _opened(place: Path) -> int:
    return os.open(place, os.O_PATH | os.O_CLOEXEC)


def _attempt(what: str, work: Callable[[], object]) -> None:
    """Go on without it: a client that is ended too early, or knows fewer names, is better than none."""
    try:
        work()
    except OSError as error:
        sys.stderr.write(f"starting without {what}: {error}\n")


if __name__ == "__main__":
    main()
