"""PaddleJobs scheduled all or none by the real Volcano, where somebody has built it: see docs/testing.md."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest
from support.paddlejobs import ENDLESS, Jobs, paddle_job, role

from .conftest import Begin

VOLCANO = os.environ.get("VOLCANO", "")
pytestmark = pytest.mark.skipif(not VOLCANO, reason="VOLCANO names no folder with a built Volcano: see docs/testing.md")
PROGRAMS = {
    "controller-manager": (),
    "scheduler": ("--schedule-period=200ms",),
}


@pytest.fixture
def volcano(kube: Cluster, tmp_path: Path) -> Iterator[None]:
    """Have Volcano's kinds, and its two programs beside the cluster."""
    kubectl = Kubectl.of(kube)
    definitions = str(Path(VOLCANO, "crd"))
    kubectl.run("apply", "--server-side", "-f", definitions)
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "-f", definitions)
    running = [begun(kube, name, tmp_path, *options) for name, options in PROGRAMS.items()]
    yield
    for process in running:
        process.kill()
        process.wait()
    for name in PROGRAMS:
        sys.stdout.write(f"--- {name}\n" + "".join((tmp_path / f"{name}.log").read_text()[-3000:]) + "\n")
    kubectl.run("delete", "-f", definitions, "--wait=false")


def begun(kube: Cluster, name: str, folder: Path, *options: str) -> subprocess.Popen[bytes]:
    argv = [str(Path(VOLCANO, name)), f"--kubeconfig={kube.paths.kubeconfig}", "--leader-elect=false", *options]
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen([*argv, "--logtostderr"], stdout=log, stderr=log, cwd=folder)


def asking_for(cpu: str, replicas: int, *command: str) -> Manifest:
    made = role(replicas, *command)
    made["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made


def bound(jobs: Jobs, name: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in jobs.pods(name).values() if pod["spec"].get("nodeName")]


def groups(namespace: Kubectl) -> list[str]:
    return [group["metadata"]["name"] for group in namespace.items("podgroups")]


@pytest.mark.usefixtures("volcano")
def test_volcano_schedules_all_pods_of_a_job_or_none(namespace: Kubectl, begin: Begin) -> None:
    jobs = Jobs(namespace)
    manager = begin("--scheduling=volcano")
    nodes = namespace.items("nodes")
    part = int(nodes[0]["status"]["allocatable"]["cpu"]) * 10
    too_many = asking_for(f"{part * 60}m", len(nodes) + 1, *ENDLESS)
    jobs.submit(paddle_job("too-large", worker=too_many, schedulingPolicy={"queue": "default"}))
    jobs.eventually(
        lambda: "too-large" in {group["metadata"]["name"] for group in namespace.items("podgroups")}, "none"
    )
    jobs.submit(paddle_job("fitting", worker=asking_for(f"{part * 30}m", 2, "true")))
    jobs.until("Completed", "fitting")
    assert bound(jobs, "too-large") == []
    assert jobs.status("too-large")["phase"] == "Pending"
    jobs.edit("too-large", worker=asking_for(f"{part * 60}m", len(nodes), *ENDLESS))
    jobs.until("Running", "too-large")
    assert {pod["spec"]["schedulerName"] for pod in jobs.pods("too-large").values()} == {"volcano"}
    jobs.eventually(lambda: groups(namespace) == ["too-large"], "the PodGroup of a job that has ended is left")
    assert namespace.get("podgroup/too-large")["status"]["phase"] == "Running"
    assert manager.alive
