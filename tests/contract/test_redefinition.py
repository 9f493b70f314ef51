"""A definition that becomes stricter: what is there already can be changed and can go, unless a rule is about that."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Manifest, uid_of
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.kube import errors
from paddle_operator.kube.request import Kind, Preconditions
from support.manifests import circulating

from .conftest import LONGEST_TEST, PAUSE, Api, gone

FINALIZER = "finalizers.paddlepaddle.org"
OPEN: Manifest = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
RULES = "x-kubernetes-validations"


def kind_of(api: Api) -> Kind:
    """Name a kind like ours that is of this test alone."""
    return Kind(f"{api.namespace}.example.org", "v1", "paddlejobs", "PaddleJob")


def definition(api: Api, schema: Manifest) -> Manifest:
    made = crd.v1(PaddleJob)
    group = kind_of(api).group
    made["metadata"]["name"] = f"paddlejobs.{group}"
    made["spec"] |= {"group": group}
    made["spec"]["names"].pop("shortNames")
    made["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return made


def ours() -> Manifest:
    schema: Manifest = crd.v1(PaddleJob)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def job(api: Api, name: str, *finalizers: str) -> Manifest:
    metadata = {"name": name, "namespace": api.namespace, "finalizers": list(finalizers)}
    return {"metadata": metadata, "spec": circulating("PaddleJob/ps-demo")["spec"]}


async def answered(ask: Callable[[], Awaitable[object]], until: type[errors.ApiError] | None) -> None:
    """Ask until the answer is this: a definition is served a moment after it was taken."""
    async with asyncio.timeout(LONGEST_TEST / 2):
        while True:
            try:
                await ask()
            except errors.ApiError as error:
                if until is not None and isinstance(error, until):
                    return
            else:
                if until is None:
                    return
            await asyncio.sleep(PAUSE)


async def stored(api: Api, name: str, status: Manifest | None) -> Manifest:
    """Give an object as an earlier definition took it, with a finalizer."""
    kind = kind_of(api)
    await api.define(definition(api, OPEN))
    await answered(lambda: api.client.create(kind, job(api, name, FINALIZER)), None)
    if status is not None:
        await api.other.patch(kind, api.key(name), {"status": status}, subresource="status")
    return await api.client.get(kind, api.key(name))


async def redefined(api: Api, schema: Manifest, refused: str) -> None:
    """Wait until the definition refuses what it must."""
    await api.define(definition(api, schema))
    wanted = job(api, refused)
    await answered(lambda: api.post(kind_of(api), wanted, dryRun="All"), errors.InvalidError)


@pytest.mark.parametrize("status", [None, {}, {"phase": "Running"}], ids=["no status", "an empty one", "a status"])
@pytest.mark.parametrize("name", ["3d-model", "a" * 63, "with.dots"])
async def test_what_an_earlier_definition_named_can_be_changed_and_can_go(
    api: Api, name: str, status: Manifest | None
) -> None:
    kind, key = kind_of(api), api.key(name)
    made = await stored(api, name, status)
    await redefined(api, ours(), "3d-other")
    await api.client.patch(kind, key, {"metadata": {"labels": {"seen": "yes"}}})
    written = await api.client.patch(kind, key, {"status": {"phase": "Failed"}}, subresource="status")
    assert (uid_of(written), written["status"]["phase"]) == (uid_of(made), "Failed")
    await api.client.delete(kind, key, Preconditions(uid_of(made)))
    await api.client.patch(kind, key, {"metadata": {"finalizers": None}})
    await gone(api.client, kind, key)


async def test_what_an_earlier_definition_named_can_go_before_anybody_looked_at_it(api: Api) -> None:
    kind, key = kind_of(api), api.key("3d-model")
    await stored(api, "3d-model", None)
    await redefined(api, ours(), "3d-other")
    await api.client.delete(kind, key, Preconditions())
    await api.client.patch(kind, key, {"metadata": {"finalizers": None}})
    await gone(api.client, kind, key)


async def test_a_new_name_is_judged_whatever_status_it_is_sent_with(api: Api) -> None:
    await redefined(api, ours(), "3d-other")
    wanted = {**job(api, "3d-model"), "status": {"phase": "Running"}}
    for write in (api.client.create, api.client.apply):
        with pytest.raises(errors.InvalidError, match=r"metadata\.name must begin with a letter"):
            await write(kind_of(api), wanted)


async def test_a_rule_on_the_whole_is_asked_again_whatever_changes(api: Api) -> None:
    kind, key = kind_of(api), api.key("model")
    await stored(api, "model", None)
    rule = {"rule": "self.metadata.name == 'other'", "message": "only the other"}
    await redefined(api, {**OPEN, RULES: [rule]}, "model-2")
    with pytest.raises(errors.InvalidError, match="only the other"):
        await api.client.patch(kind, key, {"metadata": {"finalizers": None}})
    with pytest.raises(errors.InvalidError, match="only the other"):
        await api.client.patch(kind, key, {"status": {"phase": "Running"}}, subresource="status")
    await api.define(definition(api, OPEN))
    await answered(lambda: api.client.patch(kind, key, {"metadata": {"finalizers": None}}), None)


async def test_a_rule_on_a_part_is_not_asked_again_while_that_part_stays(api: Api) -> None:
    kind, key = kind_of(api), api.key("model")
    await stored(api, "model", None)
    rule = {"rule": "!has(self.worker)", "message": "no worker"}
    spec = {**ours()["properties"]["spec"], RULES: [rule]}
    await redefined(api, {"type": "object", "properties": {"spec": spec}}, "model-2")
    await api.client.patch(kind, key, {"metadata": {"finalizers": None}})
    with pytest.raises(errors.InvalidError, match="no worker"):
        await api.client.patch(kind, key, {"spec": {"intranet": "Service"}})
