"""What every object has, whatever its kind, as structs: metadata, owners and conditions."""

import datetime as dt
from typing import Annotated

import msgspec

Timestamp = Annotated[dt.datetime, msgspec.Meta(tz=True)]


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Part of an object as JSON has it: camelCase, unknown fields ignored, absent fields left out."""


class OwnerReference(Record, frozen=True):
    """The object that this one goes away with."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Record, frozen=True):
    """The part of an object's metadata that a controller reads."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class Condition(Record, frozen=True):
    """One thing that is true, false or unknown of an object, since when, and why."""

    type: Annotated[str, msgspec.Meta(description="What it is about, in CamelCase.")]
    status: Annotated[str, msgspec.Meta(description="True, False or Unknown.")]
    reason: Annotated[str, msgspec.Meta(description="Why, in one CamelCase word for programs.")] = ""
    message: Annotated[str, msgspec.Meta(description="Why, in a sentence for people.")] = ""
    last_transition_time: Annotated[Timestamp | None, msgspec.Meta(description="When the status last changed.")] = None
    last_update_time: Annotated[
        Timestamp | None, msgspec.Meta(description="When the reason or the message last changed.")
    ] = None
    observed_generation: Annotated[
        int | None, msgspec.Meta(description="The generation of the object that this was said of.")
    ] = None


class Resource(Record, frozen=True):
    """An object of the API server, less its spec and status."""

    api_version: Annotated[str, msgspec.Meta(description="The group and version of this kind.")]
    kind: Annotated[str, msgspec.Meta(description="The kind of this object.")]
    metadata: Annotated[ObjectMeta, msgspec.Meta(description="Standard object metadata.")]
