"""An elastic PaddleJob on a real etcd: workers come and go while real Paddle trains on."""

import json

from localkube.kubectl import Kubectl, Manifest
from support.examples import documents, example, on_image, trainings
from support.manifests import changed
from support.paddlejobs import Jobs
from support.workloads import TESTBOX

from .conftest import Begin

# Where a node of localkube has the programs that the cluster itself is made of.
PROGRAMS = "/opt/localkube/bin"
PATIENCE = 120.0


def etcd() -> tuple[Manifest, Manifest]:
    """Give the example's etcd, with the program of the node in the place of an image."""
    service, deployment = documents("etcd.yaml")
    spec = deployment["spec"]["template"]["spec"]
    mounts = [*spec["containers"][0]["volumeMounts"], {"name": "programs", "mountPath": PROGRAMS, "readOnly": True}]
    container = {"image": TESTBOX, "command": [f"{PROGRAMS}/etcd"], "volumeMounts": mounts}
    changes = {f"spec.template.spec.containers.0.{field}": value for field, value in container.items()}
    changes["spec.template.spec.volumes"] = [*spec["volumes"], {"name": "programs", "hostPath": {"path": PROGRAMS}}]
    return service, changed(deployment, changes)


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
    namespace.apply(trainings(), *etcd())
    namespace.rolled_out("deployment/paddle-elastic-etcd")
    begin(f"--etcd-server=paddle-elastic-etcd.{namespace.namespace}.svc:2379")
    jobs = Jobs(namespace)
    jobs.submit(on_image(example("elastic"), paddlebox))
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
    jobs.let_end("elastic-worker-1", "/state/end")
    jobs.until("Completed", "elastic")
    assert jobs.uids("elastic") == first, "those that stayed were made anew"
    assert training.events()[-1]["event"] == "done"
    assert jobs.status("elastic")["elastic"] == "DONE"
    assert "restarts" not in jobs.status("elastic")
