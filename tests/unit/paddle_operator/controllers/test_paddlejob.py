"""What the controller of PaddleJobs watches, and what it may do."""

import pytest

from paddle_operator.controllers.paddlejob import ACCESS, controller
from paddle_operator.desired.paddlejob.snapshot import Scheduling, Settings


def watched(scheduling: Scheduling) -> set[str]:
    return {trigger.kind.plural for trigger in controller(Settings(scheduling=scheduling)).triggers}


@pytest.mark.parametrize(
    ("scheduling", "gang"),
    [(Scheduling.NONE, set()), (Scheduling.VOLCANO, {"podgroups"}), (Scheduling.NATIVE, {"workloads"})],
)
def test_a_gangs_kind_is_watched_only_where_it_is_asked_for(scheduling: Scheduling, gang: set[str]) -> None:
    assert watched(scheduling) == {"paddlejobs", "samplesets", "pods", "services", "configmaps"} | gang


def test_the_rules_allow_what_the_controller_does_and_no_more() -> None:
    rules = [access.rule() for access in ACCESS]
    assert all(len(rule["apiGroups"]) == len(rule["resources"]) == 1 for rule in rules)
    verbs = {rule["resources"][0]: rule["verbs"] for rule in rules}
    for scheduling in Scheduling:
        assert all({"get", "list", "watch"} <= set(verbs[kind]) for kind in watched(scheduling))
    assert verbs["paddlejobs/status"] == ["patch"]
    assert verbs["samplesets"] == ["get", "list", "watch"]
    assert verbs["nodes"] == ["get"]
    assert "secrets" not in verbs
    assert "*" not in str(rules)
