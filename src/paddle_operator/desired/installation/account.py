"""A manager's account, and the roles that let it do its work in all namespaces or in one."""

from dataclasses import dataclass

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.names import MANAGER

RBAC = "rbac.authorization.k8s.io"
PART_OF = {"app.kubernetes.io/part-of": MANAGER}


@dataclass(frozen=True)
class Rights:
    """RBAC rules: for kinds that live in namespaces, for those of the whole cluster, and for the manager's lease."""

    namespaced: tuple[Manifest, ...]
    cluster: tuple[Manifest, ...]
    lease: tuple[Manifest, ...]


def account(of: Key, rights: Rights, watched: str = "") -> list[Manifest]:
    """Give an account that may do its work, in the namespace `watched` or in all, and be elected in its own."""
    everywhere = Key("", f"{of.name}-{watched}" if watched else of.name)
    of_cluster = rights.cluster if watched else (*rights.namespaced, *rights.cluster)
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(of)},
        *(_role(Key(watched, of.name), rights.namespaced, of) if watched else ()),
        *(_role(everywhere, of_cluster, of) if of_cluster else ()),
        *_role(Key(of.namespace, f"{of.name}-election"), rights.lease, of),
    ]


def _role(key: Key, rules: tuple[Manifest, ...], subject: Key) -> list[Manifest]:
    """Give a role and its binding; without a namespace, those of the cluster."""
    version, role = f"{RBAC}/v1", "Role" if key.namespace else "ClusterRole"
    return [
        {"apiVersion": version, "kind": role, "metadata": metadata(key), "rules": list(rules)},
        {
            "apiVersion": version,
            "kind": f"{role}Binding",
            "metadata": metadata(key),
            "roleRef": {"apiGroup": RBAC, "kind": role, "name": key.name},
            "subjects": [{"kind": "ServiceAccount", "name": subject.name, "namespace": subject.namespace}],
        },
    ]


def metadata(key: Key) -> Manifest:
    return {"name": key.name, **({"namespace": key.namespace} if key.namespace else {}), "labels": PART_OF}
