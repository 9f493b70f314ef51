"""How one object of ours names another."""

from typing import Annotated

from paddle_operator.api.fields import doc
from paddle_operator.api.formats import Label, ObjectName
from paddle_operator.api.meta import Record


class SecretReference(Record, frozen=True):
    """A Secret, by name and namespace."""

    name: Annotated[ObjectName, doc("The Secret's name.")]
    namespace: Annotated[Label | None, doc("Its namespace; this object's own if left out.")] = None


class PartialSecretReference(Record, frozen=True):
    """A Secret whose name and namespace each fall back to another's."""

    name: Annotated[ObjectName | None, doc("The Secret's name; that of spec.secretRef if left out.")] = None
    namespace: Annotated[Label | None, doc("Its namespace; that of spec.secretRef if left out.")] = None


class ObjectReference(Record, frozen=True):
    """An object that was made for this one."""

    api_version: Annotated[str | None, doc("Its group and version.")] = None
    kind: Annotated[str | None, doc("Its kind.")] = None
    name: Annotated[str | None, doc("Its name.")] = None
    namespace: Annotated[str | None, doc("Its namespace.")] = None
    uid: Annotated[str | None, doc("Its uid.")] = None
    resource_version: Annotated[str | None, doc("Its version when it was looked at.")] = None
    field_path: Annotated[str | None, doc("The part of it that is meant.")] = None
