"""What a manager may do in a cluster, as data, and the RBAC rules that are made of it."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from paddle_operator.api.manifest import Manifest
from paddle_operator.control.lease import LEASES
from paddle_operator.desired.installation.account import Rights
from paddle_operator.kube.request import Kind

WATCH = ("list", "watch")
READ = ("get", *WATCH)
# An object that stands as it was made, and one that is changed in place.
MAKE = (*READ, "create", "delete")
CHANGE = (*MAKE, "patch")


@dataclass(frozen=True)
class Access:
    """These verbs on this kind, on a part of it such as its status, or on its objects of these names only."""

    kind: Kind
    verbs: tuple[str, ...]
    part: str = ""
    names: tuple[str, ...] = ()

    def rule(self) -> Manifest:
        resource = f"{self.kind.plural}/{self.part}" if self.part else self.kind.plural
        named = {"resourceNames": list(self.names)} if self.names else {}
        return {"apiGroups": [self.kind.group], "resources": [resource], "verbs": list(self.verbs), **named}


def merged(*accesses: Iterable[Access]) -> list[Access]:
    """Give what several controllers do, with one rule for each kind or part of it."""
    verbs: dict[Access, dict[str, None]] = {}
    for found in itertools.chain(*accesses):
        verbs.setdefault(replace(found, verbs=()), {}).update(dict.fromkeys(found.verbs))
    return [replace(found, verbs=tuple(asked)) for found, asked in verbs.items()]


def lease_access(lease: str) -> tuple[Access, ...]:
    """Give what an election needs; who may create cannot be held to a name."""
    return Access(LEASES, ("create",)), Access(LEASES, ("get", "update"), names=(lease,))


def rights(access: Iterable[Access], lease: str) -> Rights:
    """Give the rules for this access and for the lease, by where they hold."""
    listed = tuple(access)
    return Rights(
        tuple(found.rule() for found in listed if found.kind.namespaced),
        tuple(found.rule() for found in listed if not found.kind.namespaced),
        tuple(found.rule() for found in lease_access(lease)),
    )
