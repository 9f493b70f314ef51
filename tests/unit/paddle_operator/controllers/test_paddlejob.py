"""What the controller of PaddleJobs watches, and what it may do."""

import pytest

from paddle_operator.controllers.paddlejob import access, controller
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.desired.training.settings import Scheduling


def watched(scheduling: Scheduling) -> set[str]:
    return {trigger.kind.plural for trigger in controller(Settings(scheduling=scheduling)).triggers}


@pytest.mark.parametrize(
    ("scheduling", "gang"),
    [(Scheduling.NONE, set()), (Scheduling.VOLCANO, {"podgroups"}), (Scheduling.NATIVE, {"workloads"})],
)
def test_a_gangs_kind_is_watched_only_where_it_is_asked_for(scheduling: Scheduling, gang: set[str]) -> None:
    assert watched(scheduling) == {
        *("paddlejobs", "samplesets", "cachebackends", "pods", "services", "configmaps"),
        *gang,
    }


@pytest.mark.parametrize("scheduling", Scheduling)
def test_the_rules_allow_to_watch_what_is_watched_and_no_gangs_that_nobody_asks_for(scheduling: Scheduling) -> None:
    rules = [found.rule() for found in access(scheduling)]
    assert all(len(rule["apiGroups"]) == len(rule["resources"]) == 1 for rule in rules)
    verbs = {rule["resources"][0]: rule["verbs"] for rule in rules}
    assert {kind for kind, allowed in verbs.items() if {"list", "watch"} <= set(allowed)} == watched(scheduling)
    assert verbs.keys() == watched(scheduling) | {"paddlejobs/status", "paddlejobs/finalizers", "events", "nodes"}


def test_the_rules_allow_no_more_than_is_done() -> None:
    verbs = {rule["resources"][0]: set(rule["verbs"]) for rule in (found.rule() for found in access(Scheduling.NONE))}
    assert verbs["paddlejobs/status"] == {"patch"}
    assert verbs["samplesets"] == {"list", "watch"}
    assert verbs["nodes"] == {"get"}
    assert verbs["pods"] == {"get", "list", "watch", "create", "delete"}
