"""SampleSets on one machine without a cluster: a real JuiceFS, mounted by the CSI plugin's own code."""

from pathlib import Path

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.statedir import StateDirectory
from support.onemachine import OneMachine, sample_set
from support.paddlejobs import paddle_job


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
    assert len(list(StateDirectory(machine.state).memory.glob("default-numbers-*"))) == 1
    assert (machine.processes(), machine.mounts()) == ([], [])
