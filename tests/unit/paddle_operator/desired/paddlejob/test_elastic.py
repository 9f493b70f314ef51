"""Elastic jobs: their range, their etcd, and workers that come and go."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.paddlejob.elastic import allowed, asked_for
from paddle_operator.desired.paddlejob.snapshot import Settings
from support.paddleworld import PaddleWorld, paddle_job, role

ETCD = Settings(etcd_server="etcd:2379")


def with_env(replicas: int, *env: Manifest) -> Manifest:
    made = role(replicas)
    made["template"]["spec"]["containers"][0]["env"] = list(env)
    return made


def told(world: PaddleWorld, pod: str = "demo-worker-0") -> dict[str, str]:
    env = world.pod(pod)["spec"]["containers"][0]["env"]
    return {**world.config, **{variable["name"]: variable.get("value", "") for variable in env}}


def test_an_elastic_job_is_told_what_both_of_paddles_launchers_read() -> None:
    workers = {**role(2), "requests": 1, "limits": 4}
    world = PaddleWorld(paddle_job(elastic=1, worker=workers), ETCD).settle()
    assert told(world, "demo-worker-1") == {
        "TRAINER_PORTS_NUM": "20",
        "PADDLE_PORT": "36000",
        "PADDLE_TRAINERS": "demo-worker-0.demo,demo-worker-1.demo",
        "PADDLE_TRAINERS_NUM": "2",
        "POD_IP": "demo-worker-1.demo",
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_TRAINING_ROLE": "TRAINER",
        "PADDLE_CURRENT_ENDPOINT": "demo-worker-1.demo:36000",
        "PADDLE_ELASTIC_JOB_ID": "team-demo",
        "PADDLE_ELASTIC_NP": "1:4",
        "PADDLE_ELASTIC_TIMEOUT": "60",
        "PADDLE_ELASTIC_SERVER": "etcd:2379",
        "PADDLE_MASTER": "etcd://Etcd:2379",
        "PADDLE_JOB_ID": "uid-1",
        "PADDLE_NNODES": "1:4",
        "PADDLE_ELASTIC_LEVEL": "1",
        "PADDLE_MAX_RESTART": "1000",
    }


def test_with_parameter_servers_the_launcher_has_no_part() -> None:
    world = PaddleWorld(paddle_job(elastic=1, ps=role(1), worker=role(2)), ETCD).settle()
    found = told(world)
    assert (found["PADDLE_TRAINER_ID"], found["PADDLE_ELASTIC_NP"]) == ("0", "2")
    assert "PADDLE_TRAINER_ENDPOINTS" in found
    assert "PADDLE_MASTER" not in found


@pytest.mark.parametrize(
    ("server", "place"),
    [
        pytest.param("host:2379", "etcd://host:2379", id="one"),
        pytest.param("a.team.svc:1,b.team.svc:2", "etcd://a.team.svc:1", id="the first of several"),
        pytest.param("http://host:2379/", "etcd://host:2379", id="a URL"),
        pytest.param("host", "etcd://host:2379", id="no port"),
        pytest.param("etcd.team.svc:2379", "etcd://Etcd.team.svc:2379", id="what Paddle would strip"),
    ],
)
def test_workers_meet_where_paddle_can_find_it(server: str, place: str) -> None:
    """Paddle reads a single endpoint, and strips all of the letters of etcd:// off its beginning."""
    world = PaddleWorld(paddle_job(elastic=1, worker=role(2)), Settings(etcd_server=server)).settle()
    assert told(world)["PADDLE_MASTER"] == place
    assert told(world)["PADDLE_ELASTIC_SERVER"] == server


@pytest.mark.parametrize(
    ("variable", "place"),
    [
        pytest.param({"name": "PADDLE_ELASTIC_SERVER", "value": "mine:2379"}, "etcd://mine:2379", id="a name"),
        pytest.param(
            {"name": "PADDLE_ELASTIC_SERVER", "valueFrom": {"secretKeyRef": {"name": "etcd", "key": "server"}}},
            "etcd://$(PADDLE_ELASTIC_SERVER)",
            id="a secret",
        ),
        pytest.param({"name": "PADDLE_MASTER", "value": "etcd://mine:1"}, "etcd://mine:1", id="in Paddle's words"),
    ],
)
@pytest.mark.parametrize("settings", [Settings(), ETCD], ids=["the manager has none", "the manager has another"])
def test_an_elastic_job_may_choose_its_etcd(variable: Manifest, place: str, settings: Settings) -> None:
    world = PaddleWorld(paddle_job(elastic=1, worker=with_env(1, variable)), settings).settle()
    assert told(world)["PADDLE_MASTER"] == place
    names = [found["name"] for found in world.pod("demo-worker-0")["spec"]["containers"][0]["env"]]
    if "SERVER" in variable["name"]:
        assert names.index("PADDLE_ELASTIC_SERVER") < names.index("PADDLE_MASTER")


@pytest.mark.parametrize(
    ("requests", "limits", "words", "ever"),
    [
        (None, None, "3", "1:10000"),
        (1, None, "1:3", "1:10000"),
        (None, 5, "3:5", "1:5"),
        (2, 6, "2:6", "2:6"),
        (0, 0, "0:0", "1:10000"),
    ],
)
def test_a_range_is_the_fewest_and_the_most(requests: int | None, limits: int | None, words: str, ever: str) -> None:
    """Workers that run keep theirs while the replicas are edited, so it must hold for any number of them."""
    world = PaddleWorld(paddle_job(worker={**role(3), "requests": requests, "limits": limits}))
    workers = world.snapshot().job.spec.worker
    assert workers is not None
    assert (asked_for(workers), allowed(workers)) == (words, ever)


def test_another_range_starts_all_workers_anew() -> None:
    world = PaddleWorld(paddle_job(elastic=1, worker={**role(2), "limits": 2}), ETCD).settle()
    world.run()
    world.settle()
    before = {world.pod(name)["metadata"]["uid"] for name in world.pods}
    world.edit(worker={**role(2), "limits": 4})
    world.settle()
    assert before.isdisjoint({world.pod(name)["metadata"]["uid"] for name in world.pods})
    assert told(world)["PADDLE_NNODES"] == "1:4"


def test_a_worker_waits_until_the_others_can_find_it() -> None:
    world = PaddleWorld(paddle_job(elastic=1, worker=role(2)), ETCD).settle()
    (waiting,) = world.pod("demo-worker-1")["spec"]["initContainers"]
    assert waiting["args"][1:] == ["--own=demo-worker-1.demo"]


def test_the_members_of_an_elastic_job_are_rewritten_when_it_scales_and_no_pod_restarts() -> None:
    world = PaddleWorld(paddle_job(elastic=1, worker=role(2)), ETCD).settle()
    world.run()
    world.settle()
    before = [world.pod(name)["metadata"]["uid"] for name in world.pods]
    world.edit(worker=role(3))
    world.settle()
    assert world.config["PADDLE_TRAINERS_NUM"] == "3"
    assert [world.pod(name)["metadata"]["uid"] for name in world.pods[:2]] == before
    assert (world.status.phase, world.status.elastic, len(world.pods)) == ("Scaling", "DOING", 3)
    world.run()
    assert (world.settle().status.phase, world.status.elastic) == ("Running", "DONE")
    world.edit(worker=role(2))
    world.settle()
    assert [world.pod(name)["metadata"]["uid"] for name in world.pods] == before
    assert world.config["PADDLE_TRAINERS_NUM"] == "2"
    assert world.told == ["Running", "Scaling", "Running"]


def test_a_failed_worker_of_an_elastic_job_is_replaced_after_a_while_and_the_job_goes_on() -> None:
    world = PaddleWorld(paddle_job(elastic=1, worker=role(2)), ETCD).settle()
    world.run()
    world.settle()
    world.fail("demo-worker-1", 137, "Evicted")
    assert world.step().look_again == 10
    assert world.settle().status.phase == "Running"
    world.later(10)
    world.settle()
    assert "status" not in world.pod("demo-worker-1")
    assert world.status.restarts == 0
