"""The project's own image: built from its Dockerfile on a Debian base, and run in a pod."""

import subprocess
from importlib import metadata
from pathlib import Path

from localkube.cluster import Cluster
from localkube.images import build, load
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.progress import Progress
from support import workloads

ROOT = Path(__file__).parents[2]
IMAGE = "localhost/paddle-operator:test"


def test_the_projects_image_runs_on_every_node(
    kube: Cluster, namespace: Kubectl, localkube_home: Home, localkube_progress: Progress
) -> None:
    subprocess.run([ROOT / "tools/wheels", "dist/wheels", "3.11", "3.12", "3.13"], cwd=ROOT, check=True)
    archive = build.build(localkube_home, build.Recipe(IMAGE, ROOT, base_packages=workloads.BASE), localkube_progress)
    load.load([node.control for node in kube.nodes], archive, localkube_progress)
    for node in kube.nodes:
        spec = workloads.pod_spec(node=node.name, restartPolicy="Never")
        spec["containers"][0] |= {"image": IMAGE, "command": None, "args": ["version"]}
        namespace.apply(workloads.pod(node.name, spec))
    for node in kube.nodes:
        namespace.wait("jsonpath={.status.phase}=Succeeded", f"pod/{node.name}")
        assert namespace.run("logs", node.name).startswith(f"paddle-operator {metadata.version('paddle-operator')} ")
