"""Secrets that others own, read one by one and by name: it takes no leave to list them."""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.store import by_owner
from paddle_operator.desired.sampleset.snapshot import SecretView
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind

SECRETS = Kind("", "v1", "secrets", "Secret")
# Sets are looked at every second while they are busy; their Secrets hardly ever change.
LIFETIME = 30.0
Values = Mapping[str, str]


class Read(NamedTuple):
    """`owner` is the uid of the object that it goes away with, if there is one."""

    time: float
    values: Values
    owner: str


class Secrets:
    """Keeps what was read for a while, and nothing else knows the values but whoever needs them for an order."""

    def __init__(self, lifetime: float = LIFETIME) -> None:
        self._lifetime = lifetime
        self._read: dict[Key, Read] = {}

    async def read(self, client: Client, key: Key) -> Read | None:
        """Give the Secret, its values without the space around them that `echo` leaves; nothing if there is none."""
        now = asyncio.get_running_loop().time()
        self._read = {other: read for other, read in self._read.items() if read.time + self._lifetime > now}
        if key not in self._read:
            found = await fetched(client, key)
            if found is None:
                return None
            self._read[key] = Read(now, decoded(found), "".join(by_owner(found)))
        return self._read[key]

    def forget(self, key: Key) -> None:
        """Read it anew next time: it is not as it should be, and somebody may be putting it right."""
        self._read.pop(key, None)

    def known(self, key: Key) -> Values | None:
        """Give what was read last, if it was a short time ago."""
        read = self._read.get(key)
        return None if read is None else read.values


async def fetched(client: Client, key: Key) -> Manifest | None:
    try:
        return await client.get(SECRETS, key)
    except (errors.NotFoundError, errors.ForbiddenError):
        return None


def decoded(secret: Manifest) -> Values:
    """Read what can be read; what is no base64 counts as not there."""
    values = {}
    for name, written in (secret.get("data") or {}).items():
        try:
            values[name] = base64.b64decode(written).decode(errors="replace").strip()
        except (binascii.Error, TypeError, ValueError):
            continue
    return values


def view_of(read: Read | None, token: str) -> SecretView | None:
    """Say what may be known of a Secret: the version is keyed, so nobody can try values until one fits."""
    if read is None:
        return None
    written = msgspec.json.encode(read.values, order="sorted")
    version = hashlib.blake2b(written, key=token.encode()[:64], digest_size=8).hexdigest()
    return SecretView(frozenset(name for name, value in read.values.items() if value), version)
