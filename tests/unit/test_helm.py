"""The Helm that tests build: of the Kubernetes that localkube is built of, so that little is compiled for it."""

import re
from pathlib import Path

from localkube.binaries import catalog
from support.helm import MODULE


def libraries(module: Path) -> dict[str, str]:
    """Give the versions of Kubernetes' own modules; v0.0.0 stands for one that is replaced."""
    found = re.findall(r"^\s+(k8s\.io/\S+) (v\S+) // indirect$", (module / "go.mod").read_text(), re.MULTILINE)
    return {name: version for name, version in found if version != "v0.0.0"}


def test_helm_is_built_of_the_kubernetes_that_clusters_are_made_of() -> None:
    helm, clusters = libraries(MODULE), libraries(catalog.MODULE)
    assert {"k8s.io/api", "k8s.io/client-go"} <= helm.keys() & clusters.keys()
    assert {name: helm[name] for name in helm.keys() & clusters.keys() if helm[name] != clusters[name]} == {}
