"""Carries out a plan: only what is not so already, the status last and once, then the events."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from paddle_operator.api.conditions import condition, conditions_of, renewed, written
from paddle_operator.api.manifest import Key, Manifest, controller_of, key_of, labels_of, owners_of, uid_of, version_of
from paddle_operator.control.applied import Applied, as_applied, covers
from paddle_operator.control.calls import Call, Caller, CallError, nobody
from paddle_operator.control.outcome import Done, Outcome, Terminal
from paddle_operator.control.plan import Apply, Create, Delete, Patch, Plan, Status
from paddle_operator.control.store import Store
from paddle_operator.kube import errors, request
from paddle_operator.kube.client import Client
from paddle_operator.kube.events import Recorder
from paddle_operator.kube.request import Kind

log = logging.getLogger(__name__)
STALLED = "Stalled"
FOREIGN = "NameTaken"
FORBIDDEN = "Forbidden"
REFUSED = "Refused"
WEBHOOK = "WebhookFailed"
# The API server's words for somebody's program that it must ask about a write, and that does not answer.
UNANSWERED = "failed calling webhook"
# A policy that refuses what we make may be lifted, and nobody tells us; who asks sooner is only refused again.
REFUSED_PAUSE = 300.0
SHORTEST_PAUSE = 15.0
# One plan gets less than all there is, so that a job of a thousand pods does not keep the others waiting.
AT_ONCE = 16
AT_ONCE_PER_PLAN = 8
# As long as it takes until we see what we made: a status that was left for later is then whole.
LATER = 0.15
Write = TypeVar("Write", Apply, Create, Patch, Delete)


class ForeignObjectError(Exception):
    """An object of a name that we need belongs to somebody else, or was hidden from us: it is left alone."""


class Executor:
    """`mark` is the annotation that says what we applied last."""

    def __init__(
        self,
        client: Client,
        stores: Mapping[Kind, Store],
        recorder: Recorder,
        mark: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._stores = stores
        self._recorder = recorder
        self._clock = clock
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._applied = Applied(mark)

    async def execute(self, plan: Plan, call: Caller = nobody) -> Outcome:
        """Write the status also when something else could not be written: it is what people look at."""
        terminal, again = plan.terminal, plan.requeue_after
        try:
            await self._write_objects(plan)
            await _make_calls(call, plan.calls)
        except errors.InvalidError as error:
            terminal, again = terminal or Terminal(REFUSED, error.message), rarely(again)
        except (ForeignObjectError, errors.KubeError, CallError) as error:
            # What is in the way may go without our hearing of it, so this is told and tried again.
            await self._tell(plan, terminal or in_the_way(error))
            raise
        if plan.status_later and terminal is None:
            return Done(min(LATER, again or LATER))
        await self._tell(plan, terminal)
        return Done(again) if terminal is None else replace(terminal, look_again=again)

    async def _tell(self, plan: Plan, terminal: Terminal | None) -> None:
        """Write the status, then the events: a later plan finds them in it, and does not tell them twice."""
        await self._write_status(plan.status, terminal)
        for event in plan.events:
            self._recorder.record(event)

    async def _write_objects(self, plan: Plan) -> None:
        """Let go what is to go also when something could not be made: it may be what is in the way."""
        failures = await self._make_objects(plan)
        failures += await self._write_all(self._delete, plan.delete)
        if failures:
            raise most_telling(failures)

    async def _make_objects(self, plan: Plan) -> list[BaseException]:
        """Stop after a line of which something failed: the next builds on it."""
        failures = await self._write_all(self._patch, plan.patch)
        if not failures:
            wanted = [apply for apply in plan.apply if not self._is_applied(apply)]
            failures = await self._write_all(self._apply, wanted)
        if not failures:
            missing = [create for create in plan.create if not self._is_there(create)]
            failures = await self._write_all(self._create, missing)
        return failures

    async def _write_all(
        self, write: Callable[[Write], Awaitable[None]], wanted: Sequence[Write]
    ) -> list[BaseException]:
        """Write them side by side, and give what failed; one that fails keeps no other from being written."""
        slots = asyncio.Semaphore(AT_ONCE_PER_PLAN)

        async def one(item: Write) -> None:
            async with slots, self._slots:
                await write(item)

        results = await asyncio.gather(*map(one, wanted), return_exceptions=True)
        return [result for result in results if result is not None]

    def _is_applied(self, apply: Apply) -> bool:
        observed = self._cached(apply.kind, key_of(apply.manifest))
        if observed is None or not self._is_ours(observed, apply.manifest):
            return False
        return self._applied.holds(apply.kind, observed, apply.manifest)

    def _is_there(self, create: Create) -> bool:
        observed = self._cached(create.kind, key_of(create.manifest))
        return observed is not None and self._is_ours(observed, create.manifest)

    async def _patch(self, patch: Patch) -> None:
        observed = self._cached(patch.kind, patch.key)
        if observed is not None and covers(observed, patch.change):
            return
        change = with_metadata(patch.change, patch.preconditions.body)
        self._learn(patch.kind, await self._client.patch(patch.kind, patch.key, change))
        _log_change("patched", patch.kind, patch.key)

    async def _apply(self, apply: Apply) -> None:
        kind, key = apply.kind, key_of(apply.manifest)
        observed = self._cached(kind, key) if kind in self._stores else await self._fetched(kind, key)
        observed = observed or await self._make(kind, apply.manifest)
        self._refuse_foreign(kind, observed, apply.manifest)
        if self._applied.holds(kind, observed, apply.manifest):
            return
        await self._take_over(kind, observed)
        # Should somebody else have put another one in its place meanwhile, this is a conflict.
        marked = self._applied.marked(apply.manifest)
        written = await self._client.apply(kind, with_metadata(marked, {"uid": uid_of(observed)}))
        self._applied.note(kind, written, apply.manifest)
        self._learn(kind, written)
        _log_change("applied", kind, key)

    async def _create(self, create: Create) -> None:
        kind, key = create.kind, key_of(create.manifest)
        observed = self._cached(kind, key) or await self._make(kind, create.manifest)
        self._refuse_foreign(kind, observed, create.manifest)
        if kind in self._stores:
            _refuse_unlabelled(kind, observed, create.manifest)

    async def _make(self, kind: Kind, manifest: Manifest) -> Manifest:
        """Make an object that we do not know of, and give what is there then: it may be somebody else's.

        To apply it at once would take over what others have made, since a watch for our labels does not show it.
        """
        key = key_of(manifest)
        try:
            written = await self._client.create(kind, self._applied.marked(manifest))
        except errors.AlreadyExistsError:
            if (observed := await self._fetched(kind, key)) is None:
                raise  # it went meanwhile, and nobody may ever tell us of that
            return observed
        _log_change("created", kind, key)
        return written

    async def _take_over(self, kind: Kind, observed: Manifest) -> None:
        """Let the fields that we set when we made the object count as applied: else those we give up would stay."""
        live = await self._fetched(kind, key_of(observed))
        entries = None if live is None else as_applied(live, self._client.field_manager)
        if live is None or entries is None:
            return
        change = {"metadata/managedFields": entries, "metadata/resourceVersion": version_of(live)}
        await self._client.patch(kind, key_of(observed), replacing(change))

    async def _delete(self, delete: Delete) -> None:
        try:
            await self._client.send(
                request.delete(delete.kind, delete.key, delete.preconditions, delete.propagation, delete.grace_seconds)
            )
        except errors.NotFoundError:
            return
        except errors.ConflictError:
            observed = await self._fetched(delete.kind, delete.key)
            if observed is not None and delete.preconditions.uid in ("", uid_of(observed)):
                raise
            return  # another uid: the one we meant is gone
        self._applied.forget(delete.kind, delete.key)
        _log_change("deleted", delete.kind, delete.key)

    async def _write_status(self, wanted: Status | None, terminal: Terminal | None) -> None:
        if wanted is None:
            return
        status = explained(wanted, terminal, self._clock())
        key = key_of(wanted.observed)
        observed = self._cached(wanted.kind, key) or wanted.observed
        if uid_of(observed) != uid_of(wanted.observed) or (observed.get("status") or {}) == status:
            return
        written = await self._apply_status(wanted.kind, observed, status)
        if written is None:
            return
        self._learn(wanted.kind, written)
        _log_change("status written", wanted.kind, key)

    async def _apply_status(self, kind: Kind, observed: Manifest, status: Manifest) -> Manifest | None:
        """Write it to this very object, also when somebody changed it meanwhile; nothing if it is gone."""
        try:
            return await self._send_status(kind, observed, status)
        except errors.NotFoundError:
            return None
        except errors.ConflictError:
            found = await self._fetched(kind, key_of(observed))
            if found is None or uid_of(found) != uid_of(observed):
                return None
        return await self._send_status(kind, found, status)

    async def _send_status(self, kind: Kind, observed: Manifest, status: Manifest) -> Manifest:
        """Name the version: no other precondition is known to the server here, a uid least of all."""
        key = key_of(observed)
        place = {"name": key.name, **({"namespace": key.namespace} if key.namespace else {})}
        metadata = {**place, "resourceVersion": version_of(observed)}
        written = await self._client.apply(kind, {"metadata": metadata, "status": status}, subresource="status")
        return written if (written.get("status") or {}) == status else await self._replace_status(kind, written, status)

    async def _replace_status(self, kind: Kind, written: Manifest, status: Manifest) -> Manifest:
        """Write it in the place of all that is there: what others wrote belongs to them, and outlives an apply."""
        change = {"metadata/resourceVersion": version_of(written), "status": status}
        return await self._client.patch(kind, key_of(written), replacing(change), subresource="status")

    def _cached(self, kind: Kind, key: Key) -> Manifest | None:
        store = self._stores.get(kind)
        return None if store is None else store.get(key)

    async def _fetched(self, kind: Kind, key: Key) -> Manifest | None:
        try:
            return await self._client.get(kind, key)
        except errors.NotFoundError:
            return None

    def _learn(self, kind: Kind, written: Manifest) -> None:
        if kind in self._stores:
            self._stores[kind].refresh(written)

    def _is_ours(self, observed: Manifest, wanted: Manifest) -> bool:
        owner, wanted_owner = controller_of(observed), controller_of(wanted)
        if wanted_owner is not None:
            return owner is not None and owner["uid"] == wanted_owner["uid"]
        if owners := owners_of(wanted):  # others may control what goes with these
            return owners <= owners_of(observed)
        return owner is None and self._applied.marks(observed)

    def _refuse_foreign(self, kind: Kind, observed: Manifest, wanted: Manifest) -> None:
        if not self._is_ours(observed, wanted):
            raise ForeignObjectError(
                f"{kind.kind} {key_of(observed)} exists and is not ours: rename or delete it, or choose another name"
            )


def _refuse_unlabelled(kind: Kind, observed: Manifest, wanted: Manifest) -> None:
    """Refuse one that our watch does not show, since it would be made again and again."""
    if not covers(labels_of(observed), labels_of(wanted)):
        raise ForeignObjectError(
            f"{kind.kind} {key_of(observed)} exists and lacks labels that we gave it: give them back, or delete it"
        )


async def _make_calls(call: Caller, calls: Sequence[Call]) -> None:
    """Make them side by side, and not in the slots of writes: who waits for another server must not hold those up."""
    slots = asyncio.Semaphore(AT_ONCE_PER_PLAN)

    async def one(item: Call) -> None:
        async with slots:
            await call(item)
        log.info("called server=%s id=%s", item.server, item.id)

    results = await asyncio.gather(*map(one, calls), return_exceptions=True)
    if failures := [result for result in results if result is not None]:
        raise most_telling(failures)


def most_telling(failures: Sequence[BaseException]) -> BaseException:
    """Give the first in the order of the plan; what ends all trying counts only when nothing else is to be tried."""
    return next((failure for failure in failures if not isinstance(failure, errors.InvalidError)), failures[0])


def in_the_way(error: Exception) -> Terminal | None:
    """Say what somebody has to do something about; nothing of troubles that pass by themselves."""
    match error:
        case ForeignObjectError():
            return Terminal(FOREIGN, str(error))
        case errors.ForbiddenError():
            return Terminal(FORBIDDEN, str(error))
        case errors.BadRequestError():
            return Terminal(REFUSED, str(error))
        case errors.ServerError() if UNANSWERED in error.message:
            return Terminal(WEBHOOK, str(error))
    return None


def rarely(after: float | None) -> float:
    """Look again when the plan asks for it, as far as it does not make a write that was refused again and again."""
    return REFUSED_PAUSE if after is None else min(max(after, SHORTEST_PAUSE), REFUSED_PAUSE)


def explained(wanted: Status, terminal: Terminal | None, now: datetime) -> Manifest:
    """Give the status with the reason why nothing goes on, or without it when something does."""
    conditions: list[Manifest] = wanted.status.get("conditions") or []
    kept = [present for present in conditions if present.get("type") != STALLED]
    if terminal is not None:
        generation = wanted.observed["metadata"].get("generation", 0)
        stalled = condition(STALLED, terminal.reason, terminal.message, holds=True)
        kept += written(renewed(conditions_of(wanted.observed), [stalled], generation, now))
    return {**wanted.status, "conditions": kept} if kept or conditions else wanted.status


def with_metadata(manifest: Manifest, fields: Manifest) -> Manifest:
    return {**manifest, "metadata": {**manifest.get("metadata", {}), **fields}} if fields else manifest


def replacing(change: Manifest) -> request.Operations:
    """Give the JSON patch that puts these values, by their paths, in the place of what is there."""
    return [{"op": "replace", "path": f"/{path}", "value": value} for path, value in change.items()]


def _log_change(what: str, kind: Kind, key: Key) -> None:
    log.info("%s kind=%s key=%s", what, kind.kind, key)
