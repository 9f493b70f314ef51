"""The few calls localkube itself makes to the API server: plain JSON over TLS with the admin's certificate."""

import http.client
import json
import ssl
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from localkube import errors, pki

Manifest = dict[str, Any]
UNFIT = frozenset(
    f"node.kubernetes.io/{state}"
    for state in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure")
)
PLURALS = {
    "Node": "nodes",
    "Service": "services",
    "EndpointSlice": "endpointslices",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
}


class UnreachableError(errors.LocalkubeError):
    """Nobody answers, or not yet."""


@dataclass(frozen=True)
class Api:
    host: str
    certificates: Path
    port: int = 6443

    def request(self, method: str, path: str, body: Manifest | None = None, *, timeout: float = 10.0) -> str:
        context = ssl.create_default_context(cafile=str(pki.certificate(self.certificates, pki.AUTHORITY)))
        context.load_cert_chain(pki.certificate(self.certificates, "admin"), pki.key(self.certificates, "admin"))
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=timeout, context=context)
        kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": kind})
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise UnreachableError(f"the API server at {self.host}:{self.port} does not answer: {error}") from error
        finally:
            connection.close()
        if response.status >= http.HTTPStatus.BAD_REQUEST:
            raise errors.LocalkubeError(f"{method} {path}: the API server says {response.status}: {text[:500]}")
        return text

    def ready(self) -> bool:
        try:
            return self.request("GET", "/readyz", timeout=2.0) == "ok"
        except errors.LocalkubeError:
            return False

    def nodes(self) -> list[Manifest]:
        items: list[Manifest] = json.loads(self.request("GET", "/api/v1/nodes"))["items"]
        return items

    def ready_nodes(self) -> set[str]:
        return {node["metadata"]["name"] for node in self.nodes() if is_ready(node)}

    def apply(self, manifest: Manifest) -> None:
        """Server-side apply: the same call makes an object, mends it, or leaves it alone."""
        self.request("PATCH", f"{path_of(manifest)}?fieldManager=localkube&force=true", manifest)


def path_of(manifest: Manifest) -> str:
    version = manifest["apiVersion"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    metadata = manifest["metadata"]
    namespace = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{base}{namespace}/{PLURALS[manifest['kind']]}/{urllib.parse.quote(metadata['name'])}"


def is_ready(node: Manifest) -> bool:
    """Tell whether the kubelet says so and no taint of the controller manager's keeps pods away."""
    if any(taint["key"] in UNFIT for taint in node.get("spec", {}).get("taints", ())):
        return False
    conditions = node.get("status", {}).get("conditions", ())
    return any(row["type"] == "Ready" and row["status"] == "True" for row in conditions)
