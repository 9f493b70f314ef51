"""The command lines that a volume becomes."""

import pytest

from paddle_operator.csi.errors import Code, RefusedError
from paddle_operator.csi.options import formatting, mounting
from paddle_operator.csi.volumes import Volume
from paddle_operator.engines.juicefs.flags import Version

SECRET = {
    "name": "imagenet",
    "metaurl": "redis://:hidden-one@10.0.0.1:6379/0",
    "storage": "s3",
    "bucket": "https://bucket.example.org",
    "access-key": "hidden-two",
    "secret-key": "hidden-three",
}
OLD, NEW = Version(0, 14, 2), Version(1, 2, 0)


def volume(*options: str) -> Volume:
    return Volume("ns-imagenet", SECRET, options)


@pytest.mark.parametrize(
    ("version", "options", "words"),
    [
        pytest.param(OLD, ["cache-dir=/c", "writeback"], ["--cache-dir=/c", "--writeback"], id="JuiceFS' own"),
        pytest.param(OLD, ["ro", "allow_other"], ["-o", "ro,allow_other"], id="the kernel's, in one word"),
        pytest.param(NEW, ["subdir=a"], ["--subdir=a"], id="by the name that it has"),
        pytest.param(NEW, ["upload-limit=10", "debug-agent"], ["--upload-limit=10", "--debug-agent"], id="newer ones"),
    ],
)
def test_an_option_reaches_who_understands_it(version: Version, options: list[str], words: list[str]) -> None:
    argv = mounting(version, volume(*options), "/stage").argv
    assert list(argv[-2 - len(words) : -2]) == words
    assert argv[-2:] == ("redis://10.0.0.1:6379/0", "/stage")


@pytest.mark.parametrize("option", ["background", "d", "-d", "--conf=/x", "a b=1", "cache-dir=a\nb", "=x", "Ro"])
def test_an_option_that_is_none_or_ours_is_refused(option: str) -> None:
    with pytest.raises(RefusedError, match="leave it out") as caught:
        mounting(OLD, volume(option), "/stage")
    assert caught.value.code is Code.INVALID


def test_an_option_without_its_value_is_refused_with_its_name() -> None:
    with pytest.raises(RefusedError, match="cache-dir"):
        mounting(OLD, volume("cache-dir"), "/stage")


@pytest.mark.parametrize("metaurl", [SECRET["metaurl"], ":hidden-one@10.0.0.1:6379/0", "mysql://u:hidden-one@(h)/db"])
def test_no_secret_is_among_the_arguments(metaurl: str) -> None:
    known = Volume("ns-imagenet", {**SECRET, "metaurl": metaurl})
    for invocation in (formatting(OLD, known, update=True), mounting(OLD, known, "/stage")):
        assert "hidden" not in " ".join(invocation.argv)
    assert set(formatting(OLD, known, update=True).secrets.values()) == {"hidden-one", "hidden-two", "hidden-three"}
    assert "hidden-one" in known.hidden()


def test_a_volume_that_is_there_gets_new_keys_or_is_left_as_it_is() -> None:
    assert "--no-update" not in formatting(OLD, volume(), update=True).argv
    assert "--no-update" in formatting(OLD, volume(), update=False).argv


def test_a_volume_that_is_there_stays_as_it_is_where_juicefs_would_change_all_of_it_but_its_keys() -> None:
    assert "--no-update" in formatting(NEW, volume(), update=True).argv
