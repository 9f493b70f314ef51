"""The namespaces that a run lives in: with its first process all others end, and with them all that they mounted."""

import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType

from paddle_operator.csi import mounttable
from paddle_operator.embedded.node import kernel
from paddle_operator.embedded.node.kernel import Share

PROC = Path("/proc")
CONTROL_GROUPS = {"cgroup", "cgroup2"}
SIGNALLED = 128


class BoxError(Exception):
    """The machine does not give us namespaces of our own."""


def run(work: Callable[[], int]) -> int:
    """Do the work in namespaces of its own and give its exit code; killed at any moment, nothing of it is left."""
    try:
        _leave()
    except OSError as error:
        raise BoxError(
            f"this machine does not allow namespaces of our own ({error.strerror}): run as root, or allow user "
            "namespaces (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0)"
        ) from error
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(ours)
        _guarded(lambda: _first_process(work, theirs))
    os.close(theirs)
    return _awaited(first)


def _leave() -> None:
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        kernel.unshare(Share.MOUNTS | Share.PROCESSES)
        return
    kernel.unshare(Share.USERS | Share.MOUNTS | Share.PROCESSES)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def _guarded(work: Callable[[], int]) -> None:
    """End this process with what the work gives, whatever happens: it must never go on as a second copy of us."""
    code = 1
    try:
        code = work()
    except KeyboardInterrupt:
        code = SIGNALLED + signal.SIGINT
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        if (error := sys.exc_info()[1]) is not None:
            traceback.print_exception(error)
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _first_process(work: Callable[[], int], line: int) -> int:
    """Be the first process of the box: see to its mounts, and bury who dies in it."""
    kernel.die_with_parent()
    os.setpgid(0, 0)  # Ctrl-C is told to who started us, and by it to us, once
    if _is_cut(line):
        return 1  # who started us is gone already
    _furnish()
    worker = os.fork()
    if worker == 0:
        _guarded(lambda: _worker(work))
    _forward(worker)
    while True:
        try:
            found, status = os.waitpid(-1, 0)
        except InterruptedError:
            continue
        if found == worker:
            return _code(status)


def _is_cut(line: int) -> bool:
    """Tell whether nobody reads the other end of a pipe."""
    poll = select.poll()
    poll.register(line, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _worker(work: Callable[[], int]) -> int:
    kernel.die_with_parent()
    return work()


def _furnish() -> None:
    """Show nothing of ours to the machine, see only our own processes, and leave its control groups alone."""
    kernel.follow_only(Path("/"))
    kernel.share(Path("/"))
    kernel.mount_proc(PROC)
    rows = mounttable.parse(Path("/proc/self/mountinfo").read_text(errors="surrogateescape"))
    for mount in reversed(rows):
        if mount.kind in CONTROL_GROUPS:
            with suppress(OSError):
                kernel.detach(mount.place)


def _forward(process: int) -> None:
    """Pass on that we are asked to end."""

    def told(number: int, _: FrameType | None) -> None:
        with suppress(ProcessLookupError):
            os.kill(process, number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, told)


def _awaited(process: int) -> int:
    _forward(process)
    while True:
        try:
            return _code(os.waitpid(process, 0)[1])
        except InterruptedError:
            continue


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else SIGNALLED - code
