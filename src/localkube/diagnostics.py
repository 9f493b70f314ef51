"""What a person needs to see after a failed test, kept as files: objects, events, descriptions, logs."""

import subprocess
from pathlib import Path

from localkube import errors
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl

LAST_LINES = 400


def collect(cluster: Cluster, kubectl: Kubectl, directory: Path) -> None:
    """Write down the state of a namespace and of the cluster around it; what cannot be asked is noted instead."""
    directory.mkdir(parents=True, exist_ok=True)
    questions = {
        "objects.txt": ["get", "all,pvc,configmaps", "-o", "wide"],
        "events.txt": ["get", "events", "--sort-by=.lastTimestamp"],
        "describe.txt": ["describe", "all"],
        "nodes.txt": ["describe", "nodes"],
    }
    for file, words in questions.items():
        (directory / file).write_text(_asked(kubectl, *words))
    for pod in _asked(kubectl, "get", "pods", "-o", "name").split():
        if pod.startswith("pod/"):
            text = _asked(kubectl, "logs", pod, "--all-containers", "--prefix", "--ignore-errors")
            (directory / f"{pod.removeprefix('pod/')}.log").write_text(text)
    for log in [*cluster.paths.logs.glob("*.log"), *cluster.paths.root.glob("nodes/*/logs/*.log")]:
        place = "-".join(log.relative_to(cluster.paths.root).parts)
        (directory / place).write_text(_tail(log))


def _asked(kubectl: Kubectl, *words: str) -> str:
    try:
        return kubectl.run("--request-timeout=10s", *words, timeout=20)
    except errors.CommandFailedError as error:
        return f"{error}\n"


def _tail(path: Path) -> str:
    done = subprocess.run(["tail", "-n", str(LAST_LINES), str(path)], capture_output=True, check=False)
    return done.stdout.decode(errors="replace")
