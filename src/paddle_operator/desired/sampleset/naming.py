"""What the objects of a SampleSet are called, and how they are known as its own."""

import hashlib

from paddle_operator.api import names
from paddle_operator.api.manifest import Key, Manifest, annotations_of, controller_of, labels_of
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.ownership import owned

CREATED_BY = {names.ANNOTATION_CREATED_BY: names.MANAGER}


def key_of_set(sample_set: SampleSet) -> Key:
    return Key(sample_set.metadata.namespace, sample_set.metadata.name)


def volume_name(sample_set: SampleSet) -> str:
    """Name the volume for the whole cluster, so that no two sets meet: not in two namespaces, nor one after another."""
    metadata = sample_set.metadata
    return f"{metadata.namespace}-{metadata.name}-{digest(metadata.uid)[:8]}"


def runtime_name(sample_set: SampleSet) -> str:
    """Name the StatefulSet of runtime servers, and the Secret with the token that they ask for."""
    return f"{sample_set.metadata.name}-runtime"


def pod_name(sample_set: SampleSet, partition: int) -> str:
    return f"{runtime_name(sample_set)}-{partition}"


def service_name(sample_set: SampleSet) -> str:
    return f"{runtime_name(sample_set)}-service"


def labels(sample_set: SampleSet) -> dict[str, str]:
    name = sample_set.metadata.name
    return {names.sampleset_label(name): "true", names.LABEL_SAMPLESET: name}


def selector(sample_set: SampleSet) -> dict[str, str]:
    """Select the runtime servers' pods."""
    return {names.sampleset_label(sample_set.metadata.name): "true", "name": runtime_name(sample_set)}


def metadata(sample_set: SampleSet, name: str) -> Manifest:
    """Give the metadata of an object in the set's namespace, which goes away with the set."""
    return {**owned(sample_set, name, labels(sample_set)), "annotations": CREATED_BY}


def unowned_metadata(sample_set: SampleSet, name: str, namespace: str = "") -> Manifest:
    """Give the metadata of what is of no namespace, or of another: it cannot be owned, so labels say whose it is."""
    whose = {
        names.LABEL_SAMPLESET_NAMESPACE: sample_set.metadata.namespace,
        names.LABEL_SAMPLESET_UID: sample_set.metadata.uid,
    }
    place = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {**place, "labels": {**labels(sample_set), **whose}, "annotations": CREATED_BY}


def owns(sample_set: SampleSet, manifest: Manifest) -> bool:
    """Tell whether the object was made for this very set."""
    owner = controller_of(manifest)
    if owner is not None:
        return bool(owner.get("uid") == sample_set.metadata.uid)
    of_us = annotations_of(manifest).get(names.ANNOTATION_CREATED_BY) == names.MANAGER
    return of_us and labels_of(manifest).get(names.LABEL_SAMPLESET_UID) == sample_set.metadata.uid


def is_of_original(sample_set: SampleSet, manifest: Manifest) -> bool:
    """Tell whether the original operator made the object for this set: it put labels on it, and no owner."""
    found = labels_of(manifest)
    labelled = found.get(names.sampleset_label(sample_set.metadata.name)) == "true"
    of_us = annotations_of(manifest).get(names.ANNOTATION_CREATED_BY) == names.MANAGER
    later = controller_of(manifest) is not None or names.LABEL_SAMPLESET_UID in found
    return labelled and of_us and not later and _namespace(manifest) == sample_set.metadata.namespace


def _namespace(manifest: Manifest) -> str:
    """Give an object's namespace; a volume's is that of its claim."""
    claim = (manifest.get("spec") or {}).get("claimRef") or {}
    return str(manifest["metadata"].get("namespace") or claim.get("namespace"))


def digest(*words: object) -> str:
    return hashlib.sha256("\0".join(map(str, words)).encode(errors="replace")).hexdigest()
