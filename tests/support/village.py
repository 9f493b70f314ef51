"""Families that change by chance; the same seed gives the same wishes."""

import random

from paddle_operator.api.manifest import Key, key_of, uid_of
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Preconditions, Propagation
from support import family
from support.family import CONFIG_MAPS, PARENTS
from support.ledger import Ledger, owner_uid

FAMILIES = 5
LARGEST = 3


class Village:
    def __init__(self, client: Client, ledger: Ledger, namespace: str, chance: random.Random) -> None:
        self._client = client
        self._ledger = ledger
        self._namespace = namespace
        self._chance = chance
        self._names: list[str] = []
        self._counted = 0

    async def change(self) -> str:
        """Change up to three families, each of them once; tell what was done."""
        words = [await self._come()] if len(self._names) < FAMILIES else []
        for name in self._chance.sample(self._names, min(2, len(self._names))):
            what = self._chance.choice((self._resize, self._revalue, self._lose, self._go, self._return))
            words.append(await what(name))
        return ", ".join(words)

    async def _come(self) -> str:
        self._counted += 1
        name = f"family-{self._counted}"
        await self._bear(name)
        self._names.append(name)
        return f"{name} comes"

    async def _bear(self, name: str) -> None:
        born = family.parent(name, self._namespace)
        await self._client.create(PARENTS, {**born, "spec": {**born["spec"], **self._sizes()}})

    def _sizes(self) -> dict[str, int]:
        return {"children": self._chance.randint(0, LARGEST), "pets": self._chance.randint(0, LARGEST)}

    async def _resize(self, name: str) -> str:
        sizes = self._sizes()
        await self._client.patch(PARENTS, Key(self._namespace, name), {"spec": sizes})
        return f"{name} has {sizes}"

    async def _revalue(self, name: str) -> str:
        self._counted += 1
        await self._client.patch(PARENTS, Key(self._namespace, name), {"spec": {"value": str(self._counted)}})
        return f"{name} has value {self._counted}"

    async def _lose(self, name: str) -> str:
        """Delete one of its members, whether it is needed or not."""
        parents = {uid_of(parent) for parent in self._ledger.parents if key_of(parent).name == name}
        members = sorted(self._ledger.members, key=key_of)
        own = [member for member in members if owner_uid(member) in parents]
        if not own:
            return f"{name} has nobody to lose"
        lost = self._chance.choice(own)
        self._ledger.taken.add(uid_of(lost))
        await self._client.delete(CONFIG_MAPS, key_of(lost), Preconditions(uid_of(lost)))
        return f"{name} loses {key_of(lost).name}"

    async def _go(self, name: str) -> str:
        self._names.remove(name)
        how = self._chance.choice((Propagation.BACKGROUND, Propagation.FOREGROUND))
        await self._client.delete(PARENTS, Key(self._namespace, name), Preconditions(), how)
        return f"{name} goes ({how})"

    async def _return(self, name: str) -> str:
        await self._client.delete(PARENTS, Key(self._namespace, name), Preconditions())
        await self._bear(name)
        return f"{name} goes and comes again"
