"""All pods or none: Volcano's PodGroup, and Kubernetes' own Workload."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.desired.training.decision import Piece
from paddle_operator.desired.training.settings import Scheduling
from support.paddleworld import IMAGE, PaddleWorld, paddle_job, role

VOLCANO = Settings(init_image=IMAGE, etcd_server="etcd:2379", scheduling=Scheduling.VOLCANO)
NATIVE = Settings(init_image=IMAGE, etcd_server="etcd:2379", scheduling=Scheduling.NATIVE)


def asking(replicas: int, requests: Manifest | None = None, limits: Manifest | None = None) -> Manifest:
    asked = role(replicas)
    asked["template"]["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": limits}
    return asked


def let_in(world: PaddleWorld, phase: str = "Inqueue") -> PaddleWorld:
    (group,) = world.all(Piece.POD_GROUP)
    group["status"] = {"phase": phase}
    return world.settle()


@pytest.mark.parametrize(
    ("spec", "group"),
    [
        pytest.param(
            {"ps": asking(1, {"cpu": "500m"}), "worker": asking(2, None, {"cpu": 2, "memory": "1Gi"})},
            {"minMember": 3, "minResources": {"cpu": "4500m", "memory": "2147483648"}},
            id="all pods and what they request",
        ),
        pytest.param(
            {"worker": asking(2, {"cpu": 2}, {"cpu": 4, "nvidia.com/gpu": 8})},
            {"minMember": 2, "minResources": {"cpu": "4", "nvidia.com/gpu": "16"}},
            id="devices that are only limited",
        ),
        pytest.param({"worker": role(2)}, {"minMember": 2}, id="pods that request nothing"),
        pytest.param(
            {
                "worker": role(3),
                "schedulingPolicy": {
                    "minAvailable": 2,
                    "queue": "research",
                    "priorityClass": "high",
                    "minResources": {"cpu": 4},
                },
            },
            {
                "minMember": 2,
                "minResources": {"cpu": "4"},
                "queue": "research",
                "priorityClassName": "high",
            },
            id="as the user says",
        ),
        pytest.param(
            {"elastic": 1, "worker": {**asking(4, {"cpu": 2}), "requests": 1, "limits": 4}},
            {"minMember": 1, "minResources": {"cpu": "2"}},
            id="the fewest and what they request",
        ),
    ],
)
def test_the_pod_group_asks_for_the_whole_job(spec: Manifest, group: Manifest) -> None:
    world = PaddleWorld(paddle_job("demo", **spec), VOLCANO).settle()
    (made,) = world.all(Piece.POD_GROUP)
    assert (made["metadata"]["name"], made["spec"]) == ("demo", group)


def test_pods_are_held_until_volcano_lets_the_group_in() -> None:
    world = PaddleWorld(paddle_job(worker=role(2)), VOLCANO).settle()
    assert (world.pods, world.status.phase) == ([], "Pending")
    assert world.why == "Queuing: the PodGroup waits to be let into its queue"
    assert let_in(world, "Pending").pods == []
    assert let_in(world).pods == ["demo-worker-0", "demo-worker-1"]


def test_a_pod_that_volcano_schedules_says_to_which_group_it_belongs() -> None:
    world = PaddleWorld(paddle_job(worker=role(1), schedulingPolicy={"queue": "research"}), VOLCANO).settle()
    pod = let_in(world).pod("demo-worker-0")
    assert pod["spec"]["schedulerName"] == "volcano"
    volcanic = {name: value for name, value in pod["metadata"]["annotations"].items() if "paddle" not in name}
    assert volcanic == {
        "scheduling.k8s.io/group-name": "demo",
        "volcano.sh/task-spec": "worker",
        "volcano.sh/job-name": "demo",
        "volcano.sh/job-version": "0",
        "volcano.sh/queue-name": "research",
    }


@pytest.mark.parametrize("phase", ["Running", "Unknown", "Completed", "Pending"])
def test_whatever_becomes_of_the_group_a_job_whose_pods_are_there_goes_on_and_ends(phase: str) -> None:
    """The original stopped looking at a job when its group left the queue, and never removed the group."""
    world = let_in(PaddleWorld(paddle_job(worker=role(2)), VOLCANO).settle())
    world.run()
    let_in(world, phase)
    world.lose("demo-worker-0")
    assert world.settle().pods == ["demo-worker-0", "demo-worker-1"]
    world.succeed(*world.pods)
    world.settle()
    assert (world.status.phase, world.objects) == ("Completed", {})


def test_a_suspended_job_leaves_its_queue() -> None:
    world = let_in(PaddleWorld(paddle_job(worker=role(2)), VOLCANO).settle())
    world.edit(suspend=True)
    assert world.settle().names(Piece.POD_GROUP) == []


@pytest.mark.parametrize(
    ("settings", "scheduler"), [(VOLCANO, "default-scheduler"), (VOLCANO, "kueue"), (NATIVE, "volcano")]
)
def test_a_template_that_asks_for_another_scheduler_gets_it_and_no_gang(settings: Settings, scheduler: str) -> None:
    world = PaddleWorld(paddle_job(worker=role(2, schedulerName=scheduler)), settings).settle()
    assert (world.names(Piece.POD_GROUP), world.names(Piece.WORKLOAD)) == ([], [])
    assert world.pod("demo-worker-0")["spec"]["schedulerName"] == scheduler


def test_kubernetes_own_gang_is_a_workload_that_pods_name() -> None:
    world = PaddleWorld(paddle_job(ps=role(1), worker=role(2)), NATIVE).settle()
    (made,) = world.all(Piece.WORKLOAD)
    assert made["spec"] == {
        "controllerRef": {"apiGroup": "batch.paddlepaddle.org", "kind": "PaddleJob", "name": "demo"},
        "podGroups": [{"name": "pods", "policy": {"gang": {"minCount": 3}}}],
    }
    assert world.pod("demo-ps-0")["spec"]["workloadRef"] == {"name": "demo", "podGroup": "pods"}


def test_a_workload_which_cannot_change_is_made_anew_when_the_job_does() -> None:
    world = PaddleWorld(paddle_job(worker=role(2)), NATIVE).settle()
    world.edit(worker=role(3))
    writes = len(world.writes)
    world.settle()
    (made,) = world.all(Piece.WORKLOAD)
    anew = [write for write in world.writes[writes:] if "worker-0" in write or "Workload" in write]
    assert anew == [
        "delete Pod demo-worker-0", "delete Workload demo", "create Workload demo", "create Pod demo-worker-0",
    ], "no new pod meets the old one"  # fmt: skip
    assert made["spec"]["podGroups"][0]["policy"]["gang"]["minCount"] == 3


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        pytest.param(
            VOLCANO,
            "NoGangScheduling: the manager runs with --scheduling=volcano, and the cluster has no PodGroups of"
            " scheduling.volcano.sh/v1beta1: install Volcano, or start the manager without --scheduling",
            id="volcano",
        ),
        pytest.param(
            NATIVE,
            "NoGangScheduling: the manager runs with --scheduling=native, and the cluster has no Workloads of"
            " scheduling.k8s.io/v1alpha1: switch on this alpha API of Kubernetes 1.35, or start the manager without"
            " --scheduling",
            id="native",
        ),
    ],
)
def test_where_nobody_schedules_gangs_a_job_says_so_and_looks_again(settings: Settings, words: str) -> None:
    world = PaddleWorld(paddle_job(worker=role(2)), settings)
    world.gangs_served = False
    assert world.step().look_again == 15
    assert (world.objects, world.status.phase, world.why) == ({}, "Pending", words)
    world.gangs_served = True
    assert world.settle().names(Piece.POD_GROUP) + world.names(Piece.WORKLOAD) == ["demo"]


def test_pods_that_run_go_on_where_gangs_are_no_longer_known() -> None:
    world = let_in(PaddleWorld(paddle_job(worker=role(2)), VOLCANO).settle())
    world.run()
    world.gangs_served = False
    assert (world.settle().status.phase, len(world.pods)) == ("Running", 2)
    world.succeed(*world.pods)
    assert world.settle().status.phase == "Completed"


def test_a_job_that_asks_for_another_scheduler_needs_no_gangs() -> None:
    world = PaddleWorld(paddle_job(worker=role(1, schedulerName="kueue")), VOLCANO)
    world.gangs_served = False
    assert world.settle().pods == ["demo-worker-0"]
