"""A watch keeps its store equal to the API server, whatever happens in between."""

import asyncio
import contextlib
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.store import Store
from paddle_operator.kube import watch as watching_module
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Scope
from paddle_operator.kube.watch import Pace, Watch
from support import family
from support.embeddedapi import Api
from support.eventually import eventually
from support.family import CONFIG_MAPS

QUICK = Pace(watch_seconds=30, silence=1.0, settled=5.0, backoff=Backoff(0.01, 0.1))
PLURAL = "configmaps"


class Counting:
    def __init__(self) -> None:
        self.restarts: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    def watch_restarted(self, plural: str) -> None:
        self.restarts[plural] += 1

    def object_skipped(self, plural: str) -> None:
        self.skipped[plural] += 1


class Watched:
    def __init__(self, client: Client, pace: Pace) -> None:
        self.store = Store()
        self.meter = Counting()
        self.watch = Watch(client, Scope(CONFIG_MAPS), self.store, self.meter, pace, refuse_marked)

    @property
    def names(self) -> set[str]:
        return {manifest["metadata"]["name"] for manifest in self.store}


def refuse_marked(manifest: Manifest) -> Manifest:
    if "poison" in manifest.get("data", {}):
        raise ValueError("poison is no field")
    return manifest


def config_map(name: str, **data: str) -> Manifest:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@contextlib.asynccontextmanager
async def watching(client: Client, api: Api, pace: Pace = QUICK) -> AsyncIterator[Watched]:
    watched = Watched(client, pace)
    task = asyncio.create_task(watched.watch.run())
    try:
        await watched.watch.synced.wait()
        await eventually(lambda: api.watches)
        yield watched
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_what_is_there_and_what_comes_is_seen(api: Api, client: Client) -> None:
    api.put(PLURAL, config_map("before"))
    async with watching(client, api) as watched:
        assert watched.names == {"before"}
        api.put(PLURAL, config_map("after"))
        await eventually(lambda: watched.names == {"before", "after"})
        api.put(PLURAL, config_map("after", key="changed"))
        await eventually(lambda: watched.store.get(Key("default", "after"))["data"] == {"key": "changed"})  # type: ignore[index]
        api.remove(PLURAL, Key("default", "before"))
        await eventually(lambda: watched.names == {"after"})


async def test_a_cut_watch_goes_on_where_it_was_without_listing_again(api: Api, client: Client) -> None:
    api.put(PLURAL, config_map("goes"))
    async with watching(client, api) as watched:
        lists = api.requests["GET"]
        api.cut_watches()
        api.remove(PLURAL, Key("default", "goes"))
        api.put(PLURAL, config_map("comes"))
        await eventually(lambda: watched.names == {"comes"})
        assert watched.meter.restarts[PLURAL] >= 1
        assert api.requests["GET"] - lists == watched.meter.restarts[PLURAL]


@pytest.mark.parametrize("by_event", [True, False], ids=["said in the stream", "said by HTTP"])
async def test_a_deletion_in_a_gap_that_the_server_forgot_is_seen(api: Api, client: Client, *, by_event: bool) -> None:
    api.put(PLURAL, config_map("goes"))
    api.put(PLURAL, config_map("stays"))
    heard: list[str] = []
    async with watching(client, api) as watched:
        watched.store.listen(lambda manifest: heard.append(manifest["metadata"]["name"]))
        if not by_event:
            api.fail("GET", "watch=true", 1, 410, "Expired")
        api.cut_watches()
        api.remove(PLURAL, Key("default", "goes"))
        api.put(PLURAL, config_map("comes"))
        api.forget()
        await eventually(lambda: watched.names == {"stays", "comes"})
        assert sorted(heard) == ["comes", "goes"]


async def test_a_silent_connection_is_given_up(api: Api, client: Client) -> None:
    async with watching(client, api, replace(QUICK, watch_seconds=1, silence=0.1)) as watched:
        api.freeze_watches()
        api.put(PLURAL, config_map("unheard"))
        assert watched.names == set()
        await eventually(lambda: watched.names == {"unheard"})


async def test_a_restarted_api_server_is_found_again(api: Api, client: Client) -> None:
    api.put(PLURAL, config_map("goes"))
    async with watching(client, api) as watched:
        await api.stop()
        api.remove(PLURAL, Key("default", "goes"))
        api.forget()
        await eventually(lambda: watched.meter.restarts[PLURAL] >= 2)
        await api.start()
        await eventually(lambda: watched.names == set())


@pytest.mark.parametrize("letter", ["\x85", "\u2028", "\u2029", "\x0b", "\x1c", "\r"])
async def test_a_line_end_of_another_alphabet_is_only_a_letter(api: Api, client: Client, letter: str) -> None:
    async with watching(client, api) as watched:
        api.put(PLURAL, config_map("odd", text=f"one{letter}two"))
        await eventually(lambda: watched.names == {"odd"})
        assert next(iter(watched.store))["data"] == {"text": f"one{letter}two"}
        assert watched.meter.skipped[PLURAL] == 0


async def test_a_line_of_megabytes_is_read_whole(api: Api, client: Client) -> None:
    async with watching(client, api) as watched:
        api.put(PLURAL, config_map("large", text="x" * (3 << 20)))
        await eventually(lambda: watched.names == {"large"})
        assert len(next(iter(watched.store))["data"]["text"]) == 3 << 20


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ADDED","object":{"metad\n',
        b'{"type":"ADDED","object":"text"}\n',
        b'{"type":"ADDED","object":{"metadata":{}}}\n',
        b'{"type":"NEWS","object":{}}\n',
        b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}\n',
        json.dumps({"type": "ADDED", "object": config_map("bad", poison="yes")}).encode() + b"\n",
    ],
    ids=["cut off", "no object", "no name", "unknown type", "not UTF-8", "refused by its decoder"],
)
async def test_one_unreadable_object_is_left_out_and_told_once(
    api: Api, client: Client, line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(client, api) as watched:
        for _ in range(3):
            api.send(PLURAL, line)
        api.put(PLURAL, config_map("good"))
        await eventually(lambda: watched.names == {"good"})
        assert watched.meter.skipped[PLURAL] == 3
        assert watched.meter.restarts[PLURAL] == 0
        assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("kind", ["MODIFIED", "DELETED"])
async def test_of_an_object_that_became_unreadable_nothing_is_kept(api: Api, client: Client, kind: str) -> None:
    """What was known of it holds no longer, and that it is gone may be what could not be read."""
    present = api.put(PLURAL, config_map("turns"))
    async with watching(client, api) as watched:
        changed = {**present, "data": {"poison": "yes"}}
        api.send(PLURAL, json.dumps({"type": kind, "object": changed}).encode() + b"\n")
        await eventually(lambda: watched.names == set())


async def test_an_object_of_absurd_depth_is_read_without_its_depths(api: Api, client: Client) -> None:
    text = json.dumps({"type": "ADDED", "object": config_map("deep", text="[" * 5000, hole="here")})
    async with watching(client, api) as watched:
        api.send(PLURAL, text.replace('"here"', '{"a":[' * 5000 + "1" + "]}" * 5000).encode() + b"\n")
        await eventually(lambda: watched.names == {"deep"})
        assert next(iter(watched.store))["data"]["text"] == "[" * 5000
        assert watched.meter.restarts[PLURAL] == 0


async def test_an_unreadable_object_in_a_list_is_left_out(api: Api, client: Client) -> None:
    api.put(PLURAL, config_map("bad", poison="yes"))
    api.put(PLURAL, config_map("good"))
    async with watching(client, api) as watched:
        assert watched.names == {"good"}
        assert watched.meter.skipped[PLURAL] == 1


async def test_a_bookmark_alone_saves_listing_again(api: Api, client: Client) -> None:
    async with watching(client, api) as watched:
        api.put("parents", family.parent("other"))
        api.bookmark(PLURAL, str(api.version))
        await eventually(lambda: watched.watch._version == str(api.version))
        api.forget()
        requests = api.requests["GET"]
        api.cut_watches()
        await eventually(lambda: api.watches)
        assert api.requests["GET"] == requests + 1


@pytest.mark.parametrize(
    ("code", "reason", "lists"),
    [
        (429, "TooManyRequests", 0),
        (401, "Unauthorized", 0),
        (410, "Expired", 1),
        (504, "Timeout", 1),
        (400, "BadRequest", 1),
    ],
)
async def test_it_lists_again_only_when_it_must(api: Api, client: Client, code: int, reason: str, lists: int) -> None:
    """A server that is short of time is not asked for everything; one that was set back to an old state is (504)."""
    async with watching(client, api):
        api.fail("GET", "watch=true", 1, code, reason)
        requests = api.requests["GET"]
        api.cut_watches()
        await eventually(lambda: api.watches)
        assert api.requests["GET"] - requests == 2 + lists


async def test_the_servers_wish_to_wait_is_obeyed(api: Api, client: Client) -> None:
    loop = asyncio.get_running_loop()
    async with watching(client, api):
        api.fail("GET", "watch=true", 1, 429, "TooManyRequests", Retry_After="1")
        requests = api.requests["GET"]
        started = loop.time()
        api.cut_watches()
        await eventually(lambda: api.requests["GET"] - requests == 2 and api.watches)
        assert loop.time() - started >= 0.99


@pytest.mark.parametrize("metadata", [None, [], {"resourceVersion": None}])
async def test_a_bookmark_without_a_version_is_passed_over(api: Api, client: Client, metadata: object) -> None:
    async with watching(client, api) as watched:
        api.send(PLURAL, json.dumps({"type": "BOOKMARK", "object": {"metadata": metadata}}).encode() + b"\n")
        api.put(PLURAL, config_map("good"))
        await eventually(lambda: watched.names == {"good"})
        assert watched.meter.restarts[PLURAL] == 0


async def test_a_server_that_forgets_at_once_is_asked_less_and_less_often(api: Api, client: Client) -> None:
    loop = asyncio.get_running_loop()
    async with watching(client, api, replace(QUICK, backoff=Backoff(0.02, 10.0))) as watched:
        api.fail("GET", "watch=true", 1000, 410, "Expired")
        api.cut_watches()
        started = loop.time()
        await eventually(lambda: watched.meter.restarts[PLURAL] >= 6)
        assert loop.time() - started >= 0.5 * 0.02 * (1 + 2 + 4 + 8 + 16)


async def test_a_watch_that_ends_in_its_time_goes_on_at_once_and_quietly(
    api: Api, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(client, api, replace(QUICK, settled=0.0, backoff=Backoff(60.0, 60.0))) as watched:
        requests = api.requests["GET"]
        api.end_watches()
        await eventually(lambda: api.requests["GET"] > requests and api.watches)
        api.put(PLURAL, config_map("good"))
        await eventually(lambda: watched.names == {"good"})
        assert (watched.meter.restarts[PLURAL], caplog.records) == (0, [])


class Recording(Backoff):
    """Notes how many failures in a row it was asked about."""

    def after(self, failures: int) -> float:
        asked.append(failures)
        return super().after(failures)


asked: list[int] = []


@pytest.mark.parametrize(("settled", "expected"), [(0.0, [1, 1, 1]), (60.0, [1, 2, 3])], ids=["good", "short"])
async def test_only_short_watches_make_the_next_try_come_later(
    api: Api, client: Client, settled: float, expected: list[int]
) -> None:
    asked.clear()
    async with watching(client, api, replace(QUICK, settled=settled, backoff=Recording(0.01, 0.01))):
        for number in range(1, 4):
            await eventually(lambda: api.watches)
            api.cut_watches()
            await eventually(lambda wanted=number: len(asked) >= wanted)  # type: ignore[misc]  # asked at once
    assert asked[:3] == expected


async def test_what_was_warned_about_is_forgotten_before_it_fills_the_memory(
    api: Api, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching_module, "WARNINGS_REMEMBERED", 2)
    async with watching(client, api) as watched:
        for number in range(5):
            api.send(PLURAL, f"odd {number}\n".encode())
        await eventually(lambda: watched.meter.skipped[PLURAL] == 5)
        assert len(watched.watch._warned) == 1


async def test_a_server_that_ends_every_watch_at_once_is_not_asked_all_the_time(api: Api, client: Client) -> None:
    async with watching(client, api, replace(QUICK, backoff=Backoff(10.0, 10.0))) as watched:
        api.end_watches()
        await eventually(lambda: watched.meter.restarts[PLURAL] == 1)
        assert not api.watches
