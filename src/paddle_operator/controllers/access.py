"""What a manager may do in a cluster, as data, and the account and RBAC rules that are made of it."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.lease import LEASES
from paddle_operator.kube.request import Kind

WATCH = ("list", "watch")
READ = ("get", *WATCH)
# An object that stands as it was made, and one that is changed in place.
MAKE = (*READ, "create", "delete")
CHANGE = (*MAKE, "patch")
RBAC = "rbac.authorization.k8s.io"


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


def account(of: Key, access: Iterable[Access], lease: str) -> list[Manifest]:
    """Give a manager's account, with leave to do its work in all namespaces and to be elected in its own."""
    subject = {"kind": "ServiceAccount", "name": of.name, "namespace": of.namespace}
    everywhere, at_home = {"name": of.name}, {"name": of.name, "namespace": of.namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": at_home},
        _rules("ClusterRole", everywhere, access),
        _binding("ClusterRole", everywhere, subject),
        _rules("Role", at_home, lease_access(lease)),
        _binding("Role", at_home, subject),
    ]


def _rules(kind: str, metadata: Manifest, access: Iterable[Access]) -> Manifest:
    rules = [found.rule() for found in access]
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata, "rules": rules}


def _binding(role: str, metadata: Manifest, subject: Manifest) -> Manifest:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{role}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": role, "name": metadata["name"]},
        "subjects": [subject],
    }
