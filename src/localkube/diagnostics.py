"""What a person needs to see after a failed test, kept as files: objects, events, descriptions, logs."""

import json
import subprocess
import time
from pathlib import Path

from localkube import errors
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest

LAST_LINES = 400
LONGEST = 30.0
OF_KUBERNETES = "kube-"
# Events are listed apart, in their order; a secret is nobody's business.
NOT_LISTED = {"events", "events.events.k8s.io", "secrets"}


def collect(cluster: Cluster, directory: Path, seconds: float = LONGEST) -> None:
    """Write down the state of the cluster, the newest namespaces first; what cannot be asked is noted instead."""
    directory.mkdir(parents=True, exist_ok=True)
    for log in [*cluster.paths.logs.glob("*.log"), *cluster.paths.root.glob("nodes/*/logs/*.log")]:
        place = "-".join(log.relative_to(cluster.paths.root).parts)
        (directory / place).write_text(_tail(log))
    asked = _Asked(Kubectl.of(cluster), time.monotonic() + seconds)
    (directory / "nodes.txt").write_text(asked.words("describe", "nodes"))
    listed = asked.words("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
    kinds = ",".join(sorted(set(listed) - NOT_LISTED)) or "all"
    for namespace in _namespaces(asked):
        _collect_namespace(asked, namespace, kinds, directory / namespace)


class _Asked:
    """Questions to a cluster that may be ill: each has an end, and so have all together."""

    def __init__(self, kubectl: Kubectl, deadline: float) -> None:
        self._kubectl = kubectl
        self._deadline = deadline

    def words(self, *words: str) -> str:
        left = self._deadline - time.monotonic()
        if left <= 0:
            return "there was no time left to ask\n"
        try:
            return self._kubectl.run(f"--request-timeout={min(left, 10.0):.1f}s", *words, timeout=min(left, 20.0))
        except errors.CommandFailedError as error:
            return f"{error}\n"

    def items(self, *words: str) -> list[Manifest]:
        try:
            found: list[Manifest] = json.loads(self.words("get", *words, "-o", "json"))["items"]
        except ValueError:
            return []
        return found


def _namespaces(asked: _Asked) -> list[str]:
    metadata = [namespace["metadata"] for namespace in asked.items("namespaces")]
    newest_first = sorted(metadata, key=lambda found: str(found["creationTimestamp"]), reverse=True)
    return [found["name"] for found in newest_first if not found["name"].startswith(OF_KUBERNETES)]


def _collect_namespace(asked: _Asked, namespace: str, kinds: str, directory: Path) -> None:
    directory.mkdir(exist_ok=True)
    here = f"--namespace={namespace}"
    questions = {
        "events.txt": ["get", "events", "--sort-by=.lastTimestamp"],
        "objects.txt": ["get", kinds, "-o", "wide", "--ignore-not-found"],
        "objects.yaml": ["get", kinds, "-o", "yaml", "--ignore-not-found"],
        "describe.txt": ["describe", "all"],
    }
    for file, words in questions.items():
        (directory / file).write_text(asked.words(here, *words))
    for pod in asked.items(here, "pods"):
        name = pod["metadata"]["name"]
        words = [here, "logs", f"pod/{name}", "--all-containers", "--prefix", "--ignore-errors"]
        (directory / f"{name}.log").write_text(asked.words(*words))
        if any(status.get("restartCount") for status in pod.get("status", {}).get("containerStatuses", ())):
            (directory / f"{name}.previous.log").write_text(asked.words(*words, "--previous"))


def _tail(path: Path) -> str:
    done = subprocess.run(["tail", "-n", str(LAST_LINES), str(path)], capture_output=True, check=False)
    return done.stdout.decode(errors="replace")
