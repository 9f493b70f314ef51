"""What really happened to families, as the API server tells it: who came, who went, and whether that was right."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from paddle_operator.api.manifest import Manifest, controller_of, key_of, uid_of, version_of
from paddle_operator.kube import request
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Scope
from paddle_operator.kube.watch import Lines
from support import family
from support.family import CONFIG_MAPS, LABEL, PARENTS

LONGEST = 3600
PAUSE = 0.02


@dataclass
class Life:
    """An object from its first version to its last; versions are numbers that grow over all objects."""

    kind: str
    states: list[tuple[int, Manifest]] = field(default_factory=list)
    gone: bool = False

    @property
    def latest(self) -> Manifest:
        return self.states[-1][1]

    @property
    def first_version(self) -> int:
        return self.states[0][0]

    @property
    def last_version(self) -> int:
        return self.states[-1][0]

    @property
    def leaves_at(self) -> float:
        """Give the version from which on it is not meant to stay."""
        leaving = [version for version, state in self.states if "deletionTimestamp" in state["metadata"]]
        return min([*leaving, self.last_version if self.gone else float("inf")])

    def between(self, first: int, last: int) -> list[Manifest]:
        """Give the states that it had at any time from one version to the other."""
        ends = [version for version, _ in self.states[1:]] + [float("inf")]
        return [state for (begin, state), end in zip(self.states, ends, strict=True) if begin <= last and end >= first]


class Ledger:
    """`taken` are the uids of members that the test itself deleted."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.taken: set[str] = set()
        self._changes = 0
        self._changed = asyncio.Event()

    def note(self, event: Manifest) -> None:
        manifest = event["object"]
        if event["type"] not in ("ADDED", "MODIFIED", "DELETED"):
            raise AssertionError(f"the ledger's own watch broke: {event}")
        life = self.lives.setdefault(uid_of(manifest), Life(manifest["kind"]))
        life.states.append((int(version_of(manifest)), manifest))
        life.gone = event["type"] == "DELETED"
        self._changes += 1
        self._changed.set()

    async def wait_for(self, changes: int) -> None:
        """Wait until so many more have been noted."""
        until = self._changes + changes
        while self._changes < until:
            self._changed.clear()
            await self._changed.wait()

    @property
    def newest(self) -> int:
        """Give the version of the last change of all."""
        return max(life.last_version for life in self.lives.values())

    def living(self, kind: str) -> list[Manifest]:
        return [life.latest for life in self.lives.values() if life.kind == kind and not life.gone]

    @property
    def parents(self) -> list[Manifest]:
        return self.living(PARENTS.kind)

    @property
    def members(self) -> list[Manifest]:
        return self.living(CONFIG_MAPS.kind)

    def complaints(self) -> list[str]:
        """Say all that is not as it should be in the end."""
        parents = {uid_of(parent): parent for parent in self.parents}
        told = [f"{key_of(parent)}: {words}" for parent in self.parents for words in self._lacks(parent)]
        for member in self.members:
            parent = parents.get(owner_uid(member))
            if parent is None:
                told.append(f"{key_of(member)} is an orphan")
            elif not family.wants(parent, member):
                told.append(f"{key_of(member)} is one too many")
        return told

    def _lacks(self, parent: Manifest) -> list[str]:
        own = {key_of(member): member for member in self.members if owner_uid(member) == uid_of(parent)}
        wanted = [*family.children_of(parent), *family.pets_of(parent)]
        told = [f"no {key_of(member)}" for member in wanted if key_of(member) not in own]
        told += [f"{key_of(m)} is outdated" for m in wanted if own.get(key_of(m), m).get("data") != m["data"]]
        status = parent.get("status") or {}
        conditions = [(found["type"], found["status"]) for found in status.get("conditions", ())]
        if conditions != [("Ready", "True")] or status.get("children") != len(wanted):
            told.append(f"its status is {status}")
        elif status["conditions"][0]["observedGeneration"] != parent["metadata"]["generation"]:
            told.append("its status is about an older spec")
        return told

    async def right(self, timeout: float = 90.0) -> None:  # noqa: ASYNC109 said in words
        """Wait until there is nothing to complain about."""
        deadline = asyncio.get_running_loop().time() + timeout
        while told := self.complaints():
            assert asyncio.get_running_loop().time() < deadline, told
            await asyncio.sleep(PAUSE)

    def wrongs(self) -> list[str]:
        """Name all that went while it was needed: the API server has no two of a name, thus it comes twice."""
        return [
            f"{key_of(life.latest)} went at {life.last_version} though it was needed"
            for uid, life in self.lives.items()
            if life.kind == CONFIG_MAPS.kind and life.gone and uid not in self.taken and self._was_needed(life)
        ]

    def _was_needed(self, member: Life) -> bool:
        parent = self.lives.get(owner_uid(member.latest))
        if parent is None or parent.leaves_at <= member.last_version:
            return False
        meanwhile = parent.between(member.first_version, member.last_version)
        return all(family.wants(state, member.latest) for state in meanwhile)


def owner_uid(member: Manifest) -> str:
    owner = controller_of(member)
    return str(owner["uid"]) if owner else ""


@contextlib.asynccontextmanager
async def keeping(client: Client, namespace: str) -> AsyncIterator[Ledger]:
    """Keep a ledger of a namespace as long as the `async with`; it ends with an error when a watch breaks."""
    ledger = Ledger()
    async with asyncio.TaskGroup() as group:
        scopes = (Scope(PARENTS, namespace), Scope(CONFIG_MAPS, namespace, f"{LABEL}=yes"))
        following = [group.create_task(_follow(client, scope, ledger)) for scope in scopes]
        try:
            yield ledger
        finally:
            for task in following:
                task.cancel()


async def _follow(client: Client, scope: Scope, ledger: Ledger) -> None:
    listing = await client.list(scope)
    for item in listing.items:
        ledger.note({"type": "ADDED", "object": item})
    async with client.stream(request.watch(scope, listing.resource_version, LONGEST), LONGEST) as pieces:
        lines = Lines()
        async for piece in pieces:
            for line in lines.feed(piece):
                event = json.loads(line)
                if event["type"] != "BOOKMARK":
                    ledger.note(event)
    raise AssertionError(f"the ledger's own watch of {scope.kind.plural} ended")
