"""What a volume is: read from the kubelet's request as the official driver reads it."""

from pathlib import Path

import msgspec
import pytest

from paddle_operator.csi.errors import Code, RefusedError
from paddle_operator.csi.messages import Mode, MountVolume, NodePublishVolumeRequest, VolumeCapability
from paddle_operator.csi.places import Places
from paddle_operator.csi.volumes import Volume, directory_of, is_read_only, requested_volume, target_of

SECRET = {
    "name": "imagenet\n",
    "metaurl": "redis://:hidden-one@10.0.0.1:6379/0\n",
    "storage": "s3",
    "bucket": "https://bucket.example.org",
    "access-key": "hidden-two",
    "secret-key": "hidden-three",
}
WRITERS = VolumeCapability(MountVolume("juicefs"), Mode(5))


def request(**changed: object) -> NodePublishVolumeRequest:
    asked = NodePublishVolumeRequest(
        volume_id="ns-imagenet",
        target_path="/var/lib/kubelet/pods/1/volumes/kubernetes.io~csi/imagenet/mount",
        volume_capability=WRITERS,
        secrets=SECRET,
        volume_context={"mountOptions": "cache-dir=/dev/shm/imagenet, cache-size=100,,writeback"},
    )
    return msgspec.structs.replace(asked, **changed)


def test_options_come_from_the_attributes_and_from_the_volumes_own_mount_options() -> None:
    flags = VolumeCapability(MountVolume("juicefs", ("enable-xattr",)), Mode(5))
    volume = requested_volume(request(volume_capability=flags))
    assert volume.options == ("cache-dir=/dev/shm/imagenet", "cache-size=100", "writeback", "enable-xattr")
    assert volume.name == "imagenet"


def test_attributes_of_kubernetes_and_of_the_official_drivers_pods_do_not_matter() -> None:
    others = {"csi.storage.k8s.io/ephemeral": "false", "juicefs/mount-cpu-limit": "5"}
    assert requested_volume(request(volume_context=others)).options == ()


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        pytest.param({"volume_id": ""}, "has no csi.volumeHandle", id="no handle"),
        pytest.param({"secrets": {}}, "names no secret in csi.nodePublishSecretRef", id="no secret"),
        pytest.param({"secrets": {**SECRET, "metaurl": " \n"}}, "has no metaurl", id="an empty value"),
        pytest.param({"secrets": {**SECRET, "name": "../etc"}}, "the volume's name", id="a hostile name"),
        pytest.param(
            {"secrets": {**SECRET, "bucket": "redis://u:hidden-p@h/1"}}, "access-key", id="a login in the bucket"
        ),
        pytest.param({"secrets": {**SECRET, "bucket": "u:hidden-p@h/1"}}, "access-key", id="a login without a scheme"),
        pytest.param({"volume_context": {"subPath": "a"}}, "volumeAttributes.subPath", id="a part, by an attribute"),
        pytest.param({"secrets": {**SECRET, "token": "hidden-t"}}, "token in the secret", id="JuiceFS' cloud service"),
        pytest.param({"secrets": {**SECRET, "encrypt_rsa_key": "hidden-k"}}, "encrypt_rsa_key", id="encryption"),
        pytest.param({"volume_capability": VolumeCapability()}, "volumeMode: Filesystem", id="a volume of blocks"),
        pytest.param({"volume_capability": None}, "volumeMode: Filesystem", id="no capability"),
    ],
)
def test_a_volume_that_cannot_be_mounted_is_refused_in_a_sentence(changed: dict[str, object], sentence: str) -> None:
    with pytest.raises(RefusedError) as caught:
        requested_volume(request(**changed))
    assert caught.value.code is Code.INVALID
    assert sentence in caught.value.sentence
    assert "hidden" not in caught.value.sentence


def test_a_volume_that_is_printed_shows_no_secret() -> None:
    assert "hidden" not in f"{requested_volume(request())!r} {requested_volume(request())}"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, False, id="for many writers"),
        pytest.param({"readonly": True}, True, id="by the pod's claim"),
        pytest.param({"volume_capability": VolumeCapability(MountVolume(), Mode(3))}, True, id="ReadOnlyMany"),
        pytest.param({"volume_capability": VolumeCapability(MountVolume(), Mode(2))}, True, id="one reader"),
        pytest.param({"volume_capability": VolumeCapability(MountVolume("", ("ro",)), Mode(5))}, True, id="by options"),
        pytest.param({"volume_capability": VolumeCapability(MountVolume())}, False, id="no mode at all"),
    ],
)
def test_a_volume_is_read_only_where_any_of_three_says_so(changed: dict[str, object], *, expected: bool) -> None:
    assert is_read_only(request(**changed)) is expected


@pytest.mark.parametrize("handle", ["../../etc", "a/b", "", ".", "..", "~x", "x" * 101, "a\nb", "卷"])
def test_a_handle_that_is_no_plain_name_gets_a_directory_that_none_has(handle: str) -> None:
    directory = directory_of(handle)
    assert directory.startswith("~")
    assert "/" not in directory
    assert directory != directory_of(handle + "x")


def test_a_plain_handle_is_its_own_directory() -> None:
    assert Volume("ns-imagenet", SECRET).directory == "ns-imagenet"


@pytest.mark.parametrize(
    "path", ["/etc", "/var/lib/kubelet/pods/../../../../etc", "pods/1", "/var/lib/kubelet/plugins/x", ""]
)
def test_nothing_is_mounted_outside_of_the_kubelets_pods(path: str) -> None:
    with pytest.raises(RefusedError, match="is not below"):
        target_of(path, Places())


def test_the_kubelets_own_target_is_taken() -> None:
    assert target_of(request().target_path, Places()) == Path(request().target_path)
