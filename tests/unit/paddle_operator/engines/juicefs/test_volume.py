"""A volume as its Secret describes it."""

import pytest

from paddle_operator.engines.juicefs.volume import VolumeError, read_volume, without_password

SECRET = {"name": "imagenet", "storage": "redis", "bucket": "redis://host:6379/1", "metaurl": "redis://host:6379/0"}


def test_the_line_ends_of_the_documents_are_trimmed() -> None:
    assert read_volume({name: f"{value}\n" for name, value in SECRET.items()}) == read_volume(SECRET)


def test_a_volume_that_is_there_needs_no_more_than_its_name_and_its_address() -> None:
    known = read_volume({name: SECRET[name] for name in ("name", "metaurl")})
    assert (known.name, known.storage, known.bucket) == ("imagenet", "", "")


@pytest.mark.parametrize("name", ["name", "metaurl"])
def test_what_is_missing_is_named(name: str) -> None:
    with pytest.raises(VolumeError, match=f"no {name}"):
        read_volume({**SECRET, name: " \n"})


@pytest.mark.parametrize(
    "change",
    [
        {"name": "-x"}, {"name": "Up"}, {"name": "a/b"}, {"name": "a" * 64}, {"metaurl": "--help"},
        {"bucket": "a\nb"}, {"storage": "-x"}, {"secret-key": "PLANTED\0"},
        {"metaurl": "postgres://me@host/db?sslmode=disable&password=PLANTED"},
    ],
)  # fmt: skip
def test_what_could_be_an_option_or_for_all_to_read_is_refused(change: dict[str, str]) -> None:
    with pytest.raises(VolumeError) as refused:
        read_volume({**SECRET, **change})
    assert "PLANTED" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "address", "password"),
    [
        ("redis://host:6379/0", "redis://host:6379/0", ""),
        ("redis://:secret@host:6379/0", "redis://host:6379/0", "secret"),
        ("redis://user:secret@host/0", "redis://user@host/0", "secret"),
        ("redis://user:s%40cr%2Ft@host/0", "redis://user@host/0", "s@cr/t"),
        (":secret@host:6379/0", "redis://host:6379/0", "secret"),
        ("host:6379/0", "redis://host:6379/0", ""),
        ("mysql://user:se@cret@(host:3306)/db", "mysql://user:@(host:3306)/db", "se@cret"),
        ("mysql://user@(host:3306)/db", "mysql://user@(host:3306)/db", ""),
        ("sqlite3:///var/meta.db", "sqlite3:///var/meta.db", ""),
    ],
)
def test_a_password_is_taken_out_of_the_address(url: str, address: str, password: str) -> None:
    assert without_password(url) == (address, password)


def test_a_volume_prints_without_its_secrets() -> None:
    volume = read_volume(
        {**SECRET, "metaurl": "redis://:PLANTED@h/0", "access-key": "PLANTED", "secret-key": "PLANTED"}
    )
    assert "PLANTED" not in repr(volume)
