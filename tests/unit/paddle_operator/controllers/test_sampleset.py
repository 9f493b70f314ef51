"""What the controller of SampleSets watches, what it may do, and how it says a decision to the loop."""

import msgspec
import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.controller import Controller
from paddle_operator.controllers import paddlejob
from paddle_operator.controllers.runtimes import Endpoint, Server
from paddle_operator.controllers.sampleset import ACCESS, controller, decode, plan_of
from paddle_operator.controllers.setobservation import set_of_job, set_of_label
from paddle_operator.controllers.words import word_of
from paddle_operator.desired.paddlejob import snapshot as paddle
from paddle_operator.desired.sampleset.plan import plan
from paddle_operator.desired.sampleset.snapshot import Settings
from paddle_operator.engines.operations import Operation, OperationState, Order, is_id
from paddle_operator.engines.reports import Report
from support.samplesets import sample_set
from support.samplesnapshots import decoded, seen, server, word

WATCHED = {
    *("samplesets", "paddlejobs", "samplejobs", "tfjobs", "pytorchjobs", "nodes", "pods", "services"),
    *("persistentvolumes", "persistentvolumeclaims", "statefulsets"),
}


def made() -> Controller:
    return controller(Settings())


def test_it_watches_what_it_makes_and_never_secrets() -> None:
    assert {trigger.kind.plural for trigger in made().triggers} == WATCHED


def test_the_rules_allow_what_the_controller_does_and_no_more() -> None:
    rules = [access.rule() for access in ACCESS]
    verbs = {rule["resources"][0]: rule["verbs"] for rule in rules}
    assert all({"list", "watch"} <= set(verbs[plural]) for plural in WATCHED)
    assert verbs["secrets"] == ["get", "create"]
    assert verbs["nodes"] == ["list", "watch", "patch"]
    assert verbs["samplesets"] == ["get", "list", "watch", "patch"]
    assert verbs["persistentvolumes"] == ["get", "list", "watch", "create", "delete"]
    assert (verbs["paddlejobs"], verbs["samplejobs"]) == (["list", "watch"],) * 2
    assert "*" not in str(rules)


def test_both_controllers_can_share_a_manager() -> None:
    jobs = paddlejob.controller(paddle.Settings())
    selections = {(trigger.kind.plural, trigger.labels) for one in (jobs, made()) for trigger in one.triggers}
    assert {("pods", "paddle-res-type"), ("pods", "batch.paddlepaddle.org/sampleset")} <= selections


OBSERVED: Manifest = {**sample_set(), "metadata": {**sample_set()["metadata"], "uid": "uid-1", "resourceVersion": "7"}}


def test_orders_are_as_the_servers_interface_has_them() -> None:
    synced = [{"type": "Synced", "status": "True", "reason": "x"}]
    of = decoded(
        {"conditions": synced}, partitions=1, sources=[{"uri": "s3://a.example.com", "path": "b"}], source=None
    )
    snapshots = [
        seen(decoded(source=None, sources=[{"uri": "s3://a.example.com/", "path": "b"}]), server(word=word())),
        seen(of, server(word=word()), server(1, word=word())),
    ]
    calls = [call for snapshot in snapshots for call in plan_of(OBSERVED, plan(snapshot)).calls]
    assert [call.server for call in calls] == [
        "default/imagenet-runtime-0", "default/imagenet-runtime-0", "default/imagenet-runtime-1"
    ]  # fmt: skip
    assert [call.order["type"] for call in calls] == ["sync", "warmup", "clear"]
    for call in calls:
        assert is_id(call.id)
        msgspec.json.decode(msgspec.json.encode(call.order), type=Order)
    assert [call.secret for call in calls] == [Key("default", "imagenet"), None, None]


@pytest.mark.parametrize(
    ("manifest", "keys"),
    [
        (
            {"metadata": {"name": "p", "namespace": "team", "labels": {"batch.paddlepaddle.org/sampleset": "a"}}},
            "team/a",
        ),
        ({"metadata": {"name": "p", "namespace": "team"}}, ""),
        ({"metadata": {"name": "v", "labels": {"batch.paddlepaddle.org/sampleset": "a"}}}, ""),
        (
            {
                "metadata": {
                    "name": "v",
                    "labels": {
                        "batch.paddlepaddle.org/sampleset": "a",
                        "batch.paddlepaddle.org/sampleset-namespace": "team",
                    },
                }
            },
            "team/a",
        ),
    ],
)
def test_an_object_is_of_the_set_that_its_labels_name(manifest: Manifest, keys: str) -> None:
    assert "".join(map(str, set_of_label(manifest))) == keys


def test_a_job_is_of_the_set_of_its_own_namespace() -> None:
    job = {"metadata": {"name": "j", "namespace": "team"}, "spec": {"sampleSetRef": {"name": "a", "namespace": "b"}}}
    assert tuple(set_of_job(job)) == (Key("team", "a"),)
    assert tuple(set_of_job({"metadata": {"name": "j", "namespace": "team"}})) == ()


def test_a_set_that_is_being_deleted_can_be_read_whatever_is_in_it() -> None:
    broken = {**OBSERVED, "spec": {"partitions": "many"}, "status": {"phase": 5}}
    with pytest.raises(msgspec.ValidationError):
        decode(broken)
    deleted = {**broken["metadata"], "deletionTimestamp": "2026-01-01T12:00:00Z"}
    assert decode({**broken, "metadata": deleted}).metadata.name == "imagenet"
    assert decode({**OBSERVED, "status": {"phase": 5}}).status is None


def test_an_answer_counts_until_a_report_knows_better() -> None:
    heard = Server(Endpoint("http://x", "uid", "token"), report=Report(mounted=True))
    assert word_of(Server(heard.endpoint)) is None
    heard.answers = {
        "done": Operation("done", "sync", OperationState.SUCCEEDED),
        "runs": Operation("runs", "sync", OperationState.RUNNING),
    }
    found = word_of(heard)
    assert found is not None
    assert list(found.works) == ["done"]
    heard.report = Report(mounted=True, operations=(Operation("done", "sync", OperationState.FAILED),))
    found = word_of(heard)
    assert found is not None
    assert found.works["done"].standing == "Failed"
