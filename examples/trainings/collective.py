"""Trains one model on all workers, checks that they agree on who is who, and prints one line of JSON."""

import json
import socket
import sys

import paddle
from paddle import distributed, nn

STEPS = 40
WANTED = [[1.0], [2.0], [3.0], [4.0]]


def own_endpoint(rank: int) -> str:
    """Return what the others call this rank; only a machine whose address it is can bind it."""
    endpoint = str(distributed.ParallelEnv().trainer_endpoints[rank])
    with socket.socket() as probe:
        probe.bind((socket.gethostbyname(endpoint.rpartition(":")[0]), 0))
    return endpoint


def sum_of_powers(rank: int) -> int:
    """Add 10 to the power of each rank: 1111 for four workers, and no other ranks give that."""
    power = paddle.to_tensor([10**rank])
    distributed.all_reduce(power)
    return int(power.item())


def train(rank: int) -> tuple[list[float], paddle.Tensor]:
    """Learn from samples of one's own: the workers end with the same weights only if they exchange gradients."""
    model = nn.Linear(4, 1)
    parallel = paddle.DataParallel(model)
    optimizer = paddle.optimizer.Adam(learning_rate=0.2, parameters=parallel.parameters())
    paddle.seed(rank)
    losses = []
    for _ in range(STEPS):
        samples = paddle.rand([32, 4])
        loss = nn.functional.mse_loss(parallel(samples), samples @ paddle.to_tensor(WANTED))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    return losses, model.weight


def differs(weights: paddle.Tensor) -> bool:
    """Tell whether any worker has other weights than this one."""
    everyones: list[paddle.Tensor] = []
    distributed.all_gather(everyones, weights)
    return any(not paddle.allclose(weights, theirs).item() for theirs in everyones)


def problems(world: int, total: int, losses: list[float], weights: paddle.Tensor) -> list[str]:
    found = []
    if total != int("1" * world):
        found.append(f"the powers of the ranks add up to {total}")
    if differs(weights):
        found.append("the workers have different weights")
    if losses[-1] > losses[0] / 2:
        found.append("the loss did not go down")
    return found


def main() -> None:
    distributed.init_parallel_env()
    rank, world = distributed.get_rank(), distributed.get_world_size()
    endpoint, total = own_endpoint(rank), sum_of_powers(rank)
    losses, weights = train(rank)
    found = problems(world, total, losses, weights)
    result = {"rank": rank, "world": world, "endpoint": endpoint, "sum": total}
    sys.stdout.write(json.dumps({**result, "first_loss": losses[0], "last_loss": losses[-1]}) + "\n")
    if found:
        sys.exit("; ".join(found))


if __name__ == "__main__":
    main()
