"""The chart as Helm itself applies it: managers that serve, values that are heeded, and nothing left of it at last."""

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from localkube.cluster import Cluster
from localkube.errors import CommandFailedError
from localkube.kubectl import Kubectl, Manifest
from localkube.paths import Home
from localkube.progress import Progress
from paddle_operator.cli.main import main
from support import helm
from support.helm import Helm
from support.installation import MANAGERS, begin_a_set, check_managers, images, left, left_inside, run_a_job
from support.paddlejobs import Jobs, paddle_job, role

from .conftest import DEFINITIONS, ROOT

CHART = ROOT / "deploy/chart"
RELEASE = "paddle-operator"
HOME = "paddle-system"


@pytest.fixture(scope="session")
def helm_program(localkube_home: Home, localkube_progress: Progress) -> Path:
    return helm.built(localkube_home, localkube_progress)


@pytest.fixture
def helm_in(kube: Cluster, helm_program: Path, tmp_path: Path) -> Callable[[str], Helm]:
    return lambda namespace: Helm(helm_program, kube.paths.kubeconfig, namespace, tmp_path)


def printed(*words: str) -> list[Manifest]:
    return list(yaml.safe_load_all(CliRunner().invoke(main, ["manifests", *words]).output))


def by_name(objects: list[Manifest]) -> dict[tuple[str, str, str], Manifest]:
    return {(one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in objects}


@pytest.mark.usefixtures("_kinds_again")
def test_the_chart_as_it_is_brings_all_and_what_helm_leaves_goes_with_two_commands(
    kinds_served: Kubectl, namespace: Kubectl, default_image: str, helm_in: Callable[[str], Helm]
) -> None:
    kinds_served.run("delete", "-f", str(DEFINITIONS), "--wait")
    home, release = kinds_served.within(HOME), helm_in(HOME)
    release.install(RELEASE, CHART)
    assert images(home) == {default_image}
    run_a_job(namespace)
    check_managers(home)
    release.uninstall(RELEASE)
    assert left_inside(home) == []
    kinds = kinds_served.run("get", "-f", str(DEFINITIONS), "-o", "name").split()
    assert sorted(left(home)) == sorted([f"namespace/{HOME}", *kinds])
    home.run("delete", "namespace", HOME, "--wait")
    home.run("delete", "-f", str(DEFINITIONS), "--wait")
    assert left(home) == []


def test_managers_of_one_namespace_work_there_and_leave_the_others_alone(
    kinds_served: Kubectl, namespace: Kubectl, operator_image: str, helm_in: Callable[[str], Helm]
) -> None:
    home = kinds_served.within(f"{namespace.namespace}-home")
    release, watched = helm_in(home.namespace), namespace.namespace
    release.install(RELEASE, CHART, f"--set=image={operator_image},watchNamespace={watched},csi=official")
    options = (f"--image={operator_image}", f"--namespace={home.namespace}", f"--watch-namespace={watched}")
    wanted = [*printed("operator", *options)[1:], *printed("extensions", "--csi=official", *options)]
    applied = list(yaml.safe_load_all(release.run("get", "manifest", RELEASE)))
    assert by_name(applied) == by_name(wanted)
    elsewhere = Jobs(home)
    elsewhere.submit(paddle_job("unseen", worker=role(1, "true")))
    run_a_job(namespace)
    begin_a_set(namespace)
    check_managers(home)
    assert elsewhere.status("unseen") == {}
    check_an_upgrade(release, home)
    release.uninstall(RELEASE)
    assert left_inside(home) == []
    assert left(home, watched) == [f"namespace/{watched}", f"namespace/{home.namespace}"]
    home.run("delete", "namespace", home.namespace, "--wait=false")


def check_an_upgrade(release: Helm, home: Kubectl) -> None:
    """Change one value: who heeds it is made anew, and nobody else."""
    before = pods(home)
    release.upgrade(RELEASE, CHART, "--reuse-values", "--set=localSources=/srv/data")
    after = pods(home)
    assert {name for name in MANAGERS if before[name] != after[name]} == {"paddle-sampleset-manager"}
    deployment = home.get("deployment/paddle-sampleset-manager")
    assert "--local-sources=/srv/data" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def pods(home: Kubectl) -> dict[str, str]:
    """Give the pod of each manager that is to stay."""
    found = [pod["metadata"] for pod in home.items("pods") if "deletionTimestamp" not in pod["metadata"]]
    labelled = {pod["labels"].get("app.kubernetes.io/name"): pod["name"] for pod in found if "labels" in pod}
    return {manager: labelled[manager] for manager in MANAGERS}


@pytest.mark.parametrize(
    ("value", "words"),
    [("csi=other", "csi"), ("localSources=relative", "localSources"), ("imagee=a", "imagee")],
    ids=["a driver that there is not", "a path that begins nowhere", "a name that is misspelled"],
)
def test_a_value_that_cannot_be_is_refused_before_anything_is_made(
    helm_in: Callable[[str], Helm], value: str, words: str
) -> None:
    with pytest.raises(CommandFailedError, match=words):
        helm_in("nowhere").run("install", RELEASE, str(CHART), f"--set={value}")
