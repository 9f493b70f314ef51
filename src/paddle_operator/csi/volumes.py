"""What a volume is, read from the kubelet's request as the official driver reads it; pure."""

import hashlib
import re
from pathlib import Path

import msgspec

from paddle_operator.csi.errors import Code, RefusedError
from paddle_operator.csi.messages import AccessMode, MountVolume, NodePublishVolumeRequest
from paddle_operator.csi.places import Places
from paddle_operator.engines.juicefs.volume import Volume as JuiceFS
from paddle_operator.engines.juicefs.volume import VolumeError, read_volume

PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
LOGIN = re.compile(r"(^|//)[^/]*:[^/]*@")
OPTIONS = "mountOptions"
# Kubernetes' own, and what the official driver is told of its pods: there are none of these here.
NOT_FOR_US = ("csi.storage.k8s.io/", "storage.kubernetes.io/", "juicefs/")
# Without these the data would be elsewhere, or would be there for all to read.
NOT_TAKEN = ("token", "encrypt_rsa_key")
READ_ONLY = "ro"
READERS = frozenset(AccessMode)


class Volume(msgspec.Struct, frozen=True):
    """A volume with all that mounting it takes: the secret's values as they came, and options of `juicefs mount`."""

    handle: str
    secrets: dict[str, str]
    options: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Volume({self.handle!r})"

    @property
    def directory(self) -> str:
        return directory_of(self.handle)

    @property
    def name(self) -> str:
        return self.juicefs.name

    @property
    def juicefs(self) -> JuiceFS:
        try:
            known = read_volume(self.secrets)
        except VolumeError as error:
            raise RefusedError(Code.INVALID, f"volume {self.handle}: {error}") from None
        if LOGIN.search(known.bucket):
            words = "bucket in its secret has a password in it, for all to read: put it in access-key and secret-key"
            raise RefusedError(Code.INVALID, f"volume {self.handle}: {words}")
        return known

    def hidden(self) -> list[str]:
        """Give what nobody may read."""
        known = self.juicefs
        return [*known.meta_secrets.values(), known.access_key, known.secret_key]


def directory_of(handle: str) -> str:
    """Name a volume's directory: as the volume, if that is a plain name, else by a hash, which no plain name is."""
    return handle if PLAIN.fullmatch(handle) else "~" + hashlib.sha256(handle.encode()).hexdigest()


def requested_volume(request: NodePublishVolumeRequest) -> Volume:
    if not request.volume_id:
        raise RefusedError(Code.INVALID, "the PersistentVolume has no csi.volumeHandle")
    if not request.secrets:
        words = "names no secret in csi.nodePublishSecretRef, or that secret is empty"
        raise RefusedError(Code.INVALID, f"the PersistentVolume of {request.volume_id} {words}")
    refuse_what_is_not_taken(request)
    written = request.volume_context.get(OPTIONS, "").split(",")
    options = [option.strip() for option in (*written, *mounted(request).mount_flags)]
    volume = Volume(request.volume_id, dict(request.secrets), tuple(option for option in options if option))
    _ = volume.juicefs  # what is wrong with the secret is said before anything is done
    return volume


def refuse_what_is_not_taken(request: NodePublishVolumeRequest) -> None:
    """Refuse what would be left out silently, while a pod sees or writes what was not meant."""
    for name in sorted(request.volume_context):
        if name != OPTIONS and not name.startswith(NOT_FOR_US):
            words = "cannot be had with this driver: remove it; for a part of it, use subPath in the pod's volumeMounts"
            raise RefusedError(Code.INVALID, f"volumeAttributes.{name} of volume {request.volume_id} {words}")
    for name in NOT_TAKEN:
        if request.secrets.get(name, "").strip():
            words = "cannot be had with this driver: use the official one"
            raise RefusedError(Code.INVALID, f"{name} in the secret of volume {request.volume_id} {words}")


def mounted(request: NodePublishVolumeRequest) -> MountVolume:
    """Give how the volume is to be mounted; JuiceFS has files, not blocks."""
    capability = request.volume_capability
    if capability is None or capability.mount is None:
        raise RefusedError(Code.INVALID, "JuiceFS has no block volumes: set volumeMode: Filesystem")
    return capability.mount


def is_read_only(request: NodePublishVolumeRequest) -> bool:
    """Tell it by the claim in the pod, by the access mode, or by the mount options: each may say so alone."""
    capability = request.volume_capability
    mode = capability.access_mode.mode if capability is not None and capability.access_mode is not None else 0
    return request.readonly or mode in READERS or READ_ONLY in mounted(request).mount_flags


def target_of(path: str, places: Places) -> Path:
    """Accept only what is the kubelet's to give: we mount there, and take mounts away."""
    target = Path(path)
    if not target.is_relative_to(places.pods) or ".." in target.parts:
        raise RefusedError(Code.INVALID, f"{path!r} is not below {places.pods}: is --kubelet-dir the kubelet's?")
    return target
