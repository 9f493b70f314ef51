"""PaddleJobs on the real loop: the API server, the manager and the kubelet each do their part."""

import asyncio
import datetime as dt

import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest, uid_of
from paddle_operator.api.names import FINALIZER_PADDLEJOB
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.desired.paddlejob.snapshot import PortRange, Settings
from paddle_operator.desired.training import abandoned
from paddle_operator.desired.training.settings import Scheduling
from support.embeddedapi import Api
from support.eventually import eventually
from support.kubelet import Kubelet
from support.managing import is_idle
from support.paddleapi import PODS, WORKERS, conditions, controllers, job, runs, stands, status
from support.paddleworld import role

from .conftest import Managing

ENDED_WELL = {"succeeded": 2, "completed": "0-1"}


async def test_a_job_is_created_runs_and_succeeds(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await runs(api, kubelet)
        assert api.names("configmaps") == ["demo"]
        await eventually(lambda: api.names("services") == ["demo", "demo-ps-ready"])
        assert status(api)["worker"]["running"] == 2
        for name in WORKERS:
            kubelet.end(name)
        await eventually(stands(api, "Completed", []))
        await eventually(lambda: api.names("services") == [])
        await eventually(lambda: (status(api)["worker"], status(api)["mode"]) == (ENDED_WELL, "PS"))


async def test_a_second_pass_writes_nothing(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    api.put("paddlejobs", job())
    async with managing(controllers()) as manager:
        await runs(api, kubelet)
        await eventually(lambda: is_idle(manager))
    writes = len(api.writes)
    async with managing(controllers()) as manager:
        done = manager.metrics._reconciles.labels("paddlejob", "done")._value
        await eventually(lambda: done.get() >= 1 and is_idle(manager))
    assert [write for write in api.writes[writes:] if "events/" not in write] == []


@pytest.mark.parametrize(
    ("policy", "code", "phase", "left"),
    [
        pytest.param("", 0, "Completed", [], id="by default a completed job's pods go"),
        pytest.param("Never", 0, "Completed", WORKERS, id="Never keeps them"),
        pytest.param("", 1, "Failed", WORKERS, id="by default a failed job's pods stay"),
        pytest.param("OnFailure", 1, "Failed", [], id="OnFailure deletes them"),
    ],
)
async def test_pods_go_or_stay_as_the_policy_says(  # noqa: PLR0913, PLR0917  # a table of four columns
    api: Api, managing: Managing, kubelet: Kubelet, policy: str, code: int, phase: str, left: list[str]
) -> None:
    api.put("paddlejobs", job(cleanPodPolicy=policy))
    async with managing(controllers()):
        await runs(api, kubelet)
        for name in WORKERS:
            kubelet.end(name, code)
        await eventually(stands(api, phase, left))


async def test_a_failed_worker_restarts_the_job_as_often_as_it_may(
    api: Api, managing: Managing, kubelet: Kubelet
) -> None:
    api.put("paddlejobs", job(backoffLimit=1))
    async with managing(controllers()):
        await runs(api, kubelet)
        before = {uid_of(api.get("pods", "default", name)) for name in PODS}
        kubelet.end("demo-worker-0", 1)
        await eventually(lambda: status(api).get("restarts") == 1 and stands(api, "Pending", PODS)())
        assert not before & {uid_of(api.get("pods", "default", name)) for name in PODS}
        await runs(api, kubelet)
        kubelet.end("demo-worker-0", 1)
        await eventually(stands(api, "Failed", ["demo-worker-0"]))
        assert conditions(api)["Failed"]["reason"] == "BackoffLimitExceeded"


async def test_a_job_is_suspended_and_goes_on(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await runs(api, kubelet)
        api.put("paddlejobs", job(suspend=True))
        await eventually(stands(api, "Suspended", []))
        api.put("paddlejobs", job(suspend=False))
        await runs(api, kubelet)


async def test_an_elastic_job_scales_and_the_pods_that_stay_are_left_alone(
    api: Api, managing: Managing, kubelet: Kubelet
) -> None:
    elastic = {"elastic": 1, "ps": None}
    api.put("paddlejobs", job("demo", **elastic))
    async with managing(controllers()):
        await runs(api, kubelet, WORKERS)
        before = [uid_of(api.get("pods", "default", name)) for name in WORKERS]
        api.put("paddlejobs", job("demo", **{**elastic, "worker": role(3)}))
        await eventually(stands(api, "Scaling", [*WORKERS, "demo-worker-2"]))
        kubelet.run("demo-worker-2")
        await eventually(stands(api, "Running", [*WORKERS, "demo-worker-2"]))
        assert api.get("configmaps", "default", "demo")["data"]["PADDLE_TRAINERS_NUM"] == "3"
        api.put("paddlejobs", job("demo", **elastic))
        await eventually(stands(api, "Running", WORKERS))
        assert [uid_of(api.get("pods", "default", name)) for name in WORKERS] == before


async def test_an_edit_of_any_other_job_restarts_it(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await runs(api, kubelet)
        api.put("paddlejobs", job(worker=role(1)))
        await eventually(stands(api, "Pending", PODS[:2]))
        assert api.get("configmaps", "default", "demo")["data"]["PADDLE_TRAINERS_NUM"] == "1"


async def test_a_deleted_pod_comes_back(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await runs(api, kubelet)
        api.remove("pods", Key("default", "demo-worker-0"))
        await eventually(stands(api, "Pending", PODS))
        await runs(api, kubelet)


async def test_a_job_of_the_same_name_does_not_take_over_its_predecessors_pods(
    api: Api, managing: Managing, kubelet: Kubelet
) -> None:
    """The original found children by their owner's name."""
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await runs(api, kubelet)
        before = uids(api)
        keep(api, "demo-worker-0", "example.org/keep")
        api.remove("paddlejobs", Key("default", "demo"))
        api.put("paddlejobs", job())
        await eventually(lambda: len(named(api)) == 2 and not named(api) & before)
        assert "demo-worker-0: it is being deleted" in conditions(api)["Running"]["message"]
        keep(api, "demo-worker-0")
        await eventually(lambda: not before & uids(api))
        await runs(api, kubelet)
        assert named(api) == uids(api)


def keep(api: Api, pod: str, *finalizers: str) -> None:
    api.put("pods", {"metadata": {"name": pod, "namespace": "default", "finalizers": list(finalizers)}})


def named(api: Api) -> set[str]:
    """Give the uids of the pods that the job counts as its own."""
    roles = [status(api).get(role) or {} for role in ("ps", "worker")]
    return {reference["uid"] for role in roles for reference in role.get("refs", [])}


def uids(api: Api) -> set[str]:
    return {uid_of(pod) for pod in api.all("pods")}


async def test_a_job_that_is_deleted_is_let_go(api: Api, managing: Managing) -> None:
    """The finalizer is the original operator's, which may have made the job."""
    theirs = job()
    theirs["metadata"]["finalizers"] = ["finalizers.paddlepaddle.org", "example.org/other"]
    api.put("paddlejobs", theirs)
    api.remove("paddlejobs", Key("default", "demo"))
    async with managing(controllers()):
        await eventually(lambda: status(api).get("phase") == "Terminating")
        assert api.get("paddlejobs", "default", "demo")["metadata"]["finalizers"] == ["example.org/other"]
        assert (api.names("pods"), api.names("services"), api.names("configmaps")) == ([], [], [])


async def test_a_job_that_waits_for_its_data_starts_when_the_data_is_ready(api: Api, managing: Managing) -> None:
    api.put("paddlejobs", job(sampleSetRef={"name": "imagenet", "mountPath": "/mnt/imagenet"}))
    data: Manifest = {
        "metadata": {"name": "imagenet", "namespace": "default"},
        "spec": {"partitions": 1, "secretRef": {"name": "imagenet"}, "noSync": True},
        "status": {"phase": "Syncing"},
    }
    async with managing(controllers()) as manager:
        await eventually(lambda: "DataReady" in conditions(api) and is_idle(manager))
        assert conditions(api)["DataReady"]["message"] == "there is no SampleSet imagenet in namespace default"
        api.put("samplesets", data)
        await eventually(lambda: conditions(api)["DataReady"]["message"].endswith("it is Syncing"))
        assert api.names("pods") == []
        api.put("samplesets", {**data, "status": {"phase": "Ready"}})
        await eventually(lambda: api.names("pods") == PODS)


async def test_a_pod_group_is_watched_and_its_job_goes_on_when_it_is_let_in(careless: Api, working: Managing) -> None:
    careless.put("paddlejobs", job())
    async with working(controllers(Settings(scheduling=Scheduling.VOLCANO))) as manager:
        await eventually(lambda: careless.names("podgroups") == ["demo"] and is_idle(manager))
        assert careless.names("pods") == []
        group = {"metadata": {"name": "demo", "namespace": "default"}, "status": {"phase": "Inqueue"}}
        careless.put("podgroups", group)
        await eventually(lambda: careless.names("pods") == PODS)


async def test_where_volcano_is_missing_jobs_say_so_and_those_that_do_not_need_it_run(
    api: Api, managing: Managing
) -> None:
    """Waiting for a kind that never comes, the manager would look at no job at all."""
    api.put("paddlejobs", job("gang"))
    api.put("paddlejobs", job(ps=None, worker=role(1, schedulerName="default-scheduler")))
    async with managing(controllers(Settings(scheduling=Scheduling.VOLCANO))) as manager:
        await eventually(lambda: api.names("pods") == ["demo-worker-0"])
        await eventually(lambda: conditions(api, "gang").get("Running", {}).get("reason") == "NoGangScheduling")
        assert "install Volcano" in conditions(api, "gang")["Running"]["message"]
        assert manager.caches.missing == []


async def test_jobs_on_the_hosts_network_have_ports_of_their_own(api: Api, managing: Managing) -> None:
    for name in ("one", "two"):
        api.put("paddlejobs", job(name, intranet="Host", ps=None))
    async with managing(controllers()):
        await eventually(lambda: len(api.names("pods")) == 4)
    ports = [api.get("paddlejobs", "default", name)["metadata"]["annotations"]["host-port"] for name in ("one", "two")]
    assert [api.get("configmaps", "default", name)["data"]["PADDLE_PORT"] for name in ("one", "two")] == ports
    assert len(set(ports)) == 2


async def test_an_ended_job_goes_when_its_time_is_over(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    api.put("paddlejobs", job(ttlSecondsAfterFinished=0))
    async with managing(controllers()):
        await runs(api, kubelet)
        for name in WORKERS:
            kubelet.end(name)
        await eventually(lambda: api.names("paddlejobs") == [])


async def killed_after(api: Api, managing: Managing, number: int) -> None:
    """Let a manager write so often, and kill it."""
    last, killed = len(api.writes) + number, asyncio.Event()
    api.after_write = lambda _: killed.set() if len(api.writes) >= last else None
    async with managing(controllers()), asyncio.timeout(10):
        await killed.wait()
    api.after_write = lambda _: None


@pytest.mark.parametrize("number", range(1, 6))
async def test_killed_after_any_write_it_comes_to_the_same_end(
    api: Api, managing: Managing, kubelet: Kubelet, number: int
) -> None:
    api.put("paddlejobs", job(backoffLimit=1))
    await killed_after(api, managing, number)
    async with managing(controllers()):
        await runs(api, kubelet)
    kubelet.end("demo-worker-0", 1)
    await killed_after(api, managing, number)
    async with managing(controllers()):
        await eventually(lambda: status(api).get("restarts") == 1 and stands(api, "Pending", PODS)())
        await runs(api, kubelet)
    for name in WORKERS:
        kubelet.end(name)
    await killed_after(api, managing, min(number, 5))
    async with managing(controllers()):
        await eventually(stands(api, "Completed", []))


async def test_failing_writes_delay_and_do_not_prevent(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    for method, part in (("POST", "/pods"), ("PATCH", "/services"), ("PATCH", "/configmaps"), ("PATCH", "/status")):
        api.fail(method, part, 4, 500, "InternalError")
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await runs(api, kubelet)


async def test_many_jobs_run_beside_each_other(api: Api, managing: Managing, kubelet: Kubelet) -> None:
    names = [f"job-{number:02}" for number in range(20)]
    for name in names:
        api.put("paddlejobs", job(name))
    async with managing(controllers()):
        await eventually(lambda: len(api.names("pods")) == 60)
        kubelet.run()
        await eventually(lambda: all(status(api, name).get("phase") == "Running" for name in names))


async def test_jobs_on_the_hosts_network_that_come_at_once_get_ports_of_their_own(api: Api, managing: Managing) -> None:
    names = [f"job-{number}" for number in range(12)]
    for name in names:
        api.put("paddlejobs", job(name, intranet="Host", ps=None, worker=role(1)))
    tight = Settings(port_range=PortRange(40000, 40000 + 20 * len(names) - 1))
    async with managing(controllers(tight)):
        await eventually(lambda: len(api.names("pods")) == len(names))
        ports = [api.get("paddlejobs", "default", name)["metadata"]["annotations"]["host-port"] for name in names]
    assert len(set(ports)) == len(names)


@pytest.mark.parametrize("answers", [False, True])
async def test_a_deleted_pod_is_struck_off_only_when_its_node_is_dead(
    api: Api, managing: Managing, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch, *, answers: bool
) -> None:
    monkeypatch.setattr(abandoned, "PATIENCE", dt.timedelta(hours=-1))
    ready = {"type": "Ready", "status": "True" if answers else "Unknown"}
    api.put("nodes", {"metadata": {"name": "node-3"}, "status": {"conditions": [ready]}})
    api.put("paddlejobs", job())
    async with managing(controllers()) as manager:
        await runs(api, kubelet)
        api.put("pods", {"metadata": {"name": WORKERS[0], "namespace": "default"}, "spec": {"nodeName": "node-3"}})
        first = uid_of(api.get("pods", "default", WORKERS[0]))
        api.remove("pods", Key("default", WORKERS[0]))
        if answers:
            await eventually(lambda: status(api)["phase"] == "Pending" and not manager.loops[0].queue.depth)
            assert uid_of(api.get("pods", "default", WORKERS[0])) == first
        else:
            await eventually(lambda: api.names("pods") == PODS and first not in uids(api))


async def test_a_new_job_costs_its_pods_their_addresses_and_one_whole_status(api: Api, managing: Managing) -> None:
    async with managing(controllers()) as manager:
        api.put("paddlejobs", job())
        await eventually(lambda: api.names("pods") == PODS and status(api) != {} and is_idle(manager))
    made = ["configmaps/demo", *(f"pods/{name}" for name in PODS)]
    assert sorted(api.writes) == ["PATCH paddlejobs/demo/status", *(f"POST {name}" for name in made)]
    assert [len(status(api)[role]["refs"]) for role in ("ps", "worker")] == [1, 2]


@pytest.mark.parametrize("name", ["3d-model", "m" * 63])
@pytest.mark.parametrize("theirs", [None, {"phase": "Running", "mode": "PS", "observedGeneration": 7}], ids=str)
async def test_a_job_of_the_original_operator_is_looked_after_and_goes_whatever_its_name(
    careless: Api, working: Managing, name: str, theirs: Manifest | None
) -> None:
    made = job(name, suspend=True)
    made["metadata"]["finalizers"] = [FINALIZER_PADDLEJOB]
    careless.put("paddlejobs", made if theirs is None else {**made, "status": theirs})
    careless.redefine(crd.v1(PaddleJob))
    async with working(controllers()) as manager:
        await eventually(lambda: status(careless, name).get("observedGeneration") == 1 and is_idle(manager))
        careless.remove("paddlejobs", Key("default", name))
        await eventually(lambda: careless.names("paddlejobs") == [])


async def test_a_job_of_the_original_operator_that_is_being_deleted_goes(careless: Api, working: Managing) -> None:
    made = job("3d-model")
    made["metadata"]["finalizers"] = [FINALIZER_PADDLEJOB]
    careless.put("paddlejobs", made)
    careless.remove("paddlejobs", Key("default", "3d-model"))
    careless.redefine(crd.v1(PaddleJob))
    async with working(controllers()):
        await eventually(lambda: careless.names("paddlejobs") == [])
