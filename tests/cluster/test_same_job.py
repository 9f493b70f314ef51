"""The same manifests, untouched, on the cluster and on one machine without one: same environment, phases and end."""

import json
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from localkube.kubectl import Kubectl, Manifest
from support.onemachine import TESTBOX, at_service, kubectl
from support.paddlejobs import ENDLESS, Jobs, paddle_job, role

# Lives long enough for each phase to be seen.
TELLS = """
import json, os, socket, sys, time
told = {"host": socket.gethostname(), "process": os.getpid(), "directory": os.getcwd(), "words": sys.argv[1:]}
print(json.dumps({**told, "variables": dict(os.environ)}), flush=True)
time.sleep(3)
sys.exit(int(os.environ["CODE"]))
"""
# Who has them, and what they are, follows from the place: the API server's address, and an image's PATH and HOME.
OF_THE_PLACE = re.compile(r"KUBERNETES_.*|PATH|HOME|LC_CTYPE")
ADDRESS = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b")
OF_THE_MOMENT = {"uid", "startTime", "completionTime", "lastTransitionTime", "lastUpdateTime", "resourceVersion"}
JOBS = ("servers", "collective", "failing")


def telling(replicas: int, code: int = 0) -> Manifest:
    made = role(replicas, "python3", "-u", "-c", TELLS, "rank $(PADDLE_TRAINER_ID)", "$(UNKNOWN)", "$$(HOME)")
    made["template"]["spec"]["containers"][0]["env"] = [
        {"name": "CODE", "value": str(code)},
        {"name": "GREETING", "value": "rank $(PADDLE_TRAINER_ID) of $(PADDLE_TRAINERS_NUM)"},
        {"name": "WHERE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "ATTEMPT", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a/b']"}}},
    ]
    return made


def manifests() -> tuple[Manifest, ...]:
    kept = {"cleanPodPolicy": "Never"}
    return (
        paddle_job("servers", ps=role(1, *ENDLESS), worker=telling(2), withGloo=1, **kept),
        paddle_job("collective", worker=telling(2), intranet="PodIP", **kept),
        paddle_job("failing", worker=telling(1, code=3), backoffLimit=1, **kept),
    )


def timeless(value: object) -> object:
    """Leave out what is different each time: times, uids and addresses."""
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name not in OF_THE_MOMENT}
    if isinstance(value, list):
        return [timeless(part) for part in value]
    return ADDRESS.sub("ADDRESS", value) if isinstance(value, str) else value


def phases(lines: list[str]) -> dict[str, list[str]]:
    """Give the phases of each job in the order in which they first came.

    Between two containers of a pod a kubelet may say, or not, that nothing runs: the same phase may come again.
    """
    found: dict[str, dict[str, None]] = {name: {} for name in JOBS}
    for line in lines:
        name, _, phase = line.partition(" ")
        if phase:
            found[name][phase] = None
    return {name: list(seen) for name, seen in found.items()}


def ends(pods: dict[str, Manifest]) -> Manifest:
    return {name: [pod["status"]["phase"], *ended_containers(pod)] for name, pod in pods.items()}


def ended_containers(pod: Manifest) -> Iterator[tuple[str, int, str, int]]:
    status = pod["status"]
    for found in [*status.get("initContainerStatuses", []), *status["containerStatuses"]]:
        ended = found["state"]["terminated"]
        yield found["name"], ended["exitCode"], ended["reason"], found["restartCount"]


def told(jobs: Jobs, pod: str) -> Manifest:
    said: Manifest = json.loads(jobs.kubectl.run("logs", pod, "--container=main"))
    ours = {name: value for name, value in said["variables"].items() if not OF_THE_PLACE.fullmatch(name)}
    return {**said, "variables": ours}


def observed(jobs: Jobs) -> dict[str, object]:
    """Run all jobs to their end, and give all that is to be seen of them."""
    words = jobs.kubectl.argv("get", "pdj", "--watch", "-o", "jsonpath={.metadata.name} {.status.phase}{'\\n'}")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as watch:
        jobs.submit(*manifests())
        jobs.until("Completed", "servers", "collective")
        jobs.until("Failed", "failing")
        jobs.eventually(lambda: "servers-ps-0" not in jobs.pods(), "the server runs on")
        watch.terminate()
        seen = watch.communicate(timeout=10)[0].splitlines()
    return {
        "phases": phases(seen),
        "statuses": timeless({name: jobs.status(name) for name in JOBS}),
        "settings": timeless({name: jobs.kubectl.get(f"configmap/{name}")["data"] for name in JOBS}),
        "ends": ends(jobs.pods()),
        "told": timeless({pod: told(jobs, pod) for pod in sorted(jobs.pods())}),
    }


@pytest.fixture
def alone(namespace: Kubectl, tmp_path: Path) -> Iterator[Jobs]:
    """Give a run without a cluster, with a namespace of the same name."""
    with at_service(tmp_path, TESTBOX) as machine:
        asks = kubectl(machine, namespace.namespace)
        asks.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": asks.namespace}})
        yield Jobs(asks)


def test_the_same_jobs_get_the_same_on_one_machine_as_on_the_cluster(jobs: Jobs, alone: Jobs) -> None:
    with ThreadPoolExecutor() as both:
        there, here = both.map(observed, (jobs, alone))
    for what, found in there.items():
        assert (what, here[what]) == (what, found)
    assert there["phases"] == {
        "servers": ["Pending", "Starting", "Running", "Completed"],
        "collective": ["Pending", "Starting", "Running", "Completed"],
        "failing": ["Pending", "Running", "Restarting", "Failed"],
    }
