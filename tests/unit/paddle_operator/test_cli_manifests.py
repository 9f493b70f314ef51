"""`paddle-operator manifests`: what to apply to a cluster, as people print it."""

import pytest
import yaml
from click.testing import CliRunner

from paddle_operator.api.manifest import Manifest
from paddle_operator.cli.main import main


def printed(*words: str) -> dict[str, Manifest]:
    """Give what is printed, by kind."""
    result = CliRunner().invoke(main, ["manifests", *words])
    assert result.exit_code == 0, result.output
    return {found["kind"]: found for found in yaml.safe_load_all(result.output)}


def test_the_account_is_in_the_namespace_that_is_asked_for() -> None:
    found = printed("rbac", "--namespace=ops")
    assert list(found) == ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    assert [made["metadata"].get("namespace") for made in found.values()] == ["ops", None, None, "ops", "ops"]


def test_the_manager_may_touch_one_lease_no_secret_and_nothing_by_a_star() -> None:
    found = printed("rbac")
    assert found["Role"]["rules"] == [
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["get", "update"],
            "resourceNames": ["paddle-operator"],
        },
    ]
    resources = {resource for rule in found["ClusterRole"]["rules"] for resource in rule["resources"]}
    assert not {"secrets", "pods/exec", "leases", "*"} & resources
    assert "*" not in str(found)


@pytest.mark.parametrize(("scheduling", "gang"), [("", set()), ("volcano", {"podgroups"}), ("native", {"workloads"})])
def test_leave_for_gangs_is_given_only_where_they_are_used(scheduling: str, gang: set[str]) -> None:
    rules = printed("rbac", f"--scheduling={scheduling}")["ClusterRole"]["rules"]
    resources = {resource for rule in rules for resource in rule["resources"]}
    assert resources & {"podgroups", "workloads"} == gang
