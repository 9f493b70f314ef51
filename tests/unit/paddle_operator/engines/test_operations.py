"""The records of a runtime server's interface."""

import msgspec
import pytest

from paddle_operator.engines.operations import (
    Credentials,
    Operation,
    Order,
    RmrOrder,
    SyncOrder,
    WarmupOrder,
    is_id,
    type_of,
    without_credentials,
)
from paddle_operator.engines.reports import Report


def test_an_order_has_the_words_of_a_samplejob() -> None:
    text = b'{"type":"sync","source":"s3://b.host/x","delete-dst":true,"credentials":{"accessKey":"a","secretKey":"b"}}'
    order = msgspec.json.decode(text, type=Order)
    assert order == SyncOrder(source="s3://b.host/x", delete_dst=True, credentials=Credentials("a", "b"))
    assert msgspec.json.encode(order) == text


def test_an_order_knows_its_type() -> None:
    assert [type_of(order) for order in (SyncOrder(), WarmupOrder(), RmrOrder(("a",)))] == ["sync", "warmup", "rmr"]


def test_credentials_are_not_printed() -> None:
    assert "secret" not in repr(SyncOrder(credentials=Credentials("secret", "secret")))


def test_what_is_written_down_has_no_credentials() -> None:
    order = SyncOrder(source="s3://b/x", credentials=Credentials("secret", "secret"))
    assert without_credentials(order) == SyncOrder(source="s3://b/x")
    assert without_credentials(WarmupOrder()) == WarmupOrder()


def test_a_report_of_a_newer_server_can_be_read() -> None:
    text = msgspec.json.encode(Report(operations=(Operation("a", "sync"),)))
    newer = text.replace(b'"mounted"', b'"invented":{"a":1},"mounted"').replace(b'"state"', b'"more":1,"state"')
    assert msgspec.json.decode(newer, type=Report) == Report(operations=(Operation("a", "sync"),))


@pytest.mark.parametrize("text", ["a", "0", "6f1c-warm.0", "x" * 127])
def test_an_id_is_a_file_name(text: str) -> None:
    assert is_id(text)


@pytest.mark.parametrize("text", ["", ".", "..", "a/b", "a..b", "-a", ".a", "A", "a b", "a\n", "a\0", "x" * 128, "ä"])
def test_what_could_be_another_file_is_no_id(text: str) -> None:
    assert not is_id(text)
