"""The messages of CSI and of the kubelet's plugin registration, as far as a node plugin needs them."""

from enum import IntEnum
from typing import Annotated

import msgspec

from paddle_operator.csi.wire import Record, at


class Empty(Record, frozen=True):
    """No field at all, or none that matters here."""


class PluginInfo(Record, frozen=True):
    """What the kubelet is told about a socket it found."""

    type: Annotated[str, at(1)] = ""
    name: Annotated[str, at(2)] = ""
    endpoint: Annotated[str, at(3)] = ""
    supported_versions: Annotated[tuple[str, ...], at(4)] = ()


class RegistrationStatus(Record, frozen=True):
    plugin_registered: Annotated[bool, at(1)] = False
    error: Annotated[str, at(2)] = ""


class GetPluginInfoResponse(Record, frozen=True):
    name: Annotated[str, at(1)] = ""
    vendor_version: Annotated[str, at(2)] = ""


class NodeGetInfoResponse(Record, frozen=True):
    node_id: Annotated[str, at(1)] = ""


class NodeAbility(IntEnum):
    """What a node plugin can do beyond publishing."""

    GET_VOLUME_STATS = 2
    VOLUME_CONDITION = 4


class NodeRpc(Record, frozen=True):
    type: Annotated[int, at(1)] = 0


class NodeCapability(Record, frozen=True):
    rpc: Annotated[NodeRpc | None, at(1)] = None


class NodeGetCapabilitiesResponse(Record, frozen=True):
    capabilities: Annotated[tuple[NodeCapability, ...], at(1)] = ()


class AccessMode(IntEnum):
    """The ways of access that allow no writing."""

    SINGLE_NODE_READER_ONLY = 2
    MULTI_NODE_READER_ONLY = 3


class Mode(Record, frozen=True):
    mode: Annotated[int, at(1)] = 0


class MountVolume(Record, frozen=True):
    fs_type: Annotated[str, at(1)] = ""
    mount_flags: Annotated[tuple[str, ...], at(2)] = ()


class VolumeCapability(Record, frozen=True):
    """A volume of blocks has a field of its own, and no `mount`."""

    mount: Annotated[MountVolume | None, at(2)] = None
    access_mode: Annotated[Mode | None, at(3)] = None


class NodePublishVolumeRequest(Record, frozen=True):
    volume_id: Annotated[str, at(1)] = ""
    target_path: Annotated[str, at(4)] = ""
    volume_capability: Annotated[VolumeCapability | None, at(5)] = None
    readonly: Annotated[bool, at(6)] = False
    secrets: Annotated[dict[str, str], at(7)] = msgspec.field(default_factory=dict)
    volume_context: Annotated[dict[str, str], at(8)] = msgspec.field(default_factory=dict)


class NodeUnpublishVolumeRequest(Record, frozen=True):
    volume_id: Annotated[str, at(1)] = ""
    target_path: Annotated[str, at(2)] = ""


class NodeGetVolumeStatsRequest(Record, frozen=True):
    volume_id: Annotated[str, at(1)] = ""
    volume_path: Annotated[str, at(2)] = ""


class Unit(IntEnum):
    """What is counted."""

    BYTES = 1
    INODES = 2


class VolumeUsage(Record, frozen=True):
    available: Annotated[int, at(1)] = 0
    total: Annotated[int, at(2)] = 0
    used: Annotated[int, at(3)] = 0
    unit: Annotated[int, at(4)] = 0


class VolumeCondition(Record, frozen=True):
    abnormal: Annotated[bool, at(1)] = False
    message: Annotated[str, at(2)] = ""


class NodeGetVolumeStatsResponse(Record, frozen=True):
    usage: Annotated[tuple[VolumeUsage, ...], at(1)] = ()
    volume_condition: Annotated[VolumeCondition | None, at(2)] = None
