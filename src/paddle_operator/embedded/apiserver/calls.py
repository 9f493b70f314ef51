"""A request to the embedded API, read: what it is for, what it says, and which verb it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import unquote

import msgspec
import yaml

from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.embedded.apiserver import patches, refusals, strategic
from paddle_operator.embedded.apiserver.deletion import Deletion
from paddle_operator.embedded.apiserver.lists import number
from paddle_operator.embedded.apiserver.objects import Objects, Options, UnknownFields
from paddle_operator.embedded.apiserver.resources import Resource
from paddle_operator.embedded.apiserver.selectors import Selector, selector
from paddle_operator.embedded.apiserver.streams import Wanted
from paddle_operator.kube.request import APPLY, JSON, PatchType, Propagation

LONGEST_WATCH = 3600
YAML = "application/yaml"
STRATEGIC = "application/strategic-merge-patch+json"
PROTOBUF = "application/vnd.kubernetes.protobuf"


class Place(NamedTuple):
    """What a path addresses."""

    group: str
    version: str
    namespace: str
    plural: str
    name: str
    subresource: str


def place_of(path: str) -> Place | None:
    words = [unquote(word) for word in path.strip("/").split("/")]
    match words:
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):  # noqa: PLR2004 a path's words
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource, *more = [*rest, "", ""]
    return None if any(more) else Place(group, version, namespace, plural, name, subresource)


@dataclass(frozen=True)
class Call:
    place: Place
    resource: Resource
    method: str
    query: Mapping[str, str]
    content_type: str
    body: bytes

    @property
    def key(self) -> Key:
        return Key(self.place.namespace, self.place.name)

    @property
    def watches(self) -> bool:
        return self.query.get("watch", "").lower() in ("1", "true")

    @cached_property
    def selector(self) -> Selector:
        fields = self.query.get("fieldSelector", "")
        if self.place.name:
            fields = f"metadata.name={self.place.name}"
        return selector(self.place.namespace, self.query.get("labelSelector", ""), fields, self.resource.selectable)

    @property
    def watch(self) -> Wanted:
        version, seconds = number(self.query, "resourceVersion"), number(self.query, "timeoutSeconds")
        initial = self.query.get("sendInitialEvents") == "true"
        return Wanted(
            kind=self.resource.kind,
            selector=self.selector,
            since=None if initial or not version else version,
            seconds=float(min(seconds or LONGEST_WATCH, LONGEST_WATCH)),
            bookmarks=self.query.get("allowWatchBookmarks") == "true",
            mark_initial_end=initial,
        )

    @property
    def options(self) -> Options:
        asked = self.query.get("fieldValidation", UnknownFields.WARN)
        if asked not in UnknownFields.__members__.values():
            raise refusals.bad_request(f'invalid fieldValidation: "{asked}"')
        return Options(
            manager=self.query.get("fieldManager") or "unknown",
            force=self.query.get("force") == "true",
            dry_run=self.query.get("dryRun") == "All",
            unknown_fields=UnknownFields(asked),
        )

    def carry_out(self, objects: Objects, options: Options) -> tuple[Manifest, HTTPStatus]:
        """Do what is asked, and give the answer with its code."""
        resource, place = self.resource, self.place
        match self.method, bool(place.name):
            case "POST", False:
                return objects.create(resource, place.namespace, self.manifest, options), HTTPStatus.CREATED
            case "PUT", True:
                return objects.replace(resource, self.key, self.manifest, options, place.subresource), HTTPStatus.OK
            case "PATCH", True:
                return self._patched(objects, options)
            case "DELETE", True if not place.subresource:
                return self._deleted(objects, self.key)
            case "DELETE", False:
                return self._all_deleted(objects)
        raise refusals.not_allowed()

    def _patched(self, objects: Objects, options: Options) -> tuple[Manifest, HTTPStatus]:
        resource, key, subresource = self.resource, self.key, self.place.subresource
        match self.content_type:
            case t if t == APPLY:
                is_new = objects.storage.find(resource.kind, key) is None
                if not self.query.get("fieldManager"):
                    raise refusals.nameless_apply()
                applied = objects.apply(resource, key, self.manifest, options, subresource)
                return applied, HTTPStatus.CREATED if is_new else HTTPStatus.OK
            case PatchType.MERGE:
                change = self.manifest
                return objects.patch(
                    resource, key, lambda before: _object(patches.merge_patched(before, change)), options, subresource
                ), HTTPStatus.OK
            case t if t == STRATEGIC and not resource.custom:
                change = self.manifest
                return objects.patch(
                    resource,
                    key,
                    lambda before: _object(strategic.patched(before, change, resource.schema)),
                    options,
                    subresource,
                ), HTTPStatus.OK
            case PatchType.JSON:
                operations = self._decoded()
                if not isinstance(operations, list) or not all(isinstance(one, dict) for one in operations):
                    raise refusals.bad_request("a JSON patch is a list of operations")
                return objects.patch(
                    resource, key, lambda before: patches.json_patched(before, operations), options, subresource
                ), HTTPStatus.OK
        raise refusals.unsupported_media([APPLY, PatchType.JSON, PatchType.MERGE])

    def _deleted(self, objects: Objects, key: Key) -> tuple[Manifest, HTTPStatus]:
        how = self._deletion
        found = objects.storage.get(self.resource.kind, key)
        left = objects.delete(self.resource, key, how)
        if left is not None:
            return left, HTTPStatus.OK
        details = {**refusals.details_of(self.resource.kind, key.name), "uid": found["metadata"]["uid"]}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        }, HTTPStatus.OK

    def _all_deleted(self, objects: Objects) -> tuple[Manifest, HTTPStatus]:
        how = self._deletion
        for manifest in objects.storage.items(self.resource.kind):
            if self.selector(manifest):
                objects.delete(self.resource, key_of(manifest), how)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, HTTPStatus.OK

    @property
    def _deletion(self) -> Deletion:
        options = self.manifest if self.body.strip() else {}
        conditions = options.get("preconditions") or {}
        named = options.get("propagationPolicy") or self.query.get("propagationPolicy") or Propagation.BACKGROUND
        if named not in Propagation.__members__.values():
            raise refusals.bad_request(f'invalid propagationPolicy: "{named}"')
        grace = options.get("gracePeriodSeconds")
        return Deletion(
            propagation=Propagation(named),
            grace_seconds=grace if isinstance(grace, int) else number(self.query, "gracePeriodSeconds"),
            uid=str(conditions.get("uid") or ""),
            version=str(conditions.get("resourceVersion") or ""),
            dry_run=self.query.get("dryRun") == "All",
        )

    @property
    def manifest(self) -> Manifest:
        return _object(self._decoded())

    def _decoded(self) -> object:
        if self.content_type == PROTOBUF:
            raise refusals.unsupported_media([JSON, YAML])
        try:
            if self.content_type in (APPLY, YAML) and not self.body.lstrip().startswith((b"{", b"[")):
                return yaml.safe_load(self.body)
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
            raise refusals.bad_request(f"the object provided is unrecognized: {error}") from error


def _object(value: object) -> Manifest:
    if not isinstance(value, dict):
        raise refusals.bad_request(f"the object provided is unrecognized: {JSON} object expected")
    return value
