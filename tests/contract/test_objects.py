"""What becomes of an object that is created, changed and deleted."""

import pytest

from paddle_operator.api.manifest import Key, Manifest, uid_of, version_of
from paddle_operator.controllers.secrets import SECRETS
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Preconditions, Propagation, Request, encode
from support import family
from support.family import CONFIG_MAPS, PARENTS

from .conftest import NAMESPACES, Api, gone


def pod(name: str = "one") -> Manifest:
    """Describe a pod that nobody schedules."""
    spec = {"schedulerName": "nobody", "containers": [{"name": "a", "image": "localhost/none:1"}]}
    return {"metadata": {"name": name}, "spec": spec}


async def test_a_new_object_has_a_uid_a_version_and_a_birthday(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(text="a\x85b\u2028c"))
    assert made["data"] == {"text": "a\x85b\u2028c"}
    assert (made["apiVersion"], made["kind"]) == ("v1", "ConfigMap")
    assert len(uid_of(made)) == 36
    assert version_of(made).isdecimal()
    assert made["metadata"]["creationTimestamp"].endswith("Z")
    assert "generation" not in made["metadata"]
    assert await api.client.get(CONFIG_MAPS, api.key("one")) == made


async def test_a_secrets_plain_values_are_kept_among_the_others(api: Api) -> None:
    sent = {"metadata": api.config_map()["metadata"], "data": {"a": "MQ==", "b": "Mg=="}, "stringData": {"b": "3"}}
    made = await api.client.create(SECRETS, sent)
    assert made["data"] == {"a": "MQ==", "b": "Mw=="}
    assert "stringData" not in made


async def test_a_status_is_not_written_to_another_pod_of_the_same_name(api: Api) -> None:
    await api.client.create(PODS, api.placed(pod()))
    change = {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "status": {"phase": "Failed"}}
    with pytest.raises(errors.ConflictError, match=r"metadata\.uid"):
        await api.client.patch(PODS, api.key("one"), change, subresource="status")


async def test_a_name_can_be_generated(api: Api) -> None:
    made = await api.post(CONFIG_MAPS, {"metadata": {"generateName": "box-"}})
    assert made["metadata"]["name"].startswith("box-")
    assert len(made["metadata"]["name"]) == len("box-") + 5


async def test_what_the_server_says_of_an_object_cannot_be_sent(api: Api) -> None:
    wanted = api.config_map()
    wanted["metadata"] |= {"uid": "mine", "generation": 7, "creationTimestamp": "2020-01-01T00:00:00Z"}
    made = await api.client.create(CONFIG_MAPS, wanted)
    assert uid_of(made) != "mine"
    assert not made["metadata"]["creationTimestamp"].startswith("2020")


@pytest.mark.parametrize(
    ("change", "expected", "words"),
    [
        ({"name": "Not A Name"}, errors.InvalidError, "a lowercase RFC 1123 subdomain must consist of"),
        ({"name": "a" * 254}, errors.InvalidError, "must be no more than 253"),
        ({"name": ""}, errors.InvalidError, "metadata.name: Required value: name or generateName is required"),
        ({"resourceVersion": "5"}, errors.ServerError, "resourceVersion should not be set on objects to be"),
        ({"labels": {"a": "no spaces"}}, errors.InvalidError, "a valid label must be an empty string or consist of"),
        ({"labels": {"a": "a" * 64}}, errors.InvalidError, "must be no more than 63"),
        ({"labels": {"-a": "b"}}, errors.InvalidError, "name part must consist of alphanumeric characters"),
        ({"annotations": {"a b": "c"}}, errors.InvalidError, "name part must consist of alphanumeric characters"),
        ({"labels": {"a": 5}}, errors.BadRequestError, ""),
        ({"namespace": "elsewhere"}, errors.BadRequestError, "does not match the namespace sent on the request"),
    ],
    ids=str,
)
async def test_metadata_that_cannot_be_is_refused(
    api: Api, change: Manifest, expected: type[errors.ApiError], words: str
) -> None:
    wanted = api.config_map()
    wanted["metadata"] |= change
    with pytest.raises(expected) as refused:
        await api.client.send(Request("POST", CONFIG_MAPS.collection(api.namespace), {}, encode(wanted)))
    assert words in refused.value.message


async def test_a_namespace_must_be_there(api: Api) -> None:
    with pytest.raises(errors.NotFoundError) as refused:
        await api.client.create(CONFIG_MAPS, {"metadata": {"name": "one", "namespace": "nowhere"}})
    assert refused.value.message == 'namespaces "nowhere" not found'


async def test_a_name_is_given_once(api: Api) -> None:
    await api.client.create(CONFIG_MAPS, api.config_map())
    with pytest.raises(errors.AlreadyExistsError) as refused:
        await api.client.create(CONFIG_MAPS, api.config_map())
    assert refused.value.message == 'configmaps "one" already exists'


async def test_what_is_not_there_is_said_by_name(api: Api) -> None:
    with pytest.raises(errors.NotFoundError) as refused:
        await api.client.get(PARENTS, api.key("one"))
    assert refused.value.message == 'parents.example.org "one" not found'
    assert refused.value.status["details"] == {"name": "one", "group": "example.org", "kind": "parents"}


async def test_a_replace_needs_the_latest_version(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(value="one"))
    changed = await api.client.replace(CONFIG_MAPS, {**made, "data": {"value": "two"}})
    assert changed["data"] == {"value": "two"}
    assert int(version_of(changed)) > int(version_of(made))
    assert (uid_of(changed), changed["metadata"]["creationTimestamp"]) == (
        uid_of(made),
        made["metadata"]["creationTimestamp"],
    )
    with pytest.raises(errors.ConflictError) as refused:
        await api.client.replace(CONFIG_MAPS, made)
    assert "the object has been modified" in refused.value.message


async def test_a_custom_object_is_not_replaced_blindly(api: Api) -> None:
    await api.client.create(PARENTS, family.parent("ada", api.namespace))
    with pytest.raises(errors.InvalidError) as refused:
        await api.client.replace(PARENTS, family.parent("ada", api.namespace))
    assert "metadata.resourceVersion: Invalid value" in refused.value.message
    assert "must be specified for an update" in refused.value.message


async def test_a_write_that_changes_nothing_makes_no_version(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(value="one"))
    assert version_of(await api.client.replace(CONFIG_MAPS, made)) == version_of(made)
    patched = await api.client.patch(CONFIG_MAPS, api.key("one"), {"data": {"value": "one"}})
    assert version_of(patched) == version_of(made)


async def test_a_merge_patch_sets_and_removes(api: Api) -> None:
    await api.client.create(CONFIG_MAPS, api.config_map(keep="yes", drop="yes"))
    patched = await api.client.patch(CONFIG_MAPS, api.key("one"), {"data": {"drop": None, "new": "yes"}})
    assert patched["data"] == {"keep": "yes", "new": "yes"}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/data/b", "value": "2"}], {"a": "1", "b": "2"}),
        ([{"op": "replace", "path": "/data/a", "value": "2"}], {"a": "2"}),
        ([{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/a"}], None),
        ([{"op": "move", "from": "/data/a", "path": "/data/x~1y"}], None),
        ([{"op": "copy", "from": "/data/a", "path": "/data/c"}], {"a": "1", "c": "1"}),
    ],
    ids=["add", "replace", "test and remove", "a name that cannot be a key", "copy"],
)
async def test_json_patches(api: Api, operations: list[Manifest], expected: Manifest | None) -> None:
    await api.client.create(CONFIG_MAPS, api.config_map(a="1"))
    if operations[0]["op"] == "move":
        with pytest.raises(errors.InvalidError):
            await api.client.patch(CONFIG_MAPS, api.key("one"), operations)
        return
    patched = await api.client.patch(CONFIG_MAPS, api.key("one"), operations)
    assert (patched.get("data") or None) == expected


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "test", "path": "/data/a", "value": "2"}],
        [{"op": "remove", "path": "/data/missing"}],
        [{"op": "replace", "path": "/nowhere/at/all", "value": "2"}],
    ],
    ids=["a test that fails", "nothing to remove", "no such place"],
)
async def test_a_json_patch_that_does_not_fit_changes_nothing(api: Api, operations: list[Manifest]) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(a="1"))
    with pytest.raises(errors.InvalidError):
        await api.client.patch(CONFIG_MAPS, api.key("one"), operations)
    assert await api.client.get(CONFIG_MAPS, api.key("one")) == made


async def test_a_patch_can_ask_for_a_version(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map(a="1"))
    await api.client.patch(CONFIG_MAPS, api.key("one"), {"data": {"a": "2"}})
    old = {"metadata": {"resourceVersion": version_of(made)}, "data": {"a": "3"}}
    with pytest.raises(errors.ConflictError):
        await api.client.patch(CONFIG_MAPS, api.key("one"), old)


async def test_a_core_object_of_the_wrong_type_is_a_bad_request(api: Api) -> None:
    with pytest.raises(errors.BadRequestError) as refused:
        await api.client.create(CONFIG_MAPS, {**api.config_map(), "data": {"a": 5}})
    assert 'ConfigMap in version "v1" cannot be handled as a ConfigMap' in refused.value.message


async def test_unknown_fields_go_and_strictly_they_are_refused(api: Api) -> None:
    wanted = {**api.config_map(a="1"), "dat": {"b": "2"}}
    made = await api.client.create(CONFIG_MAPS, wanted)
    assert "dat" not in made
    with pytest.raises(errors.BadRequestError) as refused:
        await api.post(CONFIG_MAPS, {**wanted, "metadata": {"name": "two"}}, fieldValidation="Strict")
    assert 'strict decoding error: unknown field "dat"' in refused.value.message


async def test_a_dry_run_answers_and_keeps_nothing(api: Api) -> None:
    made = await api.post(CONFIG_MAPS, {"metadata": {"name": "one"}, "data": {"a": "1"}}, dryRun="All")
    assert (made["data"], len(uid_of(made))) == ({"a": "1"}, 36)
    with pytest.raises(errors.NotFoundError):
        await api.client.get(CONFIG_MAPS, api.key("one"))


async def test_a_status_is_written_by_its_own_way(api: Api) -> None:
    wanted = {**family.parent("ada", api.namespace), "status": {"children": 9}}
    made = await api.client.create(PARENTS, wanted)
    assert "status" not in made
    assert made["metadata"]["generation"] == 1
    told = await api.client.patch(
        PARENTS, api.key("ada"), {"spec": {"children": 7}, "status": {"children": 3}}, subresource="status"
    )
    assert (told["spec"]["children"], told["status"], told["metadata"]["generation"]) == (3, {"children": 3}, 1)
    changed = await api.client.patch(PARENTS, api.key("ada"), {"spec": {"children": 5}, "status": {"children": 8}})
    assert (changed["spec"]["children"], changed["status"]) == (5, {"children": 3})
    assert changed["metadata"]["generation"] == 2
    labelled = await api.client.patch(PARENTS, api.key("ada"), {"metadata": {"labels": {"a": "b"}}})
    assert labelled["metadata"]["generation"] == 2


async def test_a_delete_is_for_the_one_that_is_meant(api: Api) -> None:
    made = await api.client.create(CONFIG_MAPS, api.config_map())
    with pytest.raises(errors.ConflictError) as refused:
        await api.client.delete(CONFIG_MAPS, api.key("one"), Preconditions("another"))
    assert (
        f"UID in the precondition (another) does not match the UID in record ({uid_of(made)})" in refused.value.message
    )
    with pytest.raises(errors.ConflictError):
        await api.client.delete(CONFIG_MAPS, api.key("one"), Preconditions(resource_version="1"))
    await api.client.delete(CONFIG_MAPS, api.key("one"), Preconditions(uid_of(made), version_of(made)))
    with pytest.raises(errors.NotFoundError):
        await api.client.delete(CONFIG_MAPS, api.key("one"), Preconditions())


async def test_a_write_is_for_the_one_that_is_meant(api: Api) -> None:
    made = await api.client.create(PARENTS, family.parent("ada", api.namespace))
    wanted = family.parent("ada", api.namespace)
    wanted["metadata"]["uid"] = "another"
    for change in (
        api.client.apply(PARENTS, wanted),
        api.client.patch(PARENTS, api.key("ada"), {"metadata": {"uid": "another"}}),
    ):
        with pytest.raises(errors.ConflictError) as refused:
            await change
        assert 'metadata.uid: Invalid value: "another": field is immutable' in refused.value.message
    with pytest.raises(errors.ConflictError) as refused:
        await api.client.replace(PARENTS, {**made, "metadata": {**made["metadata"], "uid": "another"}})
    assert "UID in precondition: another" in refused.value.message
    with pytest.raises(errors.ConflictError) as refused:
        await api.client.apply(PARENTS, {**wanted, "metadata": {**wanted["metadata"], "name": "eve"}})
    assert "specified uid another, and no existing object was found" in refused.value.message
    assert await api.client.get(PARENTS, api.key("ada")) == made


async def test_a_finalizer_keeps_a_deleted_object(api: Api) -> None:
    wanted = family.parent("ada", api.namespace)
    wanted["metadata"]["finalizers"] = ["example.org/wait"]
    made = await api.client.create(PARENTS, wanted)
    await api.client.delete(PARENTS, api.key("ada"), Preconditions(uid_of(made)))
    waiting = await api.client.get(PARENTS, api.key("ada"))
    assert waiting["metadata"]["deletionTimestamp"]
    assert waiting["metadata"]["deletionGracePeriodSeconds"] == 0
    assert waiting["metadata"]["generation"] == 2
    more = {"metadata": {"finalizers": ["example.org/wait", "example.org/more"]}}
    with pytest.raises(errors.InvalidError) as refused:
        await api.client.patch(PARENTS, api.key("ada"), more)
    assert "metadata.finalizers: Forbidden: no new finalizers can be added" in refused.value.message
    await api.client.patch(PARENTS, api.key("ada"), {"metadata": {"finalizers": None}})
    with pytest.raises(errors.NotFoundError):
        await api.client.get(PARENTS, api.key("ada"))


async def test_a_pod_that_runs_nowhere_goes_at_once(api: Api) -> None:
    made = await api.client.create(PODS, api.placed(pod()))
    assert made["status"]["phase"] == "Pending"
    await api.client.delete(PODS, api.key("one"), Preconditions(uid_of(made)))
    with pytest.raises(errors.NotFoundError):
        await api.client.get(PODS, api.key("one"))


async def test_a_pod_cannot_become_another(api: Api) -> None:
    await api.client.create(PODS, api.placed(pod()))
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "localhost/none:2"}]
    assert (await api.client.patch(PODS, api.key("one"), image))["spec"]["containers"][0]["image"].endswith(":2")
    with pytest.raises(errors.InvalidError) as refused:
        await api.client.patch(PODS, api.key("one"), {"spec": {"hostname": "other"}})
    assert "spec: Forbidden: pod updates may not change fields other than" in refused.value.message


async def test_a_pod_needs_containers(api: Api) -> None:
    with pytest.raises(errors.InvalidError) as refused:
        await api.client.create(PODS, api.placed({"metadata": {"name": "one"}, "spec": {"containers": []}}))
    assert "spec.containers: Required value" in refused.value.message


async def test_a_deleted_namespace_takes_all_with_it(api: Api) -> None:
    await api.client.create(NAMESPACES, {"metadata": {"name": f"{api.namespace}-gone"}})
    inside = {"metadata": {"name": "one", "namespace": f"{api.namespace}-gone"}}
    await api.client.create(CONFIG_MAPS, inside)
    where = Key("", f"{api.namespace}-gone")
    await api.client.delete(NAMESPACES, where, Preconditions(), Propagation.BACKGROUND)
    await gone(api.client, NAMESPACES, where)
    with pytest.raises(errors.NotFoundError):
        await api.client.get(CONFIG_MAPS, Key(where.name, "one"))


async def test_in_a_namespace_that_goes_nothing_is_made_and_that_is_why(api: Api) -> None:
    held = api.config_map("held")
    held["metadata"]["finalizers"] = ["example.org/held"]
    await api.client.create(CONFIG_MAPS, held)
    namespace = Key("", api.namespace)
    uid = uid_of(await api.client.get(NAMESPACES, namespace))
    await api.client.delete(NAMESPACES, namespace, Preconditions(uid))
    with pytest.raises(errors.NamespaceEndsError) as refused:
        await api.client.create(CONFIG_MAPS, api.config_map("late"))
    why = f"unable to create new content in namespace {api.namespace} because it is being terminated"
    assert refused.value.message == f'configmaps "late" is forbidden: {why}'
    await api.client.patch(CONFIG_MAPS, api.key("held"), {"metadata": {"finalizers": None}})
