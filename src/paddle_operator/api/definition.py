"""What makes a struct a kind of the API server: its names, its columns and the rules on the whole object."""

from dataclasses import dataclass
from typing import ClassVar

from paddle_operator.api.fields import Rule
from paddle_operator.api.meta import Resource


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; from priority 1 on it is shown with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0


AGE = Column("Age", ".metadata.creationTimestamp", "date")


@dataclass(frozen=True)
class Definition:
    group: str
    version: str
    kind: str
    columns: tuple[Column, ...]
    short_names: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def plural(self) -> str:
        return f"{self.singular}s"

    @property
    def name(self) -> str:
        """Name the CRD."""
        return f"{self.plural}.{self.group}"


class Kind(Resource, frozen=True):
    """An object of a kind that is ours."""

    definition: ClassVar[Definition]
