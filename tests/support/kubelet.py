"""A tiny kubelet: it moves the pods of an API server through their phases, as a test says."""

from paddle_operator.api.manifest import Manifest
from support.embeddedapi import Api

NAMESPACE = "default"
CONTAINER = {"name": "train", "image": "demo:v1", "imageID": "", "restartCount": 0}


class Kubelet:
    """Pods have one container, named train."""

    def __init__(self, api: Api, namespace: str = NAMESPACE) -> None:
        self._api = api
        self._namespace = namespace
        self._addresses = 0

    def run(self, *names: str) -> None:
        for name in names or self._api.names("pods"):
            self._addresses += 1
            container = {**CONTAINER, "ready": True, "state": {"running": {}}}
            address = f"10.0.{self._addresses // 250}.{self._addresses % 250}"
            self._say(name, {"phase": "Running", "podIP": address, "containerStatuses": [container]})

    def end(self, name: str, code: int = 0) -> None:
        """Let the container end; by its code the pod has succeeded or failed."""
        state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
        container = {**CONTAINER, "ready": False, "state": state}
        self._say(name, {"phase": "Failed" if code else "Succeeded", "containerStatuses": [container]})

    def _say(self, name: str, status: Manifest) -> None:
        self._api.put("pods", {"metadata": {"name": name, "namespace": self._namespace}, "status": status})
