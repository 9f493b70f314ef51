"""Requests are built right, and those that must not be sent cannot be built."""

import json

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import request
from paddle_operator.kube.request import Kind, Preconditions, Propagation, Scope

PODS = Kind("", "v1", "pods", "Pod")
JOBS = Kind("batch", "v1", "jobs", "Job")
NODES = Kind("", "v1", "nodes", "Node", namespaced=False)
POD = {"metadata": {"name": "web", "namespace": "shop"}, "spec": {}}
WEB = Key("shop", "web")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PODS.collection(), "/api/v1/pods"),
        (PODS.collection("shop"), "/api/v1/namespaces/shop/pods"),
        (JOBS.collection("shop"), "/apis/batch/v1/namespaces/shop/jobs"),
        (NODES.collection("shop"), "/api/v1/nodes"),
        (PODS.item(WEB), "/api/v1/namespaces/shop/pods/web"),
        (PODS.item(WEB, "status"), "/api/v1/namespaces/shop/pods/web/status"),
        (NODES.item(Key("", "one")), "/api/v1/nodes/one"),
        (PODS.item(Key("a/b", "c?d")), "/api/v1/namespaces/a%2Fb/pods/c%3Fd"),
    ],
)
def test_a_path_follows_from_kind_and_key(path: str, expected: str) -> None:
    assert path == expected


def test_a_namespaced_object_is_not_asked_for_without_a_namespace() -> None:
    with pytest.raises(ValueError, match="a Pod lives in a namespace"):
        request.get(PODS, Key("", "web"))
    with pytest.raises(ValueError, match="a Pod lives in a namespace"):
        request.create(PODS, {"metadata": {"name": "web"}}, "me")


@pytest.mark.parametrize("write", [request.create, request.replace, request.apply])
def test_a_write_without_a_field_manager_is_refused(write: object) -> None:
    assert callable(write)
    with pytest.raises(ValueError, match="the field manager is empty"):
        write(PODS, POD, "")


def test_a_list_asks_for_a_page_and_then_for_the_next() -> None:
    scope = Scope(PODS, "shop", labels="app=web", fields="spec.nodeName=one")
    chosen = {"labelSelector": "app=web", "fieldSelector": "spec.nodeName=one"}
    assert request.list_page(scope).params == {**chosen, "limit": "500"}
    assert request.list_page(scope, 10, "next").params == {**chosen, "limit": "10", "continue": "next"}
    assert request.list_page(scope, 0).params == chosen


def test_a_watch_asks_for_bookmarks_and_an_end() -> None:
    asked = request.watch(Scope(PODS), "42", 120)
    assert asked.path == "/api/v1/pods"
    assert asked.params == {
        "watch": "true", "allowWatchBookmarks": "true", "resourceVersion": "42", "timeoutSeconds": "120",
    }  # fmt: skip


def test_apply_says_what_it_is_and_who_applies() -> None:
    asked = request.apply(PODS, POD, "me", subresource="status")
    assert (asked.method, asked.path) == ("PATCH", "/api/v1/namespaces/shop/pods/web/status")
    assert asked.params == {"fieldManager": "me", "force": "true"}
    assert asked.headers == {"Accept": "application/json", "Content-Type": "application/apply-patch+yaml"}
    assert json.loads(asked.body or b"") == {**POD, "apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("change", "content_type"),
    [
        ({"spec": None}, "application/merge-patch+json"),
        ([{"op": "remove", "path": "/spec"}], "application/json-patch+json"),
    ],
)
def test_a_patchs_form_follows_from_its_content(change: Manifest | request.Operations, content_type: str) -> None:
    assert request.patch(PODS, WEB, change, "me").headers["Content-Type"] == content_type


def test_a_delete_names_its_conditions() -> None:
    asked = request.delete(PODS, WEB, Preconditions("u-1", "7"), Propagation.FOREGROUND, 0)
    assert json.loads(asked.body or b"") == {
        "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Foreground", "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u-1", "resourceVersion": "7"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (request.get(PODS, WEB), True),
        (request.list_page(Scope(PODS)), True),
        (request.apply(PODS, POD, "me"), True),
        (request.delete(PODS, WEB, Preconditions("u-1")), True),
        (request.delete(PODS, WEB, Preconditions()), False),
        (request.create(PODS, POD, "me"), False),
        (request.replace(PODS, POD, "me"), False),
        (request.patch(PODS, WEB, {}, "me"), False),
    ],
)
def test_only_what_is_the_same_done_twice_may_be_repeated(*, asked: request.Request, expected: bool) -> None:
    assert asked.repeatable is expected


def test_a_log_is_asked_for_by_container_and_length_and_never_without_end() -> None:
    asked = request.pod_log(WEB, "main", 10, previous=True)
    assert asked.path == "/api/v1/namespaces/shop/pods/web/log"
    assert asked.params == {"container": "main", "tailLines": "10", "limitBytes": "1048576", "previous": "true"}
    assert request.pod_log(WEB).params == {"tailLines": "1000", "limitBytes": "1048576"}


def test_a_command_is_asked_for_word_by_word() -> None:
    asked = request.pod_exec(WEB, ["say", "a b"], "main", stdin=True)
    assert (asked.method, asked.path, asked.repeatable) == ("GET", "/api/v1/namespaces/shop/pods/web/exec", False)
    assert asked.params == {
        "command": ["say", "a b"], "container": "main", "stdin": "true", "stdout": "true", "stderr": "true",
    }  # fmt: skip


def test_half_a_letter_spoils_no_request() -> None:
    assert request.encode({"a": "x\ud800y", "b": "\u2028"}) == '{"a":"x?y","b":"\u2028"}'.encode()
