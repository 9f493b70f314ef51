"""`paddle-operator manifests`: what to apply to a cluster, as people print it."""

import pytest
import yaml
from click.testing import CliRunner

from paddle_operator.api.manifest import Manifest
from paddle_operator.cli import manager, manifests
from paddle_operator.cli.main import main
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.desired.sampleset import snapshot as data
from paddle_operator.desired.training.settings import Scheduling


def printed(*words: str) -> dict[str, Manifest]:
    """Give what is printed, by kind."""
    result = CliRunner().invoke(main, ["manifests", *words])
    assert result.exit_code == 0, result.output
    return {found["kind"]: found for found in yaml.safe_load_all(result.output)}


def test_the_account_is_in_the_namespace_that_is_asked_for() -> None:
    found = printed("rbac", "--namespace=ops")
    assert list(found) == ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    assert [made["metadata"].get("namespace") for made in found.values()] == ["ops", None, None, "ops", "ops"]


def test_a_manager_of_paddlejobs_may_touch_one_lease_no_secret_and_nothing_by_a_star() -> None:
    found = printed("rbac", "--controllers=paddlejob")
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


def test_every_controller_that_a_manager_may_run_is_given_leave() -> None:
    assert manifests.accesses(Scheduling.NONE).keys() == manager.controllers(Settings(), data.Settings()).keys()


def test_what_several_controllers_do_is_one_rule_for_each_kind() -> None:
    rules = {name: verbs_of(printed("rbac", f"--controllers={name}")) for name in manifests.accesses(Scheduling.NONE)}
    resources = {resource for found in rules.values() for resource in found}
    assert verbs_of(printed("rbac")) == {
        resource: set().union(*(found.get(resource, set()) for found in rules.values())) for resource in resources
    }


def verbs_of(found: dict[str, Manifest]) -> dict[str, set[str]]:
    rules = found["ClusterRole"]["rules"]
    assert len({str(rule["resources"]) + str(rule["apiGroups"]) for rule in rules}) == len(rules)
    return {rule["resources"][0]: set(rule["verbs"]) for rule in rules}


def test_a_controller_that_there_is_not_is_refused() -> None:
    result = CliRunner().invoke(main, ["manifests", "rbac", "--controllers=tensor"])
    assert result.exit_code == 1
    assert "there is no controller tensor" in result.stderr
