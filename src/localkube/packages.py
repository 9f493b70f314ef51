"""The system programs a cluster runs on: what is missing, and getting it where apt-get can."""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from localkube import commands, errors, lock
from localkube.progress import Progress

# Where administrators' programs are; a plain user's PATH, also after `su`, often lacks them.
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
CNI_PLUGINS = ("ptp", "host-local", "portmap", "loopback")
CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
UPDATE_LIMIT, INSTALL_LIMIT = 600.0, 1800.0
# Of the machine: so are the packages, whoever installs them.
LOCK = Path("/run/localkube-packages.lock")
WAITING = "Another localkube is installing packages; waiting for it to finish."


@dataclass(frozen=True)
class Package:
    """A package as Debian names it, and what we need of it."""

    name: str
    programs: tuple[str, ...]


PROGRAMS = (
    Package("containerd", ("containerd", "ctr")),
    Package("runc", ("runc",)),
    Package("nftables", ("nft",)),
    Package("iproute2", ("ip", "tc")),
    Package("conntrack", ("conntrack",)),
    Package("iptables", ("iptables",)),
    Package("mount", ("losetup", "mount", "umount")),
    Package("e2fsprogs", ("mkfs.ext4",)),
    Package("util-linux", ("unshare", "nsenter", "setpriv", "pivot_root")),
    Package("buildah", ("buildah",)),
    Package("mmdebstrap", ("mmdebstrap",)),
    Package("busybox-static", ("busybox",)),
)
CNI = "containernetworking-plugins"
OS_RELEASE = Path("/etc/os-release")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# What a system that is not Debian lacks to make one.
OF_DEBIAN = (Package("debian-archive-keyring", (str(KEYRING),)), Package("gpg", ("gpg",)))

# Installing must change no service of this machine: none is started, and none that runs is restarted.
_QUIET = {
    "DEBIAN_FRONTEND": "noninteractive",
    "SYSTEMD_OFFLINE": "1",  # systemctl ignores start and restart
    "RUNLEVEL": "1",  # the same for init scripts
    "NEEDRESTART_SUSPEND": "1",  # no restarts of what uses an upgraded library
}
_APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=120")
# What is installed is neither replaced nor upgraded, and its settings stay.
_INSTALL = (
    *_APT,
    "-o",
    "Dpkg::Options::=--force-confold",
    "install",
    "--no-install-recommends",
    "--no-remove",
    "--no-upgrade",
)


def ensure(progress: Progress) -> None:
    """Have every program, and have it found by its name from here on."""
    extend_path()
    absent = missing()
    if not absent:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise errors.LocalkubeError(f"{lack(absent)}: install {_names(absent)} (the names are Debian's) and try again")
    with lock.exclusive(LOCK, WAITING, progress.say):
        if absent := missing():  # who held the lock may have installed them
            with progress.step(f"installing {_names(absent)}") as update:
                _install([package.name for package in absent], update)
    if still := missing():
        raise errors.LocalkubeError(f"{lack(still)}, although {_names(still)} is installed")


def extend_path() -> None:
    """Let programs be found by their names in the administrators' directories too."""
    os.environ["PATH"] = search_path(os.environ.get("PATH", ""))


def search_path(path: str) -> str:
    known = [directory for directory in path.split(os.pathsep) if directory]
    return os.pathsep.join([*known, *(directory for directory in SYSTEM_PATH if directory not in known)])


def release() -> dict[str, str]:
    """Read which system this is, and of which version."""
    lines = OS_RELEASE.read_text().splitlines() if OS_RELEASE.exists() else []
    return {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}


def is_debian() -> bool:
    return release().get("ID") == "debian"


def missing() -> list[Package]:
    path = search_path(os.environ.get("PATH", ""))

    def present(what: str) -> bool:
        return Path(what).is_file() if what.startswith("/") else shutil.which(what, path=path) is not None

    return lacking(present, CNI_DIRECTORIES, PROGRAMS if is_debian() else (*PROGRAMS, *OF_DEBIAN))


def lacking(
    present: Callable[[str], bool], cni_directories: Iterable[Path], wanted: Iterable[Package] = PROGRAMS
) -> list[Package]:
    """Give each package that something is missing of, with what is missing."""
    found = [
        Package(package.name, absent)
        for package in wanted
        if (absent := tuple(program for program in package.programs if not present(program)))
    ]
    if complete_directory(cni_directories) is None:
        found.append(Package(CNI, tuple(f"the CNI plugin {plugin}" for plugin in CNI_PLUGINS)))
    return found


def cni_directory() -> Path:
    directory = complete_directory(CNI_DIRECTORIES)
    if directory is None:
        raise errors.LocalkubeError(f"no directory has the CNI plugins {', '.join(CNI_PLUGINS)}: install {CNI}")
    return directory


def complete_directory(candidates: Iterable[Path]) -> Path | None:
    """Find one that has them all, since a node sees only one."""
    for directory in candidates:
        if all(os.access(directory / plugin, os.X_OK) for plugin in CNI_PLUGINS):
            return directory
    return None


def lack(absent: Sequence[Package]) -> str:
    programs = [program for package in absent for program in package.programs]
    return f"this machine lacks {', '.join(programs)}"


def _names(absent: Iterable[Package]) -> str:
    return ", ".join(package.name for package in absent)


def _install(names: Sequence[str], update: Callable[[str], None]) -> None:
    """One broken source among many fails the update, but need not be the one we install from."""
    update("reading the package lists")
    stale = ""
    try:
        commands.run([*_APT, "update"], timeout=UPDATE_LIMIT, environment=_QUIET)
    except errors.CommandFailedError as error:
        stale = f" (and before that, {error})"
    update("apt-get install")
    try:
        commands.run([*_INSTALL, *names], timeout=INSTALL_LIMIT, environment=_QUIET)
    except errors.CommandFailedError as error:
        raise errors.LocalkubeError(f"{', '.join(names)} could not be installed: {error}{stale}") from None
