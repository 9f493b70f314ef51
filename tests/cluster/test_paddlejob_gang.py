"""PaddleJobs scheduled all or none: by Kubernetes' own Workload API, and by Volcano's PodGroups."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localkube import clusters
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until
from support import volcano
from support.managerprogram import ManagerProgram
from support.paddlejobs import ENDLESS, Jobs, paddle_job, role

from .conftest import DEFINITIONS, Begin

# The Workload API is alpha in 1.35: off, unless it is asked for.
NATIVE = {
    "feature_gates": "GenericWorkload=true,GangScheduling=true",
    "runtime_config": "scheduling.k8s.io/v1alpha1=true",
}


@pytest.fixture
def native(kube: Cluster, localkube_home: Home, localkube_progress: Progress, testbox: Path) -> Iterator[Cluster]:
    """A cluster of one node that schedules gangs, of this run alone."""
    request = clusters.Request(f"{kube.spec.name}-native", nodes=1, **NATIVE)
    try:
        cluster = clusters.up(localkube_home, request, localkube_progress, replace_other=True)
        cluster.load(testbox, localkube_progress)
        kubectl = Kubectl.of(cluster)
        kubectl.run("apply", "--server-side", "-f", str(DEFINITIONS))
        kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(DEFINITIONS))
        yield cluster
    finally:
        clusters.down(localkube_home, request.name, localkube_progress)


def asking_for(cpu: str, replicas: int, *command: str) -> Manifest:
    made = role(replicas, *command)
    made["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": cpu}}
    return made


def scheduled_by(name: str, of: Manifest) -> Manifest:
    of["template"]["spec"]["schedulerName"] = name
    return of


def test_kubernetes_itself_schedules_all_pods_of_a_job_or_none(native: Cluster, tmp_path: Path) -> None:
    kubectl = Kubectl.of(native)
    log = tmp_path / "manager.log"
    options = ("--controllers=paddlejob", "--scheduling=native", "--init-image=")
    manager = ManagerProgram(native.paths.kubeconfig, kubectl.namespace, log, *options)
    free = int(kubectl.get("node/node-1")["status"]["allocatable"]["cpu"])
    manager.start()
    try:
        jobs = Jobs(kubectl)
        jobs.submit(paddle_job("too-large", worker=asking_for(f"{free * 600}m", 2, *ENDLESS)))
        jobs.eventually(lambda: len(jobs.pods("too-large")) == 2, "no pods are made")
        jobs.submit(paddle_job("fitting", worker=asking_for(f"{free * 100}m", 2, "true"), cleanPodPolicy="Never"))
        jobs.until("Completed", "fitting")
        assert [pod["spec"].get("nodeName") for pod in jobs.pods("too-large").values()] == [None, None]
        jobs.eventually(lambda: "Insufficient cpu" in jobs.why("too-large"), "it is not told why")
        assert kubectl.get("workload/too-large")["spec"]["podGroups"][0]["policy"] == {"gang": {"minCount": 2}}
        jobs.edit("too-large", worker=asking_for(f"{free * 400}m", 2, *ENDLESS))
        jobs.until("Running", "too-large")
        assert manager.alive
    finally:
        manager.kill()
        sys.stdout.write(log.read_text())


@pytest.fixture
def without_volcano(kube: Cluster) -> Iterator[Kubectl]:
    kubectl = Kubectl.of(kube)
    yield kubectl
    kubectl.run("delete", "crd", volcano.NAME, "--ignore-not-found")


def test_where_volcano_is_missing_it_is_said_and_waited_for(
    namespace: Kubectl, begin: Begin, without_volcano: Kubectl
) -> None:
    jobs = Jobs(namespace)
    manager = begin("--scheduling=volcano")
    jobs.submit(paddle_job("queued", worker=role(2, *ENDLESS), schedulingPolicy={"queue": "default"}))
    jobs.eventually(lambda: "install Volcano" in jobs.why("queued"), "the job does not say that Volcano is missing")
    told = "the cluster has no podgroups of scheduling.volcano.sh/v1beta1: install what defines them"
    wait_until(lambda: told in manager.log.read_text(), 60, "the manager does not say that Volcano is missing")
    jobs.submit(paddle_job("ordinary", worker=scheduled_by("default-scheduler", role(1, "true"))))
    jobs.until("Completed", "ordinary")
    without_volcano.apply(volcano.POD_GROUPS)
    jobs.eventually(lambda: jobs.why("queued").startswith("Queuing: "), "the job does not wait in its queue")
    group = namespace.get("podgroup/queued")
    assert (group["spec"]["minMember"], group["spec"]["queue"], jobs.pods("queued")) == (2, "default", {})
    namespace.run("patch", "podgroup/queued", "--type=merge", '--patch={"status":{"phase":"Inqueue"}}')
    jobs.eventually(lambda: len(jobs.pods("queued")) == 2, "it is let in and has no pods")
    assert {pod["spec"]["schedulerName"] for pod in jobs.pods("queued").values()} == {"volcano"}
    jobs.delete("queued")
