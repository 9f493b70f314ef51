"""What this machine has that a cluster could leave behind, for comparing before with after."""

import os
import re
from pathlib import Path

from localkube import cgroups, commands, spec

Trace = dict[str, frozenset[str]]


def trace(own: str) -> Trace:
    """Everything that lasts beyond a process, but what is of clusters of another ident: they come and go meanwhile."""
    ignored = _marks_of_others(own)
    rows = {
        "processes": _foreign_processes(),
        "mounts": Path("/proc/self/mountinfo").read_text().splitlines(),
        "links": _lines("ip", "-oneline", "-brief", "link"),
        "routes": [
            *_lines("ip", "route", "show", "table", "all"),
            *_lines("ip", "-6", "route", "show", "table", "all"),
        ],
        "rules": [*_lines("nft", "list", "ruleset"), *_lines("ip", "rule")],
        "groups": _groups(),
        "loops": _lines("losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE"),
        "sysctls": _sysctls(),
    }
    return {
        what: frozenset(row for row in found if not any(mark in row for mark in ignored))
        for what, found in rows.items()
    }


def _marks_of_others(own: str) -> set[str]:
    """Give what the rows about other clusters contain: idents, and where that is not in a row, networks and disks."""
    groups = {
        path.name for root in cgroups.group_paths("") if root.is_dir() for path in root.iterdir() if path.is_dir()
    }
    idents = groups - {own}
    networks = re.findall(
        r"inet (10\.\d+)\.0\.254/24 .* lk([0-9a-f]{8})\\", commands.run(["ip", "-o", "-4", "address"])
    )
    disks = re.findall(r"(\S+)/nodes/[^/]+/disk\.img", commands.run(["losetup", "--list", "--output", "BACK-FILE"]))
    return {
        *idents,
        *(f"{block}.0.0/16 " for block, ident in networks if ident in idents),
        *(f"{root}/nodes/" for root in disks if spec.ident_of(Path(root)) in idents),
    }


def _lines(*argv: str) -> list[str]:
    return commands.run(argv).splitlines()


def _foreign_processes() -> list[str]:
    """Processes in other namespaces than ours, or in a control group of a cluster; those of other test runs aside."""
    entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and not _is_of_another_run(entry)]
    return [row for row in map(_foreign, entries) if row]


def _foreign(entry: Path) -> str | None:
    try:
        own = [Path(f"/proc/self/ns/{kind}").readlink() for kind in ("net", "mnt", "pid")]
        its = [(entry / "ns" / kind).readlink() for kind in ("net", "mnt", "pid")]
        groups = (entry / "cgroup").read_text()
        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None  # ended meanwhile, or a zombie that only its parent can remove
    if not command or (own == its and f"/{cgroups.PARENT}/" not in groups):
        return None
    return f"{entry.name} {command} {groups}".replace("\n", " ")


def _is_of_another_run(entry: Path) -> bool:
    """Tell whether a pytest started it that is not this one: what a cluster leaves behind has no such parent."""
    while entry.name not in {"0", "1", str(os.getpid())}:
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            return False
        if any(Path(os.fsdecode(word)).name in {"pytest", "py.test"} for word in words[:3]):
            return True
        entry = entry.with_name(parent)
    return False


def _groups() -> list[str]:
    roots = [hierarchy.mountpoint / cgroups.PARENT for hierarchy in cgroups.mounted()]
    return [directory for root in roots for directory, _, _ in os.walk(root) if directory != str(root)]


def _sysctls() -> list[str]:
    """The machine-wide settings that a kubelet or a proxy would like to change."""
    names = (
        "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
        "net/ipv4/ip_forward", "net/netfilter/nf_conntrack_max",
    )  # fmt: skip
    paths = [Path("/proc/sys") / name for name in names]
    return [f"{path} {path.read_text().strip()}" for path in paths if path.exists()]
