"""A volume as command lines of JuiceFS; pure."""

import re

from paddle_operator.csi.errors import Code, RefusedError
from paddle_operator.csi.volumes import Volume
from paddle_operator.engines.juicefs import flags
from paddle_operator.engines.juicefs.flags import FIRST_STABLE, FlagError, Invocation, Version

NAME = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
# What the kernel is told; all else is for JuiceFS itself.
FUSE = frozenset(
    {
        *(
            "ro",
            "rw",
            "allow_other",
            "allow_root",
            "default_permissions",
            "nonempty",
            "max_read",
            "user_id",
            "group_id",
        ),
        *("atime", "noatime", "dev", "nodev", "suid", "nosuid", "exec", "noexec", "sync", "async", "dirsync", "debug"),
    }
)
KEEP = "--no-update"
OTHER_NAMES = {"subdir": "sub-dir"}
# The plugin sees to it that the client runs: it must not leave.
OURS = frozenset({"background", "d"})


def formatting(version: Version, volume: Volume, *, update: bool) -> Invocation:
    """Make a volume that is not there; one that is stays as it is, or with `update` gets the secret's keys.

    From 1.0 on, JuiceFS takes keys for a volume that is there on its command line only, where all can read them.
    """
    invocation = flags.format_volume(version, volume.juicefs)
    updates = update and version < FIRST_STABLE
    kept = tuple(word for word in invocation.argv if not (updates and word == KEEP))
    return Invocation(kept, invocation.secrets, invocation.defaults)


def mounting(version: Version, volume: Volume, where: str) -> Invocation:
    """Give the command; options that our list of JuiceFS' does not have are given to it as they are."""
    listed: dict[str, str | bool] = {}
    others: list[str] = []
    kernels: list[str] = []
    for option in volume.options:
        name, value = parsed(option)
        if name in FUSE:
            kernels.append(option)
        elif name in flags.MOUNT_OPTIONS | flags.MOUNT_SWITCHES:
            listed[name] = value
        else:
            others.append(f"--{name}" if value is True else f"--{name}={value}")
    try:
        invocation = flags.mount_volume(version, volume.juicefs, listed, where)
    except FlagError as error:
        raise RefusedError(Code.INVALID, f"volume {volume.handle}: {error}") from None
    *words, address, place = invocation.argv
    kernel = ("-o", ",".join(kernels)) if kernels else ()
    return Invocation((*words, *others, *kernel, address, place), invocation.secrets, invocation.defaults)


def parsed(option: str) -> tuple[str, str | bool]:
    """Read `name` or `name=value`."""
    name, has_value, value = option.partition("=")
    if not NAME.fullmatch(name) or name in OURS or UNPRINTABLE.search(value):
        raise RefusedError(Code.INVALID, f"{option!r} in mountOptions cannot be given to juicefs mount: leave it out")
    return OTHER_NAMES.get(name, name), value if has_value else True
