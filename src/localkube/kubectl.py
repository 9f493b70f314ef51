"""The cluster's own kubectl, bound to one namespace; what is done most is done as it does, without starting it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from localkube import commands, objects
from localkube.cluster import Cluster

Manifest = dict[str, Any]
PATIENCE = 120


@dataclass(frozen=True)
class Kubectl:
    program: Path
    kubeconfig: Path
    namespace: str

    @classmethod
    def of(cls, cluster: Cluster, namespace: str = "default") -> "Kubectl":
        return cls(Path(cluster.spec.binaries) / "kubectl", cluster.paths.kubeconfig, namespace)

    def within(self, namespace: str) -> "Kubectl":
        return replace(self, namespace=namespace)

    def argv(self, *words: str) -> list[str]:
        return [str(self.program), f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}", *words]

    def run(self, *words: str, stdin: str | None = None, timeout: float = PATIENCE + 10) -> str:
        return commands.run(self.argv(*words), stdin=stdin, timeout=timeout)

    def apply(self, *manifests: Manifest) -> None:
        """Apply on the server's side, one after the other."""
        for manifest in manifests:
            objects.of(self.kubeconfig).apply(self.namespace, manifest)

    def delete(self, kind: str, name: str) -> None:
        """Begin to delete it, and do not wait for the end."""
        objects.of(self.kubeconfig).delete(self.namespace, kind, name)

    def get(self, *words: str) -> Manifest:
        """Give what `kubectl get -o json` gives: whoever waits asks again and again."""
        return objects.of(self.kubeconfig).get(self.namespace, objects.Question.parse(*words))

    def items(self, *words: str) -> list[Manifest]:
        found: list[Manifest] = self.get(*words)["items"]
        return found

    def wait(self, condition: str, *what: str, timeout: int = PATIENCE) -> None:
        """Wait for what kubectl understands: condition=Ready, delete, jsonpath={.status.phase}=Succeeded."""
        self.run("wait", f"--for={condition}", f"--timeout={timeout}s", *what, timeout=timeout + 10)

    def rolled_out(self, what: str, timeout: int = PATIENCE) -> None:
        self.run("rollout", "status", what, f"--timeout={timeout}s", timeout=timeout + 10)

    def execute(self, pod: str, *argv: str, timeout: float = PATIENCE) -> str:
        return self.run("exec", pod, "--", *argv, timeout=timeout)
