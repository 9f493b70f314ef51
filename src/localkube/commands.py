"""Runs other programs: argv lists, a time limit, and what they printed when they fail."""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from localkube import errors

DEFAULT_TIMEOUT = 60.0


def run(
    argv: Sequence[str],
    *,
    stdin: str | bytes | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> str:
    """Run to the end and return standard output; raise with the last words of standard error otherwise."""
    try:
        done: subprocess.CompletedProcess[bytes] = subprocess.run(
            list(argv),
            **_input(stdin),
            capture_output=True,
            timeout=timeout,
            env=None if environment is None else {**os.environ, **environment},
            cwd=directory,
            check=False,
        )
    except FileNotFoundError:
        raise errors.CommandFailedError(argv, 127, f"the program {argv[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise errors.CommandFailedError(argv, 124, f"no end after {timeout:.0f} s") from None
    if done.returncode != 0:
        said = done.stderr or done.stdout
        raise errors.CommandFailedError(argv, done.returncode, said.decode(errors="replace"))
    return done.stdout.decode(errors="replace")


def _input(stdin: str | bytes | None) -> dict[str, Any]:
    """Write what is there to the program; nothing means nothing to read."""
    if stdin is None:
        return {"stdin": subprocess.DEVNULL}
    return {"input": stdin.encode() if isinstance(stdin, str) else stdin}


def succeeds(argv: Sequence[str]) -> bool:
    try:
        run(argv)
    except errors.CommandFailedError:
        return False
    return True


def bound_to_parent(argv: Iterable[str]) -> list[str]:
    """Make a long-running child end with us, also when we are killed."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *argv]
