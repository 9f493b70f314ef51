"""What strings of a certain shape let through, and what not."""

import re
from typing import Any, get_args

import pytest

from paddle_operator.api import formats

TABLE: list[tuple[str, Any, list[str], list[str]]] = [
    (
        "absolute path",
        formats.AbsolutePath,
        ["/mnt", "/a/b.c/", "/..a", "/a/...", "/.x"],
        ["", "/", "a", "/a/../b", "/.."],
    ),
    (
        "data path",
        formats.DataPath,
        ["n01514859", "a/b/", ".hidden", "a/.b", "..a"],
        ["", ".", "..", "/a", "a/../b", "../a", "a/.."],
    ),
    ("cache path", formats.CachePath, ["/cache/x", "/cache/x/*", "/cache/*"], ["cache", "/cache/../x", "/"]),
    (
        "cache directories",
        formats.CacheDirectories,
        ["/dev/shm/a:/dev/shm/b", "/data"],
        ["", "data", "/a:b", "/a:", "/a/../b"],
    ),
    ("directory name", formats.DirectoryName, ["mnist", ".x", "a b", "..."], ["", ".", "..", "a/b"]),
    (
        "quantity",
        formats.Quantity,
        ["1Gi", "512Mi", "1.5T", "100", "1e9", "500m", ".5Gi"],
        ["", "1GB", "-1Gi", "Gi", "1 Gi", "1gi"],
    ),
    (
        "data uri",
        formats.DataUri,
        ["bos://paddleflow-public.hkg.bcebos.com/imagenet/demo", "file:///mnt/a", "redis://192.168.7.227:6379/1"],
        ["bucket/prefix", "http://a/b", "s3:/bucket", "s3://", "S3://bucket"],
    ),
    (
        "location",
        formats.Location,
        ["local:///dataset/mnist", "pvc://claim/sub", "s3://b"],
        ["/dataset", "s3:/b", "://b"],
    ),
    ("ratio", formats.Ratio, ["0", "0.1", ".25", "0."], ["1", "1.0", "-0.1", "half", ""]),
    ("label", formats.Label, ["imagenet", "a-1", "1"], ["", "A", "a_b", "a.b", "-a", "a-"]),
    ("object name", formats.ObjectName, ["imagenet", "a.b-c"], ["", "A", "a..b", ".a"]),
    ("time zone", formats.TimeZone, ["Asia/Shanghai", "Etc/GMT+8", "UTC"], ["", "Asia/", "../etc/passwd", "A B"]),
    (
        "cron schedule",
        formats.CronSchedule,
        [
            "30 2 * * *",
            "*/10 * * * *",
            "0 0 1 1 0",
            "0,30 8-18/2 * * MON-FRI",
            "5 4 * jan,Jul sun",
            "0 0 ? * 7",
            "@daily",
            "@every 1h30m",
            "0  0   * * *",
        ],
        [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 8",
            "*/0 * * * *",
            "daily",
            "@often",
            "@every",
            "TZ=UTC * * * * *",
        ],
    ),
]


def pattern(kind: Any) -> str:  # noqa: ANN401  # an annotated type is no type
    found: str = get_args(kind)[1].extra_json_schema["pattern"]
    return found


@pytest.mark.parametrize(("kind", "text"), [(row[1], text) for row in TABLE for text in row[2]])
def test_it_lets_through(kind: Any, text: str) -> None:  # noqa: ANN401
    assert re.search(pattern(kind), text)


@pytest.mark.parametrize(("kind", "text"), [(row[1], text) for row in TABLE for text in row[3]])
def test_it_stops(kind: Any, text: str) -> None:  # noqa: ANN401
    assert not re.search(pattern(kind), text)


@pytest.mark.parametrize("kind", [row[1] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_pattern_can_stand_in_a_rule(kind: Any) -> None:  # noqa: ANN401
    assert "'" not in pattern(kind)
    assert pattern(kind).removeprefix("(?i)").startswith("^")
    assert pattern(kind).endswith("$")
