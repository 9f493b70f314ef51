"""What Fluid is asked for, field by field, and what it is never asked for."""

import msgspec
import pytest

from paddle_operator.api.cachebackend import CacheBackend
from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.cachebackend.engine import Piece
from paddle_operator.engines.fluid.objects import Fluid
from paddle_operator.engines.juicefs.caching import JuiceFSCache
from paddle_operator.engines.registry import CACHE_ENGINES, cache_engine_name
from support.caches import FLUID, JUICEFS, cache_backend

SECRET = {"name": "metaurl", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "metaurl"}}}
REMOTE = {"location": "juicefs:///demo", "encryptOptions": [SECRET]}


def cache(name: str = "mnist", engine: Manifest | None = None, **spec: object) -> CacheBackend:
    made = cache_backend(name, engine, **spec)
    made["metadata"]["uid"] = "uid-1"
    return msgspec.convert(made, CacheBackend)


OWNER = {"apiVersion": "cache.kubedl.io/v1alpha1", "kind": "CacheBackend", "name": "mnist", "uid": "uid-1"}
METADATA = {"name": "mnist", "namespace": "default", "ownerReferences": [OWNER]}


def test_the_documents_cache_becomes_the_dataset_and_the_runtime_that_fluid_knows() -> None:
    """Every field of the reference's table, and no other."""
    assert Fluid().objects(cache()) == (
        (
            Piece.DATASET,
            {"metadata": METADATA, "spec": {"mounts": [{"mountPoint": "local:///dataset/mnist", "name": "mnist"}]}},
        ),
        (
            Piece.ALLUXIO_RUNTIME,
            {
                "metadata": METADATA,
                "spec": {
                    "replicas": 1,
                    "tieredstore": {"levels": [{"mediumtype": "MEM", "path": "/dev/shm", "quota": "1Gi"}]},
                },
            },
        ),
    )


def test_each_data_source_is_a_mount_of_its_own() -> None:
    sources = [{"location": "s3://bucket/a", "subDirName": "a"}, {"location": "hdfs://b/c", "subDirName": "b"}]
    ((_, dataset), _) = Fluid().objects(cache(dataset={"dataSources": sources}))
    assert dataset["spec"] == {
        "mounts": [{"mountPoint": "s3://bucket/a", "name": "a"}, {"mountPoint": "hdfs://b/c", "name": "b"}]
    }


def test_a_runtime_without_a_number_of_workers_has_one() -> None:
    """The original asked for none: all was bound, and nothing cached."""
    (_, (_, runtime)) = Fluid().objects(cache(engine={"fluid": {"alluxioRuntime": {}}}))
    assert runtime["spec"] == {"replicas": 1}


def test_options_secrets_and_a_shared_place_reach_fluid() -> None:
    engine = {"fluid": {"juicefsRuntime": {"replicas": 2}}}
    source = {**REMOTE, "options": {"bucket": "b"}}
    made = cache(engine=engine, dataset={"dataSources": [source]}, options={"placement": "Shared", "preload": {}})
    assert Fluid().problem(made) == ""
    objects = dict(Fluid().objects(made))
    assert objects[Piece.DATASET]["spec"] == {
        "mounts": [{"mountPoint": "juicefs:///demo", "options": {"bucket": "b"}, "encryptOptions": [SECRET]}],
        "placement": "Shared",
    }
    assert objects[Piece.JUICEFS_RUNTIME]["spec"] == {"replicas": 2}
    assert objects[Piece.DATA_LOAD]["spec"]["target"] == [{"path": "/"}]


def level(quota: str) -> Manifest:
    tier = {"cachePath": "/a", "quota": quota, "mediumType": "SSD"}
    return {"fluid": {"alluxioRuntime": {"tieredStorage": [tier]}}}


PROBLEMS = {
    "no runtime": (cache(engine={"fluid": {}}), "exactly one runtime"),
    "two runtimes": (cache(engine={"fluid": {"alluxioRuntime": {}, "juicefsRuntime": {}}}), "exactly one runtime"),
    "a quota in words": (cache(engine=level("plenty")), "the quota 'plenty' of /a is no quantity"),
    "no quota": (cache(engine=level("")), "the quota '' of /a is no quantity"),
    "a quota below nothing": (cache(engine=level("-1Gi")), "is no quantity"),
    "a name with a digit first": (cache("3d"), "begins with a letter"),
    "a name that Helm does not take": (cache("c" * 54), "at most 53"),
    "another Dataset": (cache(dataset={"dataSources": [{"location": "dataset://a/b"}]}), "names another Dataset"),
    "a location of nothing": (cache(dataset={"dataSources": [{"location": "a://"}]}), "too short"),
    "JuiceFS from elsewhere": (cache(engine={"fluid": {"juicefsRuntime": {}}}), "exactly one data source"),
    "JuiceFS without keys": (
        cache(engine={"fluid": {"juicefsRuntime": {}}}, dataset={"dataSources": [{"location": "juicefs:///a"}]}),
        "needs metaurl or token",
    ),
}


@pytest.mark.parametrize(("made", "words"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_what_fluid_could_not_work_with_is_said_in_a_sentence(made: CacheBackend, words: str) -> None:
    assert words in Fluid().problem(made)


def claim(annotations: Manifest, labels: Manifest) -> Manifest:
    return {"metadata": {"name": "mnist", "annotations": annotations, "labels": labels}}


BY_FLUID = {"CreatedBy": "fluid"}
CLAIMS = {
    "of this Dataset": ("mnist", claim(BY_FLUID, {"fluid.io/dataset-id": "default-mnist"}), True),
    "of an older Fluid": ("mnist", claim(BY_FLUID, {}), True),
    "of another Dataset": ("mnist", claim(BY_FLUID, {"fluid.io/dataset-id": "default-other"}), False),
    "of nobody": ("mnist", claim({}, {}), False),
    "of somebody else": ("mnist", claim({"CreatedBy": "me"}, {"fluid.io/dataset-id": "default-mnist"}), False),
    "of a Dataset whose name is too long for a label": (
        "c" * 56,
        claim(BY_FLUID, {"fluid.io/dataset-id": "uid-2"}),
        True,
    ),
    "named where its uid should be": ("c" * 56, claim(BY_FLUID, {"fluid.io/dataset-id": "default-" + "c" * 56}), False),
}


@pytest.mark.parametrize(("name", "found", "ours"), CLAIMS.values(), ids=CLAIMS.keys())
def test_a_claim_is_known_by_what_fluid_wrote_on_it(name: str, found: Manifest, *, ours: bool) -> None:
    parts = {Piece.DATASET: {"metadata": {"name": name, "uid": "uid-2"}}}
    assert Fluid().owns(cache(name), found, parts) is ours
    assert not Fluid().owns(cache(name), found, {})


LABELS = {
    "by name": ("mnist", "fluid.io/s-default-mnist"),
    "by name, up to 62 characters with the prefix": ("c" * 43, f"fluid.io/s-default-{'c' * 43}"),
    "by uid, where that is more": ("c" * 44, "fluid.io/s-uid-2"),
}


@pytest.mark.parametrize(("name", "label"), LABELS.values(), ids=LABELS.keys())
def test_nodes_that_cache_a_dataset_are_known_by_the_label_that_fluid_gives_them(name: str, label: str) -> None:
    parts = {Piece.DATASET: {"metadata": {"name": name, "uid": "uid-2"}}}
    assert Fluid().progress(cache(name), parts).node_label == label


LEFT = {
    "of our runtime": ("mnist", claim(BY_FLUID, {"fluid.io/dataset-id": "default-mnist"}), True),
    "of our runtime, on an older Fluid": ("mnist", claim(BY_FLUID, {}), True),
    "of our runtime, with the uid of the Dataset before": (
        "c" * 56,
        claim(BY_FLUID, {"fluid.io/dataset-id": "uid-1"}),
        True,
    ),
    "of another Dataset": ("mnist", claim(BY_FLUID, {"fluid.io/dataset-id": "default-other"}), False),
    "of nobody": ("mnist", claim({}, {}), False),
}


@pytest.mark.parametrize(("name", "found", "ours"), LEFT.values(), ids=LEFT.keys())
def test_a_claim_that_outlived_its_dataset_is_known_by_the_runtime(name: str, found: Manifest, *, ours: bool) -> None:
    runtime = {Piece.ALLUXIO_RUNTIME: {"metadata": {"name": name}}}
    anew = {**runtime, Piece.DATASET: {"metadata": {"name": name, "uid": "uid-2"}}}
    assert [Fluid().owns(cache(name), found, parts) for parts in (runtime, anew)] == [ours, ours]


def test_the_registry_knows_each_engine_by_the_member_that_asks_for_it() -> None:
    assert (cache_engine_name(cache().spec), cache_engine_name(cache(engine=JUICEFS).spec)) == ("fluid", "juicefs")
    assert cache_engine_name(cache(engine={**FLUID, **JUICEFS}).spec) == ""
    assert sorted(CACHE_ENGINES) == ["fluid", "juicefs"]


def test_a_cache_on_our_engine_is_a_sample_set_of_its_own() -> None:
    tiers = [{"cachePath": "/one,/two", "quota": "1.5Gi", "mediumType": "SSD"}]
    engine = {"juicefs": {**JUICEFS["juicefs"], "replicas": 2, "tieredStorage": tiers, "mountOptions": {"prefetch": 2}}}
    sources = [
        {"location": "s3://a/b", "subDirName": "x", "secretRef": {"name": "keys"}},
        {"location": "pvc://claim/dir", "subDirName": "y"},
    ]
    ((piece, made),) = JuiceFSCache().objects(cache(engine=engine, dataset={"dataSources": sources}))
    assert piece is Piece.SAMPLE_SET
    assert made["metadata"]["ownerReferences"][0] == {**OWNER, "controller": True, "blockOwnerDeletion": True}
    assert made["spec"] == {
        "partitions": 2,
        "secretRef": {"name": "imagenet"},
        "sources": [
            {"uri": "s3://a/b", "path": "x", "secretRef": {"name": "keys"}},
            {"uri": "pvc://claim/dir", "path": "y"},
        ],
        "cache": {"levels": [{"mediumType": "SSD", "path": "/one:/two", "cacheSize": 1536}]},
        "csi": {"driver": "juicefs", "juiceFSMountOptions": {"prefetch": 2}},
    }


OURS = {
    "a scheme that JuiceFS lacks": (cache(engine=JUICEFS, dataset={"dataSources": [{"location": "ftp://a/b"}]}), "ftp"),
    "options of Fluid": (
        cache(engine=JUICEFS, dataset={"dataSources": [REMOTE | {"location": "s3://a/b"}]}),
        "Fluid's",
    ),
    "a name too long": (cache("c" * 45, engine=JUICEFS), "more than 44"),
}


@pytest.mark.parametrize(("made", "words"), OURS.values(), ids=OURS.keys())
def test_what_our_engine_could_not_work_with_is_said_in_a_sentence(made: CacheBackend, words: str) -> None:
    assert words in JuiceFSCache().problem(made)
