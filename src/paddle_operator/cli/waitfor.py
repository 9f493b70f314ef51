"""`paddle-operator wait-for`: a pod's first step, which ends when the names of its peers lead somewhere."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

PAUSE_SECONDS = 1.0
TELL_EVERY_SECONDS = 30.0
NUMBER = "{}"
MOST_TOLD = 5


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


def waits(words: tuple[str, ...], own: str, own_addresses: frozenset[str]) -> Iterator[Wait]:
    """Read NAME, NAME=COUNT for a name that must lead to COUNT addresses, and A-{}.B=COUNT for COUNT names."""
    if own:
        yield Wait(own, among=own_addresses)
    for word in words:
        name, _, count = word.partition("=")
        if count and not (count.isascii() and count.isdecimal()):
            raise click.BadParameter(f"{word!r} does not end in a number")
        if NUMBER in name:
            yield from (Wait(name.replace(NUMBER, str(number))) for number in range(int(count or 1)))
        else:
            yield Wait(name, int(count or 1))


@dataclass(frozen=True)
class Surroundings:
    """What waiting needs of the world."""

    resolve: Callable[[str], frozenset[str]] = resolve
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


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
    """Wait until NAMES lead somewhere: NAME, NAME=COUNT for so many addresses, or A-{}.B=COUNT for so many names."""
    signal.signal(signal.SIGTERM, stop)
    addresses = frozenset(filter(None, os.environ.get("POD_IPS", "").split(",")))
    missing = wait(list(waits(names, own, addresses)), timeout, Surroundings())
    if missing:
        raise click.ClickException(f"gave up after {timeout:g} seconds: {describe(missing)} cannot be found")
    click.echo("all are there")


if __name__ == "__main__":
    wait_for()
