"""Manifests applied one file after the other, and each followed to its end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from paddle_operator.embedded.progress import JOBS, Standing, standing
from paddle_operator.embedded.session import Session
from paddle_operator.embedded.workers import Failures, Worker, workers
from paddle_operator.kube import errors
from paddle_operator.kube.request import Kind, Preconditions, create

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
class Look:
    """All that is followed, at one moment."""

    standings: dict[Followed, Standing]
    workers: tuple[Worker, ...]


@dataclass
class Follower:
    session: Session
    _since: dict[Followed, float] = field(default_factory=dict)
    _known: dict[Followed, str] = field(default_factory=dict)
    _failures: Failures = field(default_factory=Failures)

    def __post_init__(self) -> None:
        self.session.server.objects.storage.listen(self._failures.hear)

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
            yield Look(standings, tuple(workers(self.session, {self._known.get(one, "") for one in followed})))
            if all(found.good is not None for found in standings.values()):
                return
            await asyncio.sleep(LOOK)

    def _judged(self, one: Followed) -> Standing:
        found = self.session.server.objects.storage.find(one.kind, one.key)
        if found is None:
            return Standing("Deleted", "somebody deleted it", good=False)
        self._known[one] = uid_of(found)
        seen = standing(found)
        if seen.patience is None:
            if seen.phase != TRIED_AGAIN:
                self._since.pop(one, None)
            return seen
        now = asyncio.get_running_loop().time()
        since = self._since.setdefault(one, now)
        return Standing(seen.phase, seen.words, False if now - since > seen.patience else None)

    def exit_code(self, one: Followed, found: Standing) -> int:
        return 0 if found.good else self._failures.code(self._known.get(one, ""))
