"""Where a set's data comes from, the Secrets that it takes, and what servers mount to get at it."""

from dataclasses import dataclass

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.references import PartialSecretReference
from paddle_operator.api.sampleset import SampleSet
from paddle_operator.desired.sampleset.snapshot import Snapshot

LOCAL, CLAIM = "local://", "pvc://"
SOURCE_DIRECTORY = "/sources"


@dataclass(frozen=True)
class Mounted:
    """Data that servers copy from a directory of their own: one of the node, or another claim."""

    name: str
    volume: Manifest
    below: str = ""

    @property
    def directory(self) -> str:
        return f"{SOURCE_DIRECTORY}/{self.name.rpartition('-')[2]}"

    @property
    def uri(self) -> str:
        return f"file://{self.directory}/{self.below}"


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
    return () if sample_set.spec.no_sync else named(sample_set)


def named(sample_set: SampleSet) -> tuple[Origin, ...]:
    """Give all that the set names, whether or not it is copied at first."""
    spec = sample_set.spec
    given = [(found, found.path or "") for found in spec.sources] if spec.source is None else [(spec.source, "")]
    return tuple(
        Origin(_reached(number, found.uri), path, _secret(sample_set, found.secret_ref))
        for number, (found, path) in enumerate(given)
    )


def uris(sample_set: SampleSet) -> tuple[str, ...]:
    """Give the places that are copied at first as the user wrote them."""
    return () if sample_set.spec.no_sync else _written(sample_set)


def _written(sample_set: SampleSet) -> tuple[str, ...]:
    spec = sample_set.spec
    return tuple(found.uri for found in ((spec.source,) if spec.source is not None else spec.sources))


def unmounted(sample_set: SampleSet) -> str:
    """Name a place that servers could only copy from if they mounted it, and that they do not mount."""
    left = _written(sample_set) if sample_set.spec.no_sync else ()
    return next((uri for uri in left if mounted(0, uri) is not None), "")


def _reached(number: int, uri: str) -> str:
    found = mounted(number, uri)
    return uri if found is None else found.uri


def mounted(number: int, uri: str) -> Mounted | None:
    """Give what servers mount to copy from there; nothing for what JuiceFS reaches by itself."""
    name = f"source-{number}"
    if uri.startswith(LOCAL):
        # A directory that is missing must not be made: an empty data set would come of it.
        return Mounted(name, {"hostPath": {"path": uri.removeprefix(LOCAL).rstrip("/"), "type": "Directory"}})
    if uri.startswith(CLAIM):
        claim, _, below = uri.removeprefix(CLAIM).partition("/")
        reference = {"claimName": claim, "readOnly": True}
        return Mounted(name, {"persistentVolumeClaim": reference}, f"{below.strip('/')}/" if below.strip("/") else "")
    return None


def mounts(sample_set: SampleSet) -> tuple[Mounted, ...]:
    found = (mounted(number, uri) for number, uri in enumerate(uris(sample_set)))
    return tuple(one for one in found if one is not None)


def out_of_bounds(sample_set: SampleSet, allowed: tuple[str, ...]) -> str:
    """Name a place that nobody may copy from: another directory of the node, or one above a claim."""
    for uri in uris(sample_set):
        upwards = ".." in uri.split("/")
        if uri.startswith(CLAIM) and upwards:
            return f"{uri} leads out of its claim"
        path = f"{uri.removeprefix(LOCAL).rstrip('/')}/"
        if uri.startswith(LOCAL) and (upwards or not any(path.startswith(f"{one.rstrip('/')}/") for one in allowed)):
            return (
                f"{uri} is not below a directory of the nodes that may be copied from: the manager's --local-sources"
                f" {'are ' + ', '.join(allowed) if allowed else 'names none'}"
            )
    return ""


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
