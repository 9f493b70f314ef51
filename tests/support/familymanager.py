"""A manager of the tiny controller as a program of its own: KUBECONFIG and namespace from outside, killed at will."""

import asyncio
import logging
import os
import sys
from dataclasses import astuple
from pathlib import Path

from paddle_operator.api.manifest import Key
from paddle_operator.control.lease import Timing
from paddle_operator.control.manager import Election, Manager, Settings
from paddle_operator.control.process import signals
from paddle_operator.kube import config
from paddle_operator.kube.client import Client
from support.family import FAMILY

MARK = "example.org/applied"
LEASE = "family"


def command(kubeconfig: Path, namespace: str, identity: str = "", timing: Timing | None = None) -> list[str]:
    """Give the words that start it; without an identity it acts at once, without a lease."""
    seconds = astuple(timing or Timing())
    return [sys.executable, "-m", "support.familymanager", str(kubeconfig), namespace, identity, *map(str, seconds)]


def environment() -> dict[str, str]:
    """Let it import what the test imports."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


async def run(kubeconfig: str, namespace: str, identity: str, *seconds: str) -> None:
    stop = asyncio.Event()
    with signals(stop):
        async with Client(config.load(kubeconfig), LEASE) as client:
            timing = Timing(*map(float, seconds))
            election = Election(Key(namespace, LEASE), identity, timing) if identity else None
            await Manager(client, [FAMILY], Settings(MARK, namespace, election)).run(stop)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    asyncio.run(run(*sys.argv[1:]))
