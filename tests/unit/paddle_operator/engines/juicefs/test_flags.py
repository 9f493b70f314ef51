"""Command lines of JuiceFS: every option of the original, by version, and never a secret."""

import os
from urllib.parse import unquote_to_bytes

import pytest

from paddle_operator.api.juicefs import SyncOptions
from paddle_operator.engines.juicefs import flags
from paddle_operator.engines.juicefs.flags import FlagError, Version
from paddle_operator.engines.juicefs.volume import read_volume
from paddle_operator.engines.operations import Credentials

OLD, NEW = Version(0, 14, 2), Version(1, 3, 1)
KEYS = Credentials("PLANTEDaccess\n", " PLANTEDsecret\n")
VOLUME = {
    "name": "imagenet\n",
    "storage": "minio\n",
    "bucket": "http://store:9000/bucket\n",
    "metaurl": "redis://:PLANTEDpassword@redis:6379/0\n",
    "access-key": "PLANTEDaccess\n",
    "secret-key": "PLANTEDsecret\n",
}
EVERYTHING = SyncOptions(
    source="s3://b.host/x",
    destination="d",
    start="a",
    end="z",
    threads=5,
    http_port=6071,
    update=True,
    force_update=True,
    perms=True,
    dirs=True,
    dry=True,
    delete_src=True,
    delete_dst=True,
    exclude="x.*",
    include="y.*",
    manager="host:1",
    worker="one,two",
    bwlimit=8,
    no_https=True,
)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("juicefs version 0.14.2 (2021-09-05 03f36d6)", OLD),
        ("juicefs version 1.3.1+2025-12-01.abc", NEW),
        ("2026/11/16 <INFO>: hello\njuicefs version 1.0.0-beta1+x", Version(1, 0, 0)),
    ],
)
def test_a_version_is_read_from_what_juicefs_says(text: str, version: Version) -> None:
    assert flags.parse_version(text) == version


def test_what_is_no_juicefs_is_told_so() -> None:
    with pytest.raises(FlagError, match="does not tell its version"):
        flags.parse_version("hello")


def test_every_option_of_a_sync_is_given_to_juicefs() -> None:
    assert flags.sync(OLD, EVERYTHING, "/mnt/set", None).argv == (
        "juicefs", "--no-agent", "sync", "--start=a", "--end=z", "--threads=5", "--http-port=6071", "--update",
        "--force-update", "--perms", "--dirs", "--dry", "--delete-src", "--delete-dst", "--exclude=x.*",
        "--include=y.*", "--manager=host:1", "--worker=one,two", "--bwlimit=8", "--no-https",
        "s3://b.host/x/", "file:///mnt/set/",
    )  # fmt: skip


def test_the_newer_juicefs_has_another_name_for_the_manager_and_no_port() -> None:
    options = SyncOptions(source="s3://b.host/x", manager="host:1")
    assert "--manager-addr=host:1" in flags.sync(NEW, options, "/mnt", None).argv
    with pytest.raises(FlagError, match="no option http-port"):
        flags.sync(NEW, EVERYTHING, "/mnt", None)


@pytest.mark.parametrize("version", [Version(1, 0, 0), Version(1, 0, 4)])
def test_the_first_stable_juicefs_has_no_option_for_the_manager(version: Version) -> None:
    with pytest.raises(FlagError, match="has no option manager: leave it out"):
        flags.sync(version, SyncOptions(source="s3://b.host/x", manager="host:1"), "/mnt", None)


SCHEMES = ["bos", "cos", "eos", "minio", "obs", "oss", "s3", "scw"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_source_s_keys_are_in_the_environment_and_trimmed(scheme: str) -> None:
    made = flags.sync(OLD, SyncOptions(source=f"{scheme}://b.host/x"), "/mnt", KEYS)
    assert sorted(made.secrets.values()) == ["PLANTEDaccess", "PLANTEDsecret"]
    assert "PLANTED" not in f"{made.argv} {made}"


@pytest.mark.parametrize("scheme", ["ks3", "qiniu", "redis", "webdav", "gs"])
def test_keys_that_juicefs_takes_on_its_command_line_only_are_refused(scheme: str) -> None:
    with pytest.raises(FlagError, match="on its command line only") as refused:
        flags.sync(OLD, SyncOptions(source=f"{scheme}://b.host/x"), "/mnt", KEYS)
    assert "PLANTED" not in str(refused.value)


@pytest.mark.parametrize("source", ["hdfs://host/x", "file:///x", "ceph://host/x"])
def test_sources_without_keys_are_given_none(source: str) -> None:
    assert flags.sync(OLD, SyncOptions(source=source), "/mnt", KEYS).secrets == {}


BAD_SOURCES = {
    "none": (None, "needs a source"),
    "no scheme": ("bucket/x", "SCHEME"),
    "an unknown scheme": ("ftp://host/x", "SCHEME"),
    "keys": ("s3://PLANTED:secret@b.host/x", "keys in it"),
    "a control character": ("s3://b.host/x\ny", "control character"),
    "a fragment for its prefix": ("s3://b.host#x/y", "host has"),
    "a query for its prefix": ("s3://b.host?x/y", "host has"),
    "a backslash for a slash": ("s3://b.host\\x", "host has"),
    "an encoded host": ("s3://b%2ehost/x", "host has"),
    "what may be encoded or not": ("s3://b.host/a%20b", "without %"),
    "a file of another host": ("file://host/x", "file:///like/this"),
}


@pytest.mark.parametrize(("source", "words"), BAD_SOURCES.values(), ids=BAD_SOURCES.keys())
def test_a_bad_source_is_refused(source: str | None, words: str) -> None:
    with pytest.raises(FlagError, match=words) as refused:
        flags.parse_source(source)
    assert "PLANTED" not in str(refused.value)


@pytest.mark.parametrize(
    ("source", "directory"),
    [
        ("bos://b.host/imagenet/demo", "bos://b.host/imagenet/demo/"),
        ("s3://b.host", "s3://b.host/"),
        ("s3://b.host/", "s3://b.host/"),
        ("file:///data//", "file:///data/"),
    ],
)
def test_a_source_is_a_directory_and_no_prefix(source: str, directory: str) -> None:
    assert flags.parse_source(source).address == directory


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("name", ["a%20b", "a?b", "a#b", "x\\..", "00:00", "x:pw@host:22", "%2e%2e", "数据", "\udcff"])
def test_juicefs_reads_each_character_of_a_directory_as_it_is(version: Version, name: str) -> None:
    made = flags.sync(version, SyncOptions(source=f"file:///data/{name}"), f"/mnt/{name}", None)
    assert [unquote_to_bytes(word.removeprefix("file://")) for word in made.argv[-2:]] == [
        os.fsencode(f"{top}/{name}/") for top in ("/data", "/mnt")
    ]
    assert not set("?#\\@") & set("".join(made.argv[-2:]))
    assert [word.count(":") for word in made.argv[-2:]] == [1, 1]


def test_a_prefix_in_a_bucket_is_taken_literally() -> None:
    assert flags.parse_source("s3://b.host:9000/exp#1/a?b:c d").address == "s3://b.host:9000/exp%231/a%3Fb%3Ac%20d/"


@pytest.mark.parametrize("hosts", ["-oProxyCommand=id", "a b", "$(id)", "a;b", "\n"])
def test_hosts_are_hosts(hosts: str) -> None:
    with pytest.raises(FlagError, match="addresses of hosts"):
        flags.sync(OLD, SyncOptions(source="s3://b.host/x", worker=hosts), "/mnt", None)


def test_keys_never_go_to_other_hosts() -> None:
    with pytest.raises(FlagError, match="other hosts"):
        flags.sync(OLD, SyncOptions(source="s3://b.host/x", worker="other"), "/mnt", KEYS)


def test_a_part_of_a_minio_bucket_is_refused_where_juicefs_takes_it_for_the_buckets_name() -> None:
    part = SyncOptions(source="minio://store:9000/bucket/imagenet")
    with pytest.raises(FlagError, match=r"use s3://BUCKET\.ENDPOINT/PREFIX"):
        flags.sync(OLD, part, "/mnt", KEYS)
    assert "minio://store:9000/bucket/imagenet/" in flags.sync(NEW, part, "/mnt", KEYS).argv
    assert flags.sync(OLD, SyncOptions(source="minio://store:9000/bucket"), "/mnt", KEYS).argv


def test_keys_with_a_control_character_are_refused() -> None:
    with pytest.raises(FlagError, match="control character") as refused:
        flags.sync(OLD, SyncOptions(source="s3://b.host/x"), "/mnt", Credentials("PLAN\0TED", "x"))
    assert "TED" not in str(refused.value)


def test_a_value_that_looks_like_an_option_stays_a_value() -> None:
    made = flags.sync(OLD, SyncOptions(source="s3://b.host/x", exclude="--delete-src"), "/mnt", None)
    assert made.argv[3:] == ("--exclude=--delete-src", "s3://b.host/x/", "file:///mnt/")


def test_a_volume_is_formatted_without_a_secret_on_the_command_line() -> None:
    made = flags.format_volume(OLD, read_volume(VOLUME))
    assert made.argv == (
        "juicefs", "--no-agent", "format", "--no-update", "--storage=minio", "--bucket=http://store:9000/bucket",
        "redis://redis:6379/0", "imagenet",
    )  # fmt: skip
    assert made.secrets == {
        "ACCESS_KEY": "PLANTEDaccess",
        "SECRET_KEY": "PLANTEDsecret",
        "REDIS_PASSWORD": "PLANTEDpassword",
        "META_PASSWORD": "PLANTEDpassword",
    }
    assert "PLANTED" not in repr(made)


def test_what_is_removed_from_a_new_volume_does_not_count_any_more() -> None:
    assert "--trash-days=0" in flags.format_volume(NEW, read_volume(VOLUME)).argv


def test_a_volume_is_mounted_with_the_options_that_people_know() -> None:
    options: dict[str, str | bool] = {
        "cache-dir": "/a:/b",
        "cache-size": "10",
        "writeback": True,
        "enable-xattr": False,
    }
    made = flags.mount_volume(OLD, read_volume(VOLUME), options, "/mnt/x", read_only=True)
    assert made.argv == (
        "juicefs", "--no-agent", "mount", "--no-usage-report", "--no-syslog", "--cache-dir=/a:/b", "--cache-size=10",
        "--writeback", "-o", "ro", "redis://redis:6379/0", "/mnt/x",
    )  # fmt: skip
    assert "ACCESS_KEY" not in made.secrets


def test_what_a_version_lacks_is_refused_with_a_sentence() -> None:
    volume = read_volume(VOLUME)
    assert "--subdir=a" in flags.mount_volume(NEW, volume, {"sub-dir": "a"}, "/mnt").argv
    for option in ("sub-dir", "open-cache"):
        with pytest.raises(FlagError, match=f"JuiceFS 0.14.2 has no option {option}"):
            flags.mount_volume(OLD, volume, {option: "1"}, "/mnt")


@pytest.mark.parametrize("options", [{"invented": "1"}, {"cache-size": True}, {"cache-dir": "/a\nb"}])
def test_what_is_no_mount_option_is_refused(options: dict[str, str | bool]) -> None:
    with pytest.raises(FlagError):
        flags.mount_volume(NEW, read_volume(VOLUME), options, "/mnt")
