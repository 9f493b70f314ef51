"""What can go wrong and a person can act on: shown as one sentence, never as a traceback."""

from collections.abc import Sequence


class LocalkubeError(Exception):
    """A failure with words for the person at the terminal."""


class CommandFailedError(LocalkubeError):
    """Another program said no."""

    def __init__(self, argv: Sequence[str], code: int, output: str) -> None:
        self.argv = tuple(argv)
        self.code = code
        self.output = output.strip()
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        last = " / ".join(lines[-3:]) or "it printed nothing"
        super().__init__(f"`{' '.join(argv[:4])}` ended with {code}: {last}")


class NotRunningError(LocalkubeError):
    """The cluster, or the part of it that was asked, is not there."""
