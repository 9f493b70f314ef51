"""Manifests applied one file after the other, and each followed to its end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, uid_of
from paddle_operator.embedded import progress
from paddle_operator.embedded.node import containers
from paddle_operator.embedded.progress import JOBS, Standing, standing
from paddle_operator.embedded.session import Session
from paddle_operator.kube import errors
from paddle_operator.kube.request import PODS, Kind, Preconditions, create

LOOK = 0.2
GONE_WITHIN = 40.0
TRIED_AGAIN = "Syncing"


class RefusedError(Exception):
    """What a manifest is refused for, in the API server's own words."""


@dataclass(frozen=True)
class Followed:
    kind: Kind
    key: Key

    def __str__(self) -> str:
        return f"{self.kind.kind.lower()}/{self.key.name}"


@dataclass(frozen=True)
class Worker:
    """A pod of a job: how it stands, and what it printed last."""

    name: str
    phase: str
    line: str
    is_stuck: bool


@dataclass(frozen=True)
class Look:
    """All that is followed, at one moment."""

    standings: dict[Followed, Standing]
    workers: tuple[Worker, ...]


@dataclass
class Follower:
    session: Session
    _since: dict[Followed, float] = field(default_factory=dict)

    async def apply(self, manifests: Sequence[Manifest]) -> list[Followed]:
        """Give the API server what it takes; a job that was there before is begun anew."""
        return [await self._applied(manifest) for manifest in manifests]

    async def _applied(self, manifest: Manifest) -> Followed:
        named = str(manifest.get("apiVersion") or ""), str(manifest.get("kind") or "")
        resource = self.session.server.catalogue.of_kind(*named)
        if resource is None or resource.kind.api_version != named[0]:
            raise RefusedError(f'no matches for kind "{named[1]}" in version "{named[0]}"')
        metadata = {**manifest["metadata"]}
        if resource.kind.namespaced:
            metadata.setdefault("namespace", "default")
        placed = {**manifest, "metadata": metadata}
        try:
            await self._judge(resource.kind, placed)
            if resource.kind.kind in JOBS:
                await self._remove(resource.kind, key_of(placed))
            await self.session.client.apply(resource.kind, placed)
        except errors.ApiError as error:
            raise RefusedError(error.message) from error
        return Followed(resource.kind, key_of(placed))

    async def _judge(self, kind: Kind, manifest: Manifest) -> None:
        """Have it refused as kubectl would, before anything is changed: also for fields that nobody defined."""
        client = self.session.client
        asked = create(kind, manifest, client.field_manager)
        with contextlib.suppress(errors.AlreadyExistsError):
            await client.send(replace(asked, params={**asked.params, "dryRun": "All", "fieldValidation": "Strict"}))

    async def _remove(self, kind: Kind, key: Key) -> None:
        try:
            await self.session.client.delete(kind, key, Preconditions())
            async with asyncio.timeout(GONE_WITHIN):
                while True:
                    await self.session.client.get(kind, key)
                    await asyncio.sleep(LOOK)
        except errors.NotFoundError:
            return

    async def watch(self, followed: Sequence[Followed]) -> AsyncIterator[Look]:
        """Look until all have come to an end."""
        while True:
            standings = {one: self._judged(one) for one in followed}
            yield Look(standings, tuple(self._workers(followed)))
            if all(found.good is not None for found in standings.values()):
                return
            await asyncio.sleep(LOOK)

    def _judged(self, one: Followed) -> Standing:
        found = self.session.server.objects.storage.find(one.kind, one.key)
        if found is None:
            return Standing("Deleted", "somebody deleted it", good=False)
        seen = standing(found)
        if seen.patience is None:
            if seen.phase != TRIED_AGAIN:
                self._since.pop(one, None)
            return seen
        now = asyncio.get_running_loop().time()
        since = self._since.setdefault(one, now)
        return Standing(seen.phase, seen.words, False if now - since > seen.patience else None)

    def _workers(self, followed: Sequence[Followed]) -> list[Worker]:
        objects = self.session.server.objects
        owners = {uid_of(found) for one in followed if (found := objects.storage.find(one.kind, one.key)) is not None}
        pods = [pod for pod in objects.storage.items(PODS) if (controller_of(pod) or {}).get("uid") in owners]
        return [
            Worker(key_of(pod).name, str(pod["status"].get("phase")), self._last_line(pod), bool(_trouble(pod)))
            for pod in pods
        ]

    def _last_line(self, pod: Manifest) -> str:
        """Give what it waits for, if somebody has to do something, and else what it printed last."""
        if words := _trouble(pod):
            return words
        files = self.session.logs.runs(pod, pod["spec"]["containers"][0]["name"])
        lines = containers.last_words(files[-1]).strip().splitlines() if files else []
        return "".join(letter if letter.isprintable() else " " for letter in (lines[-1] if lines else ""))

    def exit_code(self, one: Followed, found: Standing) -> int:
        job = self.session.server.objects.storage.find(one.kind, one.key)
        if found.good or job is None:
            return 0 if found.good else 1
        return progress.exit_code(job, self.session.server.objects.storage.items(PODS))


def _trouble(pod: Manifest) -> str:
    status = pod.get("status") or {}
    states = [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]
    waiting = [(found.get("state") or {}).get("waiting") or {} for found in states]
    return next((f"{found['reason']}: {found['message']}" for found in waiting if found.get("message")), "")
