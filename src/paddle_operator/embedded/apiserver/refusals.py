"""What the server refuses, as the Status that a real one would send."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube.request import Kind

UNPRINTED = object()


class Why(Enum):
    """The ways a field can be wrong: the word for programs, and the words for people."""

    REQUIRED = ("FieldValueRequired", "Required value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    TYPE = ("FieldValueTypeInvalid", "Invalid value")
    UNSUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    NOT_FOUND = ("FieldValueNotFound", "Not found")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")


@dataclass(frozen=True)
class Cause:
    """One thing that is wrong with an object, and where."""

    why: Why
    path: str
    detail: str = ""
    value: object = UNPRINTED

    @property
    def words(self) -> str:
        _, kind = self.why.value
        said = [kind] if self.value is UNPRINTED else [kind, printed(self.value)]
        return ": ".join([*said, self.detail] if self.detail else said)

    @property
    def manifest(self) -> Manifest:
        reason, _ = self.why.value
        return {"reason": reason, "message": self.words, "field": self.path}

    def __str__(self) -> str:
        return f"{self.path}: {self.words}"


def printed(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class RefusedError(Exception):
    """The answer is no; `status` is what is sent."""

    def __init__(self, code: HTTPStatus, reason: str, message: str, details: Manifest | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.status: Manifest = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            **({"details": details} if details else {}),
            "code": int(code),
        }


def qualified(kind: Kind, word: str) -> str:
    return f"{word}.{kind.group}" if kind.group else word


def details_of(kind: Kind, name: str) -> Manifest:
    return {"name": name, **({"group": kind.group} if kind.group else {}), "kind": kind.plural}


def not_found(kind: Kind, name: str) -> RefusedError:
    message = f'{qualified(kind, kind.plural)} "{name}" not found'
    return RefusedError(HTTPStatus.NOT_FOUND, "NotFound", message, details_of(kind, name))


def no_such_path() -> RefusedError:
    return RefusedError(HTTPStatus.NOT_FOUND, "NotFound", "the server could not find the requested resource")


def already_exists(kind: Kind, name: str) -> RefusedError:
    message = f'{qualified(kind, kind.plural)} "{name}" already exists'
    return RefusedError(HTTPStatus.CONFLICT, "AlreadyExists", message, details_of(kind, name))


def conflict(kind: Kind, name: str, why: str, word: str = "") -> RefusedError:
    message = f'Operation cannot be fulfilled on {qualified(kind, word or kind.plural)} "{name}": {why}'
    return RefusedError(HTTPStatus.CONFLICT, "Conflict", message, details_of(kind, name))


def contested(causes: Sequence[tuple[str, str]]) -> RefusedError:
    """Refuse to take fields away from others; each cause is who has it, and the field."""
    told = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": field} for who, field in causes
    ]
    noun = "conflict" if len(causes) == 1 else "conflicts"
    listed = "; ".join(f"conflict with {who}: {field}" for who, field in causes)
    message = f"Apply failed with {len(causes)} {noun}: {listed}"
    return RefusedError(HTTPStatus.CONFLICT, "Conflict", message, {"causes": told})


def invalid(kind: Kind, name: str, causes: Sequence[Cause]) -> RefusedError:
    listed = str(causes[0]) if len(causes) == 1 else f"[{', '.join(map(str, causes))}]"
    message = f'{qualified(kind, kind.kind)} "{name}" is invalid: {listed}'
    details = {**details_of(kind, name), "kind": kind.kind, "causes": [cause.manifest for cause in causes]}
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def unfit(why: str) -> RefusedError:
    message = f"the server rejected our request due to an error in our request: {why}"
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message)


def bad_request(message: str) -> RefusedError:
    return RefusedError(HTTPStatus.BAD_REQUEST, "BadRequest", message)


def forbidden(kind: Kind, name: str, why: str) -> RefusedError:
    message = f'{qualified(kind, kind.plural)} "{name}" is forbidden: {why}'
    return RefusedError(HTTPStatus.FORBIDDEN, "Forbidden", message, details_of(kind, name))


def namespace_ends(kind: Kind, key: Key) -> RefusedError:
    goes = f"namespace {key.namespace} is being terminated"
    cause = {"reason": "NamespaceTerminating", "message": goes, "field": "metadata.namespace"}
    why = f"unable to create new content in namespace {key.namespace} because it is being terminated"
    message = f'{qualified(kind, kind.plural)} "{key.name}" is forbidden: {why}'
    details = {**details_of(kind, key.name), "causes": [cause]}
    return RefusedError(HTTPStatus.FORBIDDEN, "Forbidden", message, details)


def unauthorized() -> RefusedError:
    return RefusedError(HTTPStatus.UNAUTHORIZED, "Unauthorized", "Unauthorized")


def no_version_at_birth() -> RefusedError:
    """Say it as a real server does, which takes this for a fault of its own."""
    words = "resourceVersion should not be set on objects to be created"
    return RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "", words)


def nameless_apply() -> RefusedError:
    cause = Cause(Why.REQUIRED, "fieldManager", "is required for apply patch")
    message = f'PatchOptions.meta.k8s.io "" is invalid: {cause}'
    details = {"group": "meta.k8s.io", "kind": "PatchOptions", "causes": [cause.manifest]}
    return RefusedError(HTTPStatus.UNPROCESSABLE_ENTITY, "Invalid", message, details)


def undeclared(kind: Kind, key: Key, paths: Sequence[str]) -> RefusedError:
    """Refuse to apply fields that nobody defined; a real server takes this for a fault of its own."""
    listed = [f".{path}: field not declared in schema" for path in sorted(paths)]
    words = listed[0] if len(listed) == 1 else "\n  ".join(["errors:", *listed])
    place = f"{key.namespace}/{key.name}; {kind.api_version}, Kind={kind.kind}"
    message = f"failed to create typed patch object ({place}): {words}"
    return RefusedError(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)


def expired(version: int, oldest: int) -> RefusedError:
    return RefusedError(HTTPStatus.GONE, "Expired", f"too old resource version: {version} ({oldest})")


def list_expired(*, continued: bool) -> RefusedError:
    words = "The resourceVersion for the provided list is too old."
    if continued:
        words = (
            "The provided continue parameter is too old to display a consistent list result. "
            "You can start a new list without the continue parameter."
        )
    return RefusedError(HTTPStatus.GONE, "Expired", words)


def too_new(version: int, newest: int) -> RefusedError:
    message = f"Too large resource version: {version}, current: {newest}"
    return RefusedError(HTTPStatus.GATEWAY_TIMEOUT, "Timeout", message)


def not_allowed() -> RefusedError:
    message = "the server does not allow this method on the requested resource"
    return RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, "MethodNotAllowed", message)


def unsupported_media(accepted: Sequence[str]) -> RefusedError:
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message)


def too_large() -> RefusedError:
    message = "Request entity too large: limit is 3145728"
    return RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "RequestEntityTooLarge", message)
