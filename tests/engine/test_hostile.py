"""As many hostile names as an order may have: each is the name of a file, and of nothing else."""

import os
from pathlib import Path

import pytest

from support.enginebox import AREA, Volume
from support.runtimeprogram import RuntimeProgram

MOST_PATHS = 256
SIZE = 1000
# With a number in the place of {}; what is before the last of them is legal, if unkind.
SHAPES = [
    "-{}", "--delete={}", "-rf {}", "$(touch hacked{})", "${{HOME}}{}", "`touch hacked{}`", "; touch hacked{}",
    "{} | tee hacked", "a b  c{}", "'{}", '"{}"', "\\n{}", "\\{}", "*{}", "?{}", "[a-z]{}", "~{}", "#{}", "%s%n{}",
    "..{}", "...{}", "{}..", "{}:x", "{},y", "a=b{}", "数据{}", "e\u0301{}", "\u202e{}", "\u2028{}", "😀{}",
    "\u00a0x{}", ".hidden{}", "{}.control", "{} -> elsewhere", "inode:{}",
    "file:{}", "{{}}{}", "&{}", "<{}>", "!{}", "^{}$",
]  # fmt: skip
TRIMMED = [*SHAPES, " {}", "{} ", "\u3000{}", "{}\u00a0"]
# What JuiceFS reads in addresses: other hosts, ports, keys, queries, fragments, codes, and ways up.
ADDRESSES = [
    "2024-01-01T00:0{}", "x:pw@127.0.0.1:{}", "x:y:z:{}@w", "127.0.0.1:{}", "[::1]:{}", "a%20b{}", "%2e%2e{}", "%zz{}",
    "a?{}", "a#{}", "a+b{}", "x\\..\\{}", "{}\\..", "%2e%2e/{}", "%2F{}", "s3:/b.host/{}", "file:/{}/x",
]  # fmt: skip


def hostile(shapes: list[str]) -> list[str]:
    return [shapes[number % len(shapes)].replace("{}", str(number), 1) for number in range(MOST_PATHS)]


@pytest.mark.parametrize("shapes", [SHAPES, TRIMMED], ids=["names", "names with spaces at their ends, too"])
def test_each_hostile_name_is_taken_literally(volume: Volume, server: RuntimeProgram, shapes: list[str]) -> None:
    outside = volume.box.inside(AREA / "next door")
    outside.mkdir(exist_ok=True)
    (outside / "precious").write_text("x")
    names = hostile(shapes)
    # What would be hit by somebody who trims, splits or expands a name.
    decoys = {name.strip() for name in names if name.strip() != name} | {"b", "c", "hacked", "elsewhere", "x", "kept"}
    assert len(set(names)) == MOST_PATHS
    for name in [*names, *decoys]:
        volume.write(f"odd/{name}", os.urandom(SIZE))
    volume.await_cached(SIZE, len(names) + len(decoys))
    volume.empty_cache()
    paths = [f"odd/{name}" for name in names]

    warmed = server.done("warm", type="warmup", paths=paths)
    assert warmed["state"] == "Succeeded", warmed
    assert (warmed["result"]["files"], warmed["result"]["presentBlocks"]) == (MOST_PATHS, MOST_PATHS)
    assert len([block for block in volume.blocks() if block.name.endswith(f"_{SIZE}")]) == MOST_PATHS

    removed = server.done("remove", type="rmr", paths=paths)
    assert (removed["state"], removed["message"]) == ("Succeeded", ""), removed
    assert {path.name for path in (volume.inside / "odd").iterdir()} == decoys
    assert {path.name for path in volume.inside.iterdir() if path.name[0] != "."} == {"odd"}
    assert [path.read_text() for path in outside.iterdir()] == ["x"]


def test_a_sync_fills_the_directory_of_each_hostile_name_from_another_and_touches_nothing_else(
    volume: Volume, server: RuntimeProgram, source: Path
) -> None:
    names = [shape.replace("{}", str(number), 1) for number, shape in enumerate([*TRIMMED, *ADDRESSES])]
    # What would be hit by somebody who decodes or cuts a name, or finds a way up in it.
    decoys = {"kept", "odd/kept", "odd/a/kept", "odd/x/kept", "odd/a b/kept"}
    for decoy in decoys:
        volume.write(decoy, b"x")
    for name in names:
        (source / name).mkdir(parents=True)
        (source / name / "file").write_text(name)
    for number, name in enumerate(names):
        order = {"source": f"file://{AREA}/source/{name}", "destination": f"odd/{name}", "delete-dst": True}
        assert server.order(f"copy-{number}", type="sync", **order).status == 202
    states = {name: server.ended(f"copy-{number}")["state"] for number, name in enumerate(names)}
    assert {name for name, state in states.items() if state != "Succeeded"} == set()
    copied = {name: volume.inside / "odd" / name / "file" for name in names}
    assert {name: path.read_text() for name, path in copied.items()} == {name: name for name in names}
    everything = {path for path in volume.inside.rglob("*") if path.name in {"file", "kept"}}
    assert everything == {*(volume.inside / decoy for decoy in decoys), *copied.values()}
