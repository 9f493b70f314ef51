"""What this machine has that a cluster could leave behind, for comparing before with after."""

import os
from collections.abc import Iterable
from pathlib import Path

from localkube import cgroups, commands

Trace = dict[str, frozenset[str]]


def trace(ignore: Iterable[str] = ()) -> Trace:
    """Everything that lasts beyond a process; `ignore` are the idents of clusters that go on meanwhile."""
    ignored = tuple(ignore)
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
        what: frozenset(row for row in found if not any(ident in row for ident in ignored))
        for what, found in rows.items()
    }


def _lines(*argv: str) -> list[str]:
    return commands.run(argv).splitlines()


def _foreign_processes() -> list[str]:
    """Processes in other namespaces than ours, or in a control group of a cluster."""
    entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
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
