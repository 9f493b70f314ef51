"""The data set in a job's pods, and the nodes that workers go to for it."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import sampleset_node_label
from support.paddleworld import PaddleWorld, paddle_job, role, sample_set

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
GPU = {"key": "gpu", "operator": "Exists"}
REFERENCE = {"name": "imagenet", "mountPath": "/mnt/imagenet"}


def cached(partition: int) -> Manifest:
    return {
        "key": sampleset_node_label("team", "imagenet"),
        "operator": "In",
        "values": [f"imagenet-runtime-{partition}"],
    }


def world_with(reference: Manifest, data: Manifest | None, **spec: object) -> PaddleWorld:
    world = PaddleWorld(paddle_job("demo", sampleSetRef={**REFERENCE, **reference}, **spec))
    world.sample_set = data
    return world.settle()


def test_the_claim_is_mounted_in_every_container_of_every_pod() -> None:
    worker = role(1)
    worker["template"]["spec"]["containers"].append({"name": "board", "image": "board:v1"})
    world = world_with({}, sample_set(), ps=role(1), worker=worker)
    for name in ("demo-ps-0", "demo-worker-0"):
        spec = world.pod(name)["spec"]
        assert spec["volumes"] == [{"name": "imagenet", "persistentVolumeClaim": {"claimName": "imagenet"}}]
        mounts = [container["volumeMounts"] for container in spec["containers"]]
        assert mounts == [[{"name": "imagenet", "mountPath": "/mnt/imagenet"}]] * len(mounts)


def test_a_volume_of_the_users_with_the_same_name_stays() -> None:
    world = world_with({}, sample_set(), worker=role(1, volumes=[{"name": "imagenet", "emptyDir": {}}]))
    spec = world.pod("demo-worker-0")["spec"]
    assert [volume["name"] for volume in spec["volumes"]] == ["imagenet", "sampleset-imagenet"]
    assert spec["containers"][0]["volumeMounts"] == [{"name": "sampleset-imagenet", "mountPath": "/mnt/imagenet"}]


def test_worker_i_goes_to_partition_i_and_those_beyond_the_partitions_and_other_roles_anywhere() -> None:
    world = world_with({}, sample_set(partitions=2), ps=role(1), worker=role(3))
    affinities = {name: world.pod(name)["spec"].get("affinity") for name in world.pods}
    terms = [{"nodeSelectorTerms": [{"matchExpressions": [cached(number)]}]} for number in range(2)]
    assert affinities == {
        "demo-ps-0": None,
        "demo-worker-0": {"nodeAffinity": {REQUIRED: terms[0]}},
        "demo-worker-1": {"nodeAffinity": {REQUIRED: terms[1]}},
        "demo-worker-2": None,
    }


def test_a_preferred_place_leaves_a_worker_free_to_go_elsewhere() -> None:
    """With the original, a worker whose cache node had no room never started."""
    world = world_with({"placement": "Preferred"}, sample_set(), worker=role(1))
    term = {"weight": 100, "preference": {"matchExpressions": [cached(0)]}}
    assert world.pod("demo-worker-0")["spec"]["affinity"] == {"nodeAffinity": {PREFERRED: [term]}}


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        pytest.param([], [{"matchExpressions": [cached(0)]}], id="none"),
        pytest.param([{"matchExpressions": [ZONE]}], [{"matchExpressions": [ZONE, cached(0)]}], id="one"),
        pytest.param(
            [{"matchExpressions": [ZONE]}, {"matchFields": [GPU]}],
            [{"matchExpressions": [ZONE, cached(0)]}, {"matchFields": [GPU], "matchExpressions": [cached(0)]}],
            id="either of two",
        ),
        pytest.param([{}], [{}], id="one that no node matches"),
    ],
)
def test_the_users_affinity_holds_as_well_and_is_never_widened(terms: list[Manifest], wanted: list[Manifest]) -> None:
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    world = world_with({}, sample_set(), worker=role(1, affinity=affinity))
    found = world.pod("demo-worker-0")["spec"]["affinity"]["nodeAffinity"]
    assert found == {REQUIRED: {"nodeSelectorTerms": wanted}}


def test_the_rest_of_the_users_affinity_is_kept() -> None:
    affinity = {
        "podAntiAffinity": {"kept": True},
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ZONE]}]}, PREFERRED: [{"weight": 1}]},
    }
    world = world_with({}, sample_set(), worker=role(1, affinity=affinity))
    assert world.pod("demo-worker-0")["spec"]["affinity"] == {
        "podAntiAffinity": {"kept": True},
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [ZONE, cached(0)]}]},
            PREFERRED: [{"weight": 1}],
        },
    }


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(None, "there is no SampleSet imagenet in namespace team", id="it is not there"),
        pytest.param(sample_set("Syncing"), "SampleSet imagenet is not Ready yet, it is Syncing", id="it is copied"),
        pytest.param(sample_set(""), "SampleSet imagenet is not Ready yet, it is not begun", id="nobody looked at it"),
        pytest.param(
            sample_set("PartialReady"), "SampleSet imagenet is not Ready yet, it is PartialReady", id="a part of it"
        ),
    ],
)
def test_a_job_waits_for_its_data_and_says_for_what(data: Manifest | None, words: str) -> None:
    world = world_with({}, data, worker=role(1))
    assert (world.objects, world.status.phase, world.why) == ({}, "Pending", f"WaitingForData: {words}")
    told = world.status.conditions[1]
    assert (told.type, told.status, told.reason, told.message) == ("DataReady", "False", "WaitingForData", words)
    world.sample_set = sample_set()
    world.settle()
    assert world.pods == ["demo-worker-0"]
    assert (world.status.conditions[1].status, world.status.conditions[1].reason) == ("True", "SampleSetReady")


def test_a_job_waits_no_longer_than_it_is_told_to() -> None:
    world = world_with({"timeoutSeconds": 60}, sample_set("Syncing"), worker=role(1))
    assert world.step().look_again == 60
    world.later(59)
    assert world.settle().step().look_again == 1
    world.later(1)
    assert world.settle().status.phase == "Failed"
    assert world.why == (
        "SampleSetTimeout: SampleSet imagenet is not Ready yet, it is Syncing; it was waited for 60 seconds"
    )


def test_a_suspended_job_does_not_use_up_its_time_to_wait() -> None:
    world = world_with({"timeoutSeconds": 60}, None, worker=role(1))
    world.edit(suspend=True)
    world.settle()
    world.later(3600)
    world.edit(suspend=False)
    assert world.settle().status.phase == "Pending"


def test_data_that_was_ready_once_is_waited_for_anew() -> None:
    world = world_with({"timeoutSeconds": 60}, sample_set(), worker=role(1), backoffLimit=1)
    world.run()
    world.settle()
    world.later(3600)
    world.sample_set = sample_set("Syncing")
    world.fail("demo-worker-0")
    world.settle()
    assert (world.pods, world.status.phase, world.step().look_again) == ([], "Pending", 60)


def test_a_job_that_has_run_goes_on_while_a_cache_node_is_away() -> None:
    world = world_with({}, sample_set(), worker=role(2))
    world.run()
    world.settle()
    world.sample_set = sample_set("PartialReady")
    world.lose("demo-worker-0")
    assert world.settle().pods == ["demo-worker-0", "demo-worker-1"]
