"""Images built from Dockerfiles on a Debian base, and run in pods: the project's own, and others."""

from importlib import metadata
from pathlib import Path

from localkube.cluster import Cluster
from localkube.images import build
from localkube.images.runtime import CTR
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.progress import Progress
from localkube.waiting import wait_until
from support import workloads

HIDING = """
ARG BASE_IMAGE
FROM $BASE_IMAGE
RUN mkdir -p /made/anew && touch /made/gone /made/kept /made/anew/earlier && chown 12:34 /made/kept
RUN rm /made/gone && chmod 4711 /made/kept
RUN rm -r /made/anew && mkdir /made/anew && touch /made/anew/later
"""
OTHER = """
ARG BASE_IMAGE
FROM $BASE_IMAGE
RUN touch /other
"""


def test_the_projects_image_runs_on_every_node(kube: Cluster, namespace: Kubectl, operator_image: str) -> None:
    for node in kube.nodes:
        spec = workloads.pod_spec(node=node.name, restartPolicy="Never")
        spec["containers"][0] |= {"image": operator_image, "command": None, "args": ["version"]}
        namespace.apply(workloads.pod(node.name, spec))
    for node in kube.nodes:
        namespace.wait("jsonpath={.status.phase}=Succeeded", f"pod/{node.name}")
        assert namespace.run("logs", node.name).startswith(f"paddle-operator {metadata.version('paddle-operator')} ")


def test_what_a_layer_hides_is_gone_and_what_is_replaced_leaves_nothing(
    kube: Cluster, namespace: Kubectl, localkube_home: Home, localkube_progress: Progress, tmp_path: Path
) -> None:
    before = {layer.name for layer in kube.paths.layers.iterdir()}
    recipe = build.Recipe("localhost/layered:1", tmp_path, base_packages=workloads.BASE)
    (tmp_path / "Dockerfile").write_text(HIDING)
    kube.load(build.build(localkube_home, recipe, localkube_progress), localkube_progress)
    hiding = {layer.name for layer in kube.paths.layers.iterdir()} - before
    assert len(hiding) == HIDING.count("RUN")
    spec = workloads.pod_spec(node="node-2", restartPolicy="Never")
    spec["containers"][0] |= {"image": recipe.tag, "command": ["find", "/made", "-printf", "%P %U:%G %m\n"]}
    namespace.apply(workloads.pod("looks", spec))
    namespace.wait("jsonpath={.status.phase}=Succeeded", "pod/looks")
    assert sorted(namespace.run("logs", "looks").splitlines()) == [
        " 0:0 755", "anew 0:0 755", "anew/later 0:0 644", "kept 12:34 4711"
    ]  # fmt: skip
    namespace.run("delete", "pod/looks", "--wait")
    containers = [*CTR, "containers", "list"]
    wait_until(lambda: recipe.tag not in kube.node("node-2").control.run_inside(containers), 90, "it is still in use")
    (tmp_path / "Dockerfile").write_text(OTHER)
    kube.load(build.build(localkube_home, recipe, localkube_progress), localkube_progress)
    now = {layer.name for layer in kube.paths.layers.iterdir()}
    assert (before - now, hiding & now, len(now - before)) == (set(), set(), 1)
