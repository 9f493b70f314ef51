"""Gets a URL and prints what it answers, or with --measure how many megabits per second came."""

import argparse
import sys
import time
import urllib.request
from typing import Protocol

PIECE = 1 << 18


class Body(Protocol):
    def read(self, size: int, /) -> bytes: ...


def megabits_per_second(body: Body) -> float:
    begun, received = time.monotonic(), 0
    while piece := body.read(PIECE):
        received += len(piece)
    return received * 8 / 1e6 / (time.monotonic() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--timeout", type=float, default=10.0)
    asked = parser.parse_args()
    try:
        with urllib.request.urlopen(asked.url, timeout=asked.timeout) as answer:  # noqa: S310 a URL of the test's own
            if asked.measure:
                sys.stdout.write(f"{megabits_per_second(answer):.1f}\n")
            else:
                sys.stdout.buffer.write(answer.read())
    except OSError as error:
        sys.exit(f"{asked.url}: {error}")


if __name__ == "__main__":
    main()
