"""Trains a wide-and-deep model with parameter servers; each process prints one line of JSON."""

import json
import math
import socket
import sys
import time

import numpy as np
import paddle
from paddle.distributed import fleet

STEPS = 400
IDS, BATCH, WIDTH = 64, 32, 8
SERVERS_TIMEOUT, PEERS_TIMEOUT = 60.0, 30.0
# Who runs the job sees to it that servers listen before workers start.
TRUSTING = "--trusting"
GUESSING = math.log(2)
Batch = dict[str, np.ndarray]


def samples(ids: np.ndarray, random: np.random.Generator) -> Batch:
    """Make clicks that depend on the id alone: who never saw an id can only guess."""
    features = random.random((len(ids), 4), dtype=np.float32)
    clicked = (ids * 2654435761 % 97 % 2).astype(np.float32)
    return {"features": features, "ids": ids.reshape(-1, 1), "clicked": clicked.reshape(-1, 1)}


def network() -> paddle.static.Variable:
    features = paddle.static.data("features", [None, 4], "float32")
    ids = paddle.static.data("ids", [None, 1], "int64")
    clicked = paddle.static.data("clicked", [None, 1], "float32")
    embedded = paddle.static.nn.embedding(
        ids, [IDS, WIDTH], is_sparse=True, param_attr=paddle.ParamAttr(name="embedding")
    )
    deep = paddle.static.nn.fc(paddle.reshape(embedded, [-1, WIDTH]), 16, activation="relu")
    score = paddle.static.nn.fc(paddle.concat([features, deep], axis=1), 1)
    loss = paddle.mean(paddle.nn.functional.binary_cross_entropy_with_logits(score, clicked))
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = True  # without k_steps, with which several workers may wait for ever at their start
    fleet.distributed_optimizer(paddle.optimizer.SGD(learning_rate=0.5), strategy).minimize(loss)
    return loss


def wait_for_servers() -> None:
    """Paddle gives up at the first server that does not listen yet."""
    deadline = time.monotonic() + SERVERS_TIMEOUT
    for endpoint in fleet.server_endpoints():
        host, port = endpoint.split(":")
        while not listens(host, int(port)):
            if time.monotonic() > deadline:
                sys.exit(f"the server {endpoint} does not listen")
            time.sleep(0.2)


def listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


class Worker:
    def __init__(self, loss: paddle.static.Variable) -> None:
        self.loss = loss
        self.index, self.count = fleet.worker_index(), fleet.worker_num()
        self.random = np.random.default_rng(self.index)
        self.executor = paddle.static.Executor(paddle.CPUPlace())

    def run(self, ids: np.ndarray) -> float:
        [loss] = self.executor.run(feed=samples(ids, self.random), fetch_list=[self.loss])
        return float(loss)

    def ids_of(self, worker: int) -> np.ndarray:
        return np.arange(worker, IDS, self.count)

    def train(self) -> list[float]:
        own = self.ids_of(self.index)
        return [self.run(self.random.choice(own, BATCH)) for _ in range(STEPS)]

    def loss_of_others(self) -> float:
        """Try the ids that only the next worker saw: what it learned has to come through the servers."""
        theirs = self.ids_of((self.index + 1) % self.count)
        deadline = time.monotonic() + PEERS_TIMEOUT
        while (loss := self.run(theirs)) > GUESSING / 2 and time.monotonic() < deadline:
            time.sleep(PEERS_TIMEOUT / 6)
        return loss


def work(loss: paddle.static.Variable) -> None:
    worker = Worker(loss)
    worker.executor.run(paddle.static.default_startup_program())
    if TRUSTING not in sys.argv:
        wait_for_servers()
    fleet.init_worker()
    losses = worker.train()
    others = worker.loss_of_others()
    result = {"role": "worker", "index": worker.index, "workers": worker.count, "servers": fleet.server_endpoints()}
    report(**result, first_loss=losses[0], last_loss=losses[-1], loss_of_others=others)
    fleet.stop_worker()
    if max(losses[-1], others) > GUESSING / 2:
        sys.exit("the loss did not go down")


def report(**result: object) -> None:
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


def main() -> None:
    paddle.enable_static()
    fleet.init(is_collective=False)
    loss = network()
    if fleet.is_server():
        fleet.init_server()
        report(role="server", index=fleet.server_index(), servers=fleet.server_endpoints())
        fleet.run_server()
    else:
        work(loss)


if __name__ == "__main__":
    main()
