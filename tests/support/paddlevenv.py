"""PaddlePaddle for runs without a cluster: a virtual environment with what the tests' image has, made once."""

import os
import subprocess
from pathlib import Path

import pytest

from localkube import lock

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "dist/paddle"


def required() -> Path:
    """Give where it is; skip the test where it cannot be had, unless a cluster is required: then so is this."""
    with lock.exclusive(ROOT / "dist/.paddle", "somebody else fetches PaddlePaddle: waiting", print):
        made = subprocess.run([ROOT / "tools/paddle", PLACE], capture_output=True, text=True, check=False)
    if made.returncode:
        reason = f"NO PADDLEPADDLE HERE: {made.stderr.strip()}"
        (pytest.fail if os.environ.get("LOCALKUBE_REQUIRED") else pytest.skip)(reason)
    return PLACE
