"""Objects are read as kubectl reads them; that both say the same, a test on the cluster proves."""

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from localkube import objects
from localkube.objects import Question, RefusedError

POD = {"metadata": {"name": "web", "managedFields": ["many"]}}
ANSWERS = {
    "/api/v1": {
        "resources": [
            {"name": "pods", "singularName": "pod", "kind": "Pod", "shortNames": ["po"], "namespaced": True},
            {"name": "nodes", "singularName": "node", "kind": "Node", "namespaced": False},
        ]
    },
    "/apis": {
        "groups": [
            {
                "preferredVersion": {"groupVersion": f"{group}/v1"},
                "versions": [{"groupVersion": f"{group}/v1"}],
            }
            for group in ("absent.io", "b.io", "a.io")
        ]
    },
    "/apis/b.io/v1": {"resources": [{"name": "things", "singularName": "", "kind": "Thing", "namespaced": True}]},
    "/apis/a.io/v1": {"resources": [{"name": "things", "singularName": "", "kind": "Thing", "namespaced": True}]},
    "/api/v1/namespaces/mine/pods": {"apiVersion": "v1", "kind": "PodList", "items": [POD]},
    "/api/v1/namespaces/mine/pods/web": POD,
    "/api/v1/pods?labelSelector=a%3Db": {"apiVersion": "v1", "kind": "PodList", "items": []},
    "/api/v1/nodes": {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "node-1"}}]},
    "/apis/b.io/v1/namespaces/mine/things/x": {"kind": "Thing"},
    "/apis/a.io/v1/namespaces/mine/things/x": {"kind": "Thing", "group": "a"},
}


class Handler(http.server.BaseHTTPRequestHandler):
    """It keeps connections, and closes each behind its tenth answer without a word."""

    protocol_version = "HTTP/1.1"
    connections: ClassVar[int] = 0
    written: ClassVar[list[tuple[object, ...]]] = []
    answered = 0

    def setup(self) -> None:
        super().setup()
        type(self).connections += 1

    def do_GET(self) -> None:
        found = ANSWERS.get(self.path.partition("?fieldManager")[0])
        refusal = {"reason": "NotFound", "message": "not found"}
        body = json.dumps(found or refusal).encode() if self.path != "/api/v1/nodes/odd" else b"<html>"
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.answered += 1
        self.close_connection = self.answered == 10

    def do_PATCH(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).written.append((self.command, self.path, self.headers["Content-Type"], json.loads(body)))
        self.do_GET()

    def do_DELETE(self) -> None:
        type(self).written.append((self.command, self.path))
        self.do_GET()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    Handler.connections, Handler.written = 0, []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        file = tmp_path / "kubeconfig"
        address = f"http://127.0.0.1:{server.server_port}"
        file.write_text(json.dumps({"clusters": [{"cluster": {"server": address}}], "users": [{"user": {}}]}))
        yield file
        server.shutdown()
        serving.join()


@pytest.mark.parametrize(
    ("words", "question"),
    [
        (("pods",), Question(("pods",))),
        (("pod/web",), Question(("pod",), "web")),
        (("pod", "web"), Question(("pod",), "web")),
        (("pods,services", "-l", "a=b"), Question(("pods", "services"), choice=(("labelSelector", "a=b"),))),
        (("pods", "--selector=a=b,c", "-A"), Question(("pods",), "", (("labelSelector", "a=b,c"),), True)),
        (("events", "--field-selector=reason=Bad"), Question(("events",), "", (("fieldSelector", "reason=Bad"),))),
    ],
)  # fmt: skip
def test_what_follows_get_is_understood(words: tuple[str, ...], question: Question) -> None:
    assert Question.parse(*words) == question


@pytest.mark.parametrize("words", [("pods", "--watch"), ("pods", "-o", "name"), ("pods", "--sort-by=x")])
def test_what_is_not_understood_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="ask kubectl itself"):
        Question.parse(*words)


def test_objects_are_found_by_any_name_of_their_kind(kubeconfig: Path) -> None:
    for kind in ("pods", "pod", "po", "Pod"):
        assert asked(kubeconfig, kind, "web") == {"metadata": {"name": "web"}}
    assert asked(kubeconfig, "things/x") == {"kind": "Thing"}
    assert asked(kubeconfig, "things.a.io/x") == {"kind": "Thing", "group": "a"}


def test_a_list_has_the_objects_of_all_kinds_that_are_asked_for(kubeconfig: Path) -> None:
    assert asked(kubeconfig, "pods,nodes")["items"] == [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}},
    ]
    assert asked(kubeconfig, "pods", "--all-namespaces", "--selector=a=b")["items"] == []


def test_objects_are_applied_and_deleted_where_they_belong(kubeconfig: Path) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
    thing = {"apiVersion": "a.io/v1", "kind": "Thing", "metadata": {"name": "x", "namespace": "mine"}}
    known = objects.of(kubeconfig)
    known.apply("mine", pod)
    known.apply("other", thing)
    known.delete("mine", "pod", "web")
    asked, how = "?fieldManager=kubectl&force=true&fieldValidation=Strict", "application/apply-patch+yaml"
    assert Handler.written == [
        ("PATCH", f"/api/v1/namespaces/mine/pods/web{asked}", how, pod),
        ("PATCH", f"/apis/a.io/v1/namespaces/mine/things/x{asked}", how, thing),
        ("DELETE", "/api/v1/namespaces/mine/pods/web"),
    ]
    with pytest.raises(RefusedError, match=r'no matches for kind "Pod" in version "b.io/v1"'):
        known.apply("mine", {**pod, "apiVersion": "b.io/v1"})
    with pytest.raises(RefusedError, match=r"Error from server \(NotFound\): not found"):
        known.apply("nowhere", pod)


def test_a_connection_is_kept_and_made_anew_when_it_is_closed(kubeconfig: Path) -> None:
    for _ in range(25):
        asked(kubeconfig, "pod/web")
    assert Handler.connections == 3


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("pod/other", r"Error from server \(NotFound\): not found"),
        ("node/odd", "Error from server: 404"),
        ("unheard", 'the server doesn\'t have a resource type "unheard"'),
    ],
)
def test_what_is_refused_is_said_in_kubectls_words(kubeconfig: Path, kind: str, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        asked(kubeconfig, kind)


def test_where_nobody_answers_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text('{"clusters": [{"cluster": {"server": "http://127.0.0.1:1"}}], "users": [{"user": {}}]}')
    with pytest.raises(RefusedError, match="Unable to connect to the server"):
        asked(file, "pods")


def asked(kubeconfig: Path, *words: str) -> objects.Manifest:
    return objects.of(kubeconfig).get("mine", Question.parse(*words))
