"""Sizes as people write them: 100M, 1.5G, in powers of 1024."""

import re

from localkube import errors

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT]?)i?B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}


def parse(text: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise errors.LocalkubeError(f"{text!r} is not a size: write 500M or 1.5G")
    factor: int = 1024 ** _POWERS[match[2].upper()]
    return round(float(match[1]) * factor)
