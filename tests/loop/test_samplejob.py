"""SampleJobs on the real loop: sets, jobs and the runtime servers each do their part."""

import datetime as dt
import random
from collections.abc import Callable

import pytest

from paddle_operator.api.manifest import Key
from paddle_operator.control.manager import Manager
from paddle_operator.desired.samplejob import partitions
from paddle_operator.desired.sampleset import errands
from paddle_operator.engines.operations import OperationState, Progress, Result
from support import sampleloop
from support.cachecluster import CacheCluster
from support.embeddedapi import Api
from support.eventually import eventually
from support.fakeruntime import FakeRuntime
from support.samplejobs import JOB, controllers, job, parts, stands, status, why
from support.samplesets import sample_set, secret

from .conftest import Managing, is_ready


def ordered(server: FakeRuntime, name: str = "work") -> list[str]:
    """Name the types of what a server was told for a job."""
    return [found.type for id_, found in server.spool.operations.items() if id_.startswith(f"{name}-")]


def is_told(cluster: CacheCluster, name: str) -> Callable[[], bool]:
    return lambda: ordered(cluster.runtime(0), name) == ["clear"]


def queue(api: Api, names: str) -> Callable[[], bool]:
    return lambda: all("waits for SampleJob" in why(api, name) for name in names)


def written_to(api: Api, last: int, otherwise: Callable[[], bool]) -> Callable[[], bool]:
    return lambda: len(api.writes) >= last or otherwise()


def rests(manager: Manager) -> bool:
    return all(not loop.queue._waiting and not loop.queue._in_work for loop in manager.loops)


@pytest.mark.parametrize(("type_", "servers"), [("sync", 1), ("rmr", 1), ("warmup", 2), ("clear", 2)])
async def test_a_job_of_each_type_is_given_to_its_servers_and_succeeds(
    api: Api, managing: Managing, cluster: CacheCluster, type_: str, servers: int
) -> None:
    await is_ready(api, managing, partitions=2)
    api.put("samplejobs", job(type_))
    async with managing(controllers()):
        await eventually(stands(api, "Succeeded"))
        await eventually(lambda: "finalizers" not in api.get("samplejobs", *JOB)["metadata"])
        told = {f"Create{type_.capitalize()}JobSuccessfully", f"Do{type_.capitalize()}JobSuccessfully"}
        await eventually(lambda: told <= {event["reason"] for event in api.all("events")})
    assert [ordered(cluster.runtime(number)) for number in range(servers)] == [[type_]] * servers
    found = status(api)
    assert [result["pod"] for result in found["results"]] == [f"imagenet-runtime-{n}" for n in range(servers)]
    assert parts(api) == ["Succeeded"] * servers
    assert (found["progress"], found["observedGeneration"]) == ("100%", 1)
    assert why(api) == f"Do{type_.capitalize()}JobSuccessfully: all {servers} servers are done"
    assert {"startTime", "completionTime", "jobName"} <= found.keys()


async def test_a_job_waits_for_a_set_that_is_not_ready_and_says_so(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    """The original took no notice of the set, and a warm-up without servers succeeded at once."""
    api.put("samplejobs", job())
    async with managing(controllers()):
        await eventually(lambda: why(api).startswith("ErrorSampleSetNotExist: there is no SampleSet imagenet"))
        cluster.endings.pop("sync")
        api.put("secrets", secret())
        api.put("samplesets", sample_set())
        await eventually(lambda: "imagenet is not ready: 0 files are copied" in why(api))
        assert (status(api)["phase"], "jobName" in status(api)) == ("Pending", False)
        cluster.endings.pop("warmup")
        cluster.runtime(0).end("sync", OperationState.SUCCEEDED)
        await eventually(lambda: "brings its data into the caches first" in why(api))
        cluster.runtime(0).end("warmup", OperationState.SUCCEEDED)
        await eventually(lambda: ordered(cluster.runtime(0)) == ["warmup"])
        cluster.runtime(0).end("work", OperationState.SUCCEEDED)
        await eventually(stands(api, "Succeeded"))


async def test_jobs_of_one_set_go_one_after_the_other_by_age_and_name(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.endings.clear()
    # In this order: ages are in whole seconds, and names decide only within one.
    for name in ("a", "b", "c"):
        api.put("samplejobs", job("clear", name))
    async with managing(controllers()):
        for name, others in (("a", "bc"), ("b", "c"), ("c", "")):
            await eventually(is_told(cluster, name))
            await eventually(queue(api, others))
            assert [ordered(cluster.runtime(0), other) for other in others] == [[]] * len(others)
            cluster.runtime(0).end(f"{name}-", OperationState.SUCCEEDED)
            await eventually(stands(api, "Succeeded", name))


async def test_a_job_whose_secret_is_missing_holds_up_nobody_and_has_its_turn_later(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.endings.clear()
    api.put("samplejobs", job("sync", "a", secretRef={"name": "later"}))
    api.put("samplejobs", job("clear", "b"))
    async with managing(controllers()):
        await eventually(is_told(cluster, "b"))
        assert why(api, "a").startswith("ErrorSecretNotExist")
        cluster.runtime(0).end("b-", OperationState.SUCCEEDED)
        await eventually(stands(api, "Succeeded", "b"))
        api.put("secrets", {**secret(), "metadata": {**secret()["metadata"], "name": "later"}})
        await eventually(lambda: ordered(cluster.runtime(0), "a") == ["sync"])


async def test_progress_is_told_for_each_partition(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job())
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"] * 2)
        cluster.runtime(0).tell("work", Progress(10, 100, 1000, 10000))
        cluster.runtime(1).tell("work", Progress(50, 100, 5000, 10000))
        await eventually(lambda: status(api).get("progress") == "30%")
        first, second = status(api)["results"]
        assert (first["doneFiles"], first["totalFiles"], second["doneBytes"]) == (10, 100, 5000)
        assert first["secondsLeft"] == (10000 - 1000) // first["bytesPerSecond"]
        for number in range(2):
            cluster.runtime(number).end("work", OperationState.SUCCEEDED)
        await eventually(lambda: status(api).get("progress") == "100%")


async def test_figures_wait_for_their_time_whatever_else_the_job_is_looked_at_for(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job())
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"] * 2)
        monkeypatch.setattr(partitions, "CALM", dt.timedelta(hours=1))
        cluster.runtime(0).tell("work", Progress(10, 100, 1000, 10000))
        cluster.runtime(1).end("work", OperationState.SUCCEEDED)
        await eventually(lambda: parts(api) == ["Running", "Succeeded"])
        assert status(api)["results"][0]["doneFiles"] == 0
        monkeypatch.setattr(partitions, "CALM", dt.timedelta(0))
        cluster.runtime(0).tell("work", Progress(20, 100, 2000, 10000))
        await eventually(lambda: status(api)["results"][0].get("doneFiles") == 20)


async def test_what_is_missing_is_named_and_the_job_failed(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job())
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"] * 2)
        lack = Result(
            files=3, expected_blocks=9, present_blocks=7, missing_files=2, missing=("a", "b"), damaged_files=1
        )
        cluster.runtime(1).end("work", OperationState.FAILED, "2 of 3 files are not wholly cached", lack)
        await eventually(lambda: "imagenet-runtime-1: 2 of 3 files" in why(api))
        assert status(api)["phase"] == "Running"
        cluster.runtime(0).end("work", OperationState.SUCCEEDED)
        await eventually(stands(api, "Failed"))
    assert why(api, kind="Failed") == "ErrorDoWarmupJob: imagenet-runtime-1: 2 of 3 files are not wholly cached"
    found = status(api)["results"][1]
    assert (found["expectedBlocks"], found["presentBlocks"], found["missingFiles"]) == (9, 7, 2)
    assert found["damagedFiles"] == 1
    assert found["missing"] == ["a", "b"]


async def test_servers_that_took_shares_of_different_files_do_not_succeed_and_all_try_again(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that comes before others moves these from one share to another: some would be in none."""
    monkeypatch.setattr(errands, "FIRST_PAUSE", dt.timedelta(0))
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job(backoffLimit=1))
    async with managing(controllers()):
        for tries, files in enumerate(("3-00000001", "4-00000002")):
            await eventually(lambda: (status(api).get("retries", 0), parts(api)) == (tries, ["Running"] * 2))  # noqa: B023
            cluster.runtime(0).end("work", OperationState.SUCCEEDED, result=Result(files=2, dealt_from="4-00000002"))
            cluster.runtime(1).end("work", OperationState.SUCCEEDED, result=Result(files=2, dealt_from=files))
        await eventually(stands(api, "Succeeded"))
    assert [found["dealtFrom"] for found in status(api)["results"]] == ["4-00000002"] * 2


async def test_a_deleted_job_ends_its_work_first(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    """In the original the work went on."""
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job())
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"] * 2)
        api.remove("samplejobs", JOB)
        await eventually(lambda: api.names("samplejobs") == [])
    for number in range(2):
        states = [found.state for id_, found in cluster.runtime(number).spool.operations.items() if "work-" in id_]
        assert states == [OperationState.CANCELLED]


async def test_a_job_that_terminates_cancels_the_jobs_before_it_and_then_works(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.endings.pop("warmup")
    api.put("samplejobs", job(name="a"))
    api.put("samplejobs", job(name="b"))
    async with managing(controllers()):
        await eventually(lambda: parts(api, "a") == ["Running"])
        api.put("samplejobs", job("clear", "z", terminate=True))
        await eventually(stands(api, "Succeeded", "z"))
    for name in ("a", "b"):
        assert status(api, name)["phase"] == "Failed"
        assert why(api, name).startswith("Terminated: SampleJob z, which has terminate: true, cancelled it")


async def test_a_server_that_starts_again_resumes_and_gets_its_keys_again(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.endings.pop("sync")
    api.put("secrets", secret(name="keys", **{"access-key": "mine", "secret-key": "hush"}))
    api.put("samplejobs", job("sync", secretRef={"name": "keys"}))
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"])
        cluster.runtime(0).restart()
        await eventually(lambda: cluster.runtime(0).credentials.count({"accessKey": "mine", "secretKey": "hush"}) == 2)
        cluster.runtime(0).end("work", OperationState.SUCCEEDED)
        await eventually(stands(api, "Succeeded"))
    assert ordered(cluster.runtime(0)) == ["sync"]


async def test_a_server_that_stays_away_fails_the_job_by_its_name(
    api: Api, managing: Managing, cluster: CacheCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job())
    async with managing(controllers()):
        await eventually(lambda: parts(api) == ["Running"] * 2)
        cluster.runtime(0).end("work", OperationState.SUCCEEDED)
        cluster.unready(1)
        await eventually(lambda: "imagenet-runtime-1: does not answer" in why(api))
        monkeypatch.setattr(partitions, "PATIENCE", dt.timedelta(0))
        api.put("samplejobs", {**job(), "metadata": {**job()["metadata"], "labels": {"look": "again"}}})
        await eventually(stands(api, "Failed"))
        assert parts(api) == ["Succeeded", "Lost"]
        assert "imagenet-runtime-1: did not answer for" in why(api)
        pod = api.get("pods", "default", "imagenet-runtime-1")
        cluster._say("pods", pod, {"conditions": [{"type": "Ready", "status": "True"}]})
        await eventually(lambda: parts(api) == ["Succeeded", "Failed"])
    states = [found.state for id_, found in cluster.runtime(1).spool.operations.items() if "work-" in id_]
    assert states == [OperationState.CANCELLED]


async def test_an_order_that_a_server_refuses_fails_the_job_in_the_servers_words(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.runtime(0).refusals["sync"] = "JuiceFS 1.2.0 has no option http-port: leave it out"
    api.put("samplejobs", job("sync", syncOptions={"http-port": 80}))
    async with managing(controllers()):
        await eventually(stands(api, "Failed"))
        assert "JuiceFS 1.2.0 has no option http-port: leave it out" in why(api)
        cluster.runtime(0).refusals.clear()
        api.put("samplejobs", job("sync", syncOptions=None) | {"spec": {**job("sync")["spec"], "syncOptions": None}})
        await eventually(stands(api, "Succeeded"))


async def test_what_failed_is_tried_again_as_often_as_is_allowed(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing)
    cluster.endings["rmr"] = OperationState.FAILED
    api.put("samplejobs", job("rmr", backoffLimit=2))
    async with managing(controllers()):
        await eventually(stands(api, "Failed"))
    assert status(api)["retries"] == 2
    assert len(ordered(cluster.runtime(0))) == 3


async def test_a_job_is_cancelled_at_its_deadline(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing)
    cluster.endings.clear()
    api.put("samplejobs", job(activeDeadlineSeconds=3))
    async with managing(controllers()):
        await eventually(stands(api, "Failed"))
    assert why(api).startswith("DeadlineExceeded: it was cancelled after 3 s")
    assert [found.state for found in cluster.runtime(0).spool.operations.values()][-1] is OperationState.CANCELLED


async def test_an_ended_job_goes_after_its_time(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing)
    api.put("samplejobs", job(ttlSecondsAfterFinished=0))
    async with managing(controllers()):
        await eventually(lambda: api.names("samplejobs") == [])
    assert ordered(cluster.runtime(0)) == ["warmup"]


async def test_a_second_manager_writes_nothing_and_orders_nothing(
    api: Api, managing: Managing, cluster: CacheCluster
) -> None:
    await is_ready(api, managing, partitions=2)
    cluster.endings.clear()
    api.put("samplejobs", job())
    api.put("samplejobs", job("clear", "zlater"))
    async with managing(controllers()) as manager:
        await eventually(lambda: parts(api) == ["Running"] * 2 and rests(manager))
    writes, operations = len(api.writes), dict(cluster.runtime(0).spool.operations)
    streams = [cluster.runtime(number).streams for number in range(2)]
    async with managing(controllers()) as manager:
        await eventually(lambda: [cluster.runtime(number).streams - streams[number] for number in range(2)] == [2, 2])
        manager.loops[1].queue.add(JOB)
        await eventually(lambda: rests(manager))
    assert [write for write in api.writes[writes:] if "events/" not in write] == []
    assert cluster.runtime(0).spool.operations == operations


@pytest.mark.parametrize("number", range(1, 8))
async def test_killed_after_any_write_the_work_is_done_once(
    api: Api, managing: Managing, cluster: CacheCluster, number: int
) -> None:
    await is_ready(api, managing, partitions=2)
    before = len(api.writes)
    api.put("samplejobs", job())
    async with managing(controllers()):
        await eventually(lambda: len(api.writes) >= before + number or stands(api, "Succeeded")())
    async with managing(controllers()):
        await eventually(stands(api, "Succeeded"))
    assert [ordered(cluster.runtime(number)) for number in range(2)] == [["warmup"]] * 2


async def test_the_set_shows_what_a_job_did(api: Api, managing: Managing, cluster: CacheCluster) -> None:
    await is_ready(api, managing)
    async with managing(controllers()):
        await eventually(lambda: sampleloop.status(api)["cacheStatus"].get("cachedBytes") == 100)
        api.put("samplejobs", job("clear"))
        await eventually(lambda: sampleloop.status(api)["cacheStatus"].get("cachedBytes") == 0)
        api.put("samplejobs", job("warmup", "warm"))
        await eventually(lambda: sampleloop.status(api)["cacheStatus"].get("cachedBytes") == 100)
        assert sampleloop.status(api)["phase"] == "Ready"
    assert cluster.runtimes.keys() == {Key("default", "imagenet-runtime-0")}


@pytest.mark.parametrize("seed", range(4))
async def test_whenever_managers_and_servers_are_killed_each_work_is_done_once_and_none_is_lost(
    api: Api, managing: Managing, cluster: CacheCluster, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311  # any moments will do
    await is_ready(api, managing, partitions=2)
    types = ("clear", "rmr", "warmup", "sync")
    for number, type_ in enumerate(types):
        api.put("samplejobs", job(type_, f"job-{number}"))

    def are_done() -> bool:
        return all(stands(api, "Succeeded", f"job-{number}")() for number in range(len(types)))

    for _ in range(6):
        last = len(api.writes) + chance.randint(1, 6)
        async with managing(controllers()):
            await eventually(written_to(api, last, are_done))
            victim = f"imagenet-runtime-{chance.randrange(2)}"
            if chance.random() < 0.6 and victim in api.names("pods"):
                api.remove("pods", Key("default", victim))
    async with managing(controllers()):
        await eventually(are_done)
    for number, type_ in enumerate(types):
        servers = [cluster.runtime(partition).spool.begun for partition in range(2)]
        done = [[name for name in begun if name.startswith(f"job-{number}-")] for begun in servers]
        assert [len(found) for found in done] == ([1, 1] if type_ in ("clear", "warmup") else [1, 0])
