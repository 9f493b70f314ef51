"""The parts of a user's pod template that we add to, with the shape that they must have for it."""

from typing import ClassVar, Protocol

import msgspec

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Record

ALWAYS = "Always"


class TemplateMetadata(Record, frozen=True):
    """What we take over of a template's metadata."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None


class Resources(Record, frozen=True):
    """What a container asks for."""

    requests: dict[str, int | float | str] | None = None
    limits: dict[str, int | float | str] | None = None
    claims: list[Manifest] | None = None


class Named(Record, frozen=True):
    """A volume."""

    name: str = ""


class Variable(Record, frozen=True):
    """A variable of a container's environment; without a value it is taken from elsewhere."""

    name: str = ""
    value: str | None = None


class Port(Record, frozen=True):
    """A port that a container lists."""

    container_port: int = 0
    name: str = ""


class Container(Record, frozen=True):
    """What we add to in a container, or read."""

    name: str
    env: list[Variable] | None = None
    env_from: list[Manifest] | None = None
    ports: list[Port] | None = None
    volume_mounts: list[Manifest] | None = None
    resources: Resources | None = None


class NodeSelectorTerm(Record, frozen=True):
    """Nodes of which all of this is true."""

    match_expressions: list[Manifest] | None = None


class NodeSelector(Record, frozen=True):
    """Nodes that a pod must run on: those of any term."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(Record, frozen=True):
    """Nodes that a pod must or should run on."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: list[Manifest] | None = None


class Affinity(Record, frozen=True):
    """Where a pod must or should run."""

    node_affinity: NodeAffinity | None = None


class PodSpec(Record, frozen=True):
    """What we add to in a pod's spec, or read."""

    containers: list[Container]
    init_containers: list[Manifest] | None = None
    volumes: list[Named] | None = None
    affinity: Affinity | None = None
    restart_policy: str | None = None
    dns_policy: str | None = None
    scheduler_name: str | None = None
    runtime_class_name: str | None = None


class Template(Record, frozen=True):
    """A pod template."""

    spec: PodSpec
    metadata: TemplateMetadata | None = None

    nothing: ClassVar[TemplateMetadata] = TemplateMetadata()

    @property
    def meta(self) -> TemplateMetadata:
        return self.metadata or self.nothing


class Templated(Protocol):
    """Whatever has a pod template: a role of a PaddleJob, the replicas of a TFJob."""

    @property
    def template(self) -> Manifest: ...


def template_of(role: Templated) -> Template:
    """Read the template; what has not the shape of a pod raises msgspec.ValidationError and says where."""
    return msgspec.convert(role.template, Template)
