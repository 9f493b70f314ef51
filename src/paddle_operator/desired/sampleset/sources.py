"""Where a set's data comes from, and the Secrets that it takes."""

from dataclasses import dataclass

from paddle_operator.api.manifest import Key
from paddle_operator.api.references import PartialSecretReference
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.sampleset.snapshot import Snapshot


@dataclass(frozen=True)
class Origin:
    """Remote data, the directory of the set that it is copied into (its root if empty), and the Secret of its keys."""

    uri: str
    path: str
    secret: Key


def volume_secret(sample_set: SampleSet) -> Key:
    reference = sample_set.spec.secret_ref
    return Key(reference.namespace or sample_set.metadata.namespace, reference.name)


def origins(sample_set: SampleSet) -> tuple[Origin, ...]:
    """Give what is to be copied at first: nothing for a set whose data is in the volume already."""
    spec = sample_set.spec
    if spec.no_sync:
        return ()
    if spec.source is not None:
        return (Origin(spec.source.uri, "", _secret(sample_set, spec.source.secret_ref)),)
    return tuple(Origin(found.uri, found.path or "", _secret(sample_set, found.secret_ref)) for found in spec.sources)


def _secret(sample_set: SampleSet, own: PartialSecretReference | None) -> Key:
    """Let name and namespace each fall back to the volume's."""
    default = volume_secret(sample_set)
    if own is None:
        return default
    return Key(own.namespace or default.namespace, own.name or default.name)


def secrets_of(sample_set: SampleSet) -> frozenset[Key]:
    return frozenset({volume_secret(sample_set), *(origin.secret for origin in origins(sample_set))})


def lacking(snapshot: Snapshot, *, sources: bool = True) -> str:
    """Say what is wrong with the volume's Secret, or with those of its sources; nothing if they are all there."""
    sample_set = snapshot.sample_set
    own = volume_secret(sample_set)
    for secret in (own, *(sorted(secrets_of(sample_set) - {own}) if sources else ())):
        view = snapshot.secrets.get(secret)
        if view is None:
            return (
                f"there is no Secret {secret.name} in namespace {secret.namespace} that the manager may read: create it"
            )
        missing = [key for key in snapshot.engine.required_keys if key not in view.keys] if secret == own else []
        if missing:
            return f"Secret {secret} has no value for {', '.join(missing)}: add it"
    return ""
