"""The kernel's way to ask another process about each connection that a container makes, by ctypes."""

import ctypes
import fcntl
import os
import platform
import struct
from typing import NamedTuple

_LIBC = ctypes.CDLL(None, use_errno=True)
_PIDFD_GETFD = 438
_SET_MODE_FILTER, _NEW_LISTENER = 1, 1 << 3
_ALLOW, _ASK = 0x7FFF0000, 0x7FC00000
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_RECEIVE, _SEND, _ADD = 0xC0502100, 0xC0182101, 0x40182103
_CONTINUE, _REPLACE = 1, 1
_CALL = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_ADDITION = struct.Struct("=QIIII")


class Machine(NamedTuple):
    """What a kernel calls itself, and the numbers of two calls."""

    architecture: int
    seccomp: int
    connect: int


MACHINES = {"x86_64": Machine(0xC000003E, 317, 42), "aarch64": Machine(0xC00000B7, 277, 203)}


class Connection(NamedTuple):
    """A thread that wants to connect: what it asks about, by which descriptor, and where its address is in memory."""

    identity: int
    thread: int
    descriptor: int
    address: int
    length: int


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]


def is_known() -> bool:
    return platform.machine() in MACHINES


def ask_about_connections() -> int:
    """Have somebody asked about each connect of this process and its children; give the descriptor to ask by."""
    machine = MACHINES[platform.machine()]
    steps = (
        (_LOAD_WORD, 0, 0, 4),
        (_JUMP_IF_EQUAL, 0, 3, machine.architecture),
        (_LOAD_WORD, 0, 0, 0),
        (_JUMP_IF_EQUAL, 0, 1, machine.connect),
        (_RETURN, 0, 0, _ASK),
        (_RETURN, 0, 0, _ALLOW),
    )
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    descriptor: int = _LIBC.syscall(machine.seccomp, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(program))
    if descriptor < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "seccomp")
    return descriptor


def received(listener: int) -> Connection:
    """Give the next one that is asked about."""
    buffer = bytearray(_CALL.size)
    fcntl.ioctl(listener, _RECEIVE, buffer)
    identity, thread, _, _, _, _, descriptor, address, length, *_ = _CALL.unpack(buffer)
    return Connection(identity, thread, descriptor, address, length)


def go_on(listener: int, connection: Connection) -> None:
    """Let the kernel do as it was told, whatever is behind the descriptor now."""
    fcntl.ioctl(listener, _SEND, _ANSWER.pack(connection.identity, 0, 0, _CONTINUE))


def replace(listener: int, connection: Connection, ours: int, *, close_on_exec: bool) -> None:
    """Put one of our descriptors in the place of the one that is to be connected."""
    flags = os.O_CLOEXEC if close_on_exec else 0
    fcntl.ioctl(listener, _ADD, _ADDITION.pack(connection.identity, _REPLACE, ours, connection.descriptor, flags))


def borrowed(process: int, descriptor: int) -> int:
    """Give a copy of another process's descriptor."""
    handle = os.pidfd_open(process)
    try:
        copy: int = _LIBC.syscall(_PIDFD_GETFD, handle, descriptor, 0)
        if copy < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "pidfd_getfd")
        return copy
    finally:
        os.close(handle)
