"""What is asked of the API server, as plain records: paths, parameters, headers and bodies, without any I/O."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import quote

import msgspec

from paddle_operator.api.manifest import Key, Manifest, key_of

Operations = list[Manifest]

JSON = "application/json"
APPLY = "application/apply-patch+yaml"
PAGE = 500
LOG_LINES = 1000
LONGEST_LOG = 1 << 20


class PatchType(StrEnum):
    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"


class Propagation(StrEnum):
    BACKGROUND = "Background"
    FOREGROUND = "Foreground"
    ORPHAN = "Orphan"


@dataclass(frozen=True)
class Kind:
    """Which resource this is; `group` is empty for the core ones."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def identity(self) -> Manifest:
        return {"apiVersion": self.api_version, "kind": self.kind}

    def collection(self, namespace: str = "") -> str:
        """Give the path of all of them, in one namespace or everywhere."""
        root = f"/apis/{self.group}" if self.group else "/api"
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace and self.namespaced else ""
        return f"{root}/{self.version}{within}/{self.plural}"

    def item(self, key: Key, subresource: str = "") -> str:
        if self.namespaced and not key.namespace:
            raise ValueError(f"a {self.kind} lives in a namespace, and {key.name!r} is asked for without one")
        path = f"{self.collection(key.namespace)}/{quote(key.name, safe='')}"
        return f"{path}/{subresource}" if subresource else path


@dataclass(frozen=True)
class Scope:
    """Which objects of a kind are meant: everywhere and all of them, unless it says less."""

    kind: Kind
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @property
    def path(self) -> str:
        return self.kind.collection(self.namespace)

    @property
    def params(self) -> dict[str, str]:
        chosen = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in chosen.items() if value}


@dataclass(frozen=True)
class Request:
    """`repeatable`: sent again after no answer, it changes nothing more than when sent once."""

    method: str
    path: str
    params: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = JSON
    repeatable: bool = False

    @property
    def headers(self) -> dict[str, str]:
        sent = {"Content-Type": self.content_type} if self.body is not None else {}
        return {"Accept": JSON, **sent}


def get(kind: Kind, key: Key) -> Request:
    return Request("GET", kind.item(key), repeatable=True)


def list_page(scope: Scope, limit: int = PAGE, token: str = "") -> Request:
    """Ask for one page; a limit of 0 asks for everything at once."""
    paging = {"limit": str(limit)} if limit else {}
    following = {"continue": token} if token else {}
    return Request("GET", scope.path, {**scope.params, **paging, **following}, repeatable=True)


def watch(scope: Scope, resource_version: str, timeout_seconds: int) -> Request:
    how = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": resource_version,
        "timeoutSeconds": str(timeout_seconds),
    }
    return Request("GET", scope.path, {**scope.params, **how}, repeatable=True)


def create(kind: Kind, manifest: Manifest, field_manager: str) -> Request:
    key = _placed(kind, manifest)
    return Request(
        "POST", kind.collection(key.namespace), _managed(field_manager), encode({**manifest, **kind.identity})
    )


def replace(kind: Kind, manifest: Manifest, field_manager: str) -> Request:
    """Write the whole object; its resourceVersion makes it fail if somebody was quicker."""
    key = _placed(kind, manifest)
    return Request("PUT", kind.item(key), _managed(field_manager), encode({**manifest, **kind.identity}))


def apply(kind: Kind, manifest: Manifest, field_manager: str, *, subresource: str = "") -> Request:
    """Server-side apply: these fields are ours and have these values, whoever set them before."""
    path = kind.item(_placed(kind, manifest), subresource)
    params = {**_managed(field_manager), "force": "true"}
    return Request("PATCH", path, params, encode({**manifest, **kind.identity}), APPLY, repeatable=True)


def patch(
    kind: Kind,
    key: Key,
    change: Manifest | Operations,
    field_manager: str,
    *,
    subresource: str = "",
) -> Request:
    """Send a merge patch for an object, and a JSON patch for a list of operations."""
    content_type = PatchType.JSON if isinstance(change, list) else PatchType.MERGE
    return Request("PATCH", kind.item(key, subresource), _managed(field_manager), encode(change), content_type)


@dataclass(frozen=True)
class Preconditions:
    """What must still hold for a delete to happen: it is this very object, or this very version of it."""

    uid: str = ""
    resource_version: str = ""

    @property
    def body(self) -> Manifest:
        asked = {"uid": self.uid, "resourceVersion": self.resource_version}
        return {name: value for name, value in asked.items() if value}


def delete(
    kind: Kind,
    key: Key,
    preconditions: Preconditions,
    propagation: Propagation = Propagation.BACKGROUND,
    grace_seconds: int | None = None,
) -> Request:
    options: Manifest = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation.value}
    if preconditions.body:
        options["preconditions"] = preconditions.body
    if grace_seconds is not None:
        options["gracePeriodSeconds"] = grace_seconds
    # Without the uid, a second try could hit a new object of the same name.
    return Request("DELETE", kind.item(key), {}, encode(options), repeatable=bool(preconditions.uid))


PODS = Kind("", "v1", "pods", "Pod")


def pod_log(key: Key, container: str = "", tail_lines: int = LOG_LINES, *, previous: bool = False) -> Request:
    """Ask for the last lines, and for no more than fits: a container may print without end."""
    asked = {
        "container": container,
        "tailLines": str(tail_lines),
        "limitBytes": str(LONGEST_LOG),
        "previous": "true" if previous else "",
    }
    params = {name: value for name, value in asked.items() if value}
    return Request("GET", PODS.item(key, "log"), params, repeatable=True)


def pod_exec(key: Key, argv: Sequence[str], container: str = "", *, stdin: bool = False) -> Request:
    if not argv:
        raise ValueError(f"there is nothing to run in {key}: the command is empty")
    named = {"container": container} if container else {}
    streams = {"stdin": "true" if stdin else "false", "stdout": "true", "stderr": "true"}
    return Request("GET", PODS.item(key, "exec"), {"command": list(argv), **named, **streams})


def encode(body: Manifest | Operations) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        # Half of a letter, as a program's output may have it, becomes a question mark.
        return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


def _placed(kind: Kind, manifest: Manifest) -> Key:
    key = key_of(manifest)
    if kind.namespaced and not key.namespace:
        raise ValueError(f"a {kind.kind} lives in a namespace, and {key.name!r} names none")
    return key


def _managed(field_manager: str) -> dict[str, str]:
    if not field_manager:
        raise ValueError("every write says who manages the fields: the field manager is empty")
    return {"fieldManager": field_manager}
