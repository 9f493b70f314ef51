"""The program that becomes a container: it takes its place in the pod, and then another's program."""

import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import msgspec

from paddle_operator.embedded.node import kernel, outside
from paddle_operator.embedded.node.kernel import Share
from paddle_operator.embedded.node.rootfs import Mount, Root

SIGNALLED = 128
CANNOT_START = 127
# What our parent sends in the place of SIGKILL, which we could not pass on.
KILL = signal.SIGUSR1


class Spec(msgspec.Struct, frozen=True):
    """`network` is a descriptor of the pod's network, `report` one for the words of a container that cannot start.

    `outside` is where it is asked which connections lead out of that network.
    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    hostname: str
    stage: str
    scratch: str
    mounts: tuple[Mount, ...]
    network: int
    outside: str
    report: int


def main() -> None:
    spec = msgspec.json.decode(sys.stdin.buffer.read(), type=Spec)
    kernel.die_with_parent()
    kernel.enter(spec.network)
    os.close(spec.network)
    kernel.unshare(Share.MOUNTS | Share.HOSTNAME | Share.PROCESSES)
    child = os.fork()
    if child == 0:
        _become(spec)
    os.close(spec.report)
    sys.exit(_awaited(child))


def _become(spec: Spec) -> None:
    """Never return: what cannot be started says why to who waits for it."""
    try:
        kernel.die_with_parent()
        line = outside.dialled(Path(spec.outside))
        _settle(spec)
        if line is not None:
            outside.hand_over(line)
        _start(spec)
    except (OSError, ValueError) as error:
        _give_up(spec, f"{spec.argv[0]} cannot be started: {error}")


def _start(spec: Spec) -> None:
    try:
        os.execvpe(spec.argv[0], spec.argv, spec.environment)  # noqa: S606 it is meant to take our place
    except FileNotFoundError:
        _give_up(spec, f"there is no program {spec.argv[0]} on this machine: install it, or name its path in command")


def _give_up(spec: Spec, words: str) -> None:
    os.write(spec.report, words.encode(errors="replace"))
    os._exit(CANNOT_START)


def _settle(spec: Spec) -> None:
    os.set_inheritable(spec.report, False)
    socket.sethostname(spec.hostname)
    kernel.follow_only(Path("/"))
    root = Root(Path(spec.stage), Path(spec.scratch))
    root.build()
    for mount in sorted(spec.mounts, key=lambda found: len(Path(found.target).parts)):
        root.mount(mount)
    root.have(spec.directory)
    root.enter()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.chdir(spec.directory)
    os.environ["PATH"] = spec.environment["PATH"]


def _awaited(child: int) -> int:
    def pass_on(number: int, _: FrameType | None) -> None:
        os.kill(child, signal.SIGKILL if number == KILL else number)

    for number in (signal.SIGTERM, signal.SIGINT, KILL):
        signal.signal(number, pass_on)
    while True:
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except InterruptedError:
            continue
        return code if code >= 0 else SIGNALLED - code


if __name__ == "__main__":
    main()
