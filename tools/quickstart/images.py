"""Runs in the store's pod: makes small pictures, and puts them into the bucket."""

import random
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

PLACE = Path("/store/pictures")
BUCKET = "s3://paddleflow-public.127.0.0.1:9000/imagenet/"
EDGE = 64
FOLDERS = {"demo/n01514859": 200, "train/n01440764": 100, "train/n01443537": 100}


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def picture(name: str) -> bytes:
    """Give a PNG of coloured noise that follows from its name."""
    noise = random.Random(name)  # noqa: S311 no secret: the same picture every time
    rows = b"".join(b"\0" + noise.randbytes(3 * EDGE) for _ in range(EDGE))
    header = struct.pack(">IIBBBBB", EDGE, EDGE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pictures() -> Iterator[str]:
    for folder, number in FOLDERS.items():
        yield from (f"{folder}/{folder[-9:]}_{index}.png" for index in range(number))


def main() -> None:
    for folder in FOLDERS:
        (PLACE / folder).mkdir(parents=True, exist_ok=True)
    for name in pictures():
        (PLACE / name).write_bytes(picture(name))
    (PLACE / "train_list.txt").write_text("".join(f"{name}\n" for name in pictures() if name.startswith("train/")))
    subprocess.run(["juicefs", "--no-agent", "sync", f"{PLACE}/", BUCKET], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
