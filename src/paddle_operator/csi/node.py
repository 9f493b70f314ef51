"""The calls that the kubelet makes to a node plugin."""

from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from paddle_operator.api.names import CSI_DRIVER
from paddle_operator.csi import mounttable
from paddle_operator.csi.errors import Code, NoAnswerError, RefusedError
from paddle_operator.csi.messages import (
    Empty,
    GetPluginInfoResponse,
    NodeAbility,
    NodeCapability,
    NodeGetCapabilitiesResponse,
    NodeGetInfoResponse,
    NodeGetVolumeStatsRequest,
    NodeGetVolumeStatsResponse,
    NodePublishVolumeRequest,
    NodeRpc,
    NodeUnpublishVolumeRequest,
    Unit,
    VolumeCondition,
    VolumeUsage,
)
from paddle_operator.csi.probing import observe_usage
from paddle_operator.csi.volumes import is_read_only, requested_volume, target_of
from paddle_operator.csi.watch import Watch
from paddle_operator.csi.wire import Services, method


@dataclass(frozen=True)
class NodePlugin:
    node_name: str
    watch: Watch

    def services(self) -> Services:
        return {
            "csi.v1.Identity": {
                "GetPluginInfo": method(
                    Empty, lambda _: GetPluginInfoResponse(CSI_DRIVER, metadata.version("paddle-operator"))
                ),
                "GetPluginCapabilities": method(Empty, lambda _: Empty()),
                "Probe": method(Empty, lambda _: Empty()),
            },
            "csi.v1.Node": {
                "NodeGetInfo": method(Empty, lambda _: NodeGetInfoResponse(self.node_name)),
                "NodeGetCapabilities": method(Empty, lambda _: abilities()),
                "NodePublishVolume": method(NodePublishVolumeRequest, self.publish),
                "NodeUnpublishVolume": method(NodeUnpublishVolumeRequest, self.unpublish),
                "NodeGetVolumeStats": method(NodeGetVolumeStatsRequest, self.observe_stats),
            },
        }

    def publish(self, request: NodePublishVolumeRequest) -> Empty:
        volume = requested_volume(request)
        target = target_of(request.target_path, self.watch.ground.places)
        stage = self.watch.stage(volume.handle)
        stage.publish(volume, target, read_only=is_read_only(request))
        self.watch.follow(stage)
        return Empty()

    def unpublish(self, request: NodeUnpublishVolumeRequest) -> Empty:
        target = target_of(request.target_path, self.watch.ground.places)
        self.watch.stage(request.volume_id).unpublish(target)
        return Empty()

    def observe_stats(self, request: NodeGetVolumeStatsRequest) -> NodeGetVolumeStatsResponse:
        ground = self.watch.ground
        place = target_of(request.volume_path, ground.places)
        if not mounttable.layers(ground.node.mounts(), place):
            raise RefusedError(Code.NOT_FOUND, f"nothing is mounted at {place}")
        return self._usage(place)

    def _usage(self, place: Path) -> NodeGetVolumeStatsResponse:
        try:
            found = observe_usage(self.watch.ground.questions, place)
        except NoAnswerError:
            return abnormal("the volume does not answer: its client waits for the metadata engine or is hung")
        except OSError as error:
            return abnormal(f"the volume has no client now, and is being brought back ({error.strerror})")
        size, nodes = found.f_frsize, found.f_files
        used = (found.f_blocks - found.f_bfree) * size
        bytes_used = VolumeUsage(found.f_bavail * size, found.f_blocks * size, used, Unit.BYTES)
        inodes_used = VolumeUsage(found.f_favail, nodes, nodes - found.f_ffree, Unit.INODES)
        return NodeGetVolumeStatsResponse((bytes_used, inodes_used), VolumeCondition(False, "the volume is served"))


def abilities() -> NodeGetCapabilitiesResponse:
    return NodeGetCapabilitiesResponse(tuple(NodeCapability(NodeRpc(ability)) for ability in NodeAbility))


def abnormal(why: str) -> NodeGetVolumeStatsResponse:
    return NodeGetVolumeStatsResponse((), VolumeCondition(True, why))
