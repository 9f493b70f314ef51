"""Caches that servers left: the pod that empties one, and when there is one."""

import datetime as dt

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import sampleset_node_label
from paddle_operator.cli.clearcache import clear_cache
from paddle_operator.desired.sampleset import leftovers
from paddle_operator.desired.sampleset.cleaners import cleaner
from paddle_operator.desired.sampleset.decision import Decision, Piece
from paddle_operator.desired.sampleset.plan import plan
from paddle_operator.desired.sampleset.snapshot import Settings, Snapshot
from support.samplesnapshots import IMAGE, NOON, decoded, node, seen, server, word

LEFT = {"phase": "Ready", "leftNodes": ["old"]}
LABEL = sampleset_node_label("default", "imagenet")
GOING = {"deletionTimestamp": NOON.isoformat()}
OF_SET = {
    "paddlepaddle.org/juicefs-imagenet": "true",
    "batch.paddlepaddle.org/sampleset": "imagenet",
    "batch.paddlepaddle.org/sampleset-namespace": "default",
    "batch.paddlepaddle.org/sampleset-uid": "uid-1",
}


def left(*pods: Manifest, status: Manifest | None = None) -> Snapshot:
    """Give a set whose server is on node-0, and was on another."""
    found = decoded(status or LEFT)
    return seen(found, server(0, word=word()), nodes={"old": node("old"), "node-0": node("node-0")}, cleaners=pods)


def pod(phase: str = "Running", age: dt.timedelta = dt.timedelta(0)) -> Manifest:
    made = cleaner(left(), "old")
    created = (NOON - age).isoformat()
    return {
        **made,
        "metadata": {**made["metadata"], "uid": "cleaner-1", "creationTimestamp": created},
        "status": {"phase": phase},
    }


def made(decision: Decision) -> list[str]:
    return [found["metadata"]["name"] for piece, found in decision.create if piece is Piece.POD]


def deleted(decision: Decision) -> list[str]:
    return [found["metadata"]["name"] for piece, found in decision.delete if piece is Piece.POD]


def known(decision: Decision) -> tuple[str, ...]:
    assert decision.status is not None
    return decision.status.left_nodes


def test_the_pod_has_what_a_server_keeps_on_a_node_and_nothing_else_and_is_never_beside_a_server() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["old"]}]}
    servers = {"paddlepaddle.org/juicefs-imagenet": "true", "name": "imagenet-runtime"}
    found = cleaner(left(), "old")
    path, spool = (volume["hostPath"]["path"] for volume in found["spec"]["volumes"])
    assert path.startswith("/dev/shm/default-imagenet-")
    assert found == {
        "metadata": {
            "name": found["metadata"]["name"],
            "namespace": "default",
            "labels": OF_SET,
            "annotations": {"CreatedBy": "paddle-operator"},
        },
        "spec": {
            "restartPolicy": "OnFailure",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 5,
            "affinity": {
                "nodeAffinity": {required: {"nodeSelectorTerms": [here]}},
                "podAntiAffinity": {
                    required: [
                        {
                            "labelSelector": {"matchLabels": servers},
                            "namespaces": ["default"],
                            "topologyKey": "kubernetes.io/hostname",
                        }
                    ]
                },
            },
            "tolerations": [{"operator": "Exists"}],
            "containers": [
                {
                    "name": "clear",
                    "image": IMAGE,
                    "imagePullPolicy": "IfNotPresent",
                    "command": ["paddle-operator", "clear-cache"],
                    "args": ["--cache-dirs=/cache/0", "--spool=/var/spool/paddle-operator"],
                    "resources": {
                        "requests": {"cpu": "10m", "memory": "64Mi"},
                        "limits": {"cpu": "1", "memory": "256Mi"},
                    },
                    "securityContext": {
                        "runAsUser": 0,
                        "allowPrivilegeEscalation": False,
                        "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]},
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "volumeMounts": [
                        {"name": "cache-0", "mountPath": "/cache/0"},
                        {"name": "spool", "mountPath": "/var/spool/paddle-operator"},
                    ],
                }
            ],
            "volumes": [
                {"name": "cache-0", "hostPath": {"path": path, "type": "DirectoryOrCreate"}},
                {"name": "spool", "hostPath": {"path": spool, "type": "DirectoryOrCreate"}},
            ],
        },
    }


def test_the_command_takes_what_it_is_given() -> None:
    (container,) = cleaner(left(), "old")["spec"]["containers"]
    assert container["command"] == ["paddle-operator", clear_cache.name]
    given = clear_cache.make_context("clear-cache", list(container["args"])).params
    assert [str(path) for path in given["cache_dirs"]] == ["/cache/0"]


@pytest.mark.parametrize(("metadata", "namespace"), [({}, "default"), (GOING, "paddle-system")])
def test_only_at_the_end_of_a_set_the_pod_is_in_our_namespace(metadata: Manifest, namespace: str) -> None:
    found = seen(decoded(LEFT, metadata), settings=Settings(IMAGE, namespace="paddle-system"))
    assert cleaner(found, "old")["metadata"]["namespace"] == namespace


def test_a_node_is_remembered_before_anything_is_done_about_it() -> None:
    served = {"phase": "Ready", "nodes": [{"partition": 0, "node": "old"}]}
    first = plan(left(status=served))
    assert (known(first), made(first)) == (("old",), [])
    assert made(plan(left())) == [cleaner(left(), "old")["metadata"]["name"]]


def test_a_node_that_a_server_is_to_come_back_to_keeps_its_cache() -> None:
    away = seen(decoded(LEFT), nodes={"old": node("old", **{LABEL: "imagenet-runtime-0"})})
    assert (known(plan(away)), made(plan(away))) == (("old",), [])


def test_a_node_that_a_server_came_back_to_is_left_no_more() -> None:
    back = seen(decoded(LEFT), server(0, "old", word=word()), cleaners=(pod(),))
    assert (known(plan(back)), made(plan(back))) == ((), [])
    assert deleted(plan(back)) == [pod()["metadata"]["name"]]


def test_a_node_is_forgotten_when_it_was_emptied_and_the_pod_goes() -> None:
    decision = plan(left(pod("Succeeded")))
    assert (known(decision), made(decision), deleted(decision)) == ((), [], [pod()["metadata"]["name"]])


def test_what_a_pod_did_before_the_server_was_there_does_not_count() -> None:
    served = {"phase": "Ready", "nodes": [{"partition": 0, "node": "old"}]}
    decision = plan(left(pod("Succeeded"), status=served))
    assert (known(decision), deleted(decision)) == (("old",), [pod()["metadata"]["name"]])


def test_a_pod_that_its_node_did_not_take_is_made_again_after_a_while() -> None:
    young, old = pod("Failed"), pod("Failed", leftovers.PAUSE)
    assert (deleted(plan(left(young))), made(plan(left(young)))) == ([], [])
    assert plan(left(young)).look_again == leftovers.PAUSE.total_seconds()
    assert (deleted(plan(left(old))), made(plan(left(old)))) == ([old["metadata"]["name"]], [])


def test_a_node_that_is_no_more_is_remembered_and_not_waited_for() -> None:
    gone = seen(decoded(LEFT), server(0, word=word()))
    assert (known(plan(gone)), made(plan(gone))) == (("old",), [])
