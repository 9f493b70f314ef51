"""What containers printed, found by their pod and given as `kubectl logs` asks for it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import refusals
from paddle_operator.embedded.apiserver.objects import Objects
from paddle_operator.kube.request import PODS

CHUNK = 1 << 16
PAUSE = 0.2
ENDED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Logs:
    """`root` has a file for each run of each container."""

    root: Path
    objects: Objects

    async def read(self, pod: Manifest, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Refuse what cannot be read before anything is sent."""
        container = self._container(pod, query.get("container", ""))
        runs = self.runs(pod, container)
        wanted = runs[:-1] if query.get("previous") == "true" else runs
        if not wanted:
            raise refusals.bad_request(
                f'container "{container}" in pod "{pod["metadata"]["name"]}" is waiting to start: ContainerCreating'
            )
        return self._pieces(pod, wanted[-1], query)

    def runs(self, pod: Manifest, container: str) -> list[Path]:
        """Give the files of a container, the last run last."""
        metadata = pod["metadata"]
        place = self.root / metadata["namespace"] / metadata["name"] / metadata["uid"] / container
        return sorted(place.glob("*.log"), key=lambda path: int(path.stem))

    def _container(self, pod: Manifest, named: str) -> str:
        spec = pod["spec"]
        known = [found["name"] for found in (*spec["containers"], *(spec.get("initContainers") or []))]
        if named and named not in known:
            raise refusals.bad_request(f"container {named} is not valid for pod {pod['metadata']['name']}")
        return named or known[0]

    async def _pieces(self, pod: Manifest, file: Path, query: Mapping[str, str]) -> AsyncIterator[bytes]:
        with file.open("rb") as opened:
            opened.seek(_start(file, query))
            left = int(query.get("limitBytes") or 1 << 62)
            while left > 0:
                piece = opened.read(min(CHUNK, left))
                left -= len(piece)
                if piece:
                    yield piece
                elif query.get("follow") == "true" and self._goes_on(pod):
                    await asyncio.sleep(PAUSE)
                else:
                    return

    def _goes_on(self, pod: Manifest) -> bool:
        metadata = pod["metadata"]
        found = next(
            (one for one in self.objects.storage.items(PODS) if one["metadata"]["uid"] == metadata["uid"]), None
        )
        return found is not None and (found.get("status") or {}).get("phase") not in ENDED


def _start(file: Path, query: Mapping[str, str]) -> int:
    """Find where the last so many lines begin."""
    wanted = query.get("tailLines", "")
    if not wanted.isdecimal():
        return 0
    content = file.read_bytes()
    position = len(content) - 1 if content.endswith(b"\n") else len(content)
    for _ in range(int(wanted)):
        position = content.rfind(b"\n", 0, position)
        if position < 0:
            return 0
    return position + 1
