"""Who of several managers may act: the holder of a Lease, as client-go does it."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.kube import errors
from paddle_operator.kube.backoff import Backoff
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind

log = logging.getLogger(__name__)
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease")


def clock_that_never_sleeps() -> float:
    """Count the time that the machine was suspended too: the lease runs out meanwhile."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))  # not on every system


class LeadershipLostError(errors.KubeError):
    """The lease could not be renewed in time: this manager must not write any more."""


@dataclass(frozen=True)
class Timing:
    """Others may take over after `duration`; we stop at `renew_deadline`, so nobody acts at the same time."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class Elector:
    def __init__(
        self,
        client: Client,
        key: Key,
        identity: str,
        timing: Timing | None = None,
        clock: Callable[[], float] = clock_that_never_sleeps,
    ) -> None:
        self.identity = identity
        self._client = client
        self._key = key
        self._timing = timing or Timing()
        self._clock = clock
        self._seen: Manifest | None = None
        self._seen_at = 0.0
        self._renewed_at = float("-inf")

    @property
    def holds(self) -> bool:
        return self._clock() < self._renewed_at + self._timing.renew_deadline

    def check(self) -> None:
        """Raise if we may not act."""
        if not self.holds:
            raise LeadershipLostError(f"{self.identity} no longer holds the lease {self._key}")

    async def acquire(self) -> None:
        pause = Backoff(self._timing.retry_period, self._timing.retry_period)
        while True:
            if await self._try(self._timing.renew_deadline / 2):
                log.info("lease acquired lease=%s identity=%s", self._key, self.identity)
                return
            await asyncio.sleep(pause.after(1))

    async def keep(self) -> None:
        """Renew until that fails for too long or somebody else holds it; return before anybody else may act."""
        while self.holds:
            left = self._renewed_at + self._timing.renew_deadline - self._clock()
            await asyncio.sleep(min(self._timing.retry_period, max(left, 0.0)))
            left = self._renewed_at + self._timing.renew_deadline - self._clock()
            if left <= 0 or (not await self._try(left) and self._held_by_another()):
                break
        self._renewed_at = float("-inf")
        log.error("lease lost lease=%s identity=%s", self._key, self.identity)

    async def release(self) -> None:
        """Let the next one start at once; if that fails, it waits until the lease runs out."""
        self._renewed_at = float("-inf")
        try:
            async with asyncio.timeout(self._timing.retry_period):
                lease = await self._client.get(LEASES, self._key)
                spec = lease.get("spec") or {}
                if spec.get("holderIdentity") == self.identity:
                    freed = {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": timestamp()}
                    await self._client.replace(LEASES, {**lease, "spec": {**spec, **freed}})
        except (errors.KubeError, TimeoutError) as error:
            log.warning("lease not released lease=%s: %s", self._key, error)

    async def _try(self, patience: float) -> bool:
        """Take or renew the lease if that is ours to do; counted from before we asked, which is the safe side."""
        asked_at = self._clock()
        try:
            async with asyncio.timeout(patience):
                taken = await self._take()
        except (errors.ConflictError, errors.AlreadyExistsError):
            return False
        except (errors.KubeError, TimeoutError) as error:
            log.warning("lease not reached lease=%s: %s", self._key, str(error) or "no answer in time")
            return False
        if taken:
            self._renewed_at = asked_at
        return taken

    async def _take(self) -> bool:
        try:
            lease = await self._client.get(LEASES, self._key)
        except errors.NotFoundError:
            metadata = {"name": self._key.name, "namespace": self._key.namespace}
            spec = next_spec({}, self.identity, self._timing.duration)
            await self._client.create(LEASES, {"metadata": metadata, "spec": spec})
            return True
        spec = lease.get("spec") or {}
        self._look_at(spec)
        if self._held_by_another():
            return False
        # The version in `lease` makes this fail when another one was quicker.
        await self._client.replace(LEASES, {**lease, "spec": next_spec(spec, self.identity, self._timing.duration)})
        return True

    def _look_at(self, spec: Manifest) -> None:
        """Note when the lease was last seen to change: clocks of other machines are not trusted."""
        if spec != self._seen:
            self._seen, self._seen_at = spec, self._clock()

    def _held_by_another(self) -> bool:
        seen = self._seen or {}
        lasts = float(seen.get("leaseDurationSeconds") or self._timing.duration)
        return seen.get("holderIdentity") not in (None, "", self.identity) and self._clock() < self._seen_at + lasts


def next_spec(spec: Manifest, identity: str, duration: float) -> Manifest:
    """Give the spec that says we hold it from now; how often it changed hands is counted."""
    now = timestamp()
    if spec.get("holderIdentity") == identity:
        return {**spec, "leaseDurationSeconds": max(1, round(duration)), "renewTime": now}
    return {
        **spec,
        "holderIdentity": identity,
        "leaseDurationSeconds": max(1, round(duration)),
        "acquireTime": now,
        "renewTime": now,
        "leaseTransitions": int(spec.get("leaseTransitions") or 0) + 1 if spec else 0,
    }


def timestamp() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
