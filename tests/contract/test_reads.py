"""Lists in pages, selectors, watches with their bookmarks and ends, tables and discovery."""

import json
import re
from collections.abc import AsyncIterator

import pytest

from paddle_operator.api.manifest import Manifest, key_of, version_of
from paddle_operator.kube import errors, request
from paddle_operator.kube.request import PODS, Preconditions, Request, Scope
from paddle_operator.kube.watch import Lines
from support import family, published
from support.family import CONFIG_MAPS, PARENTS

from .conftest import Api

OURS = "metadata.name!=kube-root-ca.crt"


async def events(
    api: Api, since: str, labels: str = "", seconds: int = 30, more: dict[str, str] | None = None
) -> AsyncIterator[Manifest]:
    """Give the events of a watch; it ends by itself."""
    asked = request.watch(Scope(CONFIG_MAPS, api.namespace, labels, OURS), since, seconds)
    asked = Request("GET", asked.path, {**asked.params, **(more or {})})
    async for event in told(api, asked):
        yield event


async def told(api: Api, asked: Request) -> AsyncIterator[Manifest]:
    lines = Lines()
    async with api.client.stream(asked, 60.0) as chunks:
        async for chunk in chunks:
            for line in lines.feed(chunk):
                yield json.loads(line)


async def first(source: AsyncIterator[Manifest], count: int) -> list[tuple[str, str]]:
    """Give type and name of the first events, and leave."""
    found: list[tuple[str, str]] = []
    async for event in source:
        if event["type"] != "BOOKMARK":
            found.append((event["type"], event["object"]["metadata"]["name"]))
        if len(found) == count:
            break
    return found


async def filled(api: Api, count: int = 7) -> None:
    for number in range(count):
        wanted = api.config_map(f"page-{number}", number=str(number))
        wanted["metadata"]["labels"] = {"parity": "even" if number % 2 == 0 else "odd", "number": str(number)}
        await api.client.create(CONFIG_MAPS, wanted)


def names(listing: list[Manifest]) -> list[str]:
    return [key_of(manifest).name for manifest in listing]


async def test_a_list_comes_in_pages_in_the_order_of_names(api: Api) -> None:
    await filled(api)
    listing = await api.client.list(Scope(CONFIG_MAPS, api.namespace, fields=OURS), 3)
    assert names(listing.items) == [f"page-{number}" for number in range(7)]
    assert listing.resource_version.isdecimal()


async def test_later_pages_are_of_the_same_moment_as_the_first(api: Api) -> None:
    await filled(api, 4)
    scope = Scope(CONFIG_MAPS, api.namespace, labels="parity")
    one = await api.client.send(request.list_page(scope, 2))
    await api.client.delete(CONFIG_MAPS, api.key("page-3"), Preconditions())
    await api.client.create(CONFIG_MAPS, api.config_map("page-5"))
    two = await api.client.send(request.list_page(scope, 2, one["metadata"]["continue"]))
    assert names([*one["items"], *two["items"]]) == ["page-0", "page-1", "page-2", "page-3"]
    assert two["metadata"]["resourceVersion"] == one["metadata"]["resourceVersion"]
    assert one["metadata"].get("remainingItemCount") in (None, 2)
    assert (one["kind"], one["apiVersion"]) == ("ConfigMapList", "v1")


async def test_a_token_that_is_none_is_refused(api: Api) -> None:
    with pytest.raises(errors.BadRequestError) as refused:
        await api.client.send(request.list_page(Scope(CONFIG_MAPS, api.namespace), 2, "nonsense"))
    assert "continue key is not valid" in refused.value.message


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("parity=even", [0, 2, 4]),
        ("parity==odd", [1, 3]),
        ("parity!=even", [1, 3]),
        ("parity in (even, strange)", [0, 2, 4]),
        ("number notin (0,1,2)", [3, 4]),
        ("parity,number in (1,2)", [1, 2]),
        ("parity=even,number!=2", [0, 4]),
        ("!parity", []),
        ("number", [0, 1, 2, 3, 4]),
    ],
)
async def test_labels_select(api: Api, labels: str, expected: list[int]) -> None:
    await filled(api, 5)
    listing = await api.client.list(Scope(CONFIG_MAPS, api.namespace, labels, OURS))
    assert names(listing.items) == [f"page-{number}" for number in expected]


@pytest.mark.parametrize("labels", ["a b", "=b", "a in b", "a in (b", "-a=b"])
async def test_a_selector_that_cannot_be_read_is_refused(api: Api, labels: str) -> None:
    with pytest.raises(errors.BadRequestError):
        await api.client.list(Scope(CONFIG_MAPS, api.namespace, labels))


async def test_fields_select_where_they_are_known(api: Api) -> None:
    await filled(api, 3)
    listing = await api.client.list(Scope(CONFIG_MAPS, api.namespace, fields="metadata.name=page-1"))
    assert names(listing.items) == ["page-1"]
    pods = await api.client.list(Scope(PODS, api.namespace, fields="status.phase=Running,spec.nodeName=a"))
    assert pods.items == []
    for kind, field in ((CONFIG_MAPS, "data.number"), (PARENTS, "spec.children"), (PODS, "spec.hostname")):
        with pytest.raises(errors.BadRequestError) as refused:
            await api.client.list(Scope(kind, api.namespace, fields=f"{field}=1"))
        assert field in refused.value.message


async def test_a_watch_tells_what_happened_since(api: Api) -> None:
    start = (await api.client.list(Scope(CONFIG_MAPS, api.namespace))).resource_version
    await api.client.create(CONFIG_MAPS, api.config_map(a="1"))
    await api.client.patch(CONFIG_MAPS, api.key("one"), {"data": {"a": "2"}})
    await api.client.delete(CONFIG_MAPS, api.key("one"), Preconditions())
    seen = await first(events(api, start), 3)
    assert seen == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one")]


async def test_a_deleted_object_is_told_with_the_version_of_its_deletion(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(a="1"))
    await api.client.delete(CONFIG_MAPS, api.key("one"), Preconditions())
    async for event in events(api, version_of(made)):
        assert event["type"] == "DELETED"
        assert event["object"]["data"] == {"a": "1"}
        assert int(version_of(event["object"])) > int(version_of(made))
        break


async def test_what_loses_its_last_finalizer_goes_without_another_change(api: Api) -> None:
    wanted = api.config_map()
    wanted["metadata"]["finalizers"] = ["example.org/wait"]
    made = await api.client.create(CONFIG_MAPS, wanted)
    await api.client.delete(CONFIG_MAPS, api.key("one"), Preconditions())
    answer = await api.client.patch(CONFIG_MAPS, api.key("one"), {"metadata": {"finalizers": None}})
    seen = []
    async for event in events(api, version_of(made)):
        seen.append(event)
        if event["type"] == "DELETED":
            break
    told = [(event["type"], event["object"]["metadata"]["finalizers"]) for event in seen if event["type"] != "BOOKMARK"]
    assert told == [("MODIFIED", ["example.org/wait"]), ("DELETED", ["example.org/wait"])]
    assert "finalizers" not in answer["metadata"]


async def test_a_watch_without_a_version_begins_with_what_is_there(api: Api) -> None:
    await filled(api, 2)
    assert await first(events(api, ""), 2) == [("ADDED", "page-0"), ("ADDED", "page-1")]


async def test_what_stops_being_selected_is_gone_to_who_selects(api: Api) -> None:
    start = (await api.client.list(Scope(CONFIG_MAPS, api.namespace))).resource_version
    await api.client.create(CONFIG_MAPS, api.config_map())
    for value in ("yes", "still", None, "again"):
        await api.client.patch(CONFIG_MAPS, api.key("one"), {"metadata": {"labels": {"seen": value}}})
    seen = await first(events(api, start, "seen"), 4)
    assert seen == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one"), ("ADDED", "one")]


async def test_a_watch_ends_when_its_time_is_over(api: Api) -> None:
    start = (await api.client.list(Scope(CONFIG_MAPS, api.namespace))).resource_version
    seen = [event async for event in events(api, start, seconds=1)]
    assert {event["type"] for event in seen} <= {"BOOKMARK"}


async def test_a_version_that_is_forgotten_is_told_inside_of_the_watch_which_ends(api: Api) -> None:
    await api.client.create(PARENTS, family.parent("ada", api.namespace))
    api.forget()
    seen = [event async for event in told(api, request.watch(Scope(PARENTS, api.namespace), "1", 30))]
    assert [event["type"] for event in seen] == ["ERROR"]
    status = seen[0]["object"]
    assert re.fullmatch(r"too old resource version: 1 \([0-9]+\)", status.pop("message"))
    expected = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410}
    assert status == {**expected, "metadata": {}}
    assert isinstance(errors.from_status(seen[0]["object"]), errors.GoneError)


async def test_what_is_forgotten_is_listed_anew(api: Api) -> None:
    await api.client.create(PARENTS, family.parent("ada", api.namespace))
    api.forget()
    listing = await api.client.list(Scope(PARENTS, api.namespace))
    assert names(listing.items) == ["ada"]
    await api.client.create(PARENTS, family.parent("eve", api.namespace))
    asked = request.watch(Scope(PARENTS, api.namespace), listing.resource_version, 30)
    assert await first(told(api, asked), 1) == [("ADDED", "eve")]


async def test_initial_events_end_with_a_bookmark(api: Api) -> None:
    await filled(api, 2)
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    seen = []
    async for event in events(api, "", more=asked):
        seen.append(event)
        if event["type"] == "BOOKMARK":
            break
    assert [event["type"] for event in seen] == ["ADDED", "ADDED", "BOOKMARK"]
    assert seen[-1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(version_of(seen[-1]["object"])) >= int(version_of(seen[1]["object"]))


async def test_a_path_that_leads_nowhere_is_not_found(api: Api) -> None:
    for path in ("/api/v1/nothings", "/apis/example.org/v9/parents", "/nowhere", f"{PARENTS.item(api.key('a'))}/scale"):
        with pytest.raises(errors.NotFoundError):
            await api.client.send(Request("GET", path))


async def table(api: Api, kind: request.Kind) -> Manifest:
    answer = await api.client.send(TableRequest("GET", kind.collection(api.namespace)))
    assert (answer["kind"], answer["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    return answer


class TableRequest(Request):
    @property
    def headers(self) -> dict[str, str]:
        return {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


async def test_a_table_has_the_columns_of_the_definition(api: Api) -> None:
    await api.client.create(PARENTS, family.parent("ada", api.namespace))
    shown = await table(api, PARENTS)
    columns = [(column["name"], column["type"], column["priority"]) for column in shown["columnDefinitions"]]
    assert columns == [("Name", "string", 0), ("Age", "date", 0)]
    (row,) = shown["rows"]
    assert row["cells"][0] == "ada"
    assert row["cells"][1] in ("0s", "1s", "2s", "3s")
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"]["name"] == "ada"


async def test_resources_are_told(api: Api) -> None:
    listed = await api.client.send(Request("GET", "/apis/example.org/v1"))
    (parents,) = [found for found in listed["resources"] if found["name"] == "parents"]
    told = (parents["kind"], parents["namespaced"], parents["singularName"])
    assert told == ("Parent", True, "parent")
    assert {"create", "delete", "get", "list", "patch", "update", "watch"} <= set(parents["verbs"])
    assert "parents/status" in {found["name"] for found in listed["resources"]}
    groups = await api.client.send(Request("GET", "/apis"))
    assert {"apps", "batch.paddlepaddle.org", "example.org"} <= {group["name"] for group in groups["groups"]}


@pytest.mark.cluster
async def test_schemas_of_core_resources_are_those_that_a_real_server_publishes(genuine: Api) -> None:
    found = {path: await genuine.client.send(Request("GET", path)) for path in published.PATHS}
    assert published.FILE.read_text() == published.text(found.__getitem__)
