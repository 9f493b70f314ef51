"""Whatever a user writes, or whatever happens: a sentence or a plan, and never a crash."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.controllers.paddlejob import decode
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.desired.training.decision import Piece
from paddle_operator.desired.training.settings import Scheduling
from support.manifests import NAMES, circulating
from support.paddleworld import IMAGE, PaddleWorld, paddle_job, role, sample_set

JOBS = [name for name in NAMES if name.startswith("PaddleJob/")]
ODD: tuple[Any, ...] = (None, 0, -1, 10**30, 1.5, True, "", "x", "\x00\u0085", "٣", [], [None], {}, {"a": None}, [[]])
RICH: Manifest = {
    "metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e/f"]},
    "spec": {
        "schedulerName": "",
        "dnsPolicy": "Default",
        "initContainers": [{"name": "init", "image": "i"}],
        "volumes": [{"name": "imagenet", "emptyDir": {}}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": []}]},
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1}],
            }
        },
        "containers": [
            {
                "name": "train",
                "image": "t",
                "env": [{"name": "A", "value": "b"}],
                "envFrom": [{"secretRef": {"name": "s"}}],
                "ports": [{"containerPort": 80}],
                "volumeMounts": [{"name": "imagenet", "mountPath": "/x"}],
                "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
            }
        ],
    },
}


def places(node: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:  # noqa: ANN401  # any JSON
    """Give the way to every value."""
    parts = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for step, part in parts:
        yield (*way, step)
        yield from places(part, (*way, step))


def spoiled(manifest: Manifest, chance: random.Random) -> Manifest:
    """Put something odd in one or two places."""
    result = copy.deepcopy(manifest)
    for _ in range(chance.choice((1, 1, 2))):
        *way, last = chance.choice([found for found in places(result) if found[0] in ("spec", "status")])
        place: Any = result
        for step in way:
            place = place[step]
        place[last] = copy.deepcopy(chance.choice(ODD))
    return result


def jobs() -> Iterator[Manifest]:
    for name in JOBS:
        job = circulating(name)
        job["metadata"] |= {"namespace": "team", "uid": "uid-1", "generation": 1}
        yield job
        for roles in job["spec"].values():
            if isinstance(roles, dict) and "template" in roles:
                roles["template"] = copy.deepcopy(RICH)
        yield {**job, "status": {"phase": "Running", "restarts": 1, "worker": {"refs": [{"name": "a"}]}}}


@pytest.mark.parametrize("scheduling", Scheduling)
def test_a_spoiled_job_is_refused_or_planned(scheduling: Scheduling) -> None:
    chance = random.Random(scheduling.value)  # noqa: S311  # the same odd jobs every time
    outcomes = {"unreadable": 0, "refused": 0, "planned": 0}
    for job in list(jobs()) * 60:
        world = PaddleWorld(spoiled(job, chance), Settings(IMAGE, "etcd:2379", scheduling))
        world.sample_set = sample_set()
        try:
            decoded = decode(world.job)
        except msgspec.ValidationError:
            outcomes["unreadable"] += 1
            continue
        world.job["status"] = msgspec.to_builtins(decoded.status)
        outcomes["planned" if world.step().refusal is None else "refused"] += 1
    assert min(outcomes.values()) > 5, outcomes


EDITIONS = (
    "paddlepaddle.org/template-hash",
    "batch.paddlepaddle.org/attempt",
)


def something_happens(world: PaddleWorld, chance: random.Random) -> None:
    pods = world.pods
    happenings = [
        lambda: world.edit(worker=role(chance.randint(1, 3))),
        lambda: world.edit(suspend=chance.random() < 0.3),
        lambda: world.later(chance.choice((1, 10, 400))),
        world.reap,
    ]
    if pods:
        one = chance.choice(pods)
        happenings += [
            world.run,
            lambda: world.run(one),
            lambda: world.fail(one),
            lambda: world.succeed(one),
            lambda: world.lose(one),
        ]
    chance.choice(happenings)()


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_old_and_new_pods_never_meet_and_an_end_is_an_end(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # the same lives every time
    intranet = chance.choice(("", "PodIP", "Service", "Host"))
    job = paddle_job(intranet=intranet, ps=role(1), worker=role(2), backoffLimit=2)
    world = PaddleWorld(job, graceful=chance.random() < 0.5)
    ended = ""
    for _ in range(60):
        something_happens(world, chance)
        made = len(world.writes)
        world.step(chance.choice((0, 1, 2, 3, None)))
        created = [write for write in world.writes[made:] if write.startswith("create")]
        annotations = [found["metadata"]["annotations"] for found in world.all(Piece.POD)]
        if created:
            assert len({tuple(found[name] for name in EDITIONS) for found in annotations}) == 1
        phase = (world.job.get("status") or {}).get("phase", "")
        assert not (ended and (created or phase != ended))
        ended = phase if phase in ("Completed", "Failed") else ""
    world.reap()
    world.settle()
    assert world.status.restarts <= 2
