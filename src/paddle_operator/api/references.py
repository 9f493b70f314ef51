"""How one object of ours names another."""

from enum import StrEnum
from typing import Annotated

from paddle_operator.api.fields import doc
from paddle_operator.api.formats import AbsolutePath, Label, ObjectName
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


class Placement(StrEnum):
    """Whether a worker must run where its part of the data is cached."""

    REQUIRED = "Required"
    PREFERRED = "Preferred"


class SampleSetReference(Record, frozen=True):
    """The SampleSet that a job trains on, and where its pods see it."""

    name: Annotated[Label, doc("The SampleSet's name; it must be in the job's namespace.", minLength=1)]
    mount_path: Annotated[AbsolutePath, doc("The directory of the data in the containers of every pod.")]
    namespace: Annotated[
        Label | None, doc("The SampleSet's namespace; only the job's own can work, as pods mount claims of their own.")
    ] = None
    placement: Annotated[
        Placement | None,
        doc(
            "Whether worker i must run on the node that caches partition i (Required, the default), or does so only"
            " if there is room (Preferred)."
        ),
    ] = None
    timeout_seconds: Annotated[
        int | None,
        doc("Fail the job if the SampleSet is not ready after so many seconds; wait for ever if left out.", minimum=1),
    ] = None
