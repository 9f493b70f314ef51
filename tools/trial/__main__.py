"""Writes what `make quickstart` runs: a small image data set, and the manifests that cache it and train on it."""

import random
import struct
import sys
import zlib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
EACH = 150
SIZE = 32
KINDS = {"n01514859": (0.9, 0.5, 0.2), "n01677366": (0.2, 0.8, 0.3), "n02119789": (0.3, 0.4, 0.9)}
JOBS = {
    "rmr": {"rmrOptions": {"paths": ["n01514859"]}},
    "sync": {"secretRef": {"name": "imagenet"}},
    "clear": {},
    "warmup": {},
}
PLACE = {"namespace": "paddle-system"}
DATA = "batch.paddlepaddle.org/v1alpha1"


def chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))


def png(rows: list[bytes]) -> bytes:
    """Give a picture of rows of red, green and blue."""
    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def picture(colour: tuple[float, float, float], chance: random.Random) -> bytes:
    """Draw a spot of about this colour, somewhere on a noisy ground."""
    across, down, radius = chance.uniform(8, 24), chance.uniform(8, 24), chance.uniform(5, 9)
    rows = []
    for y in range(SIZE):
        row = bytearray()
        for x in range(SIZE):
            inside = (x - across) ** 2 + (y - down) ** 2 < radius**2
            for part in colour:
                level = part if inside else 0.5
                row.append(min(255, max(0, int(255 * level + chance.gauss(0, 30)))))
        rows.append(bytes(row))
    return png(rows)


def draw(place: Path) -> None:
    """Have the pictures; they are the same every time, so those that are there stay."""
    for kind, colour in KINDS.items():
        directory = place / kind
        directory.mkdir(parents=True, exist_ok=True)
        for number in range(EACH):
            file = directory / f"{kind}_{number}.png"
            if not file.exists():
                file.write_bytes(picture(colour, random.Random(file.name)))  # noqa: S311 pictures, not secrets


def sample_set(images: Path) -> list[dict[str, object]]:
    spec = {"partitions": 1, "source": {"uri": f"file://{images}"}, "secretRef": {"name": "imagenet"}}
    return [{"apiVersion": DATA, "kind": "SampleSet", "metadata": {"name": "imagenet", **PLACE}, "spec": spec}]


def sample_job(kind: str, images: Path) -> list[dict[str, object]]:
    spec = {"type": kind, "sampleSetRef": {"name": "imagenet"}, **JOBS[kind]}
    if kind == "sync":
        spec["syncOptions"] = {"source": f"file://{images}"}
    metadata = {"name": f"imagenet-{kind}", **PLACE}
    return [{"apiVersion": DATA, "kind": "SampleJob", "metadata": metadata, "spec": spec}]


def training() -> list[dict[str, object]]:
    program = (ROOT / "examples/trainings/images.py").read_text()
    job = yaml.safe_load((ROOT / "examples/quickstart/training.yaml").read_text())
    config = {"name": "trainings", **PLACE}
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": config, "data": {"images.py": program}}, job]


def main() -> None:
    place = Path(sys.argv[1]).absolute()
    images = place / "images"
    draw(images)
    written = [("sampleset", sample_set(images)), *((kind, sample_job(kind, images)) for kind in JOBS)]
    for number, (name, manifests) in enumerate([*written, ("training", training())], start=1):
        (place / f"{number}-{name}.yaml").write_text(yaml.safe_dump_all(manifests, sort_keys=False))


if __name__ == "__main__":
    main()
