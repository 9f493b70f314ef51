"""A run killed at any moment leaves nothing, and the next one goes on with the data."""

import signal
from pathlib import Path

import pytest

from localkube.waiting import wait_until
from support.onemachine import OneMachine, sample_set
from support.paddlejobs import paddle_job

LONG = ["sh", "-c", "cat /data/*; exec sleep 1000"]


def reader(*command: str) -> dict[str, object]:
    worker = {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "main", "image": "x", "command": list(command)}]}},
    }
    return paddle_job("reads", sampleSetRef={"name": "numbers", "mountPath": "/data"}, worker=worker)


@pytest.mark.parametrize(
    "sign",
    [
        pytest.param("objects.jsonl", id="when it begins"),
        pytest.param("volumes/default/numbers/meta.db", id="when the volume is formatted"),
        pytest.param("logs/default/reads-worker-0/*/main/0.log", id="when the job runs"),
    ],
)
def test_killed_at_any_moment_it_leaves_nothing_and_goes_on(machine: OneMachine, tmp_path: Path, sign: str) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "0").write_text("whole\n")
    begun = machine.begin("run", machine.file("both", sample_set(source), reader(*LONG)), *machine.options)
    wait_until(lambda: any(machine.state.glob(sign)), 60, f"{sign} does not come", 0.01)
    begun.send_signal(signal.SIGKILL)
    begun.communicate(timeout=20)
    wait_until(lambda: not machine.processes() and not machine.mounts(), 90, "something is left", 0.02)
    told = machine.run(sample_set(source), reader("sh", "-c", "cat /data/*"))
    assert told.code == 0, (told, machine.own_log)
    assert machine.log("reads-worker-0").endswith("whole\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_end_it_ends_in_order(machine: OneMachine, number: signal.Signals) -> None:
    worker = {
        "replicas": 1,
        "template": {"spec": {"containers": [{"name": "main", "image": "x", "command": ["sleep", "1000"]}]}},
    }
    begun = machine.begin("run", machine.file("long", paddle_job("long", worker=worker)))
    log = "logs/default/long-worker-0/*/main/0.log"
    wait_until(lambda: any(machine.state.glob(log)), 90, "it does not run", 0.05)
    begun.send_signal(number)
    begun.communicate(timeout=20)
    assert begun.returncode == 130
    assert (machine.processes(), machine.mounts()) == ([], [])
