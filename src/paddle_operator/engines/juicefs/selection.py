"""Which files a warm-up is about: those below paths or in a list, and of these one partition's share."""

import itertools
import os
import struct
import tempfile
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from paddle_operator.api.samplejob import WarmupStrategy
from paddle_operator.engines.juicefs import places
from paddle_operator.engines.juicefs.places import Entries, Found, PlaceError
from paddle_operator.engines.operations import Share, WarmupOrder
from paddle_operator.engines.sampling import rank_order

LONGEST_LINE = 4096
LARGEST_SEED = 1 << 32
# Before each path; 0 is no file's.
INODE = struct.Struct("=Q")


@dataclass
class Roll:
    """All files that shares are dealt from, as one partition saw them: another that saw others deals other shares."""

    files: int = 0
    names: int = 0

    def called(self, files: Iterator[Found]) -> Iterator[Found]:
        for file in files:
            self.files += 1
            self.names = zlib.crc32(b"%b\0" % os.fsencode(file.path), self.names)
            yield file

    def __str__(self) -> str:
        return f"{self.files}-{self.names:08x}"


class Numbered:
    """Files by their numbers, kept on disk: ten million of them would fill the memory."""

    def __init__(self, file: BinaryIO, files: Iterable[Found]) -> None:
        self._file, self._ends = file, array("Q", [0])
        end = 0
        for found in files:
            end += file.write(INODE.pack(found.inode or 0) + os.fsencode(found.path))
            self._ends.append(end)
        file.flush()

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> Found:
        start, end = self._ends[number], self._ends[number + 1]
        record = os.pread(self._file.fileno(), end - start, start)
        return Found(os.fsdecode(record[INODE.size :]), INODE.unpack_from(record)[0] or None)


def check(order: WarmupOrder) -> None:
    """Raise PlaceError for paths that are none of the data set, and for a share that is none."""
    for path in (*order.paths, *filter(None, [order.file])):
        places.parse(path)
    if order.paths and order.file:
        raise PlaceError("give either paths or file, not both")
    share = order.share
    if share and not 0 <= share.partition < share.partitions:
        raise PlaceError("a share's partition must be from 0 up to, not including, partitions")
    if share and (share.strategy == WarmupStrategy.SAMPLER) != (share.sampler is not None):
        raise PlaceError("the strategy sampler needs sampler, and no other does")
    if share and share.sampler and not (share.sampler.batch_size > 0 and 0 <= share.sampler.epoch < LARGEST_SEED):
        raise PlaceError(f"a sampler's batchSize must be 1 or more, and its epoch from 0 up to {LARGEST_SEED - 1}")


def selected(
    mount: Path, order: WarmupOrder, inside: Callable[[Found], Entries], roll: Roll, scratch: Path
) -> Iterator[Found]:
    """Give the files, in the same order on every partition; `inside` tells what is in a directory."""
    if order.file:
        files = listed(mount, places.parse(order.file))
    else:
        files = itertools.chain.from_iterable(places.files(mount, top, inside) for top in tops(order))
    if not order.share:
        return files
    return shared(roll.called(files) if is_by_number(order.share) else files, order.share, scratch)


def tops(order: WarmupOrder) -> list[PurePosixPath]:
    return [places.parse(path) for path in order.paths] or [PurePosixPath()]


def is_whole(order: WarmupOrder) -> bool:
    """Tell whether everything below the paths is asked for."""
    return not order.file and (order.share is None or (order.share.partitions == 1 and order.share.sampler is None))


def is_by_number(share: Share) -> bool:
    """Tell whether a file that comes or goes changes what becomes of those behind it."""
    return share.partitions > 1 and share.strategy != WarmupStrategy.RANDOM


def listed(mount: Path, file: PurePosixPath) -> Iterator[Found]:
    """Read a list of the data set: paths below its root, or as they are under the mount, a line each."""
    with open(places.file(mount, file), errors="surrogateescape") as lines:  # noqa: PTH123 it is open already
        while line := lines.readline(LONGEST_LINE):
            text = line.rstrip("\r\n").removeprefix(f"{mount}/")
            if text.strip():
                yield Found(str(places.parse(text)))


def shared(files: Iterator[Found], share: Share, scratch: Path) -> Iterator[Found]:
    """Give a partition its part; each computes its own, and no two think differently of it."""
    if share.sampler is not None:
        with tempfile.TemporaryFile(dir=scratch) as kept:
            everything = Numbered(kept, files)
            mine = rank_order(len(everything), share.partition, share.partitions, share.sampler)
            yield from (everything[number] for number in once(mine, len(everything)))
        return
    for number, file in enumerate(files):
        if share.strategy == WarmupStrategy.RANDOM:
            # Which one is chance, and yet the same chance on every partition.
            number = zlib.crc32(file.path.encode(errors="surrogateescape"))  # noqa: PLW2901 the other way to number it
        if number % share.partitions == share.partition:
            yield file


def once(numbers: Iterable[int], below: int) -> Iterator[int]:
    """Leave out what was there before: to fill up, a rank may read a file twice, and it is cached once."""
    seen = bytearray(below)
    for number in numbers:
        if not seen[number]:
            seen[number] = True
            yield number
