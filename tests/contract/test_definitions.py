"""Our kinds: what is taken, kept, filled in and refused, and what is said then."""

from dataclasses import replace

import pytest

from paddle_operator.api.crd import KINDS
from paddle_operator.api.manifest import Key, Manifest, version_of
from paddle_operator.kube import errors
from paddle_operator.kube.request import Kind, apply
from support.edits import ALLOWED_EDITS, FROZEN_EDITS, Edit
from support.manifests import NAMES, changed, circulating
from support.refusals import REFUSED

from .conftest import Api
from .test_reads import table

OURS = {
    kind.definition.kind: Kind(
        kind.definition.group, kind.definition.version, kind.definition.plural, kind.definition.kind
    )
    for kind in KINDS
}


async def create(api: Api, manifest: Manifest, **params: str) -> Manifest:
    """Create it with the strictest field validation, so that a field that would be pruned is an error."""
    return await api.post(OURS[manifest["kind"]], manifest, fieldValidation="Strict", **params)


async def edited(api: Api, edit: Edit) -> Manifest:
    """Create what is edited, with its status, then edit it as a user does."""
    manifest = circulating(edit.of)
    kind = OURS[manifest["kind"]]
    made = await create(api, manifest)
    key = Key(api.namespace, made["metadata"]["name"])
    if edit.status:
        made = await api.client.patch(kind, key, {"status": edit.status}, subresource="status")
    wanted = api.placed(changed(manifest, edit.changes))
    wanted["metadata"]["resourceVersion"] = version_of(made)
    return await api.client.replace(kind, wanted)


def lost(before: object, after: object) -> bool:
    """Tell whether something of the one is not in the other; what is added is no loss."""
    if isinstance(before, dict):
        return not isinstance(after, dict) or any(lost(before[key], after.get(key)) for key in before)
    if isinstance(before, list):
        return not isinstance(after, list) or len(before) != len(after) or any(map(lost, before, after))
    return before != after


@pytest.mark.parametrize("name", NAMES)
async def test_what_users_have_is_taken_and_kept_with_nothing_lost(api: Api, name: str) -> None:
    manifest = circulating(name)
    await create(api, manifest)
    kept = await api.client.get(OURS[manifest["kind"]], api.key(manifest["metadata"]["name"]))
    assert not lost(manifest, kept), kept["spec"]


@pytest.mark.parametrize("name", NAMES)
async def test_what_is_kept_is_taken_again(api: Api, name: str) -> None:
    made = await create(api, circulating(name))
    kept = await api.client.replace(OURS[made["kind"]], made)
    # The first write also stores the status that was filled in when the object was read.
    assert {**kept["metadata"], "resourceVersion": version_of(made)} == made["metadata"]
    assert {**kept, "metadata": {}} == {**made, "metadata": {}}
    assert await api.client.replace(OURS[made["kind"]], kept) == kept


async def refusal(api: Api, wrong: str) -> errors.InvalidError:
    name, changes, _ = REFUSED[wrong]
    with pytest.raises(errors.InvalidError) as refused:
        await create(api, changed(circulating(name), changes), dryRun="All")
    return refused.value


@pytest.mark.parametrize("wrong", REFUSED)
async def test_what_cannot_work_is_refused_in_words(embedded: Api, wrong: str) -> None:
    *_, message = REFUSED[wrong]
    assert message in (await refusal(embedded, wrong)).message


@pytest.mark.cluster
async def test_the_real_one_refuses_the_same_with_the_same_words(embedded: Api, genuine: Api) -> None:
    for wrong in REFUSED:
        said = await refusal(genuine, wrong)
        assert (wrong, (await refusal(embedded, wrong)).status) == (wrong, said.status)


def test_enough_is_refused() -> None:
    assert len(REFUSED) >= 60


@pytest.mark.parametrize("edit", FROZEN_EDITS)
async def test_what_cannot_change_any_more_does_not(api: Api, edit: str) -> None:
    with pytest.raises(errors.InvalidError) as refused:
        await edited(api, FROZEN_EDITS[edit])
    assert FROZEN_EDITS[edit].message in refused.value.message


@pytest.mark.parametrize("edit", ALLOWED_EDITS)
async def test_what_can_change_does(api: Api, edit: str) -> None:
    assert (await edited(api, ALLOWED_EDITS[edit]))["metadata"]["generation"] == 2


async def test_a_field_that_nobody_defined_is_told(api: Api) -> None:
    with pytest.raises(errors.BadRequestError) as refused:
        await create(api, changed(circulating("SampleSet/imagenet"), {"spec.partition": 3}))
    assert 'strict decoding error: unknown field "spec.partition"' in refused.value.message


async def test_a_field_that_nobody_defined_is_not_applied(api: Api) -> None:
    wanted = api.placed(changed(circulating("SampleSet/imagenet"), {"spec.partition": 3}))
    with pytest.raises(errors.ServerError) as refused:
        await api.client.send(replace(apply(OURS["SampleSet"], wanted, "tester"), repeatable=False))
    place = f"{api.namespace}/imagenet; batch.paddlepaddle.org/v1alpha1, Kind=SampleSet"
    words = f"failed to create typed patch object ({place}): .spec.partition: field not declared in schema"
    assert refused.value.message == words


async def test_defaults_are_filled_in(api: Api) -> None:
    job = await create(api, changed(circulating("SampleJob/imagenet-warmup"), {"spec.warmupOptions": {}}))
    assert job["spec"]["warmupOptions"] == {"strategyName": "sequence"}
    made = await create(api, changed(circulating("SampleSet/imagenet"), {"spec.csi": {}}))
    assert made["spec"]["csi"] == {"driver": "juicefs"}


async def test_null_is_absent_where_it_may_not_be(api: Api) -> None:
    made = await create(api, changed(circulating("SampleSet/imagenet"), {"spec.csi": None, "spec.tolerations": None}))
    assert "csi" not in made["spec"]
    assert "tolerations" not in made["spec"]


@pytest.mark.parametrize(
    ("name", "status", "columns", "cells"),
    [
        (
            "SampleSet/imagenet",
            {
                "phase": "Ready",
                "cacheStatus": {"totalSize": "58 MiB", "cachedSize": "200 B", "diskAvail": "12 GiB"},
                "runtimeStatus": {"runtimeReady": "1/1"},
            },
            ["NAME", "TOTAL SIZE", "CACHED SIZE", "AVAIL SPACE", "RUNTIME", "PHASE", "AGE"],
            ["imagenet", "58 MiB", "200 B", "12 GiB", "1/1", "Ready"],
        ),
        (
            "SampleJob/imagenet-rmr",
            {"phase": "Running", "progress": "20%"},
            ["NAME", "PHASE", "TYPE", "SAMPLESET", "PROGRESS", "AGE", "SCHEDULE"],
            ["imagenet-rmr", "Running", "rmr", "imagenet", "20%"],
        ),
        (
            "PaddleJob/ps-demo",
            {"phase": "Running", "mode": "PS"},
            ["NAME", "STATUS", "MODE", "AGE"],
            ["ps-demo", "Running", "PS"],
        ),
        ("PaddleJob/ps-demo", {}, ["NAME", "STATUS", "MODE", "AGE"], ["ps-demo", "", ""]),
        (
            "CacheBackend/test-cachebackend",
            {"jobName": "tf-cache", "cacheStatus": "PVCCreating", "usedNum": 2},
            ["NAME", "JOB-NAME", "CACHE-STATUS", "AGE", "ENGINE", "USED-NUM", "LAST-USED-TIME"],
            ["test-cachebackend", "tf-cache", "PVCCreating"],
        ),
        (
            "TFJob/tf-cache",
            {"conditions": [{"type": word, "status": "True"} for word in ("Created", "Succeeded")]},
            ["NAME", "STATE", "AGE", "MODEL-VERSION", "CACHE-BACKEND", "MAX-LIFETIME", "TTL-AFTER-FINISHED"],
            ["tf-cache", "Succeeded"],
        ),
    ],
    ids=["a SampleSet", "a SampleJob", "a PaddleJob", "a PaddleJob without a status", "a CacheBackend", "a TFJob"],
)
async def test_tables_are_those_that_users_know(
    api: Api, name: str, status: Manifest, columns: list[str], cells: list[str]
) -> None:
    made = await create(api, circulating(name))
    kind = OURS[made["kind"]]
    if status:
        await api.client.patch(kind, api.key(made["metadata"]["name"]), {"status": status}, subresource="status")
    shown = await table(api, kind)
    assert [column["name"].upper() for column in shown["columnDefinitions"]] == columns
    assert [cell or "" for cell in shown["rows"][0]["cells"][: len(cells)]] == cells
