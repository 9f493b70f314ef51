"""Links, addresses and routes, by iproute2; every call names the network namespace it works in."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

from localkube import commands, errors

# Marks the host's routes as ours (see `ip route show proto 108`), so that only those are ever removed.
ROUTE_PROTOCOL = "108"
# From here on a metric is a last resort; how far from here tells whose claim it is.
LAST_RESORT = 4_000_000_000
DIGITS = 7


def ip(*words: str, namespace: int | None = None) -> str:
    """Run `ip` here, or in the network namespace behind an open file."""
    if namespace is None:
        return commands.run(["ip", *words])
    return commands.run(["nsenter", f"--net=/proc/{_self()}/fd/{namespace}", "ip", *words])


def _self() -> str:
    """Our own pid as the /proc we have mounted counts."""
    return str(Path("/proc/self").readlink())


def set_sysctls(settings: dict[str, str]) -> None:
    for name, value in settings.items():
        (Path("/proc/sys/net") / name).write_text(value)


def bring_up(*links: str) -> None:
    for link in links:
        ip("link", "set", link, "up")


def claiming(block: str, ident: str) -> list[str]:
    """Give the route by which this machine knows that a cluster has these addresses, also before it has a link."""
    return ["route", "replace", *_claim(block, ident)]


def claim(block: str, ident: str) -> None:
    ip(*claiming(block, ident))


def claims(ident: str) -> list[str]:
    """Give the networks that the cluster has claimed; a reboot forgets them."""
    shown = ip("-json", "-4", "route", "show", "type", "unreachable", "proto", ROUTE_PROTOCOL)
    return [route["dst"] for route in json.loads(shown or "[]") if route.get("metric") == _metric(ident)]


def release(ident: str) -> None:
    for block in claims(ident):
        ip("route", "delete", *_claim(block, ident))


def _claim(block: str, ident: str) -> list[str]:
    return ["unreachable", block, "metric", str(_metric(ident)), "proto", ROUTE_PROTOCOL]


def _metric(ident: str) -> int:
    return LAST_RESORT + int(ident[-DIGITS:], 16)


def join(outside: int, outer: str, inner: str, *, outer_setup: Sequence[Sequence[str]]) -> None:
    """Make a veth pair from the namespace `outside` into ours, replacing one that a predecessor left."""
    with contextlib.suppress(errors.CommandFailedError):  # mostly there is none, or the kernel is quicker
        ip("link", "delete", outer, namespace=outside)
    ip(
        "link",
        "add",
        outer,
        "type",
        "veth",
        "peer",
        "name",
        inner,
        "netns",
        f"/proc/{_self()}/ns/net",
        namespace=outside,
    )
    for words in outer_setup:
        ip(*words, namespace=outside)
