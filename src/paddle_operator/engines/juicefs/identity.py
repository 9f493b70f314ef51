"""Which volume a mount is of: its cache is that volume's directory, and no other's, however alike they look."""

import contextlib
import os
import secrets
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from paddle_operator.engines.juicefs import cachefiles, control
from paddle_operator.engines.juicefs.blocks import Block, parse_pieces
from paddle_operator.engines.juicefs.places import PROBE

OWN_PROBE = f"{PROBE}{socket.gethostname()}"
LONGEST_WAIT = 3.0
PAUSE = 0.02


class IdentityError(Exception):
    """It cannot be told, and why."""


@dataclass(frozen=True)
class Identity:
    """A volume, and the size of its blocks if that is known."""

    uuid: str
    block_size: int | None = None


class Format(msgspec.Struct, rename={"uuid": "UUID", "block_size": "BlockSize"}):
    uuid: str
    block_size: int  # in KiB


class Config(msgspec.Struct, rename={"format": "Format"}):
    format: Format


def identify(mount: Path, directories: tuple[Path, ...]) -> Identity:
    """Read it from the mount where JuiceFS tells (1.x); else see in which cache a new block turns up."""
    with contextlib.suppress(OSError, msgspec.DecodeError):
        told = msgspec.json.decode((mount / ".config").read_bytes(), type=Config).format
        return Identity(told.uuid, told.block_size << 10)
    content = secrets.token_bytes(64)
    probe = mount / OWN_PROBE
    try:
        block = written(mount, probe, content)
        return Identity(cache_with(block, content, directories))
    except OSError as error:
        raise IdentityError(f"nothing can be written to the data set: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()


def written(mount: Path, probe: Path, content: bytes) -> Block:
    """Write a file of one block: small writes are cached as they are stored."""
    with contextlib.suppress(FileNotFoundError):
        probe.unlink()
    with probe.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        inode = os.fstat(file.fileno()).st_ino
    with control.opened(mount) as client:
        pieces = parse_pieces(client.info(inode))
    if pieces is None or len(pieces.slices) != 1:
        raise IdentityError("JuiceFS does not tell where it stores a file")
    return Block(pieces.slices[0].id, 0, pieces.slices[0].size)


def cache_with(block: Block, content: bytes, directories: tuple[Path, ...]) -> str:
    until = time.monotonic() + LONGEST_WAIT
    while True:
        for tree in cachefiles.raw_trees(directories):
            for path in block.paths:
                with contextlib.suppress(OSError):
                    if (tree / path).read_bytes()[: len(content)] == content:
                        return tree.parent.name
        if time.monotonic() > until:
            raise IdentityError(
                "what is written does not turn up in the cache directories: are they those that the data set is"
                " mounted with, and do they have room?"
            )
        time.sleep(PAUSE)
