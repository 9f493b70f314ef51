"""A manager's account: what it may do, and where."""

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.desired.installation.account import Rights, account

JOBS = {"apiGroups": ["batch.paddlepaddle.org"], "resources": ["paddlejobs"], "verbs": ["list", "watch"]}
NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
LEASE = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]}
RIGHTS = Rights((JOBS,), (NODES,), (LEASE,))
WHO = Key("ops", "manager")


def rules(objects: list[Manifest]) -> dict[tuple[str, Key], list[Manifest]]:
    return {(found["kind"], key_of(found)): found["rules"] for found in objects if "rules" in found}


def test_a_manager_of_all_namespaces_may_work_in_all_and_be_elected_in_its_own() -> None:
    assert rules(account(WHO, RIGHTS)) == {
        ("ClusterRole", Key("", "manager")): [JOBS, NODES],
        ("Role", Key("ops", "manager-election")): [LEASE],
    }


def test_a_manager_of_one_namespace_may_do_elsewhere_only_what_is_in_no_namespace() -> None:
    assert rules(account(WHO, RIGHTS, "team")) == {
        ("Role", Key("team", "manager")): [JOBS],
        ("ClusterRole", Key("", "manager-team")): [NODES],
        ("Role", Key("ops", "manager-election")): [LEASE],
    }


def test_a_manager_that_needs_nothing_of_the_cluster_gets_no_role_of_it() -> None:
    found = account(WHO, Rights((JOBS,), (), (LEASE,)), "team")
    assert {made["kind"] for made in found} == {"ServiceAccount", "Role", "RoleBinding"}


def test_a_manager_that_looks_at_its_own_namespace_has_two_roles_there() -> None:
    assert set(rules(account(WHO, Rights((JOBS,), (), (LEASE,)), "ops"))) == {
        ("Role", Key("ops", "manager")),
        ("Role", Key("ops", "manager-election")),
    }


def test_each_role_is_bound_to_the_account_and_to_nobody_else() -> None:
    found = account(WHO, RIGHTS, "team")
    roles = [(made["kind"], key_of(made)) for made in found if "rules" in made]
    bindings = [made for made in found if "roleRef" in made]
    bound = [(made["roleRef"]["kind"], Key(key_of(made).namespace, made["roleRef"]["name"])) for made in bindings]
    assert bound == roles
    for made in bindings:
        assert made["kind"] == f"{made['roleRef']['kind']}Binding"
        assert made["subjects"] == [{"kind": "ServiceAccount", "name": "manager", "namespace": "ops"}]
