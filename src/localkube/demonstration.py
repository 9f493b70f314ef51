"""Shows a person that a cluster works: a web server on every node, asked by name from a pod."""

import shutil
from pathlib import Path
from typing import Any

from rich.table import Table

from localkube import commands, errors
from localkube.cluster import Cluster
from localkube.images import archive
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.progress import Progress

NAMESPACE = "localkube-demo"
IMAGE = "localhost/localkube-busybox:1"
Manifest = dict[str, Any]


def run(home: Home, cluster: Cluster, progress: Progress) -> None:
    kubectl = Kubectl.of(cluster, NAMESPACE)
    cluster.load(_busybox(home), progress)
    kubectl.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    try:
        with progress.step("a web server on every node"):
            kubectl.apply(_daemon_set(), _service())
            kubectl.rolled_out("daemonset/web")
        pods = kubectl.items("pods", "--selector=app=web")
        with progress.step(f"asked by its name, http://web.{NAMESPACE}.svc, until every node has answered"):
            answers = _ask(kubectl, pods[0]["metadata"]["name"], len(pods))
        _show(progress, pods, answers)
    finally:
        kubectl.run("delete", "namespace", NAMESPACE, "--wait=false")


def _busybox(home: Home) -> Path:
    """One static program is image enough."""
    program = shutil.which("busybox", path="/bin:/usr/bin:/usr/local/bin")
    if program is None or commands.succeeds(["ldd", program]):
        raise errors.LocalkubeError("the demonstration needs a static busybox: install the package busybox-static")
    return archive.program_archive(home, IMAGE, {"bin/busybox": Path(program)}, ["/bin/busybox"])


def _daemon_set() -> Manifest:
    serve = '/bin/busybox mkdir -p /www && echo "$NODE" >/www/index.html && exec /bin/busybox httpd -f -p 8080 -h /www'
    container = {
        "name": "web",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/busybox", "sh", "-c", serve],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 0},
            },
        },
    }


def _service() -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }


def _ask(kubectl: Kubectl, pod: str, expected: int) -> dict[str, int]:
    """Ask often enough that a Service which spreads its requests reaches everyone."""
    loop = f"for i in $(/bin/busybox seq {expected * 20}); do /bin/busybox wget -qO- http://web.{NAMESPACE}.svc; done"
    said = kubectl.execute(pod, "/bin/busybox", "sh", "-c", loop).split()
    answers = {node: said.count(node) for node in set(said)}
    if len(answers) != expected:
        raise errors.LocalkubeError(f"only {sorted(answers)} of {expected} nodes answered")
    return answers


def _show(progress: Progress, pods: list[Manifest], answers: dict[str, int]) -> None:
    table = Table("NODE", "POD", "ADDRESS", "ANSWERS", box=None, pad_edge=False)
    for pod in sorted(pods, key=lambda pod: str(pod["spec"]["nodeName"])):
        node = pod["spec"]["nodeName"]
        table.add_row(node, pod["metadata"]["name"], pod["status"]["podIP"], str(answers[node]))
    progress.console.print(table)
