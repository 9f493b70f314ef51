"""SampleJobs on the documents' data set: their four jobs and tables, and a real training that finds what it reads."""

import functools
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from localkube.kubectl import Kubectl, Manifest
from localkube.node import Node
from localkube.waiting import wait_until
from paddle_operator.api.samplejob import SamplerOptions
from paddle_operator.desired.sampleset.figures import in_words
from paddle_operator.engines.juicefs import counters
from paddle_operator.engines.sampling import rank_order
from support.imagenet import FILES, NAME, PLACE, Watched
from support.manifests import changed, circulating
from support.objectlog import Log, logged
from support.paddlejobs import Jobs, paddle_job

Reading = Callable[[], AbstractContextManager[Log]]
# As the document promises; figures follow within that time.
PROMISED = 30.0
PATIENCE = 120
IN_ORDER = sorted(FILES)
REMOVED = {name: content for name, content in FILES.items() if name.startswith("n01514859/")}
KEPT = {name: content for name, content in FILES.items() if name not in REMOVED}
STEP = 64 << 10
SAMPLER = SamplerOptions(batch_size=4, shuffle=True)
# Reads two epochs as a training does, and tells in which order, and what its mount had to fetch for it. Between them it
# waits until it may go on, so that nobody reads for the second one while another is at the first.
GO = "/dev/shm/go"
TRAINING = """
import json, pathlib, sys, time
import paddle
from paddle.io import DataLoader, Dataset, DistributedBatchSampler

top, names = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2])

class Samples(Dataset):
    def __len__(self):
        return len(names)
    def __getitem__(self, index):
        (top / names[index]).read_bytes()
        return index

rank = paddle.distributed.ParallelEnv().rank
sampler = DistributedBatchSampler(Samples(), batch_size=4, shuffle=True)
loader = DataLoader(Samples(), batch_sampler=sampler, places=paddle.CPUPlace(), num_workers=0)
for epoch in range(2):
    while epoch and not pathlib.Path(sys.argv[3]).exists():
        time.sleep(0.1)
    before = (top / ".stats").read_text()
    batches = [batch[0] if isinstance(batch, (list, tuple)) else batch for batch in loader]
    order = [int(index) for batch in batches for index in batch.numpy().reshape(-1)]
    after = (top / ".stats").read_text()
    print(json.dumps({"rank": rank, "epoch": epoch, "order": order, "before": before, "after": after}), flush=True)
"""


def table(kubectl: Kubectl, what: str) -> dict[str, str]:
    """Give a row by its columns' names; one that is empty leaves nothing but spaces."""
    header, row = kubectl.run("get", *what.split()).splitlines()
    starts = [found.start() for found in re.finditer(r"\S+( \S+)*", header)]
    ends = [*starts[1:], None]
    return {header[start:end].strip(): row[start:end].strip() for start, end in zip(starts, ends, strict=True)}


def done(data: Watched, manifest: Manifest) -> Manifest:
    """Submit a job, wait for its end, and give its status."""
    name = manifest["metadata"]["name"]
    data.kubectl.apply(manifest)
    data.kubectl.wait("condition=Succeeded", f"samplejob/{name}", timeout=PATIENCE)
    found: Manifest = data.kubectl.get(f"samplejob/{name}")["status"]
    return found


def shows(data: Watched, total: int, cached: int) -> None:
    """Wait until the set's table says so, and all its figures are true."""
    volume = data.kubectl.get(f"pvc/{NAME}")["spec"]["volumeName"]

    def is_so() -> bool:
        figures = data.status["cacheStatus"]
        return bool(abs(figures["totalBytes"] - total) <= STEP and figures["cachedBytes"] == cached)

    data.eventually(is_so, f"not {total} bytes, {cached} of them cached, of {volume}", PROMISED)
    row, figures = table(data.kubectl, f"sampleset {NAME}"), data.status["cacheStatus"]
    assert (row["NAME"], row["RUNTIME"], row["PHASE"]) == (NAME, "1/1", "Ready")
    assert row["TOTAL SIZE"] == in_words(figures["totalBytes"])
    assert row["CACHED SIZE"] == in_words(cached)
    assert row["AVAIL SPACE"].split()[1] in {"MiB", "GiB", "TiB"}


def shows_success(data: Watched, kind: str) -> None:
    """See that the table of a job that succeeded says what it did, and on what."""
    row = table(data.kubectl, f"samplejob imagenet-{kind}")
    assert list(row) == ["NAME", "PHASE", "TYPE", "SAMPLESET", "PROGRESS", "AGE"]
    assert list(row.values())[:-1] == [f"imagenet-{kind}", "Succeeded", kind, NAME, "100%"]


def counts(data: Watched, contents: dict[str, str]) -> None:
    """Wait until the set's figures are those of these files and their directories."""
    number = len(contents) + len({name.partition("/")[0] for name in contents})

    def is_so() -> bool:
        figures = data.status["cacheStatus"]
        is_large = abs(figures["totalBytes"] - in_blocks(contents)) <= STEP
        return bool(is_large and (figures["fileCount"], figures["totalFiles"]) == (number, f"{number:,}"))

    data.eventually(is_so, f"not {number} files and directories of {in_blocks(contents)} bytes", PROMISED)


def size(contents: dict[str, str]) -> int:
    return sum(map(len, contents.values()))


def in_blocks(contents: dict[str, str]) -> int:
    """Give the space that JuiceFS counts for files and their directories: whole units of 4 KiB."""
    directories = {name.partition("/")[0] for name in contents}
    return sum(-(-len(content) // 4096) * 4096 for content in contents.values()) + 4096 * len(directories)


def test_the_documents_four_jobs_do_what_their_tables_say(data: Watched) -> None:
    status = done(data, circulating("SampleJob/imagenet-rmr"))
    shows_success(data, "rmr")
    assert status["results"][0]["doneFiles"] == len(REMOVED) + 1
    counts(data, KEPT)

    uri = data.kubectl.get(f"sampleset/{NAME}")["spec"]["source"]["uri"]
    changes = {"spec.syncOptions.source": uri, "spec.secretRef.name": "store"}
    done(data, changed(circulating("SampleJob/imagenet-sync"), changes))
    shows_success(data, "sync")
    counts(data, FILES)

    done(data, circulating("SampleJob/imagenet-clear"))
    shows_success(data, "clear")
    shows(data, in_blocks(FILES), 0)
    assert data.cached(0) == []

    status = done(data, circulating("SampleJob/imagenet-warmup"))
    shows_success(data, "warmup")
    (result,) = status["results"]
    assert (result["expectedBlocks"], result["presentBlocks"]) == (len(FILES),) * 2
    shows(data, in_blocks(FILES), size(FILES))
    assert data.cached(0) == sorted(map(len, FILES.values()))


def warm_ahead(data: Watched) -> None:
    """Have in the cache of each partition what the rank of its number reads in the first epoch."""
    done(data, changed(circulating("SampleJob/imagenet-clear"), {"metadata.name": "empty"}))
    options = {"strategyName": "sampler", "sampler": {"batchSize": SAMPLER.batch_size, "shuffle": True, "epoch": 0}}
    done(
        data,
        changed(circulating("SampleJob/imagenet-warmup"), {"metadata.name": "ahead", "spec.warmupOptions": options}),
    )


@pytest.fixture(scope="module")
def ranks(data: Watched) -> int:
    """Have three partitions, each with its own node, and as many ranks."""
    data.scale(3)
    data.until_ready(3)
    return 3


@pytest.fixture
def reading(redis: Node) -> Reading:
    """Log the objects that the store is asked for."""
    return functools.partial(logged, redis)


def test_each_rank_of_a_training_reads_what_its_partition_was_warmed_for_in_the_order_foretold(
    data: Watched, ranks: int, paddlebox: str, reading: Reading
) -> None:
    warm_ahead(data)
    for rank in range(ranks):
        share = [IN_ORDER[number] for number in set(rank_order(len(FILES), rank, ranks, SAMPLER))]
        assert data.cached(rank) == sorted(len(FILES[name]) for name in share)
    command = ["python3", "-c", TRAINING, PLACE, json.dumps(IN_ORDER), GO]
    container = {"name": "train", "image": paddlebox, "imagePullPolicy": "IfNotPresent", "command": command}
    template = {"spec": {"containers": [container]}}
    jobs = Jobs(data.kubectl)
    reference = {"name": NAME, "mountPath": PLACE}
    worker = {"replicas": ranks, "template": template}
    with reading() as log:
        jobs.submit(paddle_job("train", worker=worker, sampleSetRef=reference, cleanPodPolicy="Never"))
        wait_until(
            lambda: all(len(epochs(data, rank)) == 1 for rank in range(ranks)), PATIENCE, "the first epoch does not end"
        )
        assert log.reads() == []
        for rank in range(ranks):
            data.kubectl.execute(f"train-worker-{rank}", "touch", GO)
        jobs.until("Completed", "train", timeout=PATIENCE)
        # Another epoch has another share, unless there is one rank, which reads everything.
        assert (log.reads() != []) == (ranks > 1)
    for rank in range(ranks):
        first, second = told = epochs(data, rank)
        assert [said["rank"] for said in told] == [rank] * 2
        for epoch, said in enumerate(told):
            options = SamplerOptions(SAMPLER.batch_size, shuffle=True, epoch=epoch)
            assert said["order"] == rank_order(len(FILES), rank, ranks, options).tolist()
        assert fetched(first) == 0
        assert (fetched(second) > 0) == (ranks > 1)


def epochs(data: Watched, rank: int) -> list[Manifest]:
    """Give what a rank has told of the epochs that it has read."""
    lines = data.kubectl.run("logs", f"train-worker-{rank}").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def fetched(said: Manifest) -> int:
    """Count the blocks that were not in the cache while an epoch was read."""
    before, after = (counters.parse(said[when]).get(counters.MISSES, 0) for when in ("before", "after"))
    return after - before
