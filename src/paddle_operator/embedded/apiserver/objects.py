"""Create, change and delete: what each verb does to an object, and what is refused."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of, version_of
from paddle_operator.embedded.apiserver import core, deletion, fitting, metadata, ownership, refusals, validation
from paddle_operator.embedded.apiserver.deletion import NAMESPACES
from paddle_operator.embedded.apiserver.ownership import APPLY, UPDATE, Author
from paddle_operator.embedded.apiserver.refusals import Cause, Why
from paddle_operator.embedded.apiserver.resources import Catalogue, Resource
from paddle_operator.embedded.apiserver.storage import Storage
from paddle_operator.kube.request import PODS, Kind

STATUS = "status"
PRIORITY_CLASSES = Kind("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
# A cluster has them from its beginning.
SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")
# How a new object of a core resource begins.
FIRST_STATUS: dict[str, Manifest] = {
    "pods": {"phase": "Pending"},
    "persistentvolumeclaims": {"phase": "Pending"},
    "persistentvolumes": {"phase": "Pending"},
    "namespaces": {"phase": "Active"},
}


class UnknownFields(StrEnum):
    """What becomes of fields that the schema does not know."""

    IGNORE = "Ignore"
    WARN = "Warn"
    STRICT = "Strict"


@dataclass
class Options:
    """How a write is meant; what its sender should be warned of is added to `warnings`."""

    manager: str = "unknown"
    force: bool = False
    dry_run: bool = False
    unknown_fields: UnknownFields = UnknownFields.WARN
    warnings: list[str] = field(default_factory=list)


class Objects:
    def __init__(self, storage: Storage, catalogue: Catalogue) -> None:
        self.storage = storage
        self.catalogue = catalogue

    def create(self, resource: Resource, namespace: str, manifest: Manifest, options: Options) -> Manifest:
        self._refuse_misplaced(resource, namespace, manifest)
        if version_of(manifest):
            raise refusals.no_version_at_birth()
        made = self._born(resource, namespace, self._fitted(resource, manifest, options))
        author = Author(options.manager, UPDATE, resource.kind.api_version)
        return self._add(resource, ownership.updated(None, made, resource.schema, author), options)

    def _born(self, resource: Resource, namespace: str, manifest: Manifest) -> Manifest:
        born = metadata.born(manifest["metadata"], generation=resource.has_generation)
        made = {**manifest, **resource.kind.identity, "metadata": born}
        if namespace:
            born["namespace"] = namespace
        if resource.has_status:
            made.pop(STATUS, None)
        if not resource.custom and resource.kind.plural in FIRST_STATUS:
            made[STATUS] = FIRST_STATUS[resource.kind.plural]
        if resource.kind == NAMESPACES:
            born["labels"] = {**(born.get("labels") or {}), "kubernetes.io/metadata.name": born["name"]}
            made["spec"] = {"finalizers": ["kubernetes"]}
        return made

    def _add(self, resource: Resource, made: Manifest, options: Options) -> Manifest:
        key = key_of(made)
        causes = self._faults(resource, _newborn(resource, made), None)
        if self.storage.find(resource.kind, key) is not None:
            raise refusals.already_exists(resource.kind, key.name)
        self._refuse_unknown_priority(resource, made)
        _refuse(resource, key.name, causes)
        self._refuse_closed_namespace(resource, key)
        return made if options.dry_run else self.restore(resource, made)

    def restore(self, resource: Resource, manifest: Manifest) -> Manifest:
        """Take what was judged before, with the defaults of today's definition."""
        filled = fitting.defaulted(manifest, resource.schema)
        return self.storage.put(resource.kind, filled if isinstance(filled, dict) else manifest)

    def redefine(self, resource: Resource) -> None:
        """Serve a kind by another definition from now on, with all that there is of it."""
        self.catalogue.put(resource)
        for manifest in self.storage.items(resource.kind):
            if fitting.defaulted(manifest, resource.schema) != manifest:
                self.restore(resource, manifest)

    def replace(
        self, resource: Resource, key: Key, manifest: Manifest, options: Options, subresource: str = ""
    ) -> Manifest:
        self._refuse_misplaced(resource, key.namespace, manifest, key.name)
        before = self.storage.get(resource.kind, key)
        if resource.custom and not version_of(manifest):
            words = "must be specified for an update"
            raise refusals.invalid(resource.kind, key.name, [Cause(Why.INVALID, "metadata.resourceVersion", words, 0)])
        if uid_of(manifest) not in ("", uid_of(before)):
            why = f"Precondition failed: UID in precondition: {uid_of(manifest)}, UID in object meta: {uid_of(before)}"
            raise refusals.conflict(resource.kind, key.name, why)
        return self._update(resource, before, manifest, options, subresource)

    def patch(
        self,
        resource: Resource,
        key: Key,
        change: Callable[[Manifest], Manifest],
        options: Options,
        subresource: str = "",
    ) -> Manifest:
        before = self.storage.get(resource.kind, key)
        wanted = change(before)
        if not (subresource and resource.custom):
            _refuse_other(resource, wanted, before)
        return self._update(resource, before, wanted, options, subresource)

    def apply(
        self, resource: Resource, key: Key, manifest: Manifest, options: Options, subresource: str = ""
    ) -> Manifest:
        self._refuse_misplaced(resource, key.namespace, manifest, key.name)
        if manifest["metadata"].get("managedFields"):
            raise refusals.bad_request("metadata.managedFields must be nil")
        author = Author(options.manager, APPLY, resource.kind.api_version, subresource)
        allowed = _allowed(resource, manifest, subresource)
        undeclared: list[str] = []
        fitting.pruned(allowed, resource.schema, "", undeclared)
        if undeclared:
            raise refusals.undeclared(resource.kind, key, undeclared)
        wanted = self._fitted(resource, allowed, options, defaults=False)
        before = self.storage.find(resource.kind, key)
        if before is None:
            if subresource:
                raise refusals.not_found(resource.kind, key.name)
            if uid := uid_of(manifest):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise refusals.conflict(resource.kind, key.name, why)
            named = {**wanted, "metadata": {**wanted["metadata"], "name": key.name}}
            blank = self._born(resource, key.namespace, {**resource.kind.identity, "metadata": {"name": key.name}})
            made = ownership.applied(blank, named, resource.schema, author, force=True)
            return self._add(resource, self._fitted(resource, made, options), options)
        _refuse_stale(resource, manifest, before)
        if not subresource:
            _refuse_other(resource, manifest, before)
        merged = ownership.applied(before, wanted, resource.schema, author, force=options.force)
        return self._changed(resource, before, self._fitted(resource, merged, options), options)

    def _update(
        self, resource: Resource, before: Manifest, wanted: Manifest, options: Options, subresource: str
    ) -> Manifest:
        _refuse_stale(resource, wanted, before)
        new = _confined(resource, wanted, before, subresource)
        fitted = self._fitted(resource, new, options)
        author = Author(options.manager, UPDATE, resource.kind.api_version, subresource)
        return self._changed(resource, before, ownership.updated(before, fitted, resource.schema, author), options)

    def _changed(self, resource: Resource, before: Manifest, wanted: Manifest, options: Options) -> Manifest:
        key = key_of(before)
        new = {**wanted, "metadata": metadata.continued(wanted["metadata"], before["metadata"])}
        if resource.has_generation and _essence(new, resource) != _essence(before, resource):
            new["metadata"]["generation"] = before["metadata"].get("generation", 0) + 1
        _refuse(resource, key.name, self._faults(resource, new, before))
        if new == before or options.dry_run:
            return new
        if deletion.is_released(new):  # nobody is told of it as it is here: it goes as it was
            self.storage.remove(resource.kind, key)
            return new
        return self.storage.put(resource.kind, new)

    def _faults(self, resource: Resource, manifest: Manifest, before: Manifest | None) -> list[Cause]:
        """Tell all that is wrong; what has the wrong type cannot be looked into any further."""
        found = core.of_schema(resource, validation.faults(manifest, resource.schema, before))
        if any(cause.why is Why.TYPE for cause in found):
            return found
        named = metadata.faults(resource.kind, manifest["metadata"])
        kept = () if before is None else metadata.finalizer_faults(manifest["metadata"], before["metadata"])
        return [*named, *kept, *core.faults(resource, manifest, before), *found]

    def delete(self, resource: Resource, key: Key, how: deletion.Deletion) -> Manifest | None:
        """Remove it, or mark it if somebody is still to do something; None when it is gone."""
        before = self.storage.get(resource.kind, key)
        deletion.refuse_unmet(resource, how, before)
        marked = deletion.marked(resource, before, how)
        if deletion.is_released(marked):
            if not how.dry_run:
                self.storage.remove(resource.kind, key)
            return None
        if marked == before or how.dry_run:
            return marked
        return self.storage.put(resource.kind, marked)

    def _fitted(self, resource: Resource, manifest: Manifest, options: Options, *, defaults: bool = True) -> Manifest:
        """Drop unknown fields, or complain of them, and fill in what has a default."""
        unknown: list[str] = []
        fitted = fitting.pruned(manifest, resource.schema, "", unknown)
        if unknown and options.unknown_fields is UnknownFields.STRICT:
            listed = ", ".join(f'unknown field "{path}"' for path in unknown)
            kind = resource.kind
            raise refusals.bad_request(
                f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: '
                f"strict decoding error: {listed}"
            )
        if options.unknown_fields is UnknownFields.WARN:
            options.warnings += [f'unknown field "{path}"' for path in unknown]
        if defaults:
            fitted = fitting.defaulted(fitted, resource.schema)
        return core.converted(resource, fitted) if isinstance(fitted, dict) else manifest

    def _refuse_misplaced(self, resource: Resource, namespace: str, manifest: Manifest, name: str = "") -> None:
        kind, sent = resource.kind, manifest.get("metadata")
        if not isinstance(sent, dict):
            raise refusals.bad_request(f"{kind.kind} in version {kind.version!r} has no metadata")
        identity = (manifest.get("apiVersion", kind.api_version), manifest.get("kind", kind.kind))
        if identity != (kind.api_version, kind.kind):
            words = f"{identity[0]}, Kind={identity[1]}"
            raise refusals.bad_request(f"the API version and kind in the data ({words}) do not match the request")
        if sent.get("namespace") not in (None, "", namespace):
            raise refusals.bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        if name and sent.get("name", name) != name:
            raise refusals.bad_request(
                f"the name of the object ({sent['name']}) does not match the name on the URL ({name})"
            )

    def _refuse_unknown_priority(self, resource: Resource, made: Manifest) -> None:
        if resource.kind != PODS:
            return
        name = (made.get("spec") or {}).get("priorityClassName")
        if name and name not in SYSTEM_CLASSES and self.storage.find(PRIORITY_CLASSES, Key("", name)) is None:
            raise refusals.forbidden(PODS, key_of(made).name, f"no PriorityClass with name {name} was found")

    def _refuse_closed_namespace(self, resource: Resource, key: Key) -> None:
        if not resource.kind.namespaced:
            return
        namespace = self.storage.get(NAMESPACES, Key("", key.namespace))
        if namespace["metadata"].get("deletionTimestamp"):
            raise refusals.namespace_ends(resource.kind, key)


def _refuse(resource: Resource, name: str, causes: list[Cause]) -> None:
    """Refuse what is wrong; a core resource is decoded before it is judged, so a wrong type is a bad request there."""
    if not causes:
        return
    wrong_types = (cause for cause in causes if cause.why is Why.TYPE)
    wrong_type = next(
        (cause for cause in wrong_types if not resource.custom or cause.path.startswith("metadata")), None
    )
    if wrong_type is not None:
        kind = resource.kind
        raise refusals.bad_request(
            f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {wrong_type.detail}'
        )
    raise refusals.invalid(resource.kind, name, causes)


def _refuse_stale(resource: Resource, wanted: Manifest, before: Manifest) -> None:
    """Refuse a write that names a version and is not for that one."""
    if version_of(wanted) not in ("", version_of(before)):
        why = "the object has been modified; please apply your changes to the latest version and try again"
        raise refusals.conflict(resource.kind, key_of(before).name, why)


def _refuse_other(resource: Resource, wanted: Manifest, before: Manifest) -> None:
    """Refuse a change that names a uid and is not for that object."""
    if uid_of(wanted) not in ("", uid_of(before)):
        cause = Cause(Why.INVALID, "metadata.uid", "field is immutable", uid_of(wanted))
        raise refusals.invalid(resource.kind, key_of(before).name, [cause])


def _newborn(resource: Resource, made: Manifest) -> Manifest:
    """Give a new object as it is judged: of a definition's own, the status is filled in only when it is read."""
    judged_whole = not (resource.custom and resource.has_status)
    return made if judged_whole else {name: part for name, part in made.items() if name != STATUS}


def _allowed(resource: Resource, manifest: Manifest, subresource: str) -> Manifest:
    """Of what is applied, leave what this way of writing can change."""
    if subresource == STATUS:
        return {"metadata": {}, **{name: manifest[name] for name in (STATUS,) if name in manifest}}
    return {name: part for name, part in manifest.items() if name != STATUS or not resource.has_status}


def _confined(resource: Resource, wanted: Manifest, before: Manifest, subresource: str) -> Manifest:
    """Of what is written, take what this way of writing can change, and the rest from what is there."""
    if subresource == STATUS:
        rest = {name: part for name, part in before.items() if name != STATUS}
        return {**rest, STATUS: wanted[STATUS]} if STATUS in wanted else rest
    new = {**wanted, **resource.kind.identity}
    if resource.has_status:
        new.pop(STATUS, None)
        if STATUS in before:
            new[STATUS] = before[STATUS]
    return new


def _essence(manifest: Manifest, resource: Resource) -> Manifest:
    """Give what counts as a change of what is wanted."""
    left_out = {"metadata", STATUS} if resource.has_status or not resource.custom else {"metadata"}
    return {name: part for name, part in manifest.items() if name not in left_out}
