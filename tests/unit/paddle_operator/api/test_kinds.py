"""Our kinds decoded from what users write, and encoded again."""

import datetime as dt
from typing import Any

import msgspec
import pytest

from paddle_operator.api import crd
from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import CleanPodPolicy, PaddleJob
from paddle_operator.api.samplejob import SampleJob, WarmupStrategy
from paddle_operator.api.sampleset import SampleSet, SampleSetPhase
from paddle_operator.api.training import TFJob
from support.manifests import NAMES, changed, circulating

KINDS: dict[str, type[Kind]] = {kind.definition.kind: kind for kind in crd.KINDS}


def encoded(thing: msgspec.Struct) -> Manifest:
    made: Manifest = msgspec.json.decode(msgspec.json.encode(thing))
    return made


def decoded(manifest: Manifest) -> Kind:
    return msgspec.json.decode(msgspec.json.encode(manifest), type=KINDS[manifest["kind"]])


@pytest.mark.parametrize("name", NAMES)
def test_what_users_have_is_decoded_and_encoded_with_nothing_lost(name: str) -> None:
    manifest = circulating(name)
    assert encoded(decoded(manifest)) == manifest


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_a_manifest_of_every_kind(kind: str) -> None:
    assert any(name.startswith(f"{kind}/") for name in NAMES)


def test_fields_that_we_do_not_know_are_passed_over() -> None:
    manifest = circulating("SampleSet/imagenet")
    newer = changed(manifest, {"spec.newer": 1, "status.newer.still": [1], "metadata.managedFields": [{}]})
    assert encoded(decoded(newer)) == {**manifest, "status": {}}


def test_a_pod_template_is_kept_as_it_is() -> None:
    strange = {"metadata": {"x": None}, "spec": {"containers": [{"name": "a", "image": "b", "new": {"c": [1, None]}}]}}
    job = decoded(changed(circulating("PaddleJob/resnet"), {"spec.worker.template": strange}))
    assert isinstance(job, PaddleJob)
    assert job.spec.worker
    assert job.spec.worker.template == strange


def test_null_is_absent() -> None:
    manifest = circulating("SampleSet/imagenet")
    assert encoded(decoded(changed(manifest, {"spec.csi": None, "status": None}))) == manifest


def test_words_become_enums_which_are_the_words() -> None:
    job = decoded(circulating("PaddleJob/resnet-elastic"))
    assert isinstance(job, PaddleJob)
    assert job.spec.clean_pod_policy is CleanPodPolicy.ALWAYS
    assert f"{SampleSetPhase.PARTIAL_READY}" == "PartialReady"


def test_a_zero_that_was_written_is_no_absence() -> None:
    job = decoded(changed(circulating("PaddleJob/resnet"), {"spec.elastic": 0}))
    assert isinstance(job, PaddleJob)
    assert job.spec.elastic == 0
    assert encoded(job)["spec"]["elastic"] == 0


def test_a_default_holds_without_an_api_server() -> None:
    job = decoded(changed(circulating("SampleJob/imagenet-warmup"), {"spec.warmupOptions": {}}))
    assert isinstance(job, SampleJob)
    assert job.spec.warmup_options
    assert job.spec.warmup_options.strategy_name is WarmupStrategy.SEQUENCE
    cache = decoded(
        changed(circulating("CacheBackend/test-cachebackend"), {"spec.cacheEngine.fluid.alluxioRuntime": {}})
    )
    assert isinstance(cache, CacheBackend)
    assert cache.spec.cache_engine
    assert cache.spec.cache_engine.fluid
    assert cache.spec.cache_engine.fluid.alluxio_runtime
    assert cache.spec.cache_engine.fluid.alluxio_runtime.replicas == 1


def test_a_phase_that_we_do_not_know_can_be_read() -> None:
    made = decoded(changed(circulating("SampleSet/imagenet"), {"status": {"phase": "Dreaming"}}))
    assert isinstance(made, SampleSet)
    assert made.status
    assert made.status.phase == "Dreaming"


STATUSES: dict[str, Manifest] = {
    "PaddleJob/resnet": {
        "phase": "Running",
        "mode": "Collective",
        "worker": {"running": 2, "refs": [{"apiVersion": "v1", "kind": "Pod", "name": "resnet-worker-0", "uid": "1"}]},
        "elastic": "NONE",
        "startTime": "2021-02-08T07:43:24Z",
        "observedGeneration": 1,
    },
    "SampleSet/imagenet": {
        "phase": "Ready",
        "cacheStatus": {
            "totalSize": "58 MiB",
            "totalFiles": "128,660",
            "cachedSize": "200 B",
            "diskSize": "20 GiB",
            "diskUsed": "8.0 GiB",
            "diskAvail": "12 GiB",
            "diskUsageRate": "40.0%",
            "errorMassage": "node-1 does not answer",
            "totalBytes": 60817408,
        },
        "runtimeStatus": {"runtimeReady": "1/2", "specReplicas": 2, "readyReplicas": 1},
        "jobsName": {"syncJobName": "0f3c", "warmupJobName": "0f3d"},
    },
    "SampleJob/imagenet-sync": {"phase": "Pending", "jobName": "0f3c"},
    "CacheBackend/test-cachebackend": {
        "jobName": "tf-cache",
        "cacheEngine": "fluid",
        "cacheStatus": "PVCCreated",
        "usedBy": ["tf-cache"],
        "usedNum": 1,
        "lastUsedTime": "2021-02-08T07:43:24Z",
    },
    "TFJob/tf-cache": {
        "conditions": [
            {
                "type": "Running",
                "status": "True",
                "reason": "JobRunning",
                "message": "TFJob tf-cache is running.",
                "lastUpdateTime": "2021-02-08T07:43:24Z",
                "lastTransitionTime": "2021-02-08T07:43:24Z",
            }
        ],
        "replicaStatuses": {"Worker": {"active": 1}},
        "cacheBackendName": "test-cachebackend",
        "modelVersionName": "mv-tf-cache-9a79c",
        "lastReconcileTime": "2021-02-08T07:43:24Z",
    },
}


@pytest.mark.parametrize("name", STATUSES)
def test_a_status_of_the_original_operators_is_read_with_nothing_lost(name: str) -> None:
    manifest = changed(circulating(name), {"status": STATUSES[name]})
    assert encoded(decoded(manifest)) == manifest


def test_a_time_is_a_time() -> None:
    made = decoded(changed(circulating("TFJob/tf-cache"), {"status": STATUSES["TFJob/tf-cache"]}))
    assert isinstance(made, TFJob)
    assert made.status
    assert made.status.conditions[-1].last_update_time == dt.datetime(2021, 2, 8, 7, 43, 24, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("SampleSet/imagenet", {"spec.partitions": "two"}, r"Expected `int`, got `str` - at `\$.spec.partitions`"),
        ("SampleJob/imagenet-sync", {"spec.type": "synch"}, r"Invalid enum value 'synch' - at `\$.spec.type`"),
    ],
)
def test_what_no_api_server_lets_through_says_where_it_is_wrong(
    name: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        decoded(changed(circulating(name), changes))
