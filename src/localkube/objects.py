"""Objects as the API server has them, over connections that are kept: to start kubectl each time takes far longer."""

import atexit
import base64
import contextlib
import http.client
import json
import ssl
import tempfile
import threading
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localkube import errors

Manifest = dict[str, Any]
# The disk of a busy machine lets a write wait for a quarter of a minute.
PATIENCE = 60.0
OPTIONS = {"--selector": "labelSelector", "-l": "labelSelector", "--field-selector": "fieldSelector"}
APPLYING = "fieldManager=kubectl&force=true&fieldValidation=Strict"
EVERYWHERE = ("--all-namespaces", "-A")


class RefusedError(errors.LocalkubeError):
    """The API server says no, or nobody answers; in kubectl's words."""


@dataclass(frozen=True)
class Question:
    """What follows `kubectl get`: kinds, perhaps a name, and which of them."""

    kinds: tuple[str, ...]
    name: str = ""
    choice: tuple[tuple[str, str], ...] = ()
    is_everywhere: bool = False

    @classmethod
    def parse(cls, *words: str) -> "Question":
        said, choice, is_everywhere = list[str](), list[tuple[str, str]](), False
        left = iter(words)
        for word in left:
            option, _, value = word.partition("=")
            if word in EVERYWHERE:
                is_everywhere = True
            elif option in OPTIONS:
                choice.append((OPTIONS[option], value or next(left)))
            elif word.startswith("-"):
                raise ValueError(f"{word} is not understood here: ask kubectl itself")
            else:
                said.append(word)
        kinds, name = said if len(said) > 1 else (*said[0].partition("/")[::2],)
        return cls(tuple(kinds.split(",")), name, tuple(choice), is_everywhere)


@dataclass(frozen=True)
class Resource:
    """Where objects of a kind are."""

    base: str
    plural: str
    is_namespaced: bool

    def path(self, namespace: str, name: str = "") -> str:
        within = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        return f"{self.base}{within}/{self.plural}{f'/{urllib.parse.quote(name)}' if name else ''}"


class Objects:
    """One cluster's objects, for one user."""

    def __init__(self, config: Manifest) -> None:
        (cluster,), (user,) = config["clusters"], config["users"]
        self._server = urllib.parse.urlsplit(cluster["cluster"]["server"])
        self._context = _context(cluster["cluster"], user["user"]) if self._server.scheme == "https" else None
        self._kept: list[http.client.HTTPConnection] = []
        self._resources: dict[str, Resource] = {}

    def get(self, namespace: str, question: Question) -> Manifest:
        """Give what `kubectl get --output=json` gives: an object, or a list of those of all kinds."""
        where = "" if question.is_everywhere else namespace
        asked = f"?{urllib.parse.urlencode(question.choice)}" if question.choice else ""
        paths = [self.resource(kind).path(where, question.name) + asked for kind in question.kinds]
        found = [self._call("GET", path) for path in paths]
        if question.name:
            return _tidied(found[0])
        items = [_tidied(item) for listed in found for item in _whole(listed)]
        return {"apiVersion": "v1", "kind": "List", "items": items}

    def apply(self, namespace: str, manifest: Manifest) -> None:
        """Do what `kubectl apply --server-side --force-conflicts` does."""
        metadata = manifest["metadata"]
        resource = self._resource_of(manifest["apiVersion"], manifest["kind"])
        path = resource.path(metadata.get("namespace", namespace), metadata["name"])
        self._call("PATCH", f"{path}?{APPLYING}", manifest)

    def delete(self, namespace: str, kind: str, name: str) -> None:
        """Do what `kubectl delete --wait=false` does."""
        self._call("DELETE", self.resource(kind).path(namespace, name))

    def resource(self, kind: str) -> Resource:
        """Find a kind by what people call it; of several, the first that the server names."""
        if kind not in self._resources:
            wanted, _, group = kind.lower().partition(".")
            found = (
                one for base in self._bases() if group in ("", base.split("/")[2]) for one in self._served(base, wanted)
            )
            resource = next(found, None)
            if resource is None:
                raise RefusedError(f'the server doesn\'t have a resource type "{kind}"')
            self._resources[kind] = resource
        return self._resources[kind]

    def _resource_of(self, version: str, kind: str) -> Resource:
        known = f"{version}/{kind}"
        if known not in self._resources:
            base = f"/apis/{version}" if "/" in version else f"/api/{version}"
            resource = next(self._served(base, kind.lower()), None)
            if resource is None:
                raise RefusedError(f'no matches for kind "{kind}" in version "{version}"')
            self._resources[known] = resource
        return self._resources[known]

    def _bases(self) -> Iterator[str]:
        yield "/api/v1"
        for group in self._call("GET", "/apis")["groups"]:
            for version in (group["preferredVersion"], *group["versions"]):
                yield f"/apis/{version['groupVersion']}"

    def _served(self, base: str, wanted: str) -> Iterator[Resource]:
        with contextlib.suppress(RefusedError):  # a group may be served by somebody who is not there
            for known in self._call("GET", base)["resources"]:
                names = (known["name"], known.get("singularName"), known["kind"].lower(), *known.get("shortNames", ()))
                if wanted in names:
                    yield Resource(base, known["name"], known["namespaced"])

    def _call(self, method: str, path: str, body: Manifest | None = None) -> Manifest:
        status, text = self._answer(method, self._server.path + path, None if body is None else json.dumps(body))
        try:
            found: Manifest = json.loads(text)
        except ValueError:
            raise RefusedError(f"Error from server: {status}: {text[:200]!r}") from None
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise RefusedError(f"Error from server ({found.get('reason')}): {found.get('message')}")
        return found

    def _answer(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        """Ask over a connection that nobody uses now; one that turns out to be dead is given up for another.

        All that is asked may be asked twice.
        """
        while True:
            try:
                connection, is_kept = self._kept.pop(), True
            except IndexError:
                connection, is_kept = self._connection(), False
            try:
                connection.request(method, path, body, {"Content-Type": "application/apply-patch+yaml"} if body else {})
                response = connection.getresponse()
                answer = response.status, response.read()
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                if not is_kept or isinstance(error, TimeoutError):
                    raise RefusedError(f"Unable to connect to the server: {error}") from error
            else:
                self._kept.append(connection)
                return answer

    def _connection(self) -> http.client.HTTPConnection:
        address = self._server.hostname or "", self._server.port
        if self._context is None:
            return http.client.HTTPConnection(*address, timeout=PATIENCE)
        return http.client.HTTPSConnection(*address, timeout=PATIENCE, context=self._context)

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()


class Known:
    """The clusters that were asked for objects, by their kubeconfigs: one that is made anew writes another one."""

    def __init__(self) -> None:
        self._objects: dict[Path, tuple[bytes, Objects]] = {}
        self._lock = threading.Lock()
        atexit.register(self.close)

    def of(self, kubeconfig: Path) -> Objects:
        content = kubeconfig.read_bytes()
        with self._lock:
            known, objects = self._objects.get(kubeconfig, (b"", None))
            if objects is None or known != content:
                if objects is not None:
                    objects.close()
                objects = Objects(json.loads(content))
                self._objects[kubeconfig] = content, objects
            return objects

    def close(self) -> None:
        for _, objects in self._objects.values():
            objects.close()


of = Known().of


def _context(cluster: Manifest, user: Manifest) -> ssl.SSLContext:
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile() as file:  # only its owner can read it
        for part in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[part]))
        file.flush()
        context.load_cert_chain(file.name)
    return context


def _whole(listed: Manifest) -> Iterator[Manifest]:
    """Give the items of a list with their kind, which lists of built-in kinds do not repeat."""
    kind = {"apiVersion": listed["apiVersion"], "kind": listed["kind"].removesuffix("List")}
    return ({**kind, **item} for item in listed["items"])


def _tidied(found: Manifest) -> Manifest:
    """Leave out who set what, as kubectl does."""
    found.get("metadata", {}).pop("managedFields", None)
    return found
