"""Warm-ups on a real JuiceFS: Succeeded means that every block is in the cache."""

import os

from support.enginebox import Volume
from support.runtimeprogram import RuntimeProgram


def test_after_a_warmup_every_block_is_cached(volume: Volume, server: RuntimeProgram) -> None:
    for number in range(50):
        volume.write(f"train/{number}", os.urandom(10_000))
    volume.write("big", os.urandom(9_000_000))
    volume.empty_cache()
    done = server.done("warm", type="warmup")
    assert done["state"] == "Succeeded", done
    assert done["result"]["files"] == 51
    assert done["result"]["expectedBlocks"] == done["result"]["presentBlocks"] == 53
    assert len(volume.blocks()) >= 53
