"""A JSON text from outside: read whole, but for what is nested deeper than anything that means something."""

import re

import msgspec

# The API server takes ten thousand levels where a schema is open; Python gives up at one thousand.
DEEPEST = 200
PARTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)


def parse(text: bytes) -> object:
    """Raise ValueError for what is no JSON, and nothing else: one object must not spoil a list or a watch."""
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        return msgspec.json.decode(shallow(text))


def shallow(text: bytes) -> bytes:
    """Put null in the place of what is too deep."""
    kept: list[bytes] = []
    depth, start = 0, 0
    for part in PARTS.finditer(text):
        match part.group():
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept.append(text[start : part.start()])
            case b"]" | b"}":
                if depth == DEEPEST + 1:
                    kept.append(b"null")
                    start = part.end()
                depth -= 1
    return b"".join(kept if depth > DEEPEST else [*kept, text[start:]])  # cut off in the depths, it stays cut off
