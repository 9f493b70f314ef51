"""The objects of a SampleSet on JuiceFS: its volume and claim, what pods mount, and the options of the mount."""

import re

import msgspec

from paddle_operator.api import names
from paddle_operator.api.juicefs import JuiceFSMountOptions
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.sampleset import MediumType, SampleSet
from paddle_operator.desired.sampleset.naming import metadata, unowned_metadata, volume_name
from paddle_operator.desired.sampleset.sources import volume_secret

# Nobody counts against it: JuiceFS is as large as its object store.
CAPACITY = {"storage": "10Pi"}
MEMORY = "/dev/shm"  # noqa: S108  # a node's, not ours
# Without a size the part of the disk that stays free is the limit; memory is dearer than disks.
UNLIMITED_MIB = 1 << 30
FREE_MEMORY, FREE_DISK = "0.5", "0.2"
# As JuiceFS calls them, where that is not what the field is called.
FLAGS = {"sub-dir": "subdir"}
SEPARATORS = re.compile(r"[,\s\x00-\x1f\x7f]")
DIRECTORIES = re.compile(r"/[^:]+(:/[^:]+)*")


class JuiceFS:
    required_keys = ("name", "storage", "metaurl", "bucket")
    metadata_key = "metaurl"

    def problem(self, sample_set: SampleSet) -> str:
        """Say which option would be taken for several, or leads elsewhere."""
        given = mount_fields(sample_set)
        for option, value in given.items():
            if isinstance(value, str) and SEPARATORS.search(value):
                return f"csi.juiceFSMountOptions.{option} has a comma, a space or a control character: leave it out"
        if not all(map(is_safe, given_directories(sample_set))):
            return "a cache's path must be absolute directories joined by ':', without '..', ',' and spaces"
        return ""

    def volume(self, sample_set: SampleSet) -> Manifest:
        """Give the volume: for this claim alone, and never deleted with what it holds."""
        secret = volume_secret(sample_set)
        own = sample_set.metadata
        return {
            "metadata": unowned_metadata(sample_set, volume_name(sample_set)),
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "capacity": CAPACITY,
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": own.namespace,
                    "name": own.name,
                },
                "csi": {
                    "driver": names.CSI_DRIVER,
                    "fsType": "juicefs",
                    "volumeHandle": volume_name(sample_set),
                    "volumeAttributes": {"mountOptions": mount_options(sample_set)},
                    "nodePublishSecretRef": {"name": secret.name, "namespace": secret.namespace},
                },
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": names.STORAGE_CLASS,
                "volumeMode": "Filesystem",
            },
        }

    def claim(self, sample_set: SampleSet) -> Manifest:
        """Give the claim, which pods know by the set's name."""
        return {
            "metadata": metadata(sample_set, sample_set.metadata.name),
            "spec": {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": CAPACITY},
                "storageClassName": names.STORAGE_CLASS,
                "volumeMode": "Filesystem",
                "volumeName": volume_name(sample_set),
            },
        }

    def data(self, sample_set: SampleSet) -> tuple[Manifest, Manifest]:
        """Mount the claim so that a client that was brought back is seen, too."""
        name = sample_set.metadata.name
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
        return volume, {"name": "data", "mountPath": f"/mnt/{name}", "mountPropagation": "HostToContainer"}

    def cache_directories(self, sample_set: SampleSet) -> tuple[str, ...]:
        return tuple(f"{root}/cache" for root in own_directories(sample_set))

    def spool_directory(self, sample_set: SampleSet) -> str:
        """Give a directory that outlives the node's restart, if any of the set's own does."""
        own, memory = own_directories(sample_set), memory_directories(sample_set)
        return f"{next((path for path in own if not path.startswith(memory)), own[0])}/spool"


def given_directories(sample_set: SampleSet) -> tuple[str, ...]:
    """Give the directories that the user names, as joined lists: of the levels or, without any, of the options."""
    levels = sample_set.spec.cache.levels if sample_set.spec.cache else ()
    options = sample_set.spec.csi.juicefs_mount_options if sample_set.spec.csi else None
    from_options = (options.cache_dir,) if options and options.cache_dir else ()
    return tuple(level.path for level in levels) or from_options


def is_safe(directories: str) -> bool:
    steps = re.split("[:/]", directories)
    return bool(DIRECTORIES.fullmatch(directories)) and not SEPARATORS.search(directories) and ".." not in steps


def own_directories(sample_set: SampleSet) -> tuple[str, ...]:
    """Give a directory of this set's own in each of those: whatever was named, emptying a cache harms nothing else."""
    return tuple(f"{path}/{volume_name(sample_set)}" for path in directories(*given_directories(sample_set)))


def memory_directories(sample_set: SampleSet) -> tuple[str, ...]:
    """Give how the paths begin that lie in the nodes' memory, by their name or by what the user says."""
    levels = sample_set.spec.cache.levels if sample_set.spec.cache else ()
    told = (level.path for level in levels if level.medium_type is MediumType.MEM)
    return tuple(f"{path}/" for path in directories(MEMORY, *told))


def directories(*joined: str) -> tuple[str, ...]:
    """Give each directory of such lists once, and the nodes' memory for none."""
    given = [path.rstrip("/") for paths in joined for path in paths.split(":")] or [MEMORY]
    return tuple(dict.fromkeys(given))


def mount_fields(sample_set: SampleSet) -> dict[str, str | int | bool]:
    """Give the options that the user set, 0 and false included, by their names."""
    options = sample_set.spec.csi.juicefs_mount_options if sample_set.spec.csi else None
    fields: dict[str, str | int | bool] = msgspec.to_builtins(options or JuiceFSMountOptions())
    return fields


def mount_options(sample_set: SampleSet) -> str:
    """Give the options as the driver takes them: sorted, so that the same set has the same ones every time."""
    fields = {"cache-size": UNLIMITED_MIB, "free-space-ratio": _free(sample_set), **mount_fields(sample_set)}
    fields["cache-dir"] = ":".join(JuiceFS().cache_directories(sample_set))
    if size := _size(sample_set):
        fields["cache-size"] = size
    flags = {FLAGS.get(name, name): value for name, value in fields.items()}
    return ",".join(_option(name, value) for name, value in sorted(flags.items()) if value is not False)


def _size(sample_set: SampleSet) -> int:
    """Give the size of all levels together with which none outgrows its own: JuiceFS gives each directory the same."""
    levels = sample_set.spec.cache.levels if sample_set.spec.cache else ()
    shares = [level.cache_size // len(directories(level.path)) for level in levels if level.cache_size]
    return max(min(shares), 1) * len(own_directories(sample_set)) if shares else 0


def _free(sample_set: SampleSet) -> str:
    memory = memory_directories(sample_set)
    return FREE_MEMORY if any(path.startswith(memory) for path in own_directories(sample_set)) else FREE_DISK


def _option(name: str, value: str | int | bool) -> str:  # noqa: FBT001  # an option's value
    return name if value is True else f"{name}={value}"
