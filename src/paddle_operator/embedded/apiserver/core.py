"""What core resources ask for beyond their schemas: names of keys, pods that can be, and what stays as it is."""

import base64
import re
from collections.abc import Iterator

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.apiserver import podspec
from paddle_operator.embedded.apiserver.metadata import LONGEST_NAME
from paddle_operator.embedded.apiserver.refusals import Cause, Why
from paddle_operator.embedded.apiserver.resources import Resource
from paddle_operator.embedded.apiserver.validation import UNCHECKED

CONFIG_KEY = re.compile(r"[-._a-zA-Z0-9]+")
KEY_WORDS = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
STATEFUL_SET_EDITABLE = {
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
}
DESCRIBING_PODS = ("pods", "statefulsets", "deployments", "daemonsets")
# A pod's node is given to it once, by whoever schedules.
POD_EDITABLE = {"activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates", "nodeName"}
CLAIM_EDITABLE = {"resources", "volumeName", "volumeAttributesClassName"}
POD_WORDS = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
STATEFUL_SET_WORDS = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
CLAIM_WORDS = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def of_schema(resource: Resource, found: list[Cause]) -> list[Cause]:
    """Leave out what a real server asks of definitions alone: lists that name nothing twice, rules left unchecked."""
    if resource.custom:
        return found
    return [cause for cause in found if cause.why is not Why.DUPLICATE and cause.detail != UNCHECKED]


def faults(resource: Resource, wanted: Manifest, before: Manifest | None) -> Iterator[Cause]:
    if resource.custom:
        return
    for name in ("data", "binaryData"):
        for key in wanted.get(name) or {}:
            if not CONFIG_KEY.fullmatch(key) or len(key) > LONGEST_NAME:
                yield Cause(Why.INVALID, f"{name}[{key}]", KEY_WORDS, key)
    yield from _pod_faults(resource, wanted, before)
    if before is not None:
        yield from _frozen_faults(resource, wanted, before)


def _pod_faults(resource: Resource, wanted: Manifest, before: Manifest | None) -> Iterator[Cause]:
    """Judge the pods that an object is, or makes, unless it did so before."""
    is_pod = resource.kind.plural == "pods"
    steps = ("spec",) if is_pod else ("spec", "template", "spec")
    if resource.kind.plural not in DESCRIBING_PODS:
        return
    spec, old = ({} if found is None else _inside(found, steps) for found in (wanted, before))
    if before is None or spec != old:
        yield from podspec.faults(podspec.completed(spec) if is_pod else spec, ".".join(steps))


def _inside(manifest: Manifest, steps: tuple[str, ...]) -> Manifest:
    for step in steps:
        manifest = manifest.get(step) or {}
    return manifest


def converted(resource: Resource, manifest: Manifest) -> Manifest:
    """Give a Secret's plain values their place among the others, as if they had come encoded."""
    plain = manifest.get("stringData")
    if resource.custom or resource.kind.plural != "secrets" or not isinstance(plain, dict):
        return manifest
    encoded = {name: base64.b64encode(str(value).encode()).decode() for name, value in plain.items()}
    kept = {name: part for name, part in manifest.items() if name != "stringData"}
    return {**kept, "data": {**(manifest.get("data") or {}), **encoded}}


def _frozen_faults(resource: Resource, wanted: Manifest, before: Manifest) -> Iterator[Cause]:
    if before.get("immutable") and any(
        wanted.get(name) != before.get(name) for name in ("data", "binaryData", "immutable")
    ):
        yield Cause(Why.FORBIDDEN, "data", "field is immutable when `immutable` is set")
    match resource.kind.plural:
        case "pods":
            yield from _spec_faults(_without_images(wanted), _without_images(before), POD_EDITABLE, POD_WORDS)
        case "statefulsets":
            yield from _spec_faults(wanted, before, STATEFUL_SET_EDITABLE, STATEFUL_SET_WORDS)
        case "persistentvolumeclaims":
            yield from _spec_faults(wanted, before, CLAIM_EDITABLE, CLAIM_WORDS)
        case "secrets":
            if wanted.get("type") != before.get("type"):
                yield Cause(Why.INVALID, "type", "field is immutable", wanted.get("type"))


def _spec_faults(wanted: Manifest, before: Manifest, editable: set[str], words: str) -> Iterator[Cause]:
    new, old = wanted.get("spec") or {}, before.get("spec") or {}
    if any(new.get(name) != old.get(name) for name in (new.keys() | old.keys()) - editable):
        yield Cause(Why.FORBIDDEN, "spec", words)


def _without_images(pod: Manifest) -> Manifest:
    spec = dict(pod.get("spec") or {})
    for name in ("containers", "initContainers"):
        spec[name] = [{**container, "image": ""} for container in spec.get(name) or []]
    return {**pod, "spec": spec}
