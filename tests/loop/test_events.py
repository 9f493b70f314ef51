"""Events are counted, bounded, and never in the way."""

from datetime import UTC, datetime

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import events
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Event, EventType, Recorder
from support import family
from support.embeddedapi import Api

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def parent(name: str = "ada") -> Manifest:
    made = family.parent(name)
    made["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "7"}
    return made


def recorder(client: Client) -> Recorder:
    return Recorder(client, "tester", lambda: NOON)


def written(api: Api) -> list[Manifest]:
    return [api.get("events", "default", name) for name in api.names("events")]


async def test_an_event_says_about_whom_by_whom_and_when(api: Api, client: Client) -> None:
    told = recorder(client)
    told.record(Event(parent(), "Grown", "all are there", EventType.WARNING))
    await told.flush()
    (event,) = written(api)
    del event["metadata"]
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "example.org/v1",
            "kind": "Parent",
            "namespace": "default",
            "name": "ada",
            "uid": "uid-ada",
            "resourceVersion": "7",
        },
        "type": "Warning",
        "reason": "Grown",
        "message": "all are there",
        "count": 1,
        "firstTimestamp": "2026-01-02T12:00:00Z",
        "lastTimestamp": "2026-01-02T12:00:00Z",
        "source": {"component": "tester"},
        "reportingComponent": "tester",
        "reportingInstance": "tester",
    }


async def test_a_recorder_started_again_counts_on(api: Api, client: Client) -> None:
    for _ in range(3):
        told = recorder(client)
        told.record(Event(parent(), "Grown", "all are there"))
        told.record(Event(parent(), "Grown", "all are there"))
        await told.flush()
        told.record(Event(parent(), "Grown", "all are there"))
        await told.flush()
    assert [event["count"] for event in written(api)] == [9]


async def test_an_event_that_the_server_forgot_is_made_again_with_its_count(api: Api, client: Client) -> None:
    told = recorder(client)
    for _ in range(2):
        told.record(Event(parent(), "Grown", "all are there"))
        await told.flush()
        (name,) = api.names("events")
        api.remove("events", Key("default", name))
    told.record(Event(parent(), "Grown", "all are there"))
    await told.flush()
    assert [event["count"] for event in written(api)] == [3]


async def test_an_event_that_cannot_be_written_is_lost_and_the_count_of_the_others_is_not(
    api: Api, client: Client
) -> None:
    told = recorder(client)
    for lost in (0, 1, 0):
        api.fail("PATCH", "events", lost, 403, "Forbidden")
        told.record(Event(parent(), "Grown", "all are there"))
        await told.flush()
    assert [event["count"] for event in written(api)] == [2]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a" * 253, "a" * 200),
        ("b" * 199 + "-" + "c" * 9, "b" * 199),
        ("d" * 198 + ".-e", "d" * 198),
        ("short", "short"),
    ],
    ids=["long", "cut at a dash", "cut at a dot", "short"],
)
def test_the_name_of_an_event_is_a_name_whatever_it_is_about(name: str, expected: str) -> None:
    about, _, digest = Event(parent(name), "Grown", "yes").name.rpartition(".")
    assert (about, len(digest)) == (expected, 16)


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u6f22", "\U0001f600", "\ud800"])
async def test_a_message_is_as_long_as_the_server_takes(api: Api, client: Client, letter: str) -> None:
    told = recorder(client)
    told.record(Event(parent(), letter * 3000, letter * 3000))
    await told.flush()
    (event,) = written(api)
    assert 1021 <= len(event["message"].encode()) <= 1024
    assert 125 <= len(event["reason"].encode()) <= 128
    assert set(event["message"]) == {letter if letter != "\ud800" else "?"}


async def test_nothing_of_a_large_object_is_kept_and_not_more_than_so_many_events(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_WAITING", 5)
    monkeypatch.setattr(events, "MOST_REMEMBERED", 3)
    told = recorder(client)
    for number in range(9):
        told.record(Event({**parent(f"p-{number}"), "spec": {"large": "x" * 9999}}, "Grown", "yes"))
    assert len(told._waiting) == 5
    await told.flush()
    assert (len(api.names("events")), len(told._waiting), len(told._written)) == (5, 0, 3)
    assert [series.event.about.get("spec") for series in told._written.values()] == [None] * 3


async def test_an_event_about_what_has_no_namespace_is_in_the_default_one(api: Api, client: Client) -> None:
    about = parent()
    del about["metadata"]["namespace"]
    told = recorder(client)
    told.record(Event(about, "Grown", "yes"))
    await told.flush()
    assert [event["involvedObject"]["name"] for event in written(api)] == ["ada"]
