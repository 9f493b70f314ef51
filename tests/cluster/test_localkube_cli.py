"""The command on a cluster that is up: what it shows, and what it does to nodes and links."""

import json
import os
import subprocess
import sys

import pytest

from localkube.cluster import Cluster
from localkube.node import Node
from localkube.paths import Home


def said(kube: Cluster, home: Home, *words: str) -> str:
    variables = {
        **os.environ,
        "LOCALKUBE_HOME": str(home.state),
        "LOCALKUBE_CACHE": str(home.cache),
        "LOCALKUBE_NAME": kube.spec.name,
    }
    argv = [sys.executable, "-m", "localkube", *words]
    return subprocess.run(argv, env=variables, stdout=subprocess.PIPE, check=True, text=True, timeout=120).stdout


def test_status_shows_every_program_and_node_and_what_is_used(kube: Cluster, localkube_home: Home) -> None:
    shown = said(kube, localkube_home, "status")
    assert {"etcd", "coredns", "node-1/kubelet", "node-3/kube-proxy"} <= {
        line.split(" ")[0] for line in shown.splitlines()
    }
    assert f"kubeconfig  {kube.paths.kubeconfig}" in shown
    told = json.loads(said(kube, localkube_home, "status", "--json"))
    assert (told["healthy"], told["server"]) == (True, kube.spec.server)
    assert [(node["name"], node["ready"], node["link"]) for node in told["nodes"]] == [
        (node.name, True, "full speed") for node in kube.nodes
    ]
    assert told["memory_bytes"] > 100 << 20
    assert told["cpu_cores"] > 0


def test_list_and_kubeconfig_tell_where_it_is(kube: Cluster, localkube_home: Home) -> None:
    row = [kube.spec.name, str(len(kube.nodes)), "healthy", kube.spec.block]
    assert row in [line.split() for line in said(kube, localkube_home, "list").splitlines()]
    assert said(kube, localkube_home, "kubeconfig") == f"{kube.paths.kubeconfig}\n"


@pytest.mark.parametrize("component", ["cluster", "kube-apiserver", "node-1", "node-1/kubelet"])
def test_logs_give_the_last_lines_of_each_component(kube: Cluster, localkube_home: Home, component: str) -> None:
    assert len(said(kube, localkube_home, "logs", component, "--tail", "3").splitlines()) <= 3
    assert said(kube, localkube_home, "logs", component, "--tail", "0") == ""


def test_kubectl_is_the_clusters_own(kube: Cluster, localkube_home: Home) -> None:
    told = said(kube, localkube_home, "kubectl", "--", "get", "nodes", "-o", "name")
    assert told.split() == [f"node/{node.name}" for node in kube.nodes]


def test_a_node_is_stopped_and_started_and_its_link_slowed_and_restored(
    kube: Cluster, localkube_home: Home, victim: Node
) -> None:
    said(kube, localkube_home, "node", "stop", victim.name)
    assert not victim.control.alive()
    said(kube, localkube_home, "node", "start", victim.name)
    assert victim.control.answers()
    assert said(kube, localkube_home, "link", victim.name, "--rate", "50mbit") == f"{victim.name}: 50mbit\n"
    assert said(kube, localkube_home, "link", victim.name, "--cut") == f"{victim.name}: cut\n"
    assert said(kube, localkube_home, "link", victim.name, "--restore") == f"{victim.name}: full speed\n"
