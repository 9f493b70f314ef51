"""Jobs of every kind and their caches: made, claimed, waited for, mounted in every pod, done without."""

import msgspec
import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.training.decision import Piece
from support.caches import FLUID, JUICEFS, SOURCE
from support.paddleworld import PaddleWorld, paddle_job, role, sample_set
from support.trainingworld import TrainingWorld, ready_cache, replicas, tf_job, torch_job

NAMED = {"name": "mnist", "mountPath": "/data"}
INLINE = {"mountPath": "/data", "dataset": {"dataSources": [SOURCE]}, "cacheEngine": FLUID}


def using(cache: Manifest, **spec: object) -> TrainingWorld:
    return TrainingWorld(tf_job(cacheBackend=cache, **spec))


def mounts(world: TrainingWorld, name: str) -> list[tuple[str, str]]:
    spec = world.pod(name)["spec"]
    claims = {
        found["name"]: found["persistentVolumeClaim"]["claimName"]
        for found in spec.get("volumes", [])
        if "persistentVolumeClaim" in found
    }
    found = spec["containers"][0].get("volumeMounts", [])
    return [(claims[mount["name"]], mount["mountPath"]) for mount in found if mount["name"] in claims]


def test_every_pod_of_every_type_has_the_cache_also_those_made_late() -> None:
    """The original mounted it in the pods of the first pass alone: workers that waited for servers had none."""
    world = using(NAMED)
    world.cache = ready_cache()
    world.settle().run("demo-ps-0").run()
    assert [mounts(world, name) for name in world.pods] == [[("mnist", "/data")]] * 3
    assert {world.env(name)["KUBEDL_CACHE_NAME"] for name in world.pods} == {"mnist"}
    assert world.status.cache_backend_name == "mnist"


def test_a_pod_that_is_made_anew_keeps_the_cache() -> None:
    world = using(NAMED)
    world.cache = ready_cache()
    world.settle().run("demo-ps-0").run()
    before = world.pod("demo-worker-0")["metadata"]["uid"]
    world.end("demo-worker-0", code=137)
    assert world.pod("demo-worker-0")["metadata"]["uid"] != before
    assert mounts(world, "demo-worker-0") == [("mnist", "/data")]


def test_a_job_that_describes_its_cache_makes_it_its_own_and_goes_with_it() -> None:
    world = using(INLINE).settle()
    (cache,) = world.all(Piece.CACHE)
    assert cache["metadata"]["name"] == "cache-demo-9a79c"
    assert cache["metadata"]["ownerReferences"][0]["uid"] == "9a79c-uid"
    assert cache["spec"]["cacheEngine"] == FLUID
    assert (world.pods, world.state) == ([], "Created")
    assert world.why("CacheReady") == "WaitingForCache: CacheBackend cache-demo-9a79c is being made"
    assert world.why() == "JobCreated: TFJob demo waits: CacheBackend cache-demo-9a79c is being made"
    assert "WaitingForCache" in world.told


def test_a_cache_that_is_described_under_a_name_belongs_to_nobody() -> None:
    world = using({**INLINE, "name": "shared"}).settle()
    (cache,) = world.all(Piece.CACHE)
    assert cache["metadata"] == {"name": "shared", "namespace": "default", "uid": cache["metadata"]["uid"]}


def test_a_cache_that_is_only_named_is_waited_for_visibly() -> None:
    """The original waited without a word, and never where the name was missing too."""
    world = using(NAMED).settle()
    assert world.all(Piece.CACHE) == []
    assert world.why("CacheReady") == "WaitingForCache: CacheBackend mnist is not in namespace default: create it"
    world.cache = ready_cache("PVCCreating")
    world.settle()
    assert world.why("CacheReady") == "WaitingForCache: CacheBackend mnist is PVCCreating: as Fluid says"
    world.cache = ready_cache()
    assert world.settle().pods == ["demo-ps-0"]


def test_other_data_under_the_same_name_is_not_mounted() -> None:
    other = {**INLINE, "name": "mnist", "dataset": {"dataSources": [{"location": "s3://other"}]}}
    world = using(other)
    world.cache = ready_cache()
    world.settle()
    assert world.pods == []
    assert world.why("CacheReady").startswith("CacheConflict: CacheBackend mnist caches other data")


def test_a_failed_cache_is_waited_for_unless_the_job_says_otherwise() -> None:
    worlds = {choice: using({**NAMED, **({"onCacheFailure": choice} if choice else {})}) for choice in CHOICES}
    for world in worlds.values():
        world.cache = ready_cache("CacheFailed")
        world.settle()
    assert {choice: world.state for choice, world in worlds.items()} == CHOICES
    assert worlds["Fail"].why().endswith("has failed: CacheBackend mnist is CacheFailed: as Fluid says")
    without = worlds["RunWithout"]
    assert without.pods == ["demo-ps-0"]
    assert mounts(without, "demo-ps-0") == []
    assert "RunsWithoutCache!" in without.told


CHOICES = {"": "Created", "Fail": "Failed", "RunWithout": "Created"}


def test_a_job_that_runs_without_its_cache_goes_on_so_when_the_cache_recovers() -> None:
    world = using({**NAMED, "onCacheFailure": "RunWithout"})
    world.cache = ready_cache("CacheFailed")
    world.settle()
    world.cache = ready_cache()
    world.run("demo-ps-0")
    assert [mounts(world, name) for name in world.pods] == [[]] * 3
    assert world.why("CacheReady").startswith("RunsWithoutCache: ")


def test_a_job_that_has_its_cache_keeps_it_in_all_pods_when_the_cache_fails_and_recovers() -> None:
    world = using({**NAMED, "onCacheFailure": "RunWithout"})
    world.cache = ready_cache()
    world.settle().run("demo-ps-0").run()
    world.cache = ready_cache("CacheFailed")
    world.settle()
    assert world.why("CacheReady").startswith("CacheFailed: CacheBackend mnist is CacheFailed")
    world.lose("demo-worker-1")
    world.settle()
    assert [mounts(world, name) for name in world.pods] == [[("mnist", "/data")]] * 3
    world.cache = ready_cache()
    world.lose("demo-worker-0")
    world.settle()
    assert [mounts(world, name) for name in world.pods] == [[("mnist", "/data")]] * 3
    assert world.why("CacheReady").startswith("CacheReady: ")
    assert "RunsWithoutCache!" not in world.told


def test_a_job_that_begins_anew_decides_anew_whether_it_runs_without_its_cache() -> None:
    world = using({**NAMED, "onCacheFailure": "RunWithout"})
    world.cache = ready_cache("CacheFailed")
    world.settle()
    world.cache = ready_cache()
    world.lose("demo-ps-0")
    assert mounts(world.settle(), "demo-ps-0") == [("mnist", "/data")]
    assert world.why("CacheReady").startswith("CacheReady: ")


def test_a_job_that_runs_does_not_mind_what_becomes_of_its_cache() -> None:
    """The original could not end a job whose cache was gone."""
    world = using(NAMED)
    world.cache = ready_cache()
    world.settle().run("demo-ps-0").run()
    world.cache = None
    world.settle()
    assert (world.state, len(world.pods)) == ("Running", 3)
    assert world.end("demo-worker-0", code=1).state == "Failed"


def test_a_cache_is_told_of_a_job_once_before_its_first_use_where_it_could_be_deleted_as_idle() -> None:
    world = using(NAMED)
    world.cache = ready_cache(options={"idleTime": 60})
    world.settle()
    assert world.claims == ["TFJob/demo/9a79c-uid"]
    kept = using(NAMED)
    kept.cache = ready_cache()
    assert kept.settle().claims == []


def test_a_cache_that_is_being_deleted_is_not_begun_with() -> None:
    world = using(NAMED)
    world.cache = ready_cache()
    world.cache["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    world.settle()
    assert (world.pods, world.why("CacheReady")) == ([], "WaitingForCache: CacheBackend mnist is being deleted")


def test_a_job_between_two_pods_goes_on_with_a_cache_that_is_being_deleted_and_waits_for_it() -> None:
    world = TrainingWorld(tf_job({"Worker": replicas(1)}, cacheBackend=NAMED))
    world.cache = ready_cache()
    world.settle().run()
    world.cache["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    world.end("demo-worker-0", code=137)
    assert mounts(world, "demo-worker-0") == [("mnist", "/data")]
    assert world.why("CacheReady").startswith("CacheReady: ")
    assert world.state == "Restarting"


def test_a_job_lets_a_cache_go_that_is_being_deleted_and_not_ready() -> None:
    """Were it to go on, both would wait for each other."""
    world = TrainingWorld(tf_job({"Worker": replicas(1)}, cacheBackend=NAMED))
    world.cache = ready_cache()
    world.settle().run()
    world.cache = ready_cache("PVCCreating")
    world.cache["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z"
    world.end("demo-worker-0", code=137)
    assert (world.pods, world.state) == ([], "Created")
    assert world.why("CacheReady") == "WaitingForCache: CacheBackend mnist is being deleted"


def odd_template() -> Manifest:
    container = {"name": "tensorflow", "image": "demo:v1", "volumeMounts": [{"name": "own", "mountPath": "/data/"}]}
    side = {"name": "side", "image": "demo:v1", "env": [{"name": "KUBEDL_CACHE_NAME", "value": "mine"}]}
    first = {"name": "first", "image": "demo:v1"}
    volumes = [{"name": "cachevolume", "emptyDir": {}}, {"name": "own", "emptyDir": {}}]
    return {"spec": {"containers": [container, side], "initContainers": [first], "volumes": volumes}}


def test_what_the_user_has_is_not_overwritten_and_init_containers_see_the_data_too() -> None:
    """The original's volume clashed with one of the user's name, and the API server refused the pods."""
    world = TrainingWorld(tf_job({"Worker": {"template": odd_template()}}, cacheBackend=NAMED))
    world.cache = ready_cache()
    spec = world.settle().pod("demo-worker-0")["spec"]
    assert [found["name"] for found in spec["volumes"]] == ["cachevolume", "own", "cachevolume-1"]
    main, side = spec["containers"]
    assert [mount["name"] for mount in main["volumeMounts"]] == ["own"]
    assert [mount["name"] for mount in side["volumeMounts"]] == ["cachevolume-1"]
    assert world.env("demo-worker-0", 1)["KUBEDL_CACHE_NAME"] == "mine"
    (first,) = spec["initContainers"]
    assert first["volumeMounts"] == [{"name": "cachevolume-1", "mountPath": "/data"}]
    assert first["env"] == [{"name": "KUBEDL_CACHE_NAME", "value": "mnist"}]
    assert spec["volumes"][2]["persistentVolumeClaim"] == {"claimName": "mnist"}


PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NEAR = {
    "where Fluid caches": (FLUID, ("fluid.io/s-default-mnist", ["true"])),
    "worker i where our engine caches part i": (
        {"juicefs": {**JUICEFS["juicefs"], "replicas": 2}},
        ("paddlepaddle.org/juicefs-mnist-", ["mnist-runtime-1"]),
    ),
}


@pytest.mark.parametrize(("engine", "expected"), NEAR.values(), ids=NEAR.keys())
def test_workers_prefer_nodes_that_have_the_data(engine: Manifest, expected: tuple[str, list[str]]) -> None:
    world = TrainingWorld(tf_job({"Worker": replicas(2)}, cacheBackend=NAMED))
    world.cache = ready_cache("PVCCreated", engine)
    (term,) = world.settle().pod("demo-worker-1")["spec"]["affinity"]["nodeAffinity"][PREFERRED]
    (expression,) = term["preference"]["matchExpressions"]
    assert expression["key"].startswith(expected[0])
    assert expression["values"] == expected[1]


def test_a_tf_job_may_name_a_sample_set_as_a_paddle_job_does() -> None:
    reference = {"name": "imagenet", "mountPath": "/mnt", "timeoutSeconds": 60}
    world = TrainingWorld(torch_job(sampleSetRef=reference)).settle()
    assert world.why("DataReady").startswith("WaitingForData: there is no SampleSet imagenet")
    world.sample_set = sample_set()
    assert mounts(world.settle(), "demo-master-0") == [("imagenet", "/mnt")]
    late = TrainingWorld(torch_job(sampleSetRef=reference)).settle()
    assert late.later(60).settle().state == "Failed"


def test_a_job_may_wait_for_longer_than_any_calendar_holds() -> None:
    reference = {"name": "imagenet", "mountPath": "/mnt", "timeoutSeconds": 10**12}
    assert TrainingWorld(torch_job(sampleSetRef=reference)).settle().later(10**6).settle().state == "Created"


def test_a_job_may_have_a_cache_and_a_sample_set_beside_it() -> None:
    """The original had one cache for a job, and nothing else."""
    reference = {"name": "imagenet", "mountPath": "/mnt"}
    world = TrainingWorld(tf_job({"Worker": replicas(1)}, cacheBackend=NAMED, sampleSetRef=reference))
    world.cache, world.sample_set = ready_cache(), sample_set()
    assert mounts(world.settle(), "demo-worker-0") == [("mnist", "/data"), ("imagenet", "/mnt")]


def test_a_paddle_job_may_name_a_cache_as_a_tf_job_does() -> None:
    world = PaddleWorld(paddle_job(worker=role(2), cacheBackend=NAMED)).settle()
    assert (world.pods, world.why) == ([], "WaitingForCache: CacheBackend mnist is not in namespace team: create it")
    world.cache = ready_cache(options={"idleTime": 5})
    world.settle()
    assert world.status.cache_backend_name == "mnist"
    spec = world.pod("demo-worker-0")["spec"]
    assert {"name": "cachevolume", "persistentVolumeClaim": {"claimName": "mnist"}} in spec["volumes"]
    assert {"name": "KUBEDL_CACHE_NAME", "value": "mnist"} in spec["containers"][0]["env"]
    failed = PaddleWorld(paddle_job(worker=role(1), cacheBackend={**NAMED, "onCacheFailure": "Fail"}))
    failed.cache = ready_cache("CacheFailed")
    assert failed.settle().status.phase == "Failed"
    made = PaddleWorld(paddle_job(worker=role(1), cacheBackend=INLINE)).settle()
    assert made.names(Piece.CACHE) == ["cache-demo-uid-1"]
    assert msgspec.json.encode(made.status)
