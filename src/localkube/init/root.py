"""A node's file tree: its own disk as /, with this machine's programs in it, read-only."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from localkube import cgroups, commands, errors
from localkube.paths import NodePaths

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
OWN = ("dev", "proc", "sys", "run", "tmp", "mnt", "root", "home", "opt", "srv", "etc", "var/lib/kubelet", "var/log")
# Enough of /etc for programs to run; none of this machine's secrets.
COPIED = ("group", "ld.so.cache", "ld.so.conf", "nsswitch.conf", "os-release", "passwd", "protocols", "services")
BOUND = ("alternatives", "ld.so.conf.d", "ssl/certs")
# What e2fsck ends with when it found errors and corrected them.
MENDED = 1
BINARIES = Path("/opt/localkube/bin")
CNI_BINARIES = Path("/opt/cni/bin")
LAYERS = Path("/opt/localkube/layers")
# The kubelet sets these for the whole machine. It finds its own values here instead, and leaves the machine's alone.
KERNEL_TUNABLES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def mount(*words: str) -> None:
    commands.run(["mount", *words])


def bind(source: Path, target: Path, *, read_only: bool = False) -> None:
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount("--bind", str(source), str(target))
    if read_only:
        mount("-o", "remount,bind,ro", str(target))


def enter(node: NodePaths, name: str, shown: Mapping[Path, Path]) -> None:
    """Mount the node's disk, furnish it, and make it this process's root.

    `shown`: directories of this machine that are only read, by their places in the node.
    """
    root = node.mountpoint
    root.mkdir(exist_ok=True)
    mount_disk(node.disk, root)
    for directory in OWN:
        (root / directory).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)
    for directory in SYSTEM:
        _furnish_system(Path("/") / directory, root / directory)
    _furnish_etc(root / "etc", name)
    for inside, outside in shown.items():
        bind(outside, root / inside.relative_to("/"), read_only=True)
    bind(node.settings, root / "etc/localkube", read_only=True)
    bind(node.logs, root / "var/log/localkube")
    mount_kernel(root)
    change_root(root)


def mount_disk(image: Path, target: Path) -> None:
    """Mount it; the kernel lets go of the device with the mount."""
    device = _attach(image)
    try:
        _repair(device)
        mount("-t", "ext4", "-o", "noatime,nodiscard", device, str(target))
    finally:
        commands.run(["losetup", "--detach", device])


def _repair(device: str) -> None:
    """Mend what a crash of the whole machine left; a disk that was let go of in order takes no time."""
    try:
        commands.run(["e2fsck", "-p", device])
    except errors.CommandFailedError as error:
        if error.code != MENDED:
            raise


def _attach(image: Path) -> str:
    """Prefer direct I/O, so that the machine does not hold every page twice; not every file system has it."""
    attach = ["losetup", "--find", "--show", str(image)]
    try:
        return commands.run([*attach, "--direct-io=on"]).strip()
    except errors.CommandFailedError:
        return commands.run(attach).strip()


def _furnish_system(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.unlink(missing_ok=True)
        target.symlink_to(source.readlink())
    elif source.is_dir():
        bind(source, target, read_only=True)


def _furnish_etc(target: Path, name: str) -> None:
    for file in COPIED:
        if (source := Path("/etc") / file).is_file():
            shutil.copyfile(source, target / file)
    for directory in BOUND:
        if (source := Path("/etc") / directory).is_dir():
            bind(source, target / directory, read_only=True)
    (target / "hostname").write_text(f"{name}\n")
    (target / "hosts").write_text(f"127.0.0.1 localhost\n::1 localhost\n127.0.1.1 {name}\n")
    (target / "resolv.conf").write_text("")
    identity = target / "machine-id"
    if not identity.exists():
        identity.write_text(os.urandom(16).hex() + "\n")


def mount_kernel(root: Path) -> None:
    mount("-t", "proc", "proc", str(root / "proc"))
    mount("-t", "sysfs", "sysfs", str(root / "sys"))
    mount_cgroups(root / "sys/fs/cgroup")
    mount("--rbind", "/dev", str(root / "dev"))
    for directory, size in (("dev/shm", "50%"), ("run", "10%")):
        (root / directory).mkdir(exist_ok=True)
        mount("-t", "tmpfs", "-o", f"mode=1777,size={size}" if "shm" in directory else f"mode=755,size={size}",
              "tmpfs", str(root / directory))  # fmt: skip
    (root / "run/lock").mkdir()
    tunables = root / "run/localkube"
    tunables.mkdir()
    for setting, value in KERNEL_TUNABLES.items():
        file = tunables / setting.replace("/", ".")
        file.write_text(value)
        bind(file, root / "proc/sys" / setting)


def mount_cgroups(target: Path) -> None:
    """Show the node its own part of each hierarchy as the whole, at the places where this machine has them."""
    hierarchies = cgroups.mounted()
    if all(hierarchy.mountpoint != cgroups.PLACE for hierarchy in hierarchies):
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(target))
    for hierarchy in hierarchies:
        place = target / hierarchy.mountpoint.relative_to(cgroups.PLACE)
        place.mkdir(exist_ok=True)
        if hierarchy.version == 1:
            mount("-t", "cgroup", "-o", hierarchy.options, "cgroup", str(place))
        else:
            mount("-t", "cgroup2", "cgroup2", str(place))


def change_root(root: Path) -> None:
    old = root / "mnt/.old"
    old.mkdir(exist_ok=True)
    mount("--make-rprivate", "/")
    os.chdir(root)
    commands.run(["pivot_root", ".", "mnt/.old"])
    os.chdir("/")
    commands.run(["umount", "--lazy", "/mnt/.old"])
    Path("/mnt/.old").rmdir()
    mount("--make-rshared", "/")
