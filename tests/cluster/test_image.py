"""The project's own image: built from its Dockerfile on a Debian base, and run in a pod."""

from importlib import metadata

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from support import workloads


def test_the_projects_image_runs_on_every_node(kube: Cluster, namespace: Kubectl, operator_image: str) -> None:
    for node in kube.nodes:
        spec = workloads.pod_spec(node=node.name, restartPolicy="Never")
        spec["containers"][0] |= {"image": operator_image, "command": None, "args": ["version"]}
        namespace.apply(workloads.pod(node.name, spec))
    for node in kube.nodes:
        namespace.wait("jsonpath={.status.phase}=Succeeded", f"pod/{node.name}")
        assert namespace.run("logs", node.name).startswith(f"paddle-operator {metadata.version('paddle-operator')} ")
