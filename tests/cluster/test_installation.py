"""The committed files and the quick start, as people have them: managers that work with the rights they are given."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import yaml
from click.testing import CliRunner
from rich.console import Console

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest
from localkube.progress import Progress
from paddle_operator.cli.main import main
from paddle_operator.desired.training.settings import DEFAULT_IMAGE
from quickstart.stage import ROOT, SYSTEM, Stage
from quickstart.steps import FILES, perform
from support import juicefs
from support.paddlejobs import Jobs, paddle_job, role
from support.samplesets import sample_set, secret

from .conftest import DEFINITIONS

MANAGERS = (
    *("paddle-controller-manager", "paddle-sampleset-manager", "paddle-samplejob-manager"),
    "paddle-training-manager",
)
# All that an installation makes outside of namespaces, and the namespaces themselves.
KINDS = "namespaces,clusterroles,clusterrolebindings,csidrivers,customresourcedefinitions"
# Those of other tests are not ours, nor what Kubernetes has by itself.
OURS = ("paddle-", "csi.juicefs.com", "batch.paddlepaddle.org", "kubedl.io")


@dataclass(frozen=True)
class QuickStart:
    """What is there when it has been performed, and all that it said."""

    kubectl: Kubectl
    said: str

    def table(self, command: str) -> list[list[str]]:
        """Give the cells that the last such command answered, by its lines."""
        answer = self.said.rpartition(f"$ kubectl {command}\n")[2].partition("\n\n")[0]
        return [line.split() for line in answer.splitlines()]


@pytest.fixture(scope="module")
def quick_start(kube: Cluster, operator_image: str, kinds_served: Kubectl) -> Iterator[QuickStart]:
    del kinds_served
    juicefs.require()
    for node in kube.nodes:
        naming = ["ctr", "--namespace", "k8s.io", "images", "tag", "--force", operator_image, DEFAULT_IMAGE]
        node.control.run_inside(naming)
    said = io.StringIO()
    stage = Stage(kube, Progress(Console(file=said, highlight=False, soft_wrap=True)))
    try:
        perform(stage)
        yield QuickStart(stage.kubectl, said.getvalue())
    finally:
        print(said.getvalue())  # noqa: T201 shown where a test fails
        if "redis" in (node := kube.nodes[0]).control.status():
            node.control.stop("redis")


@pytest.fixture
def _kinds_again(kinds_served: Kubectl) -> Iterator[None]:
    """Let other tests find our kinds as they were."""
    yield
    kinds_served.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kinds_served.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(DEFINITIONS))


def left(kubectl: Kubectl, *words: str) -> list[str]:
    """Name what is there and has one of these words in its name."""
    names = kubectl.run("get", KINDS, "-o", "name").split()
    return [name for name in names if any(word in name.partition("/")[2] for word in words)]


def check_managers(home: Kubectl) -> None:
    """See that they were never told that they may not, and never had to be started again."""
    pods = home.items("pods", "--selector=app.kubernetes.io/part-of=paddle-operator")
    assert {pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods} == {0}
    for manager in MANAGERS:
        said = home.run("logs", f"deployment/{manager}", "--tail=-1")
        assert "lease acquired" in said
        assert [line for line in said.splitlines() if "403" in line or "orbidden" in line] == []


def test_the_quick_start_prints_the_tables_of_the_documents(quick_start: QuickStart) -> None:
    header, *rows = quick_start.table(f"get pods -n {SYSTEM}")
    assert header == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[1:4] for row in rows] == [["1/1", "Running", "0"]] * len(rows)
    names = [row[0] for row in rows]
    assert "imagenet-runtime-0" in names
    assert [manager for manager in MANAGERS if not any(name.startswith(manager) for name in names)] == []
    header, row = quick_start.table(f"get sampleset -n {SYSTEM}")
    assert " ".join(header) == "NAME TOTAL SIZE CACHED SIZE AVAIL SPACE RUNTIME PHASE AGE"
    assert [row[0], row[2], row[4], *row[7:9]] == ["imagenet", "MiB", "MiB", "1/1", "Ready"]
    for kind in ("rmr", "sync", "clear", "warmup"):
        job = f"imagenet-{kind}"
        assert quick_start.table(f"get samplejob {job} -n {SYSTEM}") == [["NAME", "PHASE"], [job, "Succeeded"]]
    header, row = quick_start.table(f"get paddlejob -n {SYSTEM}")
    assert [header, row[:3]] == [["NAME", "STATUS", "MODE", "AGE"], ["ps-demo", "Running", "PS"]]
    assert quick_start.table(f"exec ps-demo-worker-0 -n {SYSTEM} -- ls /mnt/imagenet") == [["n01514859"]]


def test_managers_need_no_more_than_they_may(quick_start: QuickStart) -> None:
    check_managers(quick_start.kubectl)


def test_kustomize_makes_what_the_files_have_made(quick_start: QuickStart) -> None:
    told = quick_start.kubectl.run("apply", "-k", str(ROOT / "deploy"), "--dry-run=server").splitlines()
    assert len(told) > len(FILES)
    assert [line for line in told if not line.endswith(" unchanged (server dry run)")] == []


@pytest.mark.usefixtures("_kinds_again")
def test_what_was_installed_goes_and_leaves_nothing(quick_start: QuickStart) -> None:
    quick_start.kubectl.run("delete", "paddlejobs,samplejobs,samplesets", "--all", "--wait")
    for file in reversed(FILES):
        quick_start.kubectl.run("delete", "-f", str(ROOT / file), "--wait")
    assert left(quick_start.kubectl, *OURS) == []


def objects(*words: str) -> list[Manifest]:
    return list(yaml.safe_load_all(CliRunner().invoke(main, ["manifests", *words]).output))


def live_through_a_day(watched: Kubectl) -> None:
    """Have a job run, and a data set begin and end; its servers find no Redis, and need not."""
    jobs = Jobs(watched)
    keys = {"apiVersion": "v1", "kind": "Secret", **secret(watched.namespace)}
    jobs.submit(paddle_job("single", worker=role(1, "true")), keys, sample_set(watched.namespace))
    jobs.until("Completed", "single")
    watched.wait("jsonpath={.status.phase}=Bound", "sampleset/imagenet")
    watched.wait("create", "pod/imagenet-runtime-0")
    watched.run("delete", "pdj,samplesets", "--all", "--wait")


def test_managers_of_one_namespace_work_there_and_leave_the_others_alone(
    kinds_served: Kubectl, namespace: Kubectl, operator_image: str
) -> None:
    home = kinds_served.within(f"{namespace.namespace}-home")
    options = (f"--image={operator_image}", f"--namespace={home.namespace}", f"--watch-namespace={namespace.namespace}")
    printed = [*objects("operator", *options), *objects("extensions", "--csi=official", *options)]
    # In two parts, since our kubectl is bound to a namespace; what the managers may do comes before they do.
    there = [made for made in printed if made["metadata"].get("namespace") == namespace.namespace]
    parts = ((namespace, there), (home, [made for made in printed if made not in there]))
    for kubectl, part in parts:
        kubectl.apply(*part)
    for manager in MANAGERS:
        home.rolled_out(f"deployment/{manager}")
    elsewhere = Jobs(home)
    elsewhere.submit(paddle_job("unseen", worker=role(1, "true")))
    live_through_a_day(namespace)
    check_managers(home)
    assert elsewhere.status("unseen") == {}
    for kubectl, part in parts:
        kubectl.run("delete", "-f", "-", "--wait", stdin=yaml.safe_dump_all(part))
    assert left(home, namespace.namespace) == [f"namespace/{namespace.namespace}"]
