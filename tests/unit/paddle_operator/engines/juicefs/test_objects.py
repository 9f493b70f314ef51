"""What a SampleSet on JuiceFS is made of: the volume, the claim, and the options of the mount."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.sampleset.naming import volume_name
from paddle_operator.engines.juicefs.objects import JuiceFS, mount_options
from support.samplesnapshots import decoded

VOLUME = volume_name(decoded())


def test_the_volume_is_for_this_claim_alone_and_keeps_its_data() -> None:
    assert JuiceFS().volume(decoded()) == {
        "metadata": {
            "name": VOLUME,
            "labels": {
                "paddlepaddle.org/juicefs-imagenet": "true",
                "batch.paddlepaddle.org/sampleset": "imagenet",
                "batch.paddlepaddle.org/sampleset-namespace": "default",
                "batch.paddlepaddle.org/sampleset-uid": "uid-1",
            },
            "annotations": {"CreatedBy": "paddle-operator"},
        },
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "10Pi"},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "default",
                "name": "imagenet",
            },
            "csi": {
                "driver": "csi.juicefs.com",
                "fsType": "juicefs",
                "volumeHandle": VOLUME,
                "volumeAttributes": {"mountOptions": mount_options(decoded())},
                "nodePublishSecretRef": {"name": "imagenet", "namespace": "default"},
            },
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "paddle-operator",
            "volumeMode": "Filesystem",
        },
    }


def test_the_claim_has_the_sets_name_and_takes_this_volume_alone() -> None:
    claim = JuiceFS().claim(decoded())
    assert (claim["metadata"]["name"], claim["spec"]["volumeName"]) == ("imagenet", VOLUME)
    assert claim["spec"]["storageClassName"] == "paddle-operator"


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"namespace": "other"}, id="a set of that name in another namespace"),
        pytest.param({"uid": "uid-2"}, id="a later set of that name"),
        pytest.param({"namespace": "default-imagenet", "name": "x"}, id="a set whose namespace and name look alike"),
    ],
)
def test_no_two_sets_have_the_same_volume(other: Manifest) -> None:
    assert volume_name(decoded(metadata={"uid": "uid-9", **other})) != VOLUME


def test_the_secret_may_be_in_another_namespace() -> None:
    secret = {"name": "keys", "namespace": "vault"}
    assert JuiceFS().volume(decoded(secretRef=secret))["spec"]["csi"]["nodePublishSecretRef"] == secret


def level(path: str, size: int | None = None, medium: str = "SSD") -> Manifest:
    return {"mediumType": medium, "path": path, **({} if size is None else {"cacheSize": size})}


def options(*levels: Manifest, **given: object) -> str:
    cache = {"levels": list(levels)} if levels else None
    return mount_options(decoded(cache=cache, csi={"driver": "juicefs", "juiceFSMountOptions": given}))


def at(*directories: str) -> str:
    return "cache-dir=" + ":".join(f"{path}/{VOLUME}/cache" for path in directories)


UNLIMITED_MEMORY = ",cache-size=1073741824,free-space-ratio=0.5"
MOUNTS: dict[str, tuple[str, str]] = {
    "nothing said: in memory, half of which stays free": (
        options(), f"{at('/dev/shm')},cache-size=1073741824,free-space-ratio=0.5",
    ),
    "a disk without a size: a fifth of it stays free": (
        options(level("/data")), f"{at('/data')},cache-size=1073741824,free-space-ratio=0.2",
    ),
    "no level outgrows its size: each directory has as much as the smallest": (
        options(level("/ssd", 10), level("/hdd", 20, "HDD")),
        f"{at('/ssd', '/hdd')},cache-size=20,free-space-ratio=0.2",
    ),
    "a level's directories share its size": (
        options(level("/ssd0:/ssd1", 10), level("/hdd", 20, "HDD")),
        f"{at('/ssd0', '/ssd1', '/hdd')},cache-size=15,free-space-ratio=0.2",
    ),
    "a level without a size has as much as the others": (
        options(level("/ssd", 10), level("/hdd", None, "HDD")),
        f"{at('/ssd', '/hdd')},cache-size=20,free-space-ratio=0.2",
    ),
    "a directory in memory as an option": (
        options(**{"cache-dir": "/dev/shm/c"}), at("/dev/shm/c") + UNLIMITED_MEMORY,
    ),
    "a directory that is only called alike": (
        options(**{"cache-dir": "/dev/shmem"}), f"{at('/dev/shmem')},cache-size=1073741824,free-space-ratio=0.2",
    ),
    "three directories in two levels, one in memory": (
        options(level("/dev/shm/imagenet-0:/dev/shm/imagenet-1", None, "MEM"), level("/data/imagenet")),
        at("/dev/shm/imagenet-0", "/dev/shm/imagenet-1", "/data/imagenet") + UNLIMITED_MEMORY,
    ),
    "a directory and its size as options, with no name glued on": (
        options(**{"cache-dir": "/data/c", "cache-size": 5}), f"{at('/data/c')},cache-size=5,free-space-ratio=0.2",
    ),
    "levels have precedence": (
        options(level("/ssd", 10), **{"cache-dir": "/data/c", "cache-size": 5}),
        f"{at('/ssd')},cache-size=10,free-space-ratio=0.2",
    ),
    "0 and false can be said": (
        options(**{"attr-cache": 0, "writeback": False, "enable-xattr": True, "free-space-ratio": "0.9"}),
        f"attr-cache=0,{at('/dev/shm')},cache-size=1073741824,enable-xattr,free-space-ratio=0.9",
    ),
    "a part of the volume": (
        options(**{"sub-dir": "part"}), f"{at('/dev/shm')},cache-size=1073741824,free-space-ratio=0.5,subdir=part",
    ),
    "the same directory twice": (
        options(level("/data/"), level("/data")), f"{at('/data')},cache-size=1073741824,free-space-ratio=0.2",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("written", "expected"), MOUNTS.values(), ids=MOUNTS.keys())
def test_the_mount_has_these_options(written: str, expected: str) -> None:
    assert written == expected


HOSTILE: dict[str, Manifest] = {
    "a second option": {"csi": {"driver": "juicefs", "juiceFSMountOptions": {"metrics": "x,allow_other"}}},
    "a line end": {"csi": {"driver": "juicefs", "juiceFSMountOptions": {"sub-dir": "a\nb"}}},
    "a cache above": {"cache": {"levels": [level("/a/..:/b")]}},
    "a cache that is the root": {"cache": {"levels": [level("/")]}},
    "a relative cache": {"csi": {"driver": "juicefs", "juiceFSMountOptions": {"cache-dir": "etc"}}},
    "a cache with an option": {"cache": {"levels": [level("/a,allow_other")]}},
}


@pytest.mark.parametrize("spec", HOSTILE.values(), ids=HOSTILE.keys())
def test_an_option_that_would_be_another_is_refused_in_a_sentence(spec: Manifest) -> None:
    assert JuiceFS().problem(decoded(**spec)).count(":") <= 3
    assert JuiceFS().problem(decoded(**spec)) != ""


def test_an_honest_set_has_no_problem() -> None:
    assert JuiceFS().problem(decoded(cache={"levels": [level("/data/a-b:/b")]})) == ""


@pytest.mark.parametrize("path", ["/etc", "/", "/home", "/var/lib/kubelet"])
def test_a_cache_is_always_a_directory_of_its_own_whatever_was_named(path: str) -> None:
    """Emptying it must not harm what the user named by mistake or on purpose."""
    of = decoded(cache={"levels": [level(path)]})
    assert JuiceFS().cache_directories(of) == (f"{path.rstrip('/')}/{VOLUME}/cache",)
    assert JuiceFS().spool_directory(of) == f"{path.rstrip('/')}/{VOLUME}/spool"


LASTING = {
    "a disk behind memory": (level("/dev/shm/a", None, "MEM"), level("/data/a")),
    "a disk behind what is said to be memory": (level("/mnt/ram:/mnt/ram1", None, "MEM"), level("/data/a")),
    "a disk before memory": (level("/data/a"), level("/dev/shm/a", None, "MEM")),
}


@pytest.mark.parametrize("levels", LASTING.values(), ids=LASTING.keys())
def test_what_must_outlive_a_node_is_not_kept_in_its_memory(levels: tuple[Manifest, ...]) -> None:
    assert JuiceFS().spool_directory(decoded(cache={"levels": list(levels)})) == f"/data/a/{VOLUME}/spool"


def test_without_a_disk_everything_is_in_memory() -> None:
    assert JuiceFS().spool_directory(decoded()) == f"/dev/shm/{VOLUME}/spool"
