"""Warm-ups on a real JuiceFS: Succeeded means that every block is in the cache."""

import os
import random
import shutil
from pathlib import Path

import pytest

from support.enginebox import AREA, OWN, Box, Volume
from support.runtimeprogram import RuntimeProgram

SIZE = 10_000


def filled(volume: Volume, count: int = 40) -> dict[str, bytes]:
    """Have files of one block each, none of them cached."""
    files = {f"train/{number:03}": os.urandom(SIZE) for number in range(count)}
    for name, content in files.items():
        volume.write(name, content)
    volume.await_cached(SIZE, count)
    volume.empty_cache()
    return files


def object_of(volume: Volume, content: bytes) -> Path:
    return next(path for path in volume.objects() if path.read_bytes() == content)


def test_after_a_warmup_every_block_is_cached(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume, 50)
    volume.write("big", os.urandom(9_000_000))
    done = server.done("warm", type="warmup")
    assert done["state"] == "Succeeded", done
    assert done["result"] == {"files": 51, "bytes": 9_500_000, "expectedBlocks": 53, "presentBlocks": 53}
    assert done["progress"] == {"files": 51, "totalFiles": 51, "bytes": 9_500_000, "totalBytes": 9_500_000}
    assert len(volume.blocks()) >= 53


def test_a_warmup_fails_and_names_the_files_whose_objects_are_missing(volume: Volume, server: RuntimeProgram) -> None:
    files = filled(volume)
    gone, cut = list(files)[3:6], list(files)[7]
    for name in gone:
        object_of(volume, files[name]).unlink()
    os.truncate(object_of(volume, files[cut]), SIZE // 2)
    done = server.done("warm", type="warmup")
    assert done["state"] == "Failed"
    assert sorted(done["result"]["missing"]) == sorted([*gone, cut])
    assert (done["result"]["expectedBlocks"], done["result"]["presentBlocks"]) == (40, 36)
    assert "4 of 40 files are not wholly cached" in done["message"]


def test_a_block_that_was_cut_in_the_cache_is_brought_anew(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume)
    assert server.done("first", type="warmup")["state"] == "Succeeded"
    for block in volume.blocks()[:5]:
        os.truncate(block, 10)
    assert server.done("second", type="warmup")["state"] == "Succeeded"
    assert min(path.stat().st_size for path in volume.blocks() if path.name.endswith(f"_{SIZE}")) >= SIZE


HARMS = ("removed", "cut", "replaced")
# JuiceFS 0.14 keeps no checksums: bytes of the same length are told apart only if they were read once.
KNOWN_HARMS = (*HARMS, "corrupted", "forged")


def harmed(path: Path, harm: str, chance: random.Random) -> None:
    """Remove a file, cut it, or put something else in its place: shorter, as long in a bit or as a whole."""
    match harm:
        case "removed":
            path.unlink()
        case "cut":
            os.truncate(path, chance.randrange(SIZE))
        case "replaced":
            path.write_bytes(chance.randbytes(chance.randrange(SIZE)))
        case "corrupted":
            content = bytearray(path.read_bytes())
            content[chance.randrange(SIZE)] ^= 1 << chance.randrange(8)
            path.write_bytes(content)
        case _:
            status = path.stat()
            path.write_bytes(chance.randbytes(status.st_size))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("seed", range(int(os.environ.get("TRIALS", "4"))))
@pytest.mark.parametrize("asked", ["world", "metadata_world"], ids=["the client tells", "metadata tell"])
def test_what_is_reported_missing_is_what_was_harmed(request: pytest.FixtureRequest, asked: str, seed: int) -> None:
    """Objects and blocks are removed, cut, replaced and corrupted at random, in a warm cache or a cold one."""
    chance = random.Random(seed)  # noqa: S311 a test's dice
    volume, server = request.getfixturevalue(asked)
    volume.empty()
    server.renew()
    files = filled(volume, 30)
    is_warm = chance.random() < 0.7
    if is_warm:
        assert server.done("first", type="warmup")["state"] == "Succeeded"
        server.until_studied()
    blocks = {path.name: path for path in volume.blocks()}
    stored = {name: object_of(volume, content) for name, content in files.items()}
    lost, damaged = [], []
    for name in chance.sample(sorted(files), chance.randint(0, 6)):
        places = [stored[name], blocks[stored[name].name]] if is_warm else [stored[name]]
        harms = {place: chance.choice(KNOWN_HARMS if is_warm else HARMS) for place in places}
        meant = chance.choice([places[:1], places[1:], places])
        for place in meant:
            harmed(place, harms[place], chance)
        lost += [name] if meant == places else []
        damaged += [name] if meant == places and harms[stored[name]] not in HARMS else []
    done = server.done("second", type="warmup")
    assert done["state"] == ("Failed" if lost else "Succeeded"), done
    assert sorted((done["result"] or {}).get("missing", [])) == sorted(lost)
    assert sorted((done["result"] or {}).get("damaged", [])) == sorted(damaged)
    assert done["result"]["presentBlocks"] == 30 - len(lost)
    cached = {path.name: path.read_bytes()[:SIZE] for path in volume.blocks()}
    right = {stored[name].name: content for name, content in files.items() if name not in lost}
    assert {name: content for name, content in cached.items() if name.endswith(f"_{SIZE}")} == right


def test_an_object_with_other_bytes_of_the_same_length_fails_the_warmup_after_a_restart(
    volume: Volume, server: RuntimeProgram
) -> None:
    files = filled(volume)
    assert server.done("first", type="warmup")["state"] == "Succeeded"
    server.kill()
    server.start()
    server.until_studied()
    assert server.done("clear", type="clear")["state"] == "Succeeded"
    path, chance = object_of(volume, files["train/007"]), random.Random(1)  # noqa: S311 a test's dice
    harmed(path, "corrupted", chance)
    done = server.done("second", type="warmup")
    assert (done["state"], done["result"]["damaged"]) == ("Failed", ["train/007"]), done
    assert "1 files the store gives bytes that are not those that were first read: 'train/007'" in done["message"]
    path.write_bytes(files["train/007"])
    assert server.done("third", type="warmup")["state"] == "Succeeded"


def test_a_ledger_that_cannot_be_written_stops_no_warmup_and_is_told_of(box: Box) -> None:
    volume = Volume(box)
    server = RuntimeProgram(box, volume)
    server.start()
    filled(volume, 5)
    box.inside(server.spool / "ledger").write_text("no directory")
    done = server.done("warm", type="warmup")
    assert (done["state"], done["result"]["presentBlocks"]) == ("Succeeded", 5), done
    assert "could not be remembered" in done["message"]


def test_a_set_that_goes_leaves_nothing_remembered(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume, 5)
    assert server.done("warm", type="warmup")["state"] == "Succeeded"
    ledger = server.box.inside(server.spool / "ledger")
    assert list(ledger.iterdir())
    assert server.done("clear", type="clear", forget=True)["state"] == "Succeeded"
    assert not list(ledger.iterdir())


def test_a_cache_without_room_fails_the_warmup(box: Box) -> None:
    volume = Volume(box, "small", cache_mib=1)
    server = RuntimeProgram(box, volume)
    server.start()
    for number in range(4):
        volume.write(f"big{number}", os.urandom(5_000_000))
    done = server.done("warm", type="warmup")
    assert done["state"] == "Failed"
    assert done["result"]["missingFiles"] >= 3


def test_what_another_volume_has_in_the_same_cache_does_not_count(box: Box) -> None:
    volume = Volume(box)
    server = RuntimeProgram(box, volume)
    server.start()
    files = filled(volume)
    assert server.done("first", type="warmup")["state"] == "Succeeded"
    (own,) = (path for path in box.inside(volume.cache).iterdir() if path.is_dir())
    shutil.copytree(own, own.with_name("00000000-0000-4000-8000-000000000000"))
    first = next(iter(files))
    object_of(volume, files[first]).unlink()
    shutil.rmtree(own / "raw")
    done = server.done("second", type="warmup")
    assert done["state"] == "Failed"
    assert done["result"]["missing"] == [first]


AWKWARD = [
    "a name with spaces", " starts with a space", "ends with a space ", "new\nline", "$(touch hacked)", "`id`",
    "-rf", "--help", "'quoted'", '"double"', "tab\there", "数据", "back\\slash", "*", ".hidden", "a;b|c&d",
]  # fmt: skip


def test_every_name_that_a_file_can_have_is_warmed_up(volume: Volume, server: RuntimeProgram) -> None:
    for name in AWKWARD:
        volume.write(f"odd/{name}", os.urandom(SIZE))
    (volume.inside / os.fsdecode(b"odd/no utf-8 \xff")).write_bytes(os.urandom(SIZE))
    volume.await_cached(SIZE, len(AWKWARD) + 1)
    volume.empty_cache()
    done = server.done("warm", type="warmup")
    assert done["state"] == "Succeeded", done
    assert done["result"]["files"] == done["result"]["presentBlocks"] == len(AWKWARD) + 1


@pytest.mark.parametrize("strategy", ["sequence", "random"])
def test_partitions_together_take_every_file_once(volume: Volume, server: RuntimeProgram, strategy: str) -> None:
    filled(volume, 60)
    taken, dealt_from = 0, set()
    for number in range(3):
        volume.empty_cache()
        share = {"partition": number, "partitions": 3, "strategy": strategy}
        done = server.done(f"part{number}", type="warmup", share=share)
        assert done["state"] == "Succeeded", done
        files = done["result"]["files"]
        taken += files
        dealt_from.add(done["result"].get("dealtFrom", ""))
        assert 0 < files < 60
        assert len([path for path in volume.blocks() if path.name.endswith(f"_{SIZE}")]) == files
    assert taken == 60
    assert [said.partition("-")[0] for said in dealt_from] == ["60" if strategy == "sequence" else ""]


def test_only_what_is_asked_for_is_warmed_up(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume)
    volume.write("lists/some.txt", b"train/001\n\ntrain/002\n%b/train/003\n" % os.fsencode(volume.mount))
    by_path = server.done("path", type="warmup", paths=["train/004", "lists"])
    by_list = server.done("list", type="warmup", file="lists/some.txt")
    assert (by_path["state"], by_path["result"]["files"]) == ("Succeeded", 2)
    assert (by_list["state"], by_list["result"]["files"]) == ("Succeeded", 3)


def test_a_list_that_is_longer_than_juicefs_takes_at_once_is_warmed_up(volume: Volume, server: RuntimeProgram) -> None:
    names = [f"{number:03}-{'x' * 220}" for number in range(600)]
    for name in names:
        volume.write(f"long/{name}", name.encode())
    volume.await_cached(len(names[0]), len(names))
    volume.empty_cache()
    volume.write("list.txt", "".join(f"long/{name}\n" for name in names).encode())
    done = server.done("warm", type="warmup", file="list.txt")
    assert (done["state"], done["result"]["presentBlocks"]) == ("Succeeded", 600), done


def test_a_path_or_a_listed_file_that_is_not_there_fails_the_warmup(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume, 3)
    volume.write("list.txt", b"train/001\ntrain/nothing\n")
    by_path = server.done("path", type="warmup", paths=["nothing"])
    by_list = server.done("list", type="warmup", file="list.txt")
    escaping = server.done("escape", type="warmup", file="train/000")
    assert (by_path["state"], by_path["message"]) == ("Failed", "there is no 'nothing' in the data set")
    assert by_list["state"] == "Failed"
    assert by_list["result"]["missing"] == ["train/nothing"]
    assert escaping["state"] == "Failed"


def test_a_list_cannot_name_what_is_outside(volume: Volume, server: RuntimeProgram) -> None:
    volume.write("list.txt", b"train/../../../etc/passwd\n")
    done = server.done("list", type="warmup", file="list.txt")
    assert done["state"] == "Failed"
    assert "'..'" in done["message"]


def test_no_link_leads_a_warmup_out_of_the_data_set(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume, 3)
    outside = volume.box.inside(AREA / "private")
    outside.mkdir()
    (outside / "secret").write_text("redis://:hush@somewhere\n")
    (volume.inside / "secret").symlink_to(AREA / "private/secret")
    (volume.inside / "secret ").symlink_to(AREA / "private/secret")
    (volume.inside / "out").symlink_to(AREA)
    os.mkfifo(volume.inside / "pipe")
    volume.write("list.txt", b"train/001\nout/private/secret\nsecret\nsecret \npipe\n")
    for name in ("secret", "out/private/secret", "pipe"):
        done = server.done(f"list-{name[:3]}", type="warmup", file=name)
        assert (done["state"], done["message"]) == ("Failed", f"there is no file '{name}' in the data set")
        assert done["result"] is None
    for name in ("out/private", "out/private/secret", "out", "secret", "pipe"):
        done = server.done(f"path-{len(name)}", type="warmup", paths=[name])
        assert done["state"] == "Failed"
        assert name in done["message"]
    listed = server.done("listed", type="warmup", file="list.txt")
    assert listed["result"]["missing"] == ["out/private/secret", "secret", "secret ", "pipe"]


def test_what_another_server_writes_to_learn_its_volume_is_no_data(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume, 3)
    volume.write(".paddle-operator-probe-other-1", b"x")
    assert server.done("warm", type="warmup")["result"]["files"] == 3


def test_a_warmup_can_be_cancelled(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume)
    server.order("warm", type="warmup")
    server.cancel("warm")
    assert server.ended("warm")["state"] in {"Cancelled", "Succeeded"}
    assert server.done("again", type="warmup")["state"] == "Succeeded"


def test_files_without_data_or_with_holes_are_cached_as_they_are(volume: Volume, server: RuntimeProgram) -> None:
    volume.write("empty", b"")
    volume.write("sparse", os.urandom(SIZE))
    os.truncate(volume.inside / "sparse", 100_000_000)
    with (volume.inside / "gap").open("wb") as file:
        file.seek(70_000_000)
        file.write(os.urandom(SIZE))
    done = server.done("warm", type="warmup")
    assert (done["state"], done["result"]["files"], done["result"]["expectedBlocks"]) == ("Succeeded", 3, 2), done


def test_an_empty_data_set_is_wholly_cached(volume: Volume, server: RuntimeProgram) -> None:
    del volume
    assert server.done("warm", type="warmup")["state"] == "Succeeded"


def test_a_warmup_leaves_nothing_in_the_data_set(volume: Volume, server: RuntimeProgram) -> None:
    filled(volume, 3)
    server.done("warm", type="warmup")
    assert {path.name for path in volume.inside.iterdir()} - OWN == {"train"}
