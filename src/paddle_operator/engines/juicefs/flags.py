"""Command lines of JuiceFS 0.14 and 1.x, with everything secret in the environment instead."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from paddle_operator.api.formats import SCHEMES
from paddle_operator.api.juicefs import SyncOptions
from paddle_operator.engines.juicefs.volume import Volume
from paddle_operator.engines.operations import Credentials

PROGRAM = "juicefs"
VERSION = (PROGRAM, "--version")
VERSION_TEXT = re.compile(r"version (\d+)\.(\d+)\.(\d+)")
URI = re.compile(rf"({SCHEMES})://([^/]*)(/.*)?", re.DOTALL)
WHOLE_BUCKET = re.compile(r"minio://[^/]*/[^/]*/")
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")
# In a host's place, JuiceFS reads these as the beginning of something else.
SEPARATORS = re.compile(r"[?#%\\]")
HOSTS = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:,\[\]-]*", re.ASCII)
# Where JuiceFS looks for the keys of a source that has none in its address.
KEY_VARIABLES = {
    "bos": ("BDCLOUD_ACCESS_KEY", "BDCLOUD_SECRET_KEY"),
    "cos": ("COS_SECRETID", "COS_SECRETKEY"),
    "eos": ("EOS_ACCESS_KEY", "EOS_SECRET_KEY"),
    "minio": ("MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"),
    "obs": ("HWCLOUD_ACCESS_KEY", "HWCLOUD_SECRET_KEY"),
    "oss": ("ALICLOUD_ACCESS_KEY_ID", "ALICLOUD_ACCESS_KEY_SECRET"),
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "scw": ("SCW_ACCESS_KEY", "SCW_SECRET_KEY"),
}
# Without these, requests to S3-like servers that know no regions are signed for none, and refused.
REGIONS = {"AWS_REGION": "us-east-1", "MINIO_REGION": "us-east-1"}
# These sources have no keys; what a Secret holds for the volume is not theirs.
WITHOUT_KEYS = {"file", "hdfs", "ceph"}


class Version(NamedTuple):
    """A version of JuiceFS; compares as versions do."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return ".".join(str(number) for number in self)


class Directory(NamedTuple):
    """What a sync copies from, or into; every character of its path is meant."""

    scheme: str
    host: str
    path: str

    @property
    def address(self) -> str:
        """Write it so that JuiceFS takes it literally, and /demo not for /demo2 as well.

        It decodes %, ends a path at ? and #, turns backslashes, and takes a colon without a scheme for another host's.
        """
        return f"{self.scheme}://{self.host}{quote(self.path.rstrip('/'), errors='surrogateescape')}/"


FIRST_STABLE = Version(1, 0, 0)
FIRST_WITH_MANAGER = Version(1, 1, 0)


class FlagError(ValueError):
    """An option that cannot be given, and why, in a sentence."""


@dataclass(frozen=True)
class Invocation:
    """A program to run: its arguments are for all to see, its environment is not.

    `on_terminal`: it is to think that a person looks on, and show how far it is.
    """

    argv: tuple[str, ...]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    defaults: Mapping[str, str] = field(default_factory=dict)
    on_terminal: bool = False


def parse_version(output: str) -> Version:
    if not (found := VERSION_TEXT.search(output)):
        raise FlagError("the juicefs program does not tell its version: is it JuiceFS?")
    return Version(*(int(number) for number in found.groups()))


def format_volume(version: Version, volume: Volume) -> Invocation:
    """Make the volume, unless it is there: what is there stays as it is. What is removed from it is gone at once."""
    words = [PROGRAM, "--no-agent", "format", "--no-update", f"--storage={volume.storage}", f"--bucket={volume.bucket}"]
    words += ["--trash-days=0"] if version >= FIRST_STABLE else []
    keys = {"ACCESS_KEY": volume.access_key, "SECRET_KEY": volume.secret_key}
    given = {name: value for name, value in keys.items() if value}
    return Invocation((*words, volume.meta_address, volume.name), {**given, **volume.meta_secrets})


# What `juicefs mount` understands of the options people know; those without a value are True.
MOUNT_OPTIONS = {
    *("metrics", "attr-cache", "entry-cache", "dir-entry-cache", "get-timeout", "put-timeout", "io-retries"),
    *("max-uploads", "buffer-size", "prefetch", "cache-dir", "cache-size", "free-space-ratio", "open-cache", "sub-dir"),
}
MOUNT_SWITCHES = {"enable-xattr", "writeback", "cache-partial-only"}
SINCE_STABLE = {"open-cache", "sub-dir"}
STABLE_NAMES = {"sub-dir": "subdir", "manager": "manager-addr"}


def mount_volume(
    version: Version, volume: Volume, options: Mapping[str, str | bool], where: str, *, read_only: bool = False
) -> Invocation:
    """Mount in the foreground, where the caller sees how it ends."""
    words = [PROGRAM, "--no-agent", "mount", "--no-usage-report", "--no-syslog"]
    for name, value in sorted(options.items()):
        if name in MOUNT_SWITCHES:
            words += [f"--{name}"] if value not in {False, "false"} else []
        elif name in MOUNT_OPTIONS and not isinstance(value, bool):
            words.append(valued(version, name, value))
        else:
            raise FlagError(f"{name} is no option of juicefs mount, or lacks its value: see juiceFSMountOptions")
    words += ["-o", "ro"] if read_only else []
    return Invocation((*words, volume.meta_address, where), volume.meta_secrets)


def valued(version: Version, name: str, value: object) -> str:
    """Give an option with its value, by the name that it has in this version."""
    if CONTROL_CHARACTERS.search(str(value)):
        raise FlagError(f"{name} has a control character in it: remove it")
    if version < FIRST_STABLE:
        if name in SINCE_STABLE:
            raise FlagError(f"JuiceFS {version} has no option {name}: leave it out, or use JuiceFS 1.0 or newer")
        return f"--{name}={value}"
    return f"--{STABLE_NAMES.get(name, name)}={value}"


def warm_up(list_file: str, threads: int | None) -> Invocation:
    """Bring the files into the cache that are listed, a line each, by their absolute paths."""
    words = (PROGRAM, "--no-agent", "warmup", f"--file={list_file}")
    return Invocation((*words, f"--threads={threads}") if threads else words)


def sync(version: Version, options: SyncOptions, destination: str, credentials: Credentials | None) -> Invocation:
    """Copy a source's files below the destination, an absolute directory."""
    source = parse_source(options.source)
    if version < FIRST_STABLE and source.scheme == "minio" and not WHOLE_BUCKET.fullmatch(source.address):
        raise FlagError(f"JuiceFS {version} copies whole buckets of minio:// only: use s3://BUCKET.ENDPOINT/PREFIX")
    secrets = source_keys(source.scheme, credentials)
    words = [PROGRAM, "--no-agent", "sync"]
    given = msgspec.to_builtins(options)
    for name in SyncOptions.__struct_encode_fields__:
        value = given.get(name)
        if name not in {"source", "destination"} and value:
            words.append(sync_word(version, name, value, has_keys=bool(secrets)))
    # 1.x would colour its words, too.
    shows = version < FIRST_STABLE
    words += [source.address, Directory("file", "", destination).address]
    return Invocation(tuple(words), secrets, REGIONS, on_terminal=shows)


def sync_word(version: Version, name: str, value: object, *, has_keys: bool) -> str:
    if name == "http-port" and version >= FIRST_STABLE:
        raise FlagError(f"JuiceFS {version} has no option http-port: leave it out")
    if name == "manager" and FIRST_STABLE <= version < FIRST_WITH_MANAGER:
        raise FlagError(f"JuiceFS {version} has no option manager: leave it out, or use JuiceFS 1.1 or newer")
    if name in {"manager", "worker"}:
        if not HOSTS.fullmatch(str(value)):
            raise FlagError(f"{name} must be addresses of hosts, joined by ',': like.this,or.that")
        if has_keys:
            raise FlagError(f"with {name}, keys would be on command lines of other hosts: leave {name} out")
    return f"--{name}" if value is True else valued(version, name, value)


def parse_source(uri: str | None) -> Directory:
    if not uri:
        raise FlagError("a sync needs a source: SCHEME://BUCKET.ENDPOINT/PREFIX")
    if not (found := URI.fullmatch(uri)):
        raise FlagError("a source must be SCHEME://BUCKET.ENDPOINT/PREFIX with a scheme that JuiceFS knows")
    source = Directory(found[1], found[2], found[3] or "")
    if CONTROL_CHARACTERS.search(uri):
        raise FlagError("the source has a control character in it: remove it")
    if "@" in source.host:
        raise FlagError("the source has keys in it, for all to read: put them in a Secret, and name it in secretRef")
    if SEPARATORS.search(source.host):
        raise FlagError("the source's host has ?, #, % or \\ in it: write SCHEME://BUCKET.ENDPOINT/PREFIX")
    if source.scheme == "file" and source.host:
        raise FlagError("a file:// source must be an absolute path: file:///like/this")
    if source.scheme != "file" and "%" in source.path:
        raise FlagError("the source has % in it, itself or for another character: write each as it is, and without %")
    return source


def source_keys(scheme: str, credentials: Credentials | None) -> dict[str, str]:
    """Give the variables from which JuiceFS takes a source's keys."""
    keys = [key.strip() for key in (credentials.access_key, credentials.secret_key)] if credentials else []
    if not any(keys) or scheme in WITHOUT_KEYS:
        return {}
    if scheme not in KEY_VARIABLES:
        raise FlagError(
            f"JuiceFS takes the keys of {scheme}:// on its command line only, where all can read them:"
            " use the storage's S3 address, s3://BUCKET.ENDPOINT/PREFIX"
        )
    if any(CONTROL_CHARACTERS.search(key) for key in keys):
        raise FlagError("the source's keys have a control character in them: look at the Secret")
    return {name: key for name, key in zip(KEY_VARIABLES[scheme], keys, strict=True) if key}
