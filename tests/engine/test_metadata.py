"""What a runtime server reads in a volume's metadata, beside what the client of JuiceFS tells."""

import contextlib
import functools
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from paddle_operator.engines.juicefs import expectation, metadata, places
from paddle_operator.engines.juicefs.listing import Asked, conversations
from paddle_operator.engines.juicefs.places import Entries, Found
from support.enginebox import Volume
from support.runtimeprogram import RuntimeProgram

from .conftest import METADATA, World

LEARNED = "files are learned from=metadata"
UNUSED = "the metadata cannot be used"


@pytest.fixture
def volume(metadata_world: World) -> Volume:
    metadata_world.volume.empty()
    return metadata_world.volume


@pytest.fixture
def server(metadata_world: World) -> RuntimeProgram:
    metadata_world.server.renew()
    return metadata_world.server


def scribbled(path: Path, chance: random.Random) -> None:
    """Write here and there, over what was written, beyond the end; and cut, and lengthen.

    After more writes, whoever asks the client has it put the pieces together anew.
    """
    with path.open("w+b") as file:
        for _ in range(chance.randint(0, 4)):
            file.seek(chance.choice([chance.randrange(50_000), chance.randrange(140 << 20)]))
            file.write(chance.randbytes(chance.randrange(1, 30_000)))
            if chance.random() < 0.3:
                file.truncate(chance.randrange(140 << 20))
            if chance.random() < 0.7:
                file.flush()
                os.fsync(file.fileno())


def test_metadata_tell_of_every_file_what_the_client_tells(volume: Volume) -> None:
    chance = random.Random(7)  # noqa: S311 a test's dice
    for number in range(60):
        scribbled(volume.inside / f"{number:02}", chance)
    (volume.inside / "directory").mkdir()
    (uuid,) = (path.name for path in volume.box.inside(volume.cache).iterdir() if (path / "raw").exists())
    files = [Found(f"{number:02}", (volume.inside / f"{number:02}").stat().st_ino) for number in range(60)]
    files = [Found("nothing"), *files[:-1], Found(files[-1].path)]
    with metadata.opened(volume.box.inside(METADATA), uuid) as told:
        assert told is not None
        assert expectation.read_out(volume.inside, files, told) == list(expectation.observed(volume.inside, files))
    with metadata.opened(volume.box.inside(METADATA), "another volume") as told:
        assert told is None


def test_metadata_tell_of_every_directory_what_the_client_tells(volume: Volume) -> None:
    names = ["plain", "with space", "new\nline", "$(x)", "é", "\udcff", "-l", "x" * 255, *map(str, range(300))]
    for directory in ("train", "train/deep", "train/deep/\udcfe"):
        (volume.inside / directory).mkdir()
        for name in names:
            (volume.inside / directory / name).touch()
        (volume.inside / directory / "link").symlink_to("plain")
        (volume.inside / directory / "empty").mkdir()
    with walked(volume) as (asked, by_client):
        found = list(places.files(volume.inside, PurePosixPath("train"), asked.entries))
        assert asked.metadata is not None
        assert asked.has_tried_entries
        assert found == list(places.files(volume.inside, PurePosixPath("train"), by_client))
        assert len(found) == 3 * len(names)


def test_until_metadata_have_proven_true_the_client_says_what_is_there(volume: Volume) -> None:
    """Emptiness proves nothing, and a wrong inode proves the contrary."""
    for name in ("empty", "train"):
        (volume.inside / name).mkdir()
    (volume.inside / "train/a").touch()
    with walked(volume) as (asked, by_client):
        empty = Found("empty", (volume.inside / "empty").stat().st_ino)
        assert asked.entries(empty) == ([], [])
        assert asked.metadata is not None
        assert not asked.has_tried_entries
        wrong = Found("train", empty.inode)
        assert asked.entries(wrong) == by_client(wrong)
        other = Found("empty", (volume.inside / "train").stat().st_ino)
        assert asked.entries(other) == ([], [])
        assert asked.metadata is None


@contextlib.contextmanager
def walked(volume: Volume) -> Iterator[tuple[Asked, Callable[[Found], Entries]]]:
    (uuid,) = (path.name for path in volume.box.inside(volume.cache).iterdir() if (path / "raw").exists())
    with metadata.opened(volume.box.inside(METADATA), uuid) as told, conversations() as pool:
        yield Asked(volume.inside, pool, told), functools.partial(places.entries, volume.inside)


def test_a_warmup_learns_from_metadata_what_must_be_cached(volume: Volume, server: RuntimeProgram) -> None:
    for number in range(30):
        volume.write(f"train/{number}", os.urandom(1000))
    volume.write("big", os.urandom(9_000_000))
    volume.empty_cache()
    before = volume.box.log("server")
    done = server.done("warm", type="warmup")
    assert done["result"] == {"files": 31, "bytes": 9_030_000, "expectedBlocks": 33, "presentBlocks": 33}
    said = volume.box.log("server").removeprefix(before)
    assert LEARNED in said
    assert UNUSED not in said


@pytest.mark.parametrize("address", ["redis://127.0.0.1:1/0", "redis://:wrong@{place}", "mysql://a", ""])
def test_without_metadata_the_client_is_asked(volume: Volume, server: RuntimeProgram, address: str) -> None:
    file = volume.box.inside(METADATA)
    right = file.read_text()
    volume.write("a", os.urandom(1000))
    file.write_text(address.format(place=right.partition("@")[2]))
    try:
        before = volume.box.log("server")
        assert server.done("warm", type="warmup")["state"] == "Succeeded"
        assert LEARNED not in volume.box.log("server").removeprefix(before)
    finally:
        file.write_text(right)


def test_the_password_of_the_metadata_is_never_told(volume: Volume, server: RuntimeProgram) -> None:
    volume.write("a", os.urandom(1000))
    done = server.done("warm", type="warmup")
    told = [str(done), str(server.status()), volume.box.log("server")]
    kept = [path.read_bytes() for path in server.spooled()]
    assert not any(b"hush" in text for text in [*map(str.encode, told), *kept])
