"""Server-side apply: fields belong to who applied them, are taken over by force, and go when they are given up."""

import pytest

from paddle_operator.api.manifest import Key, Manifest, uid_of, version_of
from paddle_operator.control.execute import replacing
from paddle_operator.kube import errors, request
from paddle_operator.kube.request import PODS, Kind, Request
from support import family
from support.family import CONFIG_MAPS, PARENTS

from .conftest import Api

SERVICES = Kind("", "v1", "services", "Service")


async def apply_gently(api: Api, kind: Kind, manifest: Manifest, manager: str = "other") -> Manifest:
    """Apply without force."""
    asked = request.apply(kind, manifest, manager)
    params = {name: value for name, value in asked.params.items() if name != "force"}
    return await api.client.send(Request("PATCH", asked.path, params, asked.body, asked.content_type))


def owners(manifest: Manifest) -> dict[str, Manifest]:
    """Give who has what, by manager and way."""
    return {
        f"{entry['manager']}/{entry['operation']}/{entry.get('subresource', '')}".rstrip("/"): entry["fieldsV1"]
        for entry in manifest["metadata"]["managedFields"]
    }


async def test_what_is_not_there_is_created(api: Api) -> None:
    made = await api.client.apply(CONFIG_MAPS, api.config_map(a="1"))
    assert (made["data"], len(uid_of(made))) == ({"a": "1"}, 36)
    assert owners(made) == {"tester/Apply": {"f:data": {"f:a": {}}}}


async def test_applying_the_same_changes_nothing(api: Api) -> None:
    made = await api.client.apply(CONFIG_MAPS, api.config_map(a="1"))
    assert await api.client.apply(CONFIG_MAPS, api.config_map(a="1")) == made


async def test_fields_of_others_stay(api: Api) -> None:
    await api.other.create(CONFIG_MAPS, api.config_map(theirs="1"))
    applied = await api.client.apply(CONFIG_MAPS, api.config_map(ours="2"))
    assert applied["data"] == {"theirs": "1", "ours": "2"}
    assert owners(applied)["tester/Apply"] == {"f:data": {"f:ours": {}}}
    assert owners(applied)["other/Update"]["f:data"].keys() - {"."} == {"f:theirs"}


async def test_a_field_that_is_given_up_goes(api: Api) -> None:
    await api.client.apply(CONFIG_MAPS, api.config_map(keep="1", drop="2"))
    applied = await api.client.apply(CONFIG_MAPS, api.config_map(keep="1"))
    assert applied["data"] == {"keep": "1"}


async def test_all_fields_given_up_leave_nothing(api: Api) -> None:
    await api.client.apply(CONFIG_MAPS, api.config_map(a="1"))
    wanted = api.config_map()
    del wanted["data"]
    applied = await api.client.apply(CONFIG_MAPS, wanted)
    assert not applied.get("data")


async def test_what_was_applied_empty_can_be_filled_and_emptied(api: Api) -> None:
    await api.client.create(PARENTS, family.parent("ada", api.namespace))

    async def told(**extra: str) -> Manifest:
        wanted = {"metadata": {"name": "ada", "namespace": api.namespace}, "spec": {"notes": extra}}
        return (await api.client.apply(PARENTS, wanted))["spec"].get("notes") or {}

    assert await told() == {}
    assert await told(a="1") == {"a": "1"}
    assert await told() == {}


async def test_a_field_that_somebody_else_applied_too_stays_when_it_is_given_up(api: Api) -> None:
    await api.client.apply(CONFIG_MAPS, api.config_map(shared="1", ours="2"))
    await api.other.apply(CONFIG_MAPS, api.config_map(shared="1"))
    applied = await api.client.apply(CONFIG_MAPS, api.config_map(ours="2"))
    assert applied["data"] == {"shared": "1", "ours": "2"}


async def test_a_field_of_somebody_else_is_not_taken_without_force(api: Api) -> None:
    await api.client.apply(CONFIG_MAPS, api.config_map(a="1"))
    with pytest.raises(errors.ConflictError) as refused:
        await apply_gently(api, CONFIG_MAPS, api.config_map(a="2"))
    assert refused.value.message == 'Apply failed with 1 conflict: conflict with "tester": .data.a'
    agreed = await apply_gently(api, CONFIG_MAPS, api.config_map(a="1"))
    assert owners(agreed)["other/Apply"] == {"f:data": {"f:a": {}}}


async def test_force_takes_a_field_over(api: Api) -> None:
    await api.other.apply(CONFIG_MAPS, api.config_map(a="1", b="1"))
    applied = await api.client.apply(CONFIG_MAPS, api.config_map(a="2"))
    assert applied["data"] == {"a": "2", "b": "1"}
    assert owners(applied) == {"other/Apply": {"f:data": {"f:b": {}}}, "tester/Apply": {"f:data": {"f:a": {}}}}


async def test_an_edit_takes_a_field_from_who_applied_it(api: Api) -> None:
    await api.client.apply(CONFIG_MAPS, api.config_map(a="1", b="1"))
    edited = await api.other.patch(CONFIG_MAPS, api.key("one"), {"data": {"a": "2"}})
    assert owners(edited)["tester/Apply"] == {"f:data": {"f:b": {}}}
    assert owners(edited)["other/Update"] == {"f:data": {"f:a": {}}}
    with pytest.raises(errors.ConflictError) as refused:
        await apply_gently(api, CONFIG_MAPS, api.config_map(a="3"), "third")
    assert 'conflict with "other" using v1: .data.a' in refused.value.message


async def test_items_of_a_list_are_told_apart_by_their_keys(api: Api) -> None:
    def pod(*containers: Manifest) -> Manifest:
        spec = {"schedulerName": "nobody", "containers": list(containers)}
        return api.placed({"metadata": {"name": "one"}, "spec": spec})

    first, second = {"name": "a", "image": "localhost/none:1"}, {"name": "b", "image": "localhost/none:1"}
    await api.client.apply(PODS, pod(first, second))
    applied = await api.other.apply(PODS, pod({"name": "b", "image": "localhost/none:2"}))
    images = {container["name"]: container["image"] for container in applied["spec"]["containers"]}
    assert images == {"a": "localhost/none:1", "b": "localhost/none:2"}
    step = 'k:{"name":"b"}'
    assert owners(applied)["other/Apply"]["f:spec"]["f:containers"] == {step: {".": {}, "f:image": {}, "f:name": {}}}


async def test_a_port_is_known_by_its_number_and_protocol(api: Api) -> None:
    def service(*ports: Manifest) -> Manifest:
        return api.placed({"metadata": {"name": "one"}, "spec": {"clusterIP": "None", "ports": list(ports)}})

    await api.client.apply(SERVICES, service({"port": 80, "name": "web"}, {"port": 90, "name": "more"}))
    applied = await api.client.apply(SERVICES, service({"port": 80, "name": "http"}))
    assert [(port["port"], port["name"]) for port in applied["spec"]["ports"]] == [(80, "http")]


async def test_a_status_is_applied_by_its_own_way(api: Api) -> None:
    made = await api.client.create(PARENTS, family.parent("ada", api.namespace))

    def told(*conditions: Manifest, **more: str) -> Manifest:
        metadata = {"name": "ada", "namespace": api.namespace, **more}
        return {"metadata": metadata, "status": {"children": 2, "conditions": list(conditions)}}

    ready, stalled = {"type": "Ready", "status": "True"}, {"type": "Stalled", "status": "False"}
    applied = await api.client.apply(PARENTS, told(ready), subresource="status")
    assert applied["status"] == {"children": 2, "conditions": [ready]}
    again = await api.client.apply(PARENTS, told(ready), subresource="status")
    assert version_of(again) == version_of(applied)
    both = await api.other.apply(PARENTS, told(stalled), subresource="status")
    assert both["status"]["conditions"] == [ready, stalled]
    assert "tester/Apply/status" in owners(both)
    alone = await api.client.apply(PARENTS, {**told(), "status": {"children": 2}}, subresource="status")
    assert alone["status"]["conditions"] == [stalled]
    assert alone["spec"] == made["spec"]
    elsewhere = await api.client.apply(PARENTS, told(ready, uid="another"), subresource="status")
    assert uid_of(elsewhere) == uid_of(made), "a uid is no precondition here"
    with pytest.raises(errors.ConflictError):
        await api.client.apply(PARENTS, told(ready, resourceVersion=version_of(made)), subresource="status")


async def test_a_status_of_nothing_is_not_applied(api: Api) -> None:
    wanted = {"metadata": {"name": "ada", "namespace": api.namespace}, "status": {"children": 1}}
    with pytest.raises(errors.NotFoundError):
        await api.client.apply(PARENTS, wanted, subresource="status")


async def test_finalizers_and_labels_are_applied_beside_those_of_others(api: Api) -> None:
    made = family.parent("ada", api.namespace)
    made["metadata"] |= {"labels": {"theirs": "1"}, "finalizers": ["example.org/theirs"]}
    await api.other.create(PARENTS, made)
    ours = {"name": "ada", "namespace": api.namespace, "labels": {"ours": "2"}, "finalizers": ["example.org/ours"]}
    applied = await api.client.apply(PARENTS, {"metadata": ours})
    assert applied["metadata"]["labels"] == {"theirs": "1", "ours": "2"}
    assert sorted(applied["metadata"]["finalizers"]) == ["example.org/ours", "example.org/theirs"]
    given_up = await api.client.apply(PARENTS, {"metadata": {"name": "ada", "namespace": api.namespace}})
    assert given_up["metadata"]["labels"] == {"theirs": "1"}
    assert given_up["metadata"]["finalizers"] == ["example.org/theirs"]
    await api.client.patch(PARENTS, Key(api.namespace, "ada"), {"metadata": {"finalizers": None}})


async def test_an_apply_says_who_it_is(api: Api) -> None:
    asked = request.apply(CONFIG_MAPS, api.config_map(), "tester")
    with pytest.raises(errors.InvalidError) as refused:
        await api.client.send(Request("PATCH", asked.path, {}, asked.body, asked.content_type))
    assert "fieldManager: Required value: is required for apply patch" in refused.value.message


async def take_over(api: Api, kind: Kind, made: Manifest) -> None:
    """Turn what was set by creating it into what was applied."""
    entries = [{**entry, "operation": "Apply"} for entry in made["metadata"]["managedFields"]]
    change = {"managedFields": entries, "resourceVersion": version_of(made)}
    operations = [{"op": "replace", "path": f"/metadata/{name}", "value": value} for name, value in change.items()]
    await api.client.patch(kind, Key(api.namespace, made["metadata"]["name"]), operations)


async def test_who_sends_along_who_set_what_is_believed(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(keep="1", drop="2"))
    await take_over(api, CONFIG_MAPS, made)
    applied = await api.client.apply(CONFIG_MAPS, api.config_map(keep="1"))
    assert applied["data"] == {"keep": "1"}
    assert list(owners(applied)) == ["tester/Apply"]


async def test_a_version_in_a_list_of_changes_is_a_precondition(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(a="1"))
    await api.other.apply(CONFIG_MAPS, api.config_map(b="1"))
    with pytest.raises(errors.ConflictError):
        await take_over(api, CONFIG_MAPS, made)


async def test_a_service_that_was_created_is_applied_and_loses_what_is_given_up(api: Api) -> None:
    ports = [{"name": f"p-{number}", "port": 36000 + number} for number in range(2)]
    metadata = {"name": "demo", "namespace": api.namespace, "labels": {"of": "demo", "old": "yes"}}
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {"of": "demo"}, "ports": ports}
    made = await api.client.create(SERVICES, {"metadata": metadata, "spec": spec})
    await take_over(api, SERVICES, made)
    wanted = {"clusterIP": "None", "selector": {"of": "demo"}, "ports": ports[:1]}
    applied = await api.client.apply(SERVICES, {"metadata": {**metadata, "labels": {"of": "demo"}}, "spec": wanted})
    assert applied["metadata"]["labels"] == {"of": "demo"}
    assert [port["name"] for port in applied["spec"]["ports"]] == ["p-0"]
    assert not applied["spec"].get("publishNotReadyAddresses")
    assert (applied["spec"]["clusterIP"], uid_of(applied)) == ("None", uid_of(made))


async def test_a_status_of_others_stays_when_applied_and_goes_when_replaced(api: Api) -> None:
    made = await api.client.create(PARENTS, family.parent("ada", api.namespace))
    theirs = {"status": {"children": 7, "conditions": [{"type": "Scheduled"}]}}
    await api.other.patch(PARENTS, api.key("ada"), theirs, subresource="status")
    ours = {"metadata": {"name": "ada", "namespace": api.namespace}, "status": {"children": 1}}
    applied = await api.client.apply(PARENTS, ours, subresource="status")
    assert applied["status"] == {"children": 1, "conditions": [{"type": "Scheduled"}]}

    def whole(version: str) -> request.Operations:
        return replacing({"metadata/resourceVersion": version, "status": {"children": 1}})

    with pytest.raises(errors.ConflictError):
        await api.client.patch(PARENTS, api.key("ada"), whole(version_of(made)), subresource="status")
    replaced = await api.client.patch(PARENTS, api.key("ada"), whole(version_of(applied)), subresource="status")
    assert replaced["status"] == {"children": 1}
    assert await api.client.apply(PARENTS, ours, subresource="status") == replaced
