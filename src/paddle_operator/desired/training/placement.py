"""Data in a job's pods, and workers next to the part of it that their node caches."""

import copy

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.names import sampleset_node_label
from paddle_operator.api.references import Placement, SampleSetReference
from paddle_operator.api.sampleset import SampleSet

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HIGHEST_WEIGHT = 100


def with_data(spec: Manifest, reference: SampleSetReference) -> Manifest:
    """Mount the data set's claim, which has its name, in every container."""
    volumes: list[Manifest] = spec.get("volumes") or []
    volume = _free_name(reference.name, {str(found.get("name")) for found in volumes})
    mount = {"name": volume, "mountPath": reference.mount_path}
    return {
        **spec,
        "volumes": [*volumes, {"name": volume, "persistentVolumeClaim": {"claimName": reference.name}}],
        "containers": [
            {**container, "volumeMounts": [*(container.get("volumeMounts") or []), mount]}
            for container in spec["containers"]
        ],
    }


def _free_name(wanted: str, taken: set[str]) -> str:
    return f"sampleset-{wanted}" if wanted in taken else wanted


def near_data(spec: Manifest, number: int, reference: SampleSetReference, sample_set: SampleSet) -> Manifest:
    """Place worker i with partition i; workers beyond the partitions go where there is room."""
    if number >= sample_set.spec.partitions:
        return spec
    namespace = sample_set.metadata.namespace
    here = cached_here(namespace, reference.name, number)
    if reference.placement is Placement.PREFERRED:
        return preferring(spec, here)
    affinity = copy.deepcopy(spec.get("affinity") or {})
    node = affinity.get("nodeAffinity") or {}
    terms = (node.get(REQUIRED) or {}).get("nodeSelectorTerms") or []
    node[REQUIRED] = {"nodeSelectorTerms": narrowed(terms, here)}
    return {**spec, "affinity": {**affinity, "nodeAffinity": node}}


def cached_here(namespace: str, sample_set: str, partition: int) -> Manifest:
    label = sampleset_node_label(namespace, sample_set)
    return {"key": label, "operator": "In", "values": [f"{sample_set}-runtime-{partition}"]}


def preferring(spec: Manifest, expression: Manifest) -> Manifest:
    """Let the pod go there if there is room."""
    affinity = copy.deepcopy(spec.get("affinity") or {})
    node = affinity.get("nodeAffinity") or {}
    term = {"weight": HIGHEST_WEIGHT, "preference": {"matchExpressions": [expression]}}
    node[PREFERRED] = [*(node.get(PREFERRED) or []), term]
    return {**spec, "affinity": {**affinity, "nodeAffinity": node}}


def narrowed(terms: list[Manifest], also: Manifest) -> list[Manifest]:
    """Ask for this in every term, since one term is enough for a node; an empty term matches none and stays so."""
    return [
        {**term, "matchExpressions": [*(term.get("matchExpressions") or []), also]} if any(term.values()) else term
        for term in terms
    ] or [{"matchExpressions": [also]}]
