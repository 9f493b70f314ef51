"""As many hostile names as an order may have: each is the name of a file, and of nothing else."""

import os

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
