"""The kernel's calls for processes with mounts of their own that neither Python nor the CSI plugin has, by ctypes."""

import ctypes
import os
import signal
from enum import IntFlag
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_MOVE, _MS_REC = 1, 32, 4096, 8192, 16384
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_SLAVE, _MS_SHARED = 1 << 19, 1 << 20
_UMOUNT_DETACH = 2
_PR_SET_PDEATHSIG = 1


class Share(IntFlag):
    """What a process can have for itself."""

    MOUNTS = 0x20000
    HOSTNAME = 0x4000000
    USERS = 0x10000000
    PROCESSES = 0x20000000
    NETWORK = 0x40000000


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(what: Share) -> None:
    _checked(_LIBC.unshare(int(what)), str(what))


def enter(descriptor: int) -> None:
    """Join the namespace behind a descriptor."""
    _checked(_LIBC.setns(descriptor, 0), "namespace")


def die_with_parent() -> None:
    """Be killed when the process that started this one is gone."""
    _checked(_LIBC.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0), "parent's death")


def _mount(source: Path | str | None, target: Path, kind: str, flags: int, options: str = "") -> None:
    given = None if source is None else os.fsencode(source)
    _checked(
        _LIBC.mount(given, os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode() or None),
        str(target),
    )


def bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    """Show a directory or file, with all that is mounted in it, at a second place."""
    _mount(source, target, "", _MS_BIND | _MS_REC)
    if read_only:
        _mount(None, target, "", _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _kept_flags(target))


def _kept_flags(target: Path) -> int:
    """Give what a mount forbids already: in a user namespace the kernel lets nobody take that back."""
    found = os.statvfs(target).f_flag
    return found & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def move(source: Path, target: Path) -> None:
    _mount(source, target, "", _MS_MOVE)


def mount_tmpfs(target: Path, options: str = "mode=0755") -> None:
    _mount("tmpfs", target, "tmpfs", _MS_NODEV | _MS_NOSUID, options)


def mount_proc(target: Path) -> None:
    _mount("proc", target, "proc", _MS_NODEV | _MS_NOSUID | _MS_NOEXEC)


def follow_only(target: Path) -> None:
    """See what is mounted outside from here downwards, and show nothing of one's own there."""
    _mount(None, target, "", _MS_REC | _MS_SLAVE)


def share(target: Path) -> None:
    """Let those that follow see what is mounted here, from here downwards."""
    _mount(None, target, "", _MS_REC | _MS_SHARED)


def detach(target: Path) -> None:
    _checked(_LIBC.umount2(os.fsencode(target), _UMOUNT_DETACH), str(target))


def become_root(place: Path) -> None:
    """Make a mount the root of this namespace, and let go of the old one."""
    os.chdir(place)
    _checked(_LIBC.pivot_root(b".", b"."), str(place))
    detach(Path())
    os.chdir("/")
