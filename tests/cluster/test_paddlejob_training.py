"""Real Paddle trains in the pods of PaddleJobs: collective, single, and with parameter servers, all at once."""

import json
import secrets
from collections.abc import Iterator

import pytest

from localkube.cluster import Cluster
from localkube.errors import LocalkubeError
from localkube.kubectl import Kubectl, Manifest
from localkube.waiting import wait_until
from support import preparedsets, workloads
from support.examples import example, on_image, trainings
from support.managerprogram import ManagerProgram
from support.manifests import changed, circulating
from support.paddlejobs import Jobs

CONTAINER = "spec.{}.template.spec.containers.0"
WIDE_AND_DEEP = "/trainings/wide_and_deep.py"
PATIENCE = 240.0
# From when all pods run: Paddle is imported, trains for seconds, and waits for what the others learned.
TRAINS_WITHIN = 150.0
ENDED = frozenset({"Completed", "Failed"})


# Says what Paddle makes of its role, and stays.
ROLE = """
import json, time
from paddle.distributed import fleet
fleet.init(is_collective=False)
role = fleet.fleet._role_maker
said = {"id": role._current_id, "server": fleet.is_server(), "heter": role._is_heter_worker()}
if not fleet.is_server():
    said |= {"stage": role._get_stage_id(), "of": role._get_num_stage(), "all": role._get_heter_worker_endpoints()}
print(json.dumps(said), flush=True)
time.sleep(600)
"""


def two_apart() -> Manifest:
    """Give the example of two workers, on two nodes, with a Service each."""
    template = {"metadata": {"labels": {"app": "two"}}, "spec.affinity": workloads.one_per_node("two")}
    changes = {f"spec.worker.template.{path}": value for path, value in template.items()}
    return changed(example("collective"), {"metadata.name": "two", "spec.intranet": "Service", **changes})


def four_by_themselves() -> Manifest:
    """Give the same training without Paddle's launcher, which would find out what there is to compute on."""
    command = {CONTAINER.format("worker") + ".command": ["python3", "/trainings/collective.py"]}
    return changed(example("collective"), {"metadata.name": "four", "spec.worker.replicas": 4, **command})


def demo_of_the_documents() -> Manifest:
    """Give the demo with a training in the place of nginx, which trusts that its server listens when it starts."""
    model = example("wide-and-deep")
    changes: Manifest = {"spec.cleanPodPolicy": "Never"}
    for role in ("ps", "worker"):
        template = model["spec"][role]["template"]["spec"]
        container = {**template["containers"][0], "name": "sample", "command": ["python3", WIDE_AND_DEEP, "--trusting"]}
        changes |= {CONTAINER.format(role): container, f"spec.{role}.template.spec.volumes": template["volumes"]}
    return changed(circulating("PaddleJob/ps-demo"), changes)


def three_roles() -> Manifest:
    """Give a job of servers, workers and heter workers, which find each other by number."""
    role = example("single")["spec"]["worker"]
    role["template"]["spec"]["containers"][0]["command"] = ["python3", "-c", ROLE]
    roles = {f"spec.{name}": role for name in ("ps", "worker", "heter")}
    return changed(example("single"), {"metadata.name": "heter", "spec.intranet": "PodIP", **roles})


JOBS = (
    example("single"),
    two_apart(),
    four_by_themselves(),
    example("wide-and-deep"),
    demo_of_the_documents(),
    three_roles(),
)


@pytest.fixture(scope="module")
def jobs(
    kube: Cluster,
    kinds_served: Kubectl,
    operator_image: str,
    paddlebox: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Jobs]:
    """Have all trainings under way in one namespace, with one manager."""
    kubectl = Kubectl.of(kube, f"training-{secrets.token_hex(3)}")
    kubectl.run("create", "namespace", kubectl.namespace)
    log = tmp_path_factory.mktemp("training") / "manager.log"
    words = ("--controllers=paddlejob", f"--init-image={operator_image}")
    manager = ManagerProgram(kube.paths.kubeconfig, kubectl.namespace, log, *words)
    manager.start()
    preparedsets.label(kinds_served, kubectl.namespace, "imagenet", {"imagenet-runtime-0": "node-2"})
    kubectl.apply(trainings(), *preparedsets.storage("imagenet", kubectl.namespace), circulating("SampleSet/imagenet"))
    preparedsets.stand(kubectl, "imagenet", "Ready")
    kubectl.apply(*(on_image(job, paddlebox) for job in JOBS))
    yield Jobs(kubectl)
    manager.kill()
    preparedsets.unlabel(kinds_served, kubectl.namespace, "imagenet")
    kubectl.run("delete", "pv", kubectl.namespace, "--wait=false")
    kubectl.run("delete", "namespace", kubectl.namespace, "--wait=false")


def said(jobs: Jobs, pod: str) -> list[Manifest]:
    """Give what the pod printed as lines of JSON among all that Paddle writes."""
    lines = jobs.kubectl.run("logs", pod).splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def results(jobs: Jobs, name: str, workers: int) -> list[Manifest]:
    """Wait for the job's end, and give what its workers said, one line each."""
    jobs.eventually(lambda: jobs.phases()[name] in {"Running", *ENDED}, f"{name} does not begin", PATIENCE)
    try:
        wait_until(lambda: jobs.phases()[name] in ENDED, TRAINS_WITHIN, f"{name} does not end")
    except LocalkubeError as error:
        pytest.fail(f"{error}\n{jobs.last_words(name)}")
    assert jobs.phases()[name] == "Completed", f"{jobs.why(name)}\n{jobs.last_words(name)}"
    return [line for number in range(workers) for line in said(jobs, f"{name}-worker-{number}")]


def nodes(jobs: Jobs, name: str) -> set[str]:
    return {pod["spec"]["nodeName"] for pod in jobs.pods(name).values()}


def test_a_single_worker_trains(jobs: Jobs) -> None:
    [result] = results(jobs, "single", 1)
    assert result["last_loss"] < result["first_loss"] / 2
    assert jobs.status("single")["mode"] == "Single"


@pytest.mark.parametrize(
    ("name", "workers"), [("two", 2), ("four", 4)], ids=["two by Paddle's launcher", "four by themselves"]
)
def test_workers_agree_on_who_is_who_and_train_one_model(jobs: Jobs, name: str, workers: int) -> None:
    found = results(jobs, name, workers)
    assert [(one["rank"], one["world"]) for one in found] == [(rank, workers) for rank in range(workers)]
    assert {one["sum"] for one in found} == {int("1" * workers)}
    hosts = [one["endpoint"].partition(":")[0] for one in found]
    domain = jobs.kubectl.namespace if name == "two" else name
    assert hosts == [f"{name}-worker-{rank}.{domain}" for rank in range(workers)]
    assert all(one["last_loss"] < one["first_loss"] / 2 for one in found)
    assert jobs.status(name)["mode"] == "Collective"


def test_workers_learn_from_each_other_through_parameter_servers(jobs: Jobs) -> None:
    found = results(jobs, "wide-and-deep", 2)
    assert [(one["index"], one["workers"]) for one in found] == [(0, 2), (1, 2)]
    servers = [f"wide-and-deep-ps-{number}.wide-and-deep:36000" for number in range(2)]
    assert [one["servers"] for one in found] == [servers, servers]
    assert all(max(one["last_loss"], one["loss_of_others"]) < one["first_loss"] for one in found)
    logs = "".join(jobs.kubectl.run("logs", f"wide-and-deep-worker-{number}") for number in range(2))
    assert "GeoCommunicator" not in logs  # with it workers may wait for ever: see docs/paddle-environment.md
    jobs.eventually(
        lambda: sorted(jobs.pods("wide-and-deep")) == [f"wide-and-deep-worker-{n}" for n in range(2)], "servers run on"
    )


def test_the_demo_of_the_documents_trains(jobs: Jobs) -> None:
    """Its program does not wait for its server: the job sees to that."""
    [result] = results(jobs, "ps-demo", 1)
    assert (result["workers"], result["servers"]) == (1, ["ps-demo-ps-0.ps-demo:36000"])
    assert jobs.status("ps-demo")["mode"] == "PS"


def test_paddle_takes_each_of_three_roles_for_what_it_is(jobs: Jobs) -> None:
    jobs.until("Running", "heter", timeout=PATIENCE)
    address = jobs.kubectl.get("configmap/heter")["data"]["POD_IP_HETER_0"]
    stages = {"server": False, "of": 2, "all": [f"{address}:36000"]}
    wanted = {
        "heter-ps-0": {"id": 0, "server": True, "heter": False},
        "heter-worker-0": {"id": 0, "heter": False, "stage": 1, **stages},
        "heter-heter-0": {"id": 1, "heter": True, "stage": 2, **stages},
    }
    jobs.eventually(lambda: all(said(jobs, pod) for pod in wanted), "somebody says nothing", PATIENCE)
    assert {pod: said(jobs, pod)[0] for pod in wanted} == wanted


def test_trainings_spread_over_nodes_and_run_next_to_their_data(jobs: Jobs) -> None:
    for name, workers in (("two", 2), ("four", 4), ("ps-demo", 1)):
        results(jobs, name, workers)
    assert [len(nodes(jobs, name)) > 1 for name in ("two", "four")] == [True, True]
    assert nodes(jobs, "ps-demo") >= {"node-2"}
