"""PaddleJobs that cannot work: each is told in plain words, none crashes the manager, and the others go on."""

import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.names import LABEL_RESOURCE_TYPE
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.control import execute
from paddle_operator.desired.paddlejob.snapshot import PortRange, Settings
from paddle_operator.kube.client import Client
from support import embeddedapi
from support.embeddedapi import Api
from support.eventually import eventually
from support.kubelet import Kubelet
from support.managing import is_idle, managed
from support.paddleapi import PODS, conditions, controllers, job, runs, stands, status, why
from support.paddleworld import role

from .conftest import SETTINGS, Managing

DEMO = Key("default", "demo")
UNREADABLE = "Invalid: the job cannot be read: "


def without_containers() -> Manifest:
    return {"replicas": 1, "template": {"spec": {"containers": []}}}


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        pytest.param(
            "bad",
            {"worker": {"replicas": 1}},
            f"{UNREADABLE}Object missing required field `template` - at `$.spec.worker`",
            id="no template",
        ),
        pytest.param(
            "bad",
            {"worker": {"replicas": 1, "template": {}}},
            "Invalid: worker.template is no pod template: Object missing required field `spec`",
            id="an empty template",
        ),
        pytest.param(
            "bad",
            {"worker": without_containers()},
            "Invalid: worker.template has no containers: give at least the one that trains",
            id="no containers",
        ),
        pytest.param(
            "bad",
            {"worker": {"replicas": "two", "template": {}}},
            f"{UNREADABLE}Expected `int`, got `str` - at `$.spec.worker.replicas`",
            id="replicas in words",
        ),
        pytest.param(
            "bad",
            {"worker": role(0)},
            "Invalid: worker.replicas is 0: ask for at least 1, or leave out worker",
            id="no replicas",
        ),
        pytest.param(
            "bad",
            {"ps": role(-1)},
            "Invalid: ps.replicas is -1: ask for at least 1, or leave out ps",
            id="fewer replicas than none",
        ),
        pytest.param(
            "bad",
            {"intranet": "Pigeon"},
            f"{UNREADABLE}Invalid enum value 'Pigeon' - at `$.spec.intranet`",
            id="an unknown intranet",
        ),
        pytest.param(
            "bad",
            {"ps": None, "worker": None},
            "Invalid: the job has no role: give ps, worker or heter",
            id="no role",
        ),
        pytest.param(
            "bad",
            {"ps": [], "worker": 5},
            f"{UNREADABLE}Expected `object | null`, got `array` - at `$.spec.ps`",
            id="roles that are none",
        ),
        pytest.param(
            "b" * 52,
            {},
            "Invalid: the job's name has more than 51 characters: its pods' names would be too long",
            id="a name that is too long",
        ),
        pytest.param(
            "bad",
            {"elastic": 1, "worker": {**role(3), "limits": 2}},
            "Invalid: worker.replicas is 3, and an elastic job has at most limits, 2: change one of the two",
            id="more workers than the most",
        ),
    ],
)
async def test_a_job_that_no_server_should_have_let_in_stalls_and_others_go_on(
    careless: Api, working: Managing, name: str, spec: Manifest, words: str
) -> None:
    careless.put("paddlejobs", job(name, **spec))
    careless.put("paddlejobs", job())
    async with working(controllers()) as manager:
        await eventually(lambda: why(careless, name, "Stalled") == words)
        await eventually(lambda: careless.names("pods") == PODS)
        assert manager.metrics._retries.labels("paddlejob")._value.get() == 0


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"restarts": "many", "phase": 5}, id="fields of another kind"),
        pytest.param({"conditions": [5]}, id="conditions that are none"),
        pytest.param({"conditions": "no"}, id="conditions in words"),
    ],
)
async def test_a_status_that_nobody_can_read_counts_as_none(careless: Api, working: Managing, odd: Manifest) -> None:
    careless.put("paddlejobs", {**job(), "status": odd})
    careless.put("paddlejobs", {**job("bad", worker=5), "status": odd})
    async with working(controllers()):
        await eventually(stands(careless, "Pending", PODS))
        await eventually(lambda: why(careless, "bad", "Stalled").startswith(UNREADABLE))


async def test_a_quota_is_told_in_the_servers_words_and_tried_again(api: Api, managing: Managing) -> None:
    api.fail("POST", "/pods", 20, 403, "Forbidden")
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await eventually(lambda: conditions(api).get("Stalled", {}).get("reason") == "Forbidden")
        await eventually(lambda: api.names("pods") == PODS)
        await eventually(lambda: "Stalled" not in conditions(api))


async def test_a_template_that_the_server_refuses_is_told_and_others_go_on(api: Api, managing: Managing) -> None:
    api.fail("POST", "/pods", 1, 422, "Invalid")
    api.put("paddlejobs", job("bad", ps=None, worker=role(1)))
    async with managing(controllers()) as manager:
        result = manager.metrics._reconciles.labels("paddlejob", "terminal")._value
        await eventually(lambda: result.get() >= 1)
        assert conditions(api, "bad")["Stalled"]["reason"] == "Refused"
        api.put("paddlejobs", job())
        await eventually(lambda: set(PODS) <= set(api.names("pods")))


async def test_an_edit_that_the_server_takes_no_pods_for_is_told_and_can_be_mended(
    api: Api, managing: Managing, kubelet: Kubelet
) -> None:
    api.put("paddlejobs", job())
    async with managing(controllers()) as manager:
        await runs(api, kubelet)
        api.fail("POST", "/pods", 1000, 422, "Invalid")
        api.put("paddlejobs", job(worker=role(2, priorityClassName="nowhere")))
        refused = "Refused: a fault made by the test"
        queue = manager.loops[0].queue
        await eventually(lambda: why(api, kind="Stalled") == refused and (queue.due_in(DEMO) or 0) > 100)
        assert api.names("pods") == []
        api.faults.clear()
        api.put("paddlejobs", job(worker=role(2, priorityClassName="system-node-critical")))
        await runs(api, kubelet)
        await eventually(lambda: "Stalled" not in conditions(api))


async def test_a_pod_that_lost_its_label_is_told_of_and_found_when_it_has_it_again(
    api: Api, managing: Managing, kubelet: Kubelet
) -> None:
    pod: Manifest = {"metadata": {"name": "demo-worker-0", "namespace": "default"}}
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await runs(api, kubelet)
        api.put("pods", {"metadata": {**pod["metadata"], "labels": {LABEL_RESOURCE_TYPE: None}}})
        await eventually(lambda: why(api, kind="Stalled").startswith("NameTaken: Pod default/demo-worker-0 exists and"))
        api.put("pods", {"metadata": {**pod["metadata"], "labels": {LABEL_RESOURCE_TYPE: "worker"}}})
        await eventually(lambda: status(api)["phase"] == "Running" and "Stalled" not in conditions(api))


async def test_a_job_of_which_an_edit_is_refused_still_ends_in_time(
    api: Api, managing: Managing, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "SHORTEST_PAUSE", 0.5)
    api.put("paddlejobs", job(activeDeadlineSeconds=2))
    async with managing(controllers()):
        await runs(api, kubelet)
        api.fail("POST", "/pods", 1000, 422, "Invalid")
        api.put("paddlejobs", job(activeDeadlineSeconds=2, worker=role(2, priorityClassName="nowhere")))
        await eventually(lambda: why(api).startswith("DeadlineExceeded"))


async def test_where_all_host_ports_are_taken_a_job_waits_and_says_so(
    api: Api, managing: Managing, kubelet: Kubelet
) -> None:
    on_hosts = {"intranet": "Host", "ps": None, "worker": role(1)}
    api.put("paddlejobs", job("demo", **on_hosts))
    one_job = Settings(port_range=PortRange(40000, 40019))
    async with managing(controllers(one_job)):
        await runs(api, kubelet, ["demo-worker-0"])
        api.put("paddlejobs", job("late", **on_hosts))
        await eventually(
            lambda: why(api, "late").startswith("NoHostPort: all host ports from 40000 to 40019 are taken")
        )
        assert api.names("pods") == ["demo-worker-0"]


async def test_no_pod_is_made_before_its_jobs_port_is_written_down(api: Api, managing: Managing) -> None:
    """The original went on when it could not write the port, and forgot it when it was started again."""
    api.fail("PATCH", "/paddlejobs/demo", 3, 409, "Conflict")
    api.put("paddlejobs", job(intranet="Host", ps=None, worker=role(1)))
    async with managing(controllers()):
        await eventually(lambda: api.names("pods") == ["demo-worker-0"])
    made = api.writes.index("POST pods/demo-worker-0")
    assert "PATCH paddlejobs/demo" in api.writes[:made]
    (port,) = {found["hostPort"] for found in ports_of(api, "demo-worker-0")[:1]}
    assert api.get("paddlejobs", "default", "demo")["metadata"]["annotations"]["host-port"] == str(port)


def ports_of(api: Api, pod: str) -> list[Manifest]:
    ports: list[Manifest] = api.get("pods", "default", pod)["spec"]["containers"][0]["ports"]
    return ports


async def test_a_manager_started_again_gives_nobody_the_ports_that_another_job_has(
    api: Api, managing: Managing
) -> None:
    names = [f"job-{number}" for number in range(6)]
    just_enough = Settings(port_range=PortRange(40000, 40000 + 20 * len(names) - 1))
    for name in names:
        api.put("paddlejobs", job(name, intranet="Host", ps=None, worker=role(1)))
        async with managing(controllers(just_enough)):
            await eventually(lambda: f"{name}-worker-0" in api.names("pods"))  # noqa: B023 asked at once
    given = [ports_of(api, f"{name}-worker-0")[0]["hostPort"] for name in names]
    assert sorted(given) == [40000, 40020, 40040, 40060, 40080, 40100]


async def test_jobs_of_every_namespace_are_looked_after_and_told_of_there(api: Api, managing: Managing) -> None:
    namespaces = ("team-a", "team-b")
    for namespace in namespaces:
        api.put("namespaces", {"metadata": {"name": namespace}})
        there = job(suspend=True)
        there["metadata"]["namespace"] = namespace
        api.put("paddlejobs", there)
    async with managing(controllers()) as manager:
        for namespace in namespaces:
            await eventually(lambda: status(api, namespace=namespace).get("phase") == "Suspended")  # noqa: B023
        await eventually(lambda: is_idle(manager))
        await eventually(lambda: {event["metadata"]["namespace"] for event in api.all("events")} == {*namespaces})


async def test_a_job_whose_name_somebody_else_uses_says_so_and_touches_nothing(api: Api, managing: Managing) -> None:
    theirs = api.put("configmaps", {"metadata": {"name": "demo", "namespace": "default"}, "data": {"mine": "yes"}})
    api.put("paddlejobs", job())
    async with managing(controllers()):
        await eventually(lambda: why(api, kind="Stalled").startswith("NameTaken: ConfigMap default/demo exists and is"))
        assert api.get("configmaps", "default", "demo") == theirs
        api.remove("configmaps", Key("default", "demo"))
        await eventually(lambda: api.names("pods") == PODS)


async def test_where_there_are_no_sample_sets_at_all_jobs_without_data_run_and_others_say_what_they_wait_for() -> None:
    """Waiting for a kind that nobody installed, the manager would look at no job at all."""
    reference = {"name": "imagenet", "mountPath": "/mnt/imagenet"}
    async with embeddedapi.running([crd.v1(PaddleJob)]) as api, Client(api.config, "tester", timeout=5.0) as client:
        api.put("paddlejobs", job())
        api.put("paddlejobs", job("data", sampleSetRef=reference))
        async with managed(client, controllers(), SETTINGS):
            await eventually(lambda: api.names("pods") == PODS)
            waiting = "WaitingForData: there is no SampleSet imagenet in namespace default"
            await eventually(lambda: why(api, "data") == waiting)
