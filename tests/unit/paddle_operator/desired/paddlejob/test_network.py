"""How pods find each other: names, numbers, services and host ports."""

import dataclasses

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.paddlejob.snapshot import PortRange, Settings
from paddle_operator.desired.training.decision import Piece
from support.paddleworld import IMAGE, PaddleWorld, paddle_job, role

OWNER = {
    "apiVersion": "batch.paddlepaddle.org/v1",
    "kind": "PaddleJob",
    "name": "demo",
    "uid": "uid-1",
    "controller": True,
    "blockOwnerDeletion": True,
}
HOST: Manifest = {"intranet": "Host", "ps": role(1), "worker": role(1)}


def service(name: str, selector: dict[str, str], ports: int, *, unready: bool = True) -> Manifest:
    return {
        "metadata": {
            "name": name,
            "namespace": "team",
            "labels": {"batch.paddlepaddle.org/job": "demo"},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "clusterIP": "None",
            **({"publishNotReadyAddresses": True} if unready else {}),
            "selector": selector,
            "ports": [{"name": f"p-{number}", "port": 36000 + number} for number in range(ports)],
        },
    }


JOB_SERVICE = service("demo", {"batch.paddlepaddle.org/job": "demo"}, 1)
READY_SERVICE = service(
    "demo-ps-ready", {"batch.paddlepaddle.org/job": "demo", "paddle-res-type": "ps"}, 1, unready=False
)


@pytest.mark.parametrize(
    ("spec", "services"),
    [
        pytest.param({"worker": role(2)}, [JOB_SERVICE], id="a name for each pod by one service"),
        pytest.param({"ps": role(1), "worker": role(1)}, [JOB_SERVICE, READY_SERVICE], id="one that counts servers"),
        pytest.param(
            {"intranet": "Service", "worker": role(2)},
            [service(name, {"paddle-res-name": name}, 20) for name in ("demo-worker-0", "demo-worker-1")],
            id="a service for each pod",
        ),
    ],
)
def test_the_services_of_a_job(spec: Manifest, services: list[Manifest]) -> None:
    assert PaddleWorld(paddle_job(**spec)).settle().all(Piece.SERVICE) == services


def test_pods_that_wait_for_a_node_cost_no_services() -> None:
    world = PaddleWorld(paddle_job(ps=role(1), worker=role(2)))
    world.full = True
    assert (world.settle().names(Piece.SERVICE), len(world.pods)) == ([], 3)
    world.pod("demo-worker-1")["spec"]["nodeName"] = "node-2"
    assert world.settle().names(Piece.SERVICE) == ["demo", "demo-ps-ready"]


def test_services_of_pods_that_are_no_longer_wanted_go() -> None:
    world = PaddleWorld(paddle_job(intranet="Service", ps=role(3), worker=role(2))).settle()
    world.edit(ps=role(1), worker=role(4))
    world.settle()
    workers = [f"demo-worker-{number}" for number in range(4)]
    assert world.names(Piece.SERVICE) == ["demo-ps-0", "demo-ps-ready", *workers]
    assert world.pods == ["demo-ps-0", *workers]


def test_the_addresses_are_written_before_the_first_pod_that_reads_them() -> None:
    """With the original, every pod began in CreateContainerConfigError."""
    world = PaddleWorld(paddle_job(worker=role(2)))
    world.step()
    assert world.writes == [
        "apply ConfigMap demo",
        "create Pod demo-worker-0",
        "create Pod demo-worker-1",
        "write status",
    ]
    assert "apply Service demo" in world.settle().writes


def test_a_pod_made_anew_needs_no_new_addresses() -> None:
    world = PaddleWorld(paddle_job(worker=role(2))).settle()
    world.run()
    world.settle()
    config = world.config
    world.lose("demo-worker-0")
    writes = len(world.writes)
    world.settle()
    assert world.config == config
    assert set(world.writes[writes:]) == {"create Pod demo-worker-0", "write status"}


def test_addresses_by_number_are_written_when_each_pod_has_one_and_the_way_to_them_last() -> None:
    world = PaddleWorld(paddle_job(intranet="PodIP", worker=role(2))).settle()
    assert (world.pods, world.names(Piece.CONFIG_MAP), world.names(Piece.SERVICE)) == (
        ["demo-worker-0", "demo-worker-1"], [], [],
    )  # fmt: skip
    world.address("demo-worker-0", "10.0.0.7")
    assert world.settle().names(Piece.CONFIG_MAP) == []
    world.address("demo-worker-1", "fd00::8")
    writes = len(world.writes)
    world.step()
    assert (world.writes[writes:], world.names(Piece.SERVICE)) == (["apply ConfigMap demo"], [])
    world.settle()
    assert world.writes[writes:] == ["apply ConfigMap demo", "apply Service demo"]
    assert world.config["PADDLE_TRAINER_ENDPOINTS"] == "10.0.0.7:36000,[fd00::8]:36000"
    assert world.config["PADDLE_TRAINERS"] == "10.0.0.7,[fd00::8]"


def test_a_pod_finds_itself_in_the_lists_also_where_its_number_has_colons() -> None:
    world = PaddleWorld(paddle_job(intranet="PodIP", ps=role(1), worker=role(1))).settle()
    world.address("demo-ps-0", "fd00::7")
    world.address("demo-worker-0", "fd00::8")
    config = world.settle().config
    own = {found["name"]: found for found in world.pod("demo-ps-0")["spec"]["containers"][0]["env"]}
    reference = own["POD_IP"]["valueFrom"]["configMapKeyRef"]
    assert reference["name"] == "demo"
    told = own["PADDLE_CURRENT_ENDPOINT"]["value"].replace("$(POD_IP)", config[reference["key"]])
    assert told == config["PADDLE_PSERVERS_IP_PORT_LIST"] == "[fd00::7]:36000"


def test_addresses_by_number_follow_a_pod_that_was_made_anew() -> None:
    world = PaddleWorld(paddle_job(intranet="PodIP", worker=role(2))).settle()
    world.address("demo-worker-0", "10.0.0.7")
    world.address("demo-worker-1", "10.0.0.8")
    world.settle()
    world.lose("demo-worker-1")
    world.settle()
    assert world.names(Piece.SERVICE) == []
    world.address("demo-worker-1", "10.0.0.9")
    assert world.settle().config["PADDLE_TRAINERS"] == "10.0.0.7,10.0.0.9"


def test_with_numbers_a_pod_made_anew_starts_though_another_has_ended_and_is_lost() -> None:
    world = PaddleWorld(paddle_job(intranet="PodIP", worker=role(2))).settle()
    world.address("demo-worker-0", "10.0.0.7")
    world.address("demo-worker-1", "10.0.0.8")
    world.settle()
    world.succeed("demo-worker-0")
    world.settle()
    world.lose("demo-worker-0")
    world.lose("demo-worker-1")
    world.settle()
    assert world.names(Piece.SERVICE) == []
    world.address("demo-worker-1", "10.0.0.9")
    assert world.settle().names(Piece.SERVICE) == ["demo"]
    assert world.config["PADDLE_TRAINERS"] == "10.0.0.7,10.0.0.9"


def test_with_numbers_no_pod_is_made_anew_before_the_way_to_the_old_ones_is_gone() -> None:
    world = PaddleWorld(paddle_job(intranet="PodIP", worker=role(2))).settle()
    world.run()
    world.settle()
    world.lose("demo-worker-1")
    writes = len(world.writes)
    world.settle()
    assert [write for write in world.writes[writes:] if "status" not in write] == [
        "delete Service demo", "create Pod demo-worker-1",
    ]  # fmt: skip


def test_with_numbers_those_that_run_keep_theirs_while_another_waits_for_a_node() -> None:
    settings = Settings(init_image=IMAGE, etcd_server="etcd:2379")
    elastic = paddle_job(intranet="PodIP", elastic=1, worker={**role(2), "requests": 1, "limits": 3})
    world = PaddleWorld(elastic, settings).settle()
    world.run()
    config = world.settle().config
    world.full = True
    world.edit(worker={**role(3), "requests": 1, "limits": 3})
    world.settle()
    assert (world.pods[-1], world.config) == ("demo-worker-2", config)


def test_with_numbers_one_that_ended_and_whose_number_is_lost_keeps_nobody_from_starting() -> None:
    world = PaddleWorld(paddle_job(intranet="PodIP", worker=role(2))).settle()
    world.run()
    world.settle()
    world.succeed("demo-worker-0")
    world.settle()
    world.objects = {}
    world.settle()
    world.address("demo-worker-1", "10.0.0.9")
    assert world.settle().config["PADDLE_TRAINERS"] == "demo-worker-0.demo,10.0.0.9"


def test_with_numbers_a_pod_waits_at_least_for_its_own_name() -> None:
    world = PaddleWorld(paddle_job(intranet="PodIP", worker=role(1))).settle()
    (waiting,) = world.pod("demo-worker-0")["spec"]["initContainers"]
    assert waiting["args"][1:] == ["--own=demo-worker-0.demo"]


def test_a_job_on_the_hosts_network_has_one_port_everywhere_and_records_it_on_itself() -> None:
    world = PaddleWorld(paddle_job(**HOST)).settle()
    port = int(world.job["metadata"]["annotations"]["host-port"])
    assert world.config["PADDLE_PORT"] == str(port)
    assert world.config["PADDLE_PSERVERS_IP_PORT_LIST"] == f"demo-ps-0.demo:{port}"
    spec = world.pod("demo-ps-0")["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert spec["containers"][0]["ports"] == [
        {"containerPort": number, "hostPort": number} for number in range(port, port + 20)
    ]


@pytest.mark.parametrize("word", ["1024", "41000", "65516"])
def test_a_port_that_was_given_once_is_kept(word: str) -> None:
    world = PaddleWorld(paddle_job(**HOST))
    world.job["metadata"]["annotations"] = {"host-port": word}
    assert world.settle().config["PADDLE_PORT"] == word


@pytest.mark.parametrize("word", ["", "http", "-1", "0", "1023", "65517", "9" * 5000, "٣٥٠٠٠"])
def test_a_record_that_is_no_port_is_replaced(word: str) -> None:
    world = PaddleWorld(paddle_job(**HOST))
    world.job["metadata"]["annotations"] = {"host-port": word}
    world.settle()
    assert 35000 <= int(world.job["metadata"]["annotations"]["host-port"]) <= 64980


def test_no_two_jobs_get_the_same_ports_and_none_is_left_over() -> None:
    settings = Settings(port_range=PortRange(40000, 40099))
    given: set[int] = set()
    for number in range(5):
        job = paddle_job(f"job-{number}", **HOST)
        job["metadata"]["uid"] = f"uid-{number}"
        world = PaddleWorld(job, settings)
        world.taken_ports = frozenset(given)
        given.add(int(world.settle().job["metadata"]["annotations"]["host-port"]))
    assert sorted(given) == [40000, 40020, 40040, 40060, 40080]


def test_a_job_for_which_no_port_is_left_says_so_and_looks_for_one_again() -> None:
    world = PaddleWorld(paddle_job(**HOST), Settings(port_range=PortRange(40000, 40019)))
    world.taken_ports = frozenset({40000})
    assert world.step().look_again == 15
    assert (world.objects, world.job["metadata"].get("annotations")) == ({}, None)
    assert world.why == (
        "NoHostPort: all host ports from 40000 to 40019 are taken by other jobs: it starts when one of them ends, or"
        " with a wider --port-range of the manager"
    )
    world.taken_ports = frozenset()
    assert world.settle().config["PADDLE_PORT"] == "40000"


def test_without_an_image_of_ours_pods_do_not_wait() -> None:
    world = PaddleWorld(paddle_job(worker=role(2)))
    world.settings = dataclasses.replace(world.settings, init_image="")
    world.settle()
    assert "initContainers" not in world.pod("demo-worker-0")["spec"]


@pytest.mark.parametrize(
    ("pod", "peers"),
    [
        pytest.param("demo-ps-0", ["demo-ps-{}.demo=2"], id="servers wait for servers"),
        pytest.param(
            "demo-worker-1",
            [
                "demo-ps-{}.demo=2",
                "demo-worker-{}.demo=3",
                "demo-heter-{}.demo=1",
                "demo-ps-ready=2",
                "demo-ps-{}.demo:36000=2",
            ],
            id="workers wait for all, and for servers to be ready and listen",
        ),
        pytest.param(
            "demo-heter-0",
            [
                "demo-ps-{}.demo=2",
                "demo-worker-{}.demo=3",
                "demo-heter-{}.demo=1",
                "demo-ps-ready=2",
                "demo-ps-{}.demo:36000=2",
            ],
            id="heter workers likewise",
        ),
    ],
)
def test_pods_start_in_the_order_of_their_roles(pod: str, peers: list[str]) -> None:
    world = PaddleWorld(paddle_job(ps=role(2), worker=role(3), heter=role(1))).settle()
    (waiting,) = world.pod(pod)["spec"]["initContainers"]
    assert waiting["args"] == ["--timeout=86400", f"--own={pod}.demo", *peers]


def test_with_gloo_workers_wait_for_names_alone() -> None:
    """The first server serves the workers' meeting before it listens: to wait for that would be to wait for ever."""
    world = PaddleWorld(paddle_job(ps=role(1), worker=role(2), withGloo=1)).settle()
    (waiting,) = world.pod("demo-worker-0")["spec"]["initContainers"]
    assert waiting["args"][2:] == ["demo-ps-{}.demo=1", "demo-worker-{}.demo=2"]
