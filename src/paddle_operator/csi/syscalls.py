"""The kernel's calls for namespaces and mounts that Python does not have, by ctypes."""

import ctypes
import errno
import os
from enum import IntFlag
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
# The same on every architecture that we run on: newer calls have one number for all.
_OPEN_TREE, _MOVE_MOUNT, _OPENAT2, _MOUNT_SETATTR = 428, 429, 437, 442
_AT_EMPTY_PATH = 0x1000
_OPEN_TREE_CLONE = 1
_MOVE_FROM_DESCRIPTOR, _MOVE_TO_DESCRIPTOR = 0x04, 0x40
_RESOLVE_NO_XDEV, _RESOLVE_NO_SYMLINKS, _RESOLVE_BENEATH = 1, 4, 8
_UMOUNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE, _MS_SLAVE, _MS_SHARED = 2, 4, 1 << 14, 1 << 18, 1 << 19, 1 << 20
CLONE_FS, CLONE_NEWNS = 0x200, 0x20000


class Attribute(IntFlag):
    """What is forbidden on one mount, whatever its file system allows."""

    RDONLY = 1
    NOSUID = 2
    NODEV = 4
    NOEXEC = 8


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "userns")]


class _OpenHow(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "mode", "resolve")]


def _checked(result: int, what: str | Path) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(what))
    return result


def _system(number: int, what: str | Path, *arguments: object) -> int:
    return _checked(_LIBC.syscall(number, *arguments), what)


def check_kernel() -> None:
    """Ask for something impossible: a kernel that has the call says so in another way than one that has not."""
    try:
        restrict(-1, Attribute(0))
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise OSError(errno.ENOSYS, "the kernel is older than 5.12, and cannot mount as we need it") from None


def unshare(flags: int) -> None:
    _checked(_LIBC.unshare(flags), "namespaces")


def setns(descriptor: int) -> None:
    _checked(_LIBC.setns(descriptor, 0), "namespace")


def opened_beneath(directory: int, path: str) -> int:
    """Open what is in a directory, and nowhere else: who may write there may have put links on the way."""
    how = _OpenHow(flags=os.O_PATH | os.O_CLOEXEC, resolve=_RESOLVE_NO_XDEV | _RESOLVE_NO_SYMLINKS | _RESOLVE_BENEATH)
    size = ctypes.c_size_t(ctypes.sizeof(how))
    return _system(_OPENAT2, path, directory, os.fsencode(path), ctypes.byref(how), size)


def cloned_mount(place: int) -> int:
    """Copy the mount that a descriptor is on, from there downwards; the copy is mounted nowhere."""
    return _system(_OPEN_TREE, "mount", place, b"", ctypes.c_uint(_OPEN_TREE_CLONE | _AT_EMPTY_PATH | os.O_CLOEXEC))


def restrict(mount: int, forbidden: Attribute) -> None:
    """Forbid this much on a mount, and part it from its copies, before anybody can reach it."""
    attributes = _MountAttributes(set=forbidden, propagation=_MS_PRIVATE)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _system(_MOUNT_SETATTR, "mount", mount, b"", ctypes.c_uint(_AT_EMPTY_PATH), ctypes.byref(attributes), size)


def attach(mount: int, place: int) -> None:
    """Put a mount on top of a place, both by their descriptors: no path can be changed on the way."""
    flags = ctypes.c_uint(_MOVE_FROM_DESCRIPTOR | _MOVE_TO_DESCRIPTOR)
    _system(_MOVE_MOUNT, "mount", mount, b"", place, b"", flags)


def detach(path: Path) -> None:
    """Take the topmost mount away from a path; who still uses it may finish."""
    _checked(_LIBC.umount2(os.fsencode(path), _UMOUNT_DETACH | _UMOUNT_NOFOLLOW), path)


def mount_tmpfs(path: Path, options: str) -> None:
    flags = ctypes.c_ulong(_MS_NOSUID | _MS_NODEV)
    _checked(_LIBC.mount(b"tmpfs", os.fsencode(path), b"tmpfs", flags, options.encode()), path)


def _propagate(path: Path, how: int) -> None:
    _checked(_LIBC.mount(None, os.fsencode(path), None, ctypes.c_ulong(how), None), path)


def make_private(path: Path) -> None:
    """Keep what is mounted on one copy of this mount off the others."""
    _propagate(path, _MS_PRIVATE)


def make_shared(path: Path) -> None:
    _propagate(path, _MS_SHARED)


def make_all_slaves(path: Path) -> None:
    """Still see what is mounted elsewhere, and show nothing of one's own, from here downwards."""
    _propagate(path, _MS_REC | _MS_SLAVE)
