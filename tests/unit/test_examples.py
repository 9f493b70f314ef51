"""The examples fit our kinds, start programs that are there, and get pods."""

import copy
from pathlib import PurePosixPath

import msgspec
import pytest

from paddle_operator.api import crd
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.paddlejob.snapshot import Settings
from paddle_operator.embedded.apiserver import validation
from support.examples import JOBS, PLACE, documents, example, trainings
from support.paddleworld import PaddleWorld

README = (PLACE / "README.md").read_text()
PROGRAMS = trainings()["data"]
SCHEMA = crd.v1(PaddleJob)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def roles(job: Manifest) -> list[Manifest]:
    return [job["spec"][role] for role in ("ps", "worker") if role in job["spec"]]


def test_there_is_one_for_every_mode_and_each_is_told_of() -> None:
    assert JOBS == ["collective", "elastic", "single", "wide-and-deep"]
    assert [name for name in JOBS if f"(paddlejob-{name}.yaml)" not in README] == []


@pytest.mark.parametrize("name", JOBS)
def test_an_example_fits_the_schema_with_no_field_that_is_not_known(name: str) -> None:
    job = example(name)
    assert validation.faults(copy.deepcopy(job), SCHEMA) == []
    assert msgspec.json.decode(msgspec.json.encode(msgspec.convert(job, PaddleJob))) == job


@pytest.mark.parametrize("name", JOBS)
def test_an_example_starts_a_program_that_is_there(name: str) -> None:
    for role in roles(example(name)):
        spec = role["template"]["spec"]
        program = PurePosixPath(spec["containers"][0]["command"][-1])
        assert str(program.parent) == spec["containers"][0]["volumeMounts"][0]["mountPath"]
        assert program.name in PROGRAMS


@pytest.mark.parametrize("name", JOBS)
def test_an_example_gets_all_of_its_pods(name: str) -> None:
    job = example(name)
    job["metadata"] |= {"namespace": "team", "uid": "uid-1", "generation": 1}
    world = PaddleWorld(job, Settings(etcd_server="paddle-elastic-etcd.paddle-system.svc:2379")).settle()
    assert len(world.pods) == sum(role["replicas"] for role in roles(job))


@pytest.mark.parametrize(("file", "kind"), [("imagenet.yaml", SampleSet), ("ps-demo.yaml", PaddleJob)])
def test_the_quick_starts_files_fit_the_kinds_with_no_field_that_is_not_known(
    file: str, kind: type[SampleSet] | type[PaddleJob]
) -> None:
    (manifest,) = documents(f"quickstart/{file}")
    schema = crd.v1(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert validation.faults(copy.deepcopy(manifest), schema) == []
    assert msgspec.json.decode(msgspec.json.encode(msgspec.convert(manifest, kind))) == manifest


def test_the_quick_starts_files_are_told_of() -> None:
    assert [path.name for path in PLACE.glob("quickstart/*") if f"(quickstart/{path.name})" not in README] == []
