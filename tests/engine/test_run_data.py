"""SampleSets on one machine without a cluster: a real JuiceFS, mounted by the CSI plugin's own code."""

from pathlib import Path

import pytest

from paddle_operator.api.manifest import Manifest
from support import juicefs
from support.onemachine import OneMachine
from support.paddlejobs import paddle_job


@pytest.fixture
def machine(tmp_path: Path) -> OneMachine:
    juicefs.require()
    return OneMachine(tmp_path)


def sample_set(source: Path) -> Manifest:
    return {
        "apiVersion": "batch.paddlepaddle.org/v1alpha1",
        "kind": "SampleSet",
        "metadata": {"name": "numbers"},
        "spec": {"partitions": 1, "source": {"uri": f"file://{source}"}, "secretRef": {"name": "numbers"}},
    }


def reader(name: str) -> Manifest:
    container = {"name": "main", "image": "demo", "command": ["sh", "-c", "cat /data/*"]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return paddle_job(name, sampleSetRef={"name": "numbers", "mountPath": "/data"}, worker=worker)


def test_a_data_set_is_copied_cached_and_read_and_stays_warm(machine: OneMachine, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        (source / f"{number}").write_text(f"{number}\n")
    first = machine.run(sample_set(source), reader("first"))
    assert first.code == 0, (first, machine.own_log)
    assert machine.log("first-worker-0") == "0\n1\n2\n"
    again = machine.run(sample_set(source), reader("second"))
    assert again.code == 0, (again, machine.own_log)
    assert machine.log("second-worker-0") == "0\n1\n2\n"
    uids = {told.items["SampleSet/numbers"]["metadata"]["uid"] for told in (first, again)}
    assert len(uids) == 1
    assert len(list((machine.state / "shm").glob("default-numbers-*"))) == 1
    assert (machine.processes(), machine.mounts()) == ([], [])
