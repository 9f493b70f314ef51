"""Where the quick start is performed: a cluster, its kubectl, and the person who looks on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localkube.cluster import Cluster
from localkube.errors import LocalkubeError
from localkube.kubectl import Kubectl, Manifest
from localkube.progress import Progress
from localkube.waiting import wait_until

ROOT = Path(__file__).parents[2]
SYSTEM = "paddle-system"
PATIENCE = 180.0


@dataclass(frozen=True)
class Stage:
    cluster: Cluster
    progress: Progress

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl.of(self.cluster, SYSTEM)

    def show(self, *words: str) -> str:
        """Run a command of kubectl as a person types it, and show what it answers."""
        return self._shown(" ".join(["kubectl", *words]), list(words))

    def apply(self, file: str, **values: str) -> str:
        """Apply a file of this repository, with values in the place of words."""
        text, typed = (ROOT / file).read_text(), [f"kubectl apply -f {file}"]
        for word, value in values.items():
            text, typed = text.replace(word, value), [f"sed s/{word}/{value}/ {file}", "kubectl apply -f -"]
        return self._shown(" | ".join(typed), ["apply", "-f", "-"], text)

    def _shown(self, typed: str, words: list[str], stdin: str | None = None) -> str:
        self.progress.say(f"$ {typed}")
        answer = self.kubectl.run(*words, stdin=stdin)
        self.progress.say(answer)
        return answer

    def until(self, what: str, wanted: str | Callable[[Manifest], bool], words: str) -> None:
        """Wait until an object is in this phase, or its status is such a one; else say how to find out why."""

        def is_so() -> bool:
            status = self.kubectl.get(what).get("status") or {}
            return status.get("phase") == wanted if isinstance(wanted, str) else wanted(status)

        try:
            with self.progress.step(words):
                wait_until(is_so, PATIENCE, f"still not there: {words}")
        except LocalkubeError as error:
            told = self.kubectl.run("describe", what)
            raise LocalkubeError(f"{error}. `kubectl -n {SYSTEM} describe {what}` says:\n{told}") from error
