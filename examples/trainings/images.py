"""Trains a small network to tell apart the images of a directory, and prints as one line of JSON how well it does."""

import json
import os
import random
import sys
import time
from pathlib import Path

import numpy as np
import paddle
from paddle import nn
from PIL import Image

EPOCHS = 6
BATCH = 32
GOOD_ENOUGH = 0.9


class Pictures(paddle.io.Dataset):  # type: ignore[misc]  # Paddle has no types
    """The images below a directory; the directory that one is in says what it shows."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        kinds = sorted(path.name for path in directory.iterdir() if path.is_dir())
        self.kinds = len(kinds)
        self.files = [(path, kinds.index(path.parent.name)) for path in sorted(directory.glob("*/*.png"))]
        random.Random(1).shuffle(self.files)  # noqa: S311  # no secret

    def __getitem__(self, index: int) -> tuple[object, int]:
        path, kind = self.files[index]
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB"), dtype="float32") / 255.0
        return pixels.transpose(2, 0, 1), kind

    def __len__(self) -> int:
        return len(self.files)


def network(kinds: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2D(3, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2D(4),
        nn.Conv2D(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2D(2),
        nn.Flatten(),
        nn.Linear(64, kinds),
    )


def train(pictures: Pictures) -> list[float]:
    """Go through all images several times, and give how many were told apart each time."""
    model = network(pictures.kinds)
    optimizer = paddle.optimizer.Adam(learning_rate=0.02, parameters=model.parameters())
    correct = []
    for epoch in range(EPOCHS):
        right = 0
        for images, kinds in paddle.io.DataLoader(pictures, batch_size=BATCH, shuffle=True):
            guessed = model(images)
            loss = nn.functional.cross_entropy(guessed, kinds)
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            right += int((guessed.argmax(axis=1) == kinds.flatten()).sum())
        correct.append(right / len(pictures))
        sys.stderr.write(f"epoch {epoch + 1} of {EPOCHS}: {correct[-1]:.0%} right\n")
    return correct


def main() -> None:
    began = time.monotonic()
    paddle.seed(1)
    pictures = Pictures(Path(os.environ["IMAGES"]))
    correct = train(pictures)
    told = {"images": len(pictures), "kinds": pictures.kinds, "first": correct[0], "last": correct[-1]}
    sys.stdout.write(json.dumps({**told, "seconds": round(time.monotonic() - began, 1)}) + "\n")
    if correct[-1] < GOOD_ENOUGH:
        sys.exit("it has not learned to tell them apart")


if __name__ == "__main__":
    main()
