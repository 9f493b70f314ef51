"""Trains while workers come and go: Paddle's launcher starts it anew for each set of them, and it goes on."""

import json
import os
import sys
import time
from pathlib import Path

import paddle
from paddle import distributed, nn

# Kept where a container that starts again finds it: a volume, not the container's own files.
CHECKPOINT = Path(os.environ.get("CHECKPOINT", "checkpoint"))
STEPS = int(os.environ.get("STEPS", "100"))
# A file by which any worker is told to bring the training to its end.
END = CHECKPOINT.with_name("end")
PAUSE = 0.5
RATE = 0.05
WANTED = [[1.0], [2.0], [3.0], [4.0]]


class Training:
    def __init__(self) -> None:
        self.rank, self.world = distributed.get_rank(), distributed.get_world_size()
        self.model = nn.Linear(4, 1)
        self.step, self.loss = 0, 0.0
        if CHECKPOINT.exists():
            saved = paddle.load(str(CHECKPOINT))
            self.step = int(saved["step"])
            self.model.set_state_dict(saved["model"])

    def agree(self) -> None:
        """Go on from whoever came furthest; a worker that is new here has nothing yet."""
        everyones: list[paddle.Tensor] = []
        distributed.all_gather(everyones, paddle.to_tensor([self.step]))
        steps = [int(step.item()) for step in everyones]
        self.step = max(steps)
        for parameter in self.model.parameters():
            distributed.broadcast(parameter, steps.index(self.step))

    def advance(self) -> None:
        samples = paddle.rand([16, 4])
        loss = nn.functional.mse_loss(self.model(samples), samples @ paddle.to_tensor(WANTED))
        gradients = paddle.grad(loss, self.model.parameters())
        for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
            distributed.all_reduce(gradient)
            parameter.set_value(parameter - RATE * gradient / self.world)
        self.step, self.loss = self.step + 1, loss.item()

    def is_over(self) -> bool:
        told = paddle.to_tensor([int(END.exists())])
        distributed.all_reduce(told)
        return self.step >= STEPS or int(told.item()) > 0

    def save(self) -> None:
        unfinished = CHECKPOINT.with_name(f"{CHECKPOINT.name}.tmp")
        paddle.save({"step": self.step, "model": self.model.state_dict()}, str(unfinished))
        unfinished.replace(CHECKPOINT)

    def report(self, event: str) -> None:
        result = {"event": event, "rank": self.rank, "world": self.world, "step": self.step, "loss": self.loss}
        sys.stdout.write(json.dumps(result) + "\n")
        sys.stdout.flush()


def train() -> None:
    distributed.init_parallel_env()
    training = Training()
    training.agree()
    training.report("begun")
    while not training.is_over():
        training.advance()
        training.save()
        time.sleep(PAUSE)
    training.report("done")


def main() -> None:
    try:
        train()
    except RuntimeError as error:
        # A worker is gone. The launcher hears of it within seconds and starts us anew; were we to end, so would it.
        sys.stderr.write(f"waiting for the launcher: {error}\n")
        time.sleep(120)
        sys.exit(1)


if __name__ == "__main__":
    main()
