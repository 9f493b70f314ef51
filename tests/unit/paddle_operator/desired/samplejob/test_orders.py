"""What servers are told for a job, and what nothing can come of."""

import msgspec
import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.samplejob import SampleJobStatus
from paddle_operator.desired.samplejob.orders import job_name, operation_id, order, problem, targets
from paddle_operator.engines.operations import Order, is_id
from support import samplesnapshots
from support.jobsnapshots import READY, decoded, seen
from support.samplesnapshots import NOON, server, word

OWN = "bos://paddleflow-public.hkg.bcebos.com/imagenet/demo"
SHARE = {"partition": 1, "partitions": 3, "strategy": "sequence"}


@pytest.mark.parametrize(
    ("type_", "options", "told"),
    [
        ("sync", {}, {"source": OWN}),
        (
            "sync",
            {"syncOptions": {"source": "s3://a.example.com/b", "destination": "c", "bwlimit": 8, "delete-dst": True}},
            {"source": "s3://a.example.com/b", "destination": "c", "bwlimit": 8, "delete-dst": True},
        ),
        ("rmr", {"rmrOptions": {"paths": ["a b", "$(reboot)", "ü\n"]}}, {"paths": ["a b", "$(reboot)", "ü\n"]}),
        ("clear", {}, {}),
        ("clear", {"clearOptions": {"paths": ["/dev/shm"]}}, {"paths": ["/cache/0"]}),
        ("clear", {"clearOptions": {"paths": ["/cache/1/*"]}}, {"paths": ["/cache/1"]}),
        ("clear", {"clearOptions": {"paths": ["/ssd/default-imagenet-1/cache/"]}}, {"paths": ["/cache/1"]}),
        ("warmup", {}, {"share": SHARE}),
        (
            "warmup",
            {"warmupOptions": {"paths": ["train"], "threads": 5, "strategyName": "random"}},
            {"paths": ["train"], "threads": 5, "share": {**SHARE, "strategy": "random"}},
        ),
        ("warmup", {"warmupOptions": {"paths": ["a"], "file": "list"}}, {"file": "list", "share": SHARE}),
        (
            "warmup",
            {"warmupOptions": {"strategyName": "sampler", "sampler": {"batchSize": 4, "shuffle": True}}},
            {"share": {**SHARE, "strategy": "sampler", "sampler": {"batchSize": 4, "shuffle": True}}},
        ),
    ],
)
def test_an_order_has_the_jobs_options_and_the_words_of_the_servers_interface(
    type_: str, options: Manifest, told: Manifest
) -> None:
    snapshot = seen(decoded(type_, **options))
    made = order(snapshot, 1, 3)
    assert made == {"type": type_, **told}
    msgspec.json.decode(msgspec.json.encode(made), type=Order)
    assert problem(snapshot) == ""


@pytest.mark.parametrize(
    ("type_", "options", "message"),
    [
        ("rmr", {"rmrOptions": None}, "a job of type rmr needs rmrOptions.paths: what to remove"),
        ("clear", {"clearOptions": {"paths": ["/dev/sh"]}}, "there is no cache of the SampleSet at /dev/sh: there are"),
        ("clear", {"clearOptions": {"paths": ["/cache/10"]}}, "there is no cache of the SampleSet at /cache/10"),
        ("warmup", {"warmupOptions": {"strategyName": "sampler"}}, "strategyName: sampler and warmupOptions.sampler"),
        ("warmup", {"warmupOptions": {"sampler": {}}}, "strategyName: sampler and warmupOptions.sampler need each"),
    ],
)
def test_what_nothing_can_come_of_is_told_in_a_sentence(type_: str, options: Manifest, message: str) -> None:
    job = decoded(type_)
    spec = msgspec.convert({**msgspec.to_builtins(job.spec), **options}, type(job.spec))
    assert problem(seen(msgspec.structs.replace(job, spec=spec))).startswith(message)


def test_of_several_sources_one_must_be_named() -> None:
    sources = [{"uri": "s3://a.example.com"}, {"uri": "s3://b.example.com", "path": "b"}]
    several = samplesnapshots.decoded(READY, source=None, sources=sources)
    assert "say in syncOptions.source what to copy" in problem(seen(decoded("sync"), sample_set=several))
    one = samplesnapshots.decoded(READY, source=None, sources=sources[1:])
    assert order(seen(decoded("sync"), sample_set=one), 0, 1)["destination"] == "b"


def test_another_source_is_not_copied_into_the_directory_of_the_sets_own() -> None:
    """With delete-dst, it would remove what is there."""
    one = samplesnapshots.decoded(READY, source=None, sources=[{"uri": "s3://b.example.com", "path": "b"}])
    job = decoded("sync", syncOptions={"source": "s3://x.example.com", "delete-dst": True})
    assert order(seen(job, sample_set=one), 0, 1) == {
        "type": "sync",
        "source": "s3://x.example.com",
        "delete-dst": True,
    }
    own = decoded("sync", syncOptions={"delete-dst": True})
    assert order(seen(own, sample_set=one), 0, 1)["destination"] == "b"


def test_what_a_set_does_not_copy_at_first_a_job_copies_later() -> None:
    later = seen(decoded("sync"), sample_set=samplesnapshots.decoded(READY, noSync=True))
    assert (order(later, 0, 1), problem(later)) == ({"type": "sync", "source": OWN}, "")


@pytest.mark.parametrize("uri", ["local:///data/imagenet", "pvc://claim/imagenet"])
def test_what_servers_do_not_mount_they_cannot_copy(uri: str) -> None:
    later = seen(decoded("sync"), sample_set=samplesnapshots.decoded(READY, source={"uri": uri}, noSync=True))
    assert problem(later).startswith(f"the SampleSet has noSync: true, so that its servers do not mount {uri}: say in")
    mounted = seen(decoded("sync"), sample_set=samplesnapshots.decoded(READY, source={"uri": uri}))
    assert problem(mounted) == ""


@pytest.mark.parametrize(("type_", "number"), [("sync", 1), ("rmr", 1), ("warmup", 3), ("clear", 3)])
def test_what_is_about_the_data_is_for_the_first_server_and_what_is_about_caches_for_all(
    type_: str, number: int
) -> None:
    snapshot = seen(decoded(type_), *(server(partition, word=word()) for partition in range(3)))
    assert [found.pod for found in targets(snapshot)] == [f"imagenet-runtime-{count}" for count in range(number)]


def test_the_same_work_has_the_same_id_and_other_options_another() -> None:
    job = decoded("rmr")
    assert is_id(operation_id(SampleJobStatus(job_name=job_name(job), start_time=NOON), 9999))
    assert job_name(job) == job_name(decoded("rmr", ttlSecondsAfterFinished=5, backoffLimit=3))
    assert job_name(job) != job_name(decoded("rmr", rmrOptions={"paths": ["other"]}))
    assert job_name(job).rpartition("-")[0] == job_name(decoded("clear")).rpartition("-")[0]
