"""What Paddle is told, whole, for each mode and role."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.paddlejob.environment import elastic_range
from paddle_operator.desired.paddlejob.snapshot import Settings
from support.paddleworld import PaddleWorld, paddle_job, role

PORTS = {"TRAINER_PORTS_NUM": "20", "PADDLE_PORT": "36000"}
ETCD = Settings(etcd_server="etcd:2379")


def variables(world: PaddleWorld, pod: str) -> dict[str, str]:
    """Give what the container that trains finds in its environment."""
    container = world.pod(pod)["spec"]["containers"][0]
    assert container["envFrom"] == [{"configMapRef": {"name": "demo"}}]
    return {**world.config, **{variable["name"]: variable.get("value", "") for variable in container["env"]}}


@pytest.mark.parametrize(
    ("spec", "config"),
    [
        pytest.param(
            {"ps": role(2), "worker": role(2)},
            {
                "PADDLE_PSERVERS_IP_PORT_LIST": "demo-ps-0.demo:36000,demo-ps-1.demo:36000",
                "PADDLE_TRAINER_ENDPOINTS": "demo-worker-0.demo:36000,demo-worker-1.demo:36000",
                "PADDLE_TRAINERS": "demo-worker-0.demo,demo-worker-1.demo",
                "PADDLE_TRAINERS_NUM": "2",
            },
            id="parameter servers",
        ),
        pytest.param(
            {"ps": role(1), "worker": role(1), "heter": role(1), "withGloo": 1},
            {
                "PADDLE_PSERVERS_IP_PORT_LIST": "demo-ps-0.demo:36000",
                "PADDLE_TRAINER_ENDPOINTS": "demo-worker-0.demo:36000",
                "PADDLE_TRAINERS": "demo-worker-0.demo",
                "PADDLE_TRAINERS_NUM": "1",
                "PADDLE_HETER_ENDPOINTS": "demo-heter-0.demo:36000",
                "PADDLE_HETER_TRAINER_IP_PORT_LIST": "demo-heter-0.demo:36000",
                "PADDLE_WITH_GLOO": "1",
                "PADDLE_GLOO_RENDEZVOUS": "3",
                "PADDLE_GLOO_HTTP_ENDPOINT": "demo-ps-0.demo:36018",
            },
            id="heter workers and gloo",
        ),
        pytest.param(
            {"worker": role(2)},
            {
                "PADDLE_TRAINER_ENDPOINTS": "demo-worker-0.demo:36000,demo-worker-1.demo:36000",
                "PADDLE_TRAINERS": "demo-worker-0.demo,demo-worker-1.demo",
                "PADDLE_TRAINERS_NUM": "2",
                "PADDLE_NNODES": "2",
            },
            id="collective",
        ),
        pytest.param(
            {"worker": role(1), "withGloo": 1},
            {
                "PADDLE_TRAINER_ENDPOINTS": "demo-worker-0.demo:36000",
                "PADDLE_TRAINERS": "demo-worker-0.demo",
                "PADDLE_TRAINERS_NUM": "1",
            },
            id="single, where gloo means nothing",
        ),
    ],
)
def test_the_config_map_tells_what_all_pods_share(spec: Manifest, config: dict[str, str]) -> None:
    assert PaddleWorld(paddle_job(**spec)).settle().config == {**PORTS, **config}


@pytest.mark.parametrize(
    ("pod", "own"),
    [
        pytest.param("demo-ps-1", {"PADDLE_TRAINER_ID": "1", "TRAINING_ROLE": "PSERVER"}, id="a server"),
        pytest.param("demo-worker-0", {"PADDLE_TRAINER_ID": "0", "TRAINING_ROLE": "TRAINER"}, id="a worker"),
        pytest.param("demo-heter-0", {"PADDLE_TRAINER_ID": "0", "TRAINING_ROLE": "HETER_TRAINER"}, id="a heter worker"),
    ],
)
def test_a_pod_is_told_who_it_is(pod: str, own: dict[str, str]) -> None:
    world = PaddleWorld(paddle_job(ps=role(2), worker=role(1), heter=role(1))).settle()
    told = variables(world, pod)
    assert told == {
        **world.config,
        **own,
        "POD_IP": f"{pod}.demo",
        "PADDLE_TRAINING_ROLE": own["TRAINING_ROLE"],
        "PADDLE_CURRENT_ENDPOINT": f"{pod}.demo:36000",
    }


@pytest.mark.parametrize("intranet", ["", "Service", "Host"])
def test_a_server_finds_itself_in_the_list_of_servers(intranet: str) -> None:
    """Paddle looks for POD_IP:PADDLE_PORT there, and fails without; the original had two ports."""
    world = PaddleWorld(paddle_job(ps=role(2), worker=role(1), intranet=intranet)).settle()
    told = variables(world, "demo-ps-1")
    servers = told["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
    assert servers.index(f"{told['POD_IP']}:{told['PADDLE_PORT']}") == 1


@pytest.mark.parametrize("intranet", ["", "PodIP", "Service", "Host"])
def test_gloo_meets_at_a_port_of_the_first_server_that_it_does_not_listen_on(intranet: str) -> None:
    world = PaddleWorld(paddle_job(ps=role(1), worker=role(1), withGloo=1, intranet=intranet)).settle()
    world.run()
    world.settle()
    host, _, port = world.config["PADDLE_GLOO_HTTP_ENDPOINT"].rpartition(":")
    assert world.config["PADDLE_PSERVERS_IP_PORT_LIST"] == f"{host}:{world.config['PADDLE_PORT']}"
    assert int(port) == int(world.config["PADDLE_PORT"]) + 18


def test_workers_of_a_collective_job_meet_at_the_first_which_knows_itself_by_number() -> None:
    world = PaddleWorld(paddle_job(worker=role(3))).settle()
    masters = [variables(world, f"demo-worker-{number}")["PADDLE_MASTER"] for number in range(3)]
    assert masters == ["127.0.0.1:36017", "demo-worker-0.demo:36017", "demo-worker-0.demo:36017"]


def test_an_elastic_job_is_told_its_etcd_its_range_and_its_members() -> None:
    workers = {**role(2), "requests": 1, "limits": 4}
    world = PaddleWorld(paddle_job(elastic=1, worker=workers), ETCD).settle()
    told = variables(world, "demo-worker-1")
    assert {name: value for name, value in told.items() if "ELASTIC" in name} == {
        "PADDLE_ELASTIC_JOB_ID": "team-demo",
        "PADDLE_ELASTIC_NP": "1:4",
        "PADDLE_ELASTIC_TIMEOUT": "60",
        "PADDLE_ELASTIC_SERVER": "etcd:2379",
    }
    assert told["PADDLE_TRAINERS"] == "demo-worker-0.demo,demo-worker-1.demo"
    assert "PADDLE_MASTER" not in told


@pytest.mark.parametrize(
    ("requests", "limits", "words"),
    [(None, None, "3"), (1, None, "1:3"), (None, 5, "3:5"), (2, 6, "2:6")],
)
def test_an_elastic_range_is_the_fewest_and_the_most(requests: int | None, limits: int | None, words: str) -> None:
    world = PaddleWorld(paddle_job(worker={**role(3), "requests": requests, "limits": limits}))
    workers = world.snapshot().job.spec.worker
    assert workers is not None
    assert elastic_range(workers) == words


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


def test_the_members_of_any_other_job_are_rewritten_when_it_is_edited() -> None:
    world = PaddleWorld(paddle_job(worker=role(2))).settle()
    world.edit(worker=role(3))
    assert world.settle().config["PADDLE_TRAINERS_NUM"] == "3"


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


def test_a_variable_of_the_users_gives_way_where_we_know_better_and_stays_elsewhere() -> None:
    worker = role(1)
    worker["template"]["spec"]["containers"][0]["env"] = [
        {"name": "PADDLE_TRAINER_ID", "value": "7"},
        {"name": "EPOCHS", "value": "3"},
    ]
    world = PaddleWorld(paddle_job(worker=worker)).settle()
    env = world.pod("demo-worker-0")["spec"]["containers"][0]["env"]
    assert env[-1] == {"name": "EPOCHS", "value": "3"}
    assert [variable["value"] for variable in env if variable["name"] == "PADDLE_TRAINER_ID"] == ["0"]


def test_an_elastic_job_may_choose_another_etcd() -> None:
    worker = role(1)
    worker["template"]["spec"]["containers"][0]["env"] = [{"name": "PADDLE_ELASTIC_SERVER", "value": "mine:2379"}]
    world = PaddleWorld(paddle_job(elastic=1, worker=worker), ETCD).settle()
    env = world.pod("demo-worker-0")["spec"]["containers"][0]["env"]
    assert [variable["value"] for variable in env if "SERVER" in variable["name"]] == ["mine:2379"]
