"""Debian root file systems to build images on: made once from the packages this machine's own apt reaches."""

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from localkube import commands, errors
from localkube import packages as system
from localkube.images import archive, workshop
from localkube.images.workshop import Workshop
from localkube.paths import Home
from localkube.progress import Progress, Update

# To be raised with every change of what is made below: an older cached root file system is not the same thing.
RECIPE = 1
DEFAULT_SUITE = "bookworm"
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
APT = Path("/etc/apt")
# What to download besides packages is no part of how to reach them.
NOT_PASSED_ON = ("Acquire::IndexTargets", "Acquire::Changelogs", "Acquire::Languages")
LEFT_OUT = (
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
)
CLEAN_UP = (
    'rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/* "$1"/etc/apt/apt.conf.d/99mmdebstrap',
    'rm -f "$1"/etc/hostname "$1"/etc/resolv.conf "$1"/var/cache/debconf/*-old',
    'find "$1"/var/log -type f -delete',
)


@dataclass(frozen=True)
class Rootfs:
    reference: str
    archive: Path


def ensure(home: Home, packages: tuple[str, ...], progress: Progress) -> Rootfs:
    """Return the minimal Debian with these packages in it, as an image without history or a trace of this machine."""
    for package in packages:
        if not PACKAGE.fullmatch(package):
            raise errors.LocalkubeError(f"{package!r} cannot be the name of a Debian package")
    suite, wanted = suite_of_host(), sorted(set(packages))
    key = hashlib.sha256(f"{RECIPE} {platform.machine()} {' '.join(wanted)}".encode()).hexdigest()[:12]
    rootfs = Rootfs(f"localhost/localkube-debian:{suite}-{key}", workshop.directory(home) / f"debian-{suite}-{key}.tar")
    if not rootfs.archive.exists():
        with workshop.opened(home, "debian", progress.say) as shop:
            if not rootfs.archive.exists():
                with progress.step(f"Debian {suite} with {', '.join(wanted)} (about 30 s, once)") as update:
                    _make(shop, suite, wanted, rootfs, update)
    return rootfs


def suite_of_host() -> str:
    """Return this machine's own Debian suite, whose packages its apt knows how to get; elsewhere a fixed one."""
    return system.release().get("VERSION_CODENAME", DEFAULT_SUITE) if system.is_debian() else DEFAULT_SUITE


def trust() -> list[str]:
    """Have mmdebstrap know Debian's signatures where this machine's own apt does not."""
    return [] if system.is_debian() or not system.KEYRING.exists() else [f"--keyring={system.KEYRING}"]


def _make(shop: Workshop, suite: str, packages: list[str], rootfs: Rootfs, update: Update) -> None:
    layer, draft, settings = (shop.drafts / name for name in ("layer.tar", "image.tar", "apt.conf"))
    settings.touch(0o600)
    settings.write_text(apt_settings(commands.run(["apt-config", "dump"])))
    argv = [
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        f"--aptopt={settings}",
        *trust(),
        *(f"--dpkgopt={option}" for option in LEFT_OUT),
        *(f"--customize-hook={command}" for command in CLEAN_UP),
        *([f"--include={','.join(packages)}"] if packages else []),
        suite,
        str(layer),
        *map(str, sources(suite)),
    ]
    try:
        shop.run(argv, lambda line: update(line.removeprefix("I: ")), {"SOURCE_DATE_EPOCH": "0"}, network=True)
    except errors.CommandFailedError as error:
        said = [line for line in error.output.splitlines() if not line.startswith(("I: ", "W: "))]
        raise errors.LocalkubeError("\n".join([f"Debian {suite} cannot be made:", *said])) from None
    update("packing")
    archive.write(draft, rootfs.reference, layer)
    draft.rename(rootfs.archive)


def sources(suite: str, apt: Path = APT) -> list[Path]:
    """Return this machine's package sources that serve the suite; none of them means Debian's own servers."""
    parts = apt / "sources.list.d"
    files = [apt / "sources.list", *sorted(parts.glob("*.list")), *sorted(parts.glob("*.sources"))]
    return [file for file in files if file.is_file() and re.search(rf"\b{re.escape(suite)}\b", file.read_text())]


def apt_settings(dump: str, apt: Path = APT) -> str:
    """Return how this machine's apt reaches its servers: proxies, certificates, patience, and where its logins are."""
    passed = [line for line in dump.splitlines() if line.startswith("Acquire::") and not line.startswith(NOT_PASSED_ON)]
    logins = [f'Dir::Etc::netrc "{apt}/auth.conf";', f'Dir::Etc::netrcparts "{apt}/auth.conf.d";']
    return "\n".join([*passed, *logins, ""])
