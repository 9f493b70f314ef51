"""Kubeconfig files with everything inside, readable by their owner only."""

import base64
import json
from pathlib import Path

from localkube import pki
from localkube.spec import write_atomically


def _embedded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def write(path: Path, cluster: str, server: str, certificates: Path, user: str) -> None:
    """JSON is YAML: every client reads it."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": cluster,
        "clusters": [
            {
                "name": cluster,
                "cluster": {
                    "server": server,
                    "certificate-authority-data": _embedded(pki.certificate(certificates, pki.AUTHORITY)),
                },
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _embedded(pki.certificate(certificates, user)),
                    "client-key-data": _embedded(pki.key(certificates, user)),
                },
            }
        ],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": user}}],
    }
    write_atomically(path, json.dumps(content, indent=2) + "\n", 0o600)
