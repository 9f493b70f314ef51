"""PaddleJobs on a real cluster: small ones to submit, and what is to be seen of them."""

import json
import signal
from collections.abc import Callable

from localkube.errors import CommandFailedError, LocalkubeError
from localkube.kubectl import Kubectl, Manifest
from localkube.waiting import wait_until
from support import workloads

PEERS = ("python3", "/opt/testbox/peers.py")
ENDLESS = ("python3", "/opt/testbox/listen.py")
LABEL = "batch.paddlepaddle.org/job"
PATIENCE = 90.0
KILLED = 128 + signal.SIGKILL
LAST_LINES = 12


def role(replicas: int, *command: str) -> Manifest:
    return {"replicas": replicas, "template": {"spec": workloads.pod_spec(*command)}}


def paddle_job(name: str, **spec: object) -> Manifest:
    return {
        "apiVersion": "batch.paddlepaddle.org/v1",
        "kind": "PaddleJob",
        "metadata": {"name": name},
        "spec": spec,
    }


class Jobs:
    """The PaddleJobs of a namespace."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl

    def submit(self, *jobs: Manifest) -> None:
        self.kubectl.apply(*jobs)

    def edit(self, name: str, **spec: object) -> None:
        self.kubectl.run("patch", f"pdj/{name}", "--type=merge", f"--patch={json.dumps({'spec': spec})}")

    def delete(self, *names: str) -> None:
        self.kubectl.run("delete", "pdj", *names, "--wait=false")

    def let_end(self, pod: str, awaited: str) -> None:
        """Make the file a program waits for; who ends at once takes `touch` along, which the kernel kills then."""
        try:
            self.kubectl.execute(pod, "touch", awaited)
        except CommandFailedError as error:
            if error.code != KILLED:
                raise

    def status(self, name: str) -> Manifest:
        found: Manifest = self.kubectl.get(f"pdj/{name}").get("status") or {}
        return found

    def phases(self) -> dict[str, str]:
        found = self.kubectl.items("pdj")
        return {job["metadata"]["name"]: (job.get("status") or {}).get("phase", "") for job in found}

    def why(self, name: str, condition: str = "Running") -> str:
        """Give the reason and the message of a condition; nothing if it is not there."""
        conditions = self.status(name).get("conditions") or []
        return next((f"{one['reason']}: {one['message']}" for one in conditions if one["type"] == condition), "")

    def pods(self, name: str = "") -> dict[str, Manifest]:
        """Give the pods of a job, or of all, by name."""
        selector = f"{LABEL}={name}" if name else LABEL
        return {pod["metadata"]["name"]: pod for pod in self.kubectl.items("pods", f"--selector={selector}")}

    def uids(self, name: str) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.pods(name).values()}

    def left(self) -> list[str]:
        """Name all that was made for any job."""
        found = self.kubectl.items("pods,services,configmaps", f"--selector={LABEL}")
        return [f"{item['kind']} {item['metadata']['name']}" for item in found]

    def until(self, phase: str, *names: str, timeout: float = PATIENCE) -> None:
        """Wait until all of these have come there."""
        self.eventually(lambda: all(self.phases().get(name) == phase for name in names), f"not {phase}", timeout)

    def eventually(self, condition: Callable[[], bool], otherwise: str, timeout: float = PATIENCE) -> None:
        """Wait, and say where the jobs stood when it took too long."""
        try:
            wait_until(condition, timeout, otherwise)
        except LocalkubeError as error:
            told = {name: (phase, self.why(name), self.why(name, "Stalled")) for name, phase in self.phases().items()}
            pods = {name: pod.get("status") for name, pod in self.pods().items()}
            raise AssertionError(f"{error}: {told}; pods: {pods}") from error

    def last_words(self, name: str) -> str:
        """Give the end of what each pod of a job printed; of one that did not begin, why not."""

        def printed(pod: str) -> str:
            try:
                return self.kubectl.run("logs", pod, f"--tail={LAST_LINES}")
            except CommandFailedError as error:
                return str(error)

        return "\n".join(f"--- {pod}\n{printed(pod)}" for pod in sorted(self.pods(name)))

    def versions(self) -> dict[str, str]:
        """Give the version of each job and of all that was made for them."""
        found = [*self.kubectl.items("pdj"), *self.kubectl.items("pods,services,configmaps", f"--selector={LABEL}")]
        return {f"{item['kind']} {item['metadata']['name']}": item["metadata"]["resourceVersion"] for item in found}
