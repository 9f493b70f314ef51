"""What a controller may do in a cluster, as data, from which its RBAC rules are made."""

from dataclasses import dataclass

from paddle_operator.api.manifest import Manifest
from paddle_operator.kube.request import Kind

READ = ("get", "list", "watch")
MAKE = (*READ, "create", "patch", "delete")


@dataclass(frozen=True)
class Access:
    """These verbs on this kind, or on a part of it such as its status."""

    kind: Kind
    verbs: tuple[str, ...]
    part: str = ""

    def rule(self) -> Manifest:
        resource = f"{self.kind.plural}/{self.part}" if self.part else self.kind.plural
        return {"apiGroups": [self.kind.group], "resources": [resource], "verbs": list(self.verbs)}
