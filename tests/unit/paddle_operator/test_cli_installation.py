"""An installation, as it is committed and as people print it for themselves."""

import json
import re
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from paddle_operator.api.manifest import Manifest
from paddle_operator.cli.main import main
from paddle_operator.desired.training.settings import DEFAULT_IMAGE

DEPLOY = Path(__file__).parents[3] / "deploy"
CHART = DEPLOY / "chart"
COMMITTED = {
    "v1/operator.yaml": ("operator",),
    "extensions/controllers.yaml": ("extensions",),
    "chart/templates/operator.yaml": ("chart", "operator"),
    "chart/templates/extensions.yaml": ("chart", "extensions"),
}
# Kinds that are in no namespace.
OF_CLUSTER = {"Namespace", "ClusterRole", "ClusterRoleBinding", "CSIDriver"}
REMARK = re.compile(r"\{\{- /\*.*?\*/}}\n")
ONE_OR_ALL = re.compile(r"{{- if .Values.watchNamespace }}\n(.*?){{- else }}\n(.*?){{- end }}\n", re.DOTALL)
IF_OURS = re.compile(r'{{- if eq .Values.csi "ours" }}\n(.*?){{- end }}\n', re.DOTALL)


@cache
def printed(*words: str) -> str:
    result = CliRunner().invoke(main, ["manifests", *words])
    assert result.exit_code == 0, result.output
    return result.output


def objects(*words: str) -> list[Manifest]:
    return list(yaml.safe_load_all(printed(*words)))


def names(found: list[Manifest], kind: str) -> list[str]:
    return [made["metadata"]["name"] for made in found if made["kind"] == kind]


@pytest.mark.parametrize("path", COMMITTED)
def test_what_is_committed_is_what_the_command_prints(path: str) -> None:
    assert (DEPLOY / path).read_text() == printed(*COMMITTED[path])


def test_the_deployments_have_the_names_that_users_know() -> None:
    assert names(objects("operator"), "Namespace") == ["paddle-system"]
    assert names(objects("operator"), "Deployment") == ["paddle-controller-manager"]
    managers = ["paddle-sampleset-manager", "paddle-samplejob-manager", "paddle-training-manager"]
    assert names(objects("extensions"), "Deployment") == managers


def test_the_namespace_goes_with_the_operator_and_not_with_the_extensions() -> None:
    """Who deletes the extensions keeps his jobs."""
    assert names(objects("extensions"), "Namespace") == []


@pytest.mark.parametrize("verb", ["operator", "extensions"])
def test_nobody_runs_under_the_default_account_nor_may_all(verb: str) -> None:
    found = objects(verb)
    accounts = names(found, "ServiceAccount")
    pods = [made["spec"]["template"]["spec"] for made in found if made["kind"] in {"Deployment", "DaemonSet"}]
    assert sorted(pod["serviceAccountName"] for pod in pods) == sorted(accounts)
    assert "default" not in accounts
    assert "*" not in str([made.get("rules") for made in found])


@pytest.mark.parametrize("verb", ["operator", "extensions"])
def test_all_of_it_is_in_the_namespace_that_is_asked_for(verb: str) -> None:
    found = objects(verb, "--namespace=ops")
    assert {made["metadata"].get("namespace") for made in found if made["kind"] not in OF_CLUSTER} == {"ops"}
    assert "paddle-system" not in str(found)


@pytest.mark.parametrize(
    ("verb", "beyond"),
    [("operator", {"nodes"}), ("extensions", {"nodes", "persistentvolumes"})],
)
def test_managers_of_one_namespace_have_no_rights_in_others(verb: str, beyond: set[str]) -> None:
    found = objects(verb, "--watch-namespace=team")
    roles = [made for made in found if made["kind"] == "ClusterRole"]
    assert {resource for role in roles for rule in role["rules"] for resource in rule["resources"]} == beyond
    assert {made["metadata"]["namespace"] for made in found if made["kind"] == "Role"} == {"team", "paddle-system"}
    deployments = [made for made in found if made["kind"] == "Deployment"]
    assert deployments
    for deployment in deployments:
        assert "--namespace=team" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]


def test_with_the_official_driver_nothing_of_ours_is_printed() -> None:
    ours, official = objects("extensions"), objects("extensions", "--csi=official")
    assert {made["kind"] for made in ours} - {made["kind"] for made in official} == {"CSIDriver", "DaemonSet"}
    assert "csi" not in str(official).replace("csi.juicefs.com", "csi")


def test_a_scheduler_of_gangs_comes_with_the_right_to_make_them() -> None:
    found = objects("operator", "--scheduling=volcano", "--etcd-server=etcd:2379")
    (deployment,) = [made for made in found if made["kind"] == "Deployment"]
    arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    assert arguments[-2:] == ["--scheduling=volcano", "--etcd-server=etcd:2379"]
    assert "podgroups" in str([made["rules"] for made in found if made["kind"] == "ClusterRole"])
    assert "podgroups" not in printed("operator")


@pytest.mark.parametrize("verb", ["operator", "extensions"])
def test_the_image_and_when_it_is_fetched_are_heeded_by_all_pods(verb: str) -> None:
    found = printed(verb, "--image=registry.example.org/op:7", "--pull-policy=Always")
    pods = [made["spec"]["template"]["spec"] for made in yaml.safe_load_all(found) if "template" in str(made)]
    containers = [container for pod in pods for container in pod["containers"]]
    assert {(one["image"], one["imagePullPolicy"]) for one in containers} == {("registry.example.org/op:7", "Always")}
    assert DEFAULT_IMAGE not in found


def rendered(template: str, namespace: str, **changed: str) -> list[Manifest]:
    """Do what Helm does, as far as the chart needs it: conditions, and values in their places."""
    values = {**yaml.safe_load((CHART / "values.yaml").read_text()), **changed}
    text = REMARK.sub("", (CHART / "templates" / template).read_text())
    text = ONE_OR_ALL.sub(r"\1" if values["watchNamespace"] else r"\2", text)
    text = IF_OURS.sub(r"\1" if values["csi"] == "ours" else "", text)
    text = text.replace("{{ .Release.Namespace }}", namespace)
    for name, value in values.items():
        text = text.replace(f"{{{{ .Values.{name} }}}}", value)
    assert "{{" not in text
    return list(yaml.safe_load_all(text))


@pytest.mark.parametrize(
    ("changed", "options"),
    [
        ({}, ()),
        ({"watchNamespace": "team"}, ("--watch-namespace=team",)),
        ({"image": "a/b:1", "pullPolicy": "Never"}, ("--image=a/b:1", "--pull-policy=Never")),
    ],
    ids=["as it is", "one namespace", "another image"],
)
def test_the_chart_gives_what_the_command_prints_but_for_the_namespace(
    changed: dict[str, str], options: tuple[str, ...]
) -> None:
    wanted = objects("operator", "--namespace=ops", *options)
    assert rendered("operator.yaml", "ops", **changed) == wanted[1:]
    assert rendered("extensions.yaml", "ops", **changed) == objects("extensions", "--namespace=ops", *options)


def test_the_chart_knows_the_official_driver_and_other_kubelets() -> None:
    where = ("extensions", "--namespace=ops")
    assert rendered("extensions.yaml", "ops", csi="official") == objects(*where, "--csi=official")
    assert rendered("extensions.yaml", "ops", kubeletDir="/data/k") == objects(*where, "--kubelet-dir=/data/k")
    assert rendered("extensions.yaml", "ops", localSources="/a,/b") == objects(*where, "--local-sources=/a,/b")


def test_the_chart_says_what_it_takes_and_brings_our_kinds() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(values) == set(schema["properties"]) - {"global"}
    assert values["image"] == DEFAULT_IMAGE
    described = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert described["version"] == described["appVersion"] == metadata.version("paddle-operator")
    assert (CHART / "crds/crd.yaml").read_text() == (DEPLOY / "v1/crd.yaml").read_text()


def test_kustomize_takes_the_same_files() -> None:
    found = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
    assert found["resources"] == ["v1/crd.yaml", "v1/operator.yaml", "extensions/controllers.yaml"]
    assert [f"{image['name']}:{image['newTag']}" for image in found["images"]] == [DEFAULT_IMAGE]
