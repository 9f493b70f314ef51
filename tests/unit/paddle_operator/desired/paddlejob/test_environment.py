"""What Paddle is told, whole, for each mode and role."""

import pytest

from paddle_operator.api.manifest import Manifest
from support.paddleworld import PaddleWorld, paddle_job, role

STAGES = {
    "STAGE_ID",
    "STAGE_NUM",
    "PADDLE_STAGE_TRAINERS_NUM",
    "HETER_DEVICE_TYPE",
    "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST",
    "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST",
}
PORTS = {"TRAINER_PORTS_NUM": "20", "PADDLE_PORT": "36000"}


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
                "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST": "demo-heter-0.demo:36000",
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
    told = {name: value for name, value in variables(world, pod).items() if name not in STAGES}
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


def test_the_members_of_any_other_job_are_rewritten_when_it_is_edited() -> None:
    world = PaddleWorld(paddle_job(worker=role(2))).settle()
    world.edit(worker=role(3))
    assert world.settle().config["PADDLE_TRAINERS_NUM"] == "3"


def test_a_variable_of_the_users_wins_in_the_place_of_ours() -> None:
    """What we make of it follows, and so can what the user makes of ours."""
    worker = role(1)
    worker["template"]["spec"]["containers"][0] |= {
        "env": [
            {"name": "EPOCHS", "value": "3"},
            {"name": "WHERE", "value": "$(PADDLE_CURRENT_ENDPOINT)"},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "PADDLE_TRAINER_ID", "value": "7"},
        ],
        "envFrom": [{"secretRef": {"name": "mine"}}],
    }
    world = PaddleWorld(paddle_job(worker=worker, intranet="PodIP")).settle()
    container = world.pod("demo-worker-0")["spec"]["containers"][0]
    assert container["env"] == [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "PADDLE_TRAINER_ID", "value": "7"},
        {"name": "TRAINING_ROLE", "value": "TRAINER"},
        {"name": "PADDLE_TRAINING_ROLE", "value": "TRAINER"},
        {"name": "PADDLE_CURRENT_ENDPOINT", "value": "$(POD_IP):36000"},
        {"name": "EPOCHS", "value": "3"},
        {"name": "WHERE", "value": "$(PADDLE_CURRENT_ENDPOINT)"},
    ]
    assert container["envFrom"] == [{"configMapRef": {"name": "demo"}}, {"secretRef": {"name": "mine"}}]


@pytest.mark.parametrize("intranet", ["", "Service", "Host"])
def test_paddles_launcher_takes_a_pods_name_for_an_address(intranet: str) -> None:
    """It does so only with a dot in it, and compares it as text with the first endpoint; the original's hung."""
    world = PaddleWorld(paddle_job(worker=role(2), intranet=intranet)).settle()
    told = variables(world, "demo-worker-0")
    assert "." in told["POD_IP"]
    assert told["PADDLE_TRAINER_ENDPOINTS"].split(",")[0] == f"{told['POD_IP']}:{told['PADDLE_PORT']}"
    assert told["PADDLE_CURRENT_ENDPOINT"] == told["PADDLE_TRAINER_ENDPOINTS"].split(",")[0]


CPU = {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi", "hugepages-2Mi": "1Gi"}}


def computing_on(replicas: int, **container: object) -> Manifest:
    made = role(replicas)
    made["template"]["spec"]["containers"][0] |= container
    return made


@pytest.mark.parametrize(
    ("spec", "backend"),
    [
        pytest.param({"worker": computing_on(2, resources=CPU)}, "gloo", id="on CPU"),
        pytest.param({"worker": role(2)}, None, id="who knows"),
        pytest.param({"worker": computing_on(1, resources=CPU)}, None, id="alone"),
        pytest.param({"ps": role(1), "worker": computing_on(2, resources=CPU)}, None, id="with parameter servers"),
        pytest.param({"worker": computing_on(2, resources={"limits": {"nvidia.com/gpu": 1}})}, None, id="on GPU"),
        pytest.param({"worker": computing_on(2, resources={**CPU, "claims": [{"name": "a"}]})}, None, id="claimed"),
        pytest.param(
            {"worker": computing_on(2, resources=CPU, env=[{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}])},
            None,
            id="chosen by a variable",
        ),
        pytest.param(
            {"worker": computing_on(2, resources=CPU, env=[{"name": "PADDLE_DISTRI_BACKEND", "value": "nccl"}])},
            "nccl",
            id="as the user says",
        ),
    ],
)
def test_workers_are_told_gloo_only_where_they_certainly_have_no_device(spec: Manifest, backend: str | None) -> None:
    """Without it they would need Paddle's launcher; with it a GPU would not be used."""
    told = variables(PaddleWorld(paddle_job(**spec)).settle(), "demo-worker-1" if "ps" in spec else "demo-worker-0")
    assert told.get("PADDLE_DISTRI_BACKEND") == backend


def test_a_runtime_for_devices_is_a_sign_of_devices() -> None:
    worker = computing_on(2, resources=CPU)
    worker["template"]["spec"]["runtimeClassName"] = "nvidia"
    world = PaddleWorld(paddle_job(worker=worker)).settle()
    assert "PADDLE_DISTRI_BACKEND" not in variables(world, "demo-worker-0")


@pytest.mark.parametrize(
    ("resources", "device"),
    [
        pytest.param({}, "cpu", id="nothing asked for"),
        pytest.param({"limits": {"nvidia.com/gpu": 1}}, "gpu", id="a GPU"),
        pytest.param({"requests": {"baidu.com/XPU": "1"}}, "xpu", id="an XPU"),
    ],
)
def test_heter_workers_are_the_second_stage_after_the_workers(resources: Manifest, device: str) -> None:
    """Paddle's role maker asks for all of these; the original gave none."""
    heter = computing_on(1, resources=resources)
    world = PaddleWorld(paddle_job(ps=role(1), worker=role(2), heter=heter)).settle()
    assert world.config["PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"] == "demo-heter-0.demo:36000"
    stages = {"STAGE_NUM": "2", "PADDLE_STAGE_TRAINERS_NUM": "[2,1]"}
    after = {"configMapKeyRef": {"name": "demo", "key": "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"}}
    before = {"configMapKeyRef": {"name": "demo", "key": "PADDLE_TRAINER_ENDPOINTS"}}
    wanted = {
        "demo-ps-0": {},
        "demo-worker-1": {**stages, "STAGE_ID": "1", "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST": after},
        "demo-heter-0": {
            **stages,
            "STAGE_ID": "2",
            "HETER_DEVICE_TYPE": device,
            "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST": before,
        },
    }
    for pod, told in wanted.items():
        env = {found["name"]: found for found in world.pod(pod)["spec"]["containers"][0]["env"]}
        found = {
            name: env[name].get("value") or env[name]["valueFrom"] for name in env if "STAGE" in name or "HETER" in name
        }
        assert found == told


def test_without_parameter_servers_there_are_no_stages() -> None:
    world = PaddleWorld(paddle_job(worker=role(1), heter=role(1))).settle()
    assert "STAGE_ID" not in variables(world, "demo-heter-0")
    assert "PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST" not in world.config
