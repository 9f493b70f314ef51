"""Jobs that cannot work, whoever let them in: what is wrong, and what to do."""

import msgspec

from paddle_operator.api import names
from paddle_operator.api.training import LONGEST_NAME
from paddle_operator.desired.kubedl.frameworks import members_of, replicas_of
from paddle_operator.desired.kubedl.snapshot import Snapshot
from paddle_operator.desired.telling import Refusal
from paddle_operator.desired.training.template import template_of


def refusal_of(snapshot: Snapshot) -> Refusal | None:
    """Look for what no pod could come of; most of it the API server refuses already, but not every version of it."""
    message = _shape(snapshot) or _data(snapshot)
    return Refusal(names.REASON_INVALID, message) if message else None


def _shape(snapshot: Snapshot) -> str:
    job = snapshot.job
    if len(job.metadata.name) > LONGEST_NAME:
        return f"the job's name has more than {LONGEST_NAME} characters: its pods' names would be too long"
    if not replicas_of(job):
        return "the job has no pods: ask for at least one replica of a type that there is"
    for name, spec in replicas_of(job).items():
        try:
            containers = template_of(spec).spec.containers
        except msgspec.ValidationError as error:
            return f"{name}.template is no pod template: {error}"
        if not containers:
            return f"{name}.template has no containers: give at least the one that trains"
    policy = job.spec.scheduling_policy
    if policy is not None and (policy.min_available or 0) > len(members_of(job)):
        return "schedulingPolicy.minAvailable is more than the job has pods: it would never start"
    return ""


def _data(snapshot: Snapshot) -> str:
    spec, own = snapshot.job.spec, snapshot.job.metadata.namespace
    if spec.sample_set_ref is not None and spec.sample_set_ref.namespace not in (None, "", own):
        return (
            f"sampleSetRef.namespace is {spec.sample_set_ref.namespace} and the job is in {own}: pods can only mount"
            " the claim of a SampleSet in their own namespace"
        )
    if spec.cache_backend is not None and not spec.cache_backend.mount_path:
        return "cacheBackend needs mountPath: the directory of the data in every container"
    if spec.cache_backend is not None and not spec.cache_backend.name and spec.cache_backend.cache_engine is None:
        return "cacheBackend needs the name of a CacheBackend, or dataset and cacheEngine to create one"
    return ""
