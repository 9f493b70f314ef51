"""An elastic PaddleJob on a real etcd: workers come and go while real Paddle trains on."""

import json

from localkube.kubectl import Kubectl, Manifest
from support import workloads
from support.paddlejobs import Jobs, paddle_job

from .conftest import Begin

# Where a node of localkube has the programs that the cluster itself is made of.
PROGRAMS = "/opt/localkube/bin"
PROGRAM = ("python3", "-m", "paddle.distributed.launch", "/opt/paddlebox/elastic.py")
PATIENCE = 120.0


def etcd() -> Manifest:
    urls = ("--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://etcd:2379")
    spec = workloads.pod_spec(f"{PROGRAMS}/etcd", "--data-dir=/tmp/etcd", "--unsafe-no-fsync", *urls)
    spec["volumes"] = [{"name": "programs", "hostPath": {"path": PROGRAMS}}]
    spec["containers"][0] |= {
        "volumeMounts": [{"name": "programs", "mountPath": PROGRAMS, "readOnly": True}],
        "readinessProbe": {"tcpSocket": {"port": 2379}, "periodSeconds": 1},
    }
    return workloads.pod("etcd", spec)


def workers(image: str, replicas: int) -> Manifest:
    """Give workers whose program goes on where it was, also in another container of the pod."""
    spec = workloads.pod_spec(*PROGRAM)
    spec["volumes"] = [{"name": "state", "emptyDir": {}}]
    spec["containers"][0] |= {
        "image": image,
        "volumeMounts": [{"name": "state", "mountPath": "/state"}],
        "env": [
            {"name": "CHECKPOINT", "value": "/state/checkpoint"},
            {"name": "STEPS", "value": "100000"},
            {"name": "PADDLE_ELASTIC_TIMEOUT", "value": "8"},
        ],
    }
    return {"replicas": replicas, "requests": 2, "limits": 3, "template": {"spec": spec}}


class Training:
    """What the first worker says of the trainings that it took part in, each with the step at which it began."""

    def __init__(self, jobs: Jobs) -> None:
        self.jobs = jobs
        self.seen = 0

    def events(self) -> list[Manifest]:
        said = self.jobs.kubectl.run("logs", "elastic-worker-0")
        return [json.loads(line) for line in said.splitlines() if line.startswith("{")]

    def goes_on_with(self, world: int) -> Manifest:
        """Wait for a training of so many that began later than those seen before."""

        def place() -> int | None:
            later = enumerate(self.events()[self.seen :], self.seen)
            return next((number for number, event in later if event["world"] == world), None)

        self.jobs.eventually(lambda: place() is not None, f"it does not train with {world}", PATIENCE)
        self.seen = (place() or 0) + 1
        return self.events()[self.seen - 1]


def test_workers_come_and_go_while_the_job_trains(namespace: Kubectl, paddlebox: str, begin: Begin) -> None:
    namespace.apply(etcd(), workloads.service("etcd", "etcd", 2379, clusterIP="None"))
    namespace.wait("condition=Ready", "pod/etcd")
    begin(f"--etcd-server=etcd.{namespace.namespace}.svc:2379")
    jobs = Jobs(namespace)
    jobs.submit(paddle_job("elastic", elastic=1, worker=workers(paddlebox, 2), cleanPodPolicy="Never"))
    jobs.until("Running", "elastic")
    training = Training(jobs)
    assert training.goes_on_with(2)["step"] == 0
    first = jobs.uids("elastic")
    jobs.edit("elastic", worker={"replicas": 3})
    grown = training.goes_on_with(3)
    assert grown["step"] > 0
    assert first < jobs.uids("elastic")
    jobs.edit("elastic", worker={"replicas": 2})
    assert training.goes_on_with(2)["step"] > grown["step"]
    namespace.execute("elastic-worker-1", "touch", "/tmp/end")
    jobs.until("Completed", "elastic")
    assert jobs.uids("elastic") == first, "those that stayed were made anew"
    assert training.events()[-1]["event"] == "done"
    assert jobs.status("elastic")["elastic"] == "DONE"
    assert "restarts" not in jobs.status("elastic")
