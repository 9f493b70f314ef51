"""A manager as a cluster gets it."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.installation.account import Rights
from paddle_operator.desired.installation.managers import Manager, Settings, deployment, namespace, objects

IMAGE = "registry.example.org/paddle-operator:1"
MANAGER = Manager("paddle-some-manager", "some-manager", "some", Rights((), (), ()), ("--scheduling=volcano",))


def pod(settings: Settings) -> Manifest:
    found: Manifest = deployment(MANAGER, settings)["spec"]["template"]["spec"]
    return found


def container(settings: Settings) -> Manifest:
    (found,) = pod(settings)["containers"]
    return dict(found)


def test_it_runs_its_controller_under_its_own_account_and_lease() -> None:
    assert container(Settings(IMAGE))["args"] == [
        "manager",
        "--controllers=some",
        "--leader-elect",
        "--lease-name=paddle-some-manager",
        "--health-probe-bind-address=:8081",
        "--metrics-bind-address=:8080",
        "--scheduling=volcano",
    ]
    account, *_ = objects(MANAGER, Settings(IMAGE))
    assert account["kind"] == "ServiceAccount"
    assert pod(Settings(IMAGE))["serviceAccountName"] == account["metadata"]["name"] == "paddle-some-manager"


@pytest.mark.parametrize(("watched", "told"), [("", []), ("team", ["--namespace=team"])], ids=["all", "one"])
def test_it_looks_at_all_namespaces_or_at_one(watched: str, told: list[str]) -> None:
    arguments = container(Settings(IMAGE, watched=watched))["args"]
    assert [word for word in arguments if word.startswith("--namespace")] == told


def test_it_has_no_power_over_its_node() -> None:
    assert pod(Settings(IMAGE))["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(Settings(IMAGE))["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostPID", "hostNetwork", "hostIPC", "volumes"} & set(pod(Settings(IMAGE)))


def test_it_is_asked_how_it_is_where_it_answers() -> None:
    found = container(Settings(IMAGE))
    ports = {port["name"]: port["containerPort"] for port in found["ports"]}
    asked = {name: found[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert asked == {
        "livenessProbe": {"path": "/healthz", "port": "health"},
        "readinessProbe": {"path": "/readyz", "port": "health"},
    }
    assert f"--health-probe-bind-address=:{ports['health']}" in found["args"]
    assert f"--metrics-bind-address=:{ports['metrics']}" in found["args"]


def test_it_takes_a_share_of_its_node_and_no_more() -> None:
    resources = container(Settings(IMAGE))["resources"]
    assert {name: set(resources[name]) for name in resources} == {
        "requests": {"cpu", "memory"}, "limits": {"cpu", "memory"},
    }  # fmt: skip


def test_the_settings_are_heeded_and_its_image_is_handed_on() -> None:
    settings = Settings(IMAGE, "Always", "elsewhere", replicas=2)
    found = container(settings)
    assert (found["image"], found["imagePullPolicy"]) == (IMAGE, "Always")
    assert found["env"] == [{"name": "PADDLE_OPERATOR_IMAGE", "value": IMAGE}]
    made = deployment(MANAGER, settings)
    assert (made["metadata"]["namespace"], made["spec"]["replicas"]) == ("elsewhere", 2)
    assert namespace(settings)["metadata"]["name"] == "elsewhere"


def test_its_pods_are_found_by_the_label_that_people_know() -> None:
    spec = deployment(MANAGER, Settings(IMAGE))["spec"]
    assert spec["selector"]["matchLabels"] == {"control-plane": "some-manager"}
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_our_namespace_lets_in_the_pods_that_mount() -> None:
    labels = namespace(Settings(IMAGE))["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "privileged"
