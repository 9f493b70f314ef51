"""`paddle-operator wait-for`: a pod's first step, which ends when its peers can be found."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from paddle_operator.desired.training import numbers

PAUSE_SECONDS = 1.0
TELL_EVERY_SECONDS = 30.0
NUMBER = "{}"
MOST_TOLD = 5
MOST_REPLICAS = 1 << 20
# Servers that are found and ready and do not listen where we think may do so elsewhere, so this is no error.
LISTENING_SECONDS = 30.0
CONNECT_SECONDS = 1.0


@dataclass(frozen=True)
class Wait:
    """A name that must lead to so many addresses, or to one of these."""

    name: str
    count: int = 1
    among: frozenset[str] = frozenset()

    def is_over(self, addresses: frozenset[str]) -> bool:
        return bool(addresses & self.among) if self.among else len(addresses) >= self.count


def resolve(name: str) -> frozenset[str]:
    """Give the addresses that a name leads to; none if nobody knows it, or nobody answers."""
    try:
        return frozenset(str(found[4][0]) for found in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM))
    except OSError:
        return frozenset()


def listens(name: str, port: int) -> bool:
    try:
        socket.create_connection((name, port), timeout=CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def waits(words: tuple[str, ...], own: str, own_addresses: frozenset[str]) -> Iterator[Wait]:
    """Read NAME, NAME=COUNT for a name that must lead to COUNT addresses, and A-{}.B=COUNT for COUNT names."""
    if own:
        yield Wait(own, among=own_addresses)
    for name, which in map(counted, words):
        if NUMBER in name:
            yield from (Wait(name.replace(NUMBER, str(number))) for number in which)
        else:
            yield Wait(name, len(which))


def listeners(words: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Read NAME:PORT, and A-{}.B:PORT=COUNT for COUNT names."""
    for endpoint, which in map(counted, words):
        name, _, port = endpoint.rpartition(":")
        if not (port.isascii() and port.isdecimal()):
            raise click.BadParameter(f"{endpoint!r} has no port")
        yield from ((name.replace(NUMBER, str(number)), int(port)) for number in which)


def counted(word: str) -> tuple[str, Sequence[int]]:
    """Give the name, and its numbers: COUNT from 0 on, or those behind an @."""
    name, is_listed, listed = word.partition("@")
    if is_listed:
        found = sorted(numbers.read(listed, MOST_REPLICAS))
        if not found or numbers.written_short(found) != listed:
            raise click.BadParameter(f"{word!r} does not end in numbers such as 0-3,7")
        return name, found
    name, _, count = word.partition("=")
    if count and not (count.isascii() and count.isdecimal()):
        raise click.BadParameter(f"{word!r} does not end in a number")
    return name, range(int(count or 1))


@dataclass(frozen=True)
class Surroundings:
    """What waiting needs of the world."""

    resolve: Callable[[str], frozenset[str]] = resolve
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    listens: Callable[[str, int], bool] = listens


def wait(wanted: list[Wait], seconds: float, world: Surroundings) -> list[Wait]:
    """Ask for those that are missing until none is or the time is over; give those that still are."""
    end = world.clock() + seconds
    told = -TELL_EVERY_SECONDS
    while missing := [one for one in wanted if not one.is_over(world.resolve(one.name))]:
        now = world.clock()
        if now >= end:
            return missing
        if len(missing) < len(wanted) or now - told >= TELL_EVERY_SECONDS:
            click.echo(f"waiting for {describe(missing)}")
            told = now
        wanted = missing
        world.sleep(min(PAUSE_SECONDS, end - now))
    return []


def wait_for_listeners(wanted: Iterable[tuple[str, int]], seconds: float, world: Surroundings) -> bool:
    """Wait for one after the other, all in so many seconds; tell whether all listen."""
    end = world.clock() + seconds
    for name, port in wanted:
        told = False
        while not world.listens(name, port):
            if world.clock() >= end:
                click.echo(f"{name} does not listen at {port} after {seconds:g} seconds: going on")
                return False
            if not told:
                click.echo(f"waiting for {name} to listen at {port}")
                told = True
            world.sleep(min(PAUSE_SECONDS, max(0.0, end - world.clock())))
    return True


def describe(missing: list[Wait]) -> str:
    names = [one.name if one.count == 1 else f"{one.count} addresses of {one.name}" for one in missing[:MOST_TOLD]]
    more = len(missing) - len(names)
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def stop(number: int, _: object) -> None:
    """End at once when asked to: the first process of a container ignores what it does not handle."""
    raise SystemExit(128 + number)


@click.command("wait-for")
@click.option("--timeout", type=click.FloatRange(min=0), default=3600.0, show_default=True, help="In seconds.")
@click.option("--own", default="", help="Our own name: it must lead to an address in POD_IPS.")
@click.argument("names", nargs=-1)
def wait_for(timeout: float, own: str, names: tuple[str, ...]) -> None:
    """Wait until NAMES lead somewhere: NAME, NAME=COUNT for so many addresses, or A-{}.B=COUNT for so many names.

    A-{}.B@0-3,7 are the names with these numbers. Those with a port, NAME:PORT or A-{}.B:PORT=COUNT, are then given
    half a minute to listen there.
    """
    signal.signal(signal.SIGTERM, stop)
    addresses = frozenset(filter(None, os.environ.get("POD_IPS", "").split(",")))
    endpoints = tuple(name for name in names if ":" in name)
    wanted = list(waits(tuple(name for name in names if name not in endpoints), own, addresses))
    listening = list(listeners(endpoints))
    world = Surroundings()
    if missing := wait(wanted, timeout, world):
        raise click.ClickException(f"gave up after {timeout:g} seconds: {describe(missing)} cannot be found")
    if wait_for_listeners(listening, LISTENING_SECONDS, world):
        click.echo("all are there")


if __name__ == "__main__":
    wait_for()
