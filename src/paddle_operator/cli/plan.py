"""`paddle-operator plan`: what jobs would get, without a cluster."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TextIO

import click
import msgspec
import yaml

from paddle_operator.api.cachebackend import CacheBackend, CacheBackendStatus, CacheBackendStatusWord
from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Manifest, is_complete
from paddle_operator.api.meta import ObjectMeta
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.api.references import SampleSetReference
from paddle_operator.api.sampleset import SampleSet, SampleSetPhase, SampleSetStatus
from paddle_operator.cli.listing import Dumper
from paddle_operator.cli.training import training_options
from paddle_operator.controllers.jobplan import KINDS
from paddle_operator.controllers.trainingjob import STRUCTS
from paddle_operator.desired.kubedl import snapshot as kubedl
from paddle_operator.desired.kubedl.frameworks import WORKER, members_of
from paddle_operator.desired.kubedl.plan import plan as kubedl_plan
from paddle_operator.desired.paddlejob import plan as desired
from paddle_operator.desired.paddlejob.snapshot import Settings, Snapshot
from paddle_operator.desired.training.decision import Decision, Piece, Pieces, Status
from paddle_operator.desired.training.observedpod import ObservedPod, observed_pod
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.desired.training.supply import Supply, cache_object

NOT_YET = "00000000-0000-0000-0000-000000000000"
LET_IN: Manifest = {"status": {"phase": "Inqueue"}}


@click.command()
@click.option("-f", "--filename", "file", type=click.File(encoding="utf-8"), required=True, help="A file, or -.")
@click.option("--namespace", default="default", show_default=True, help="For manifests that name none.")
@training_options
def plan(file: TextIO, namespace: str, training: Settings) -> None:
    """Print what the jobs in a file would get: caches, config maps, services, pods and gangs."""
    found = list(read(file, namespace))
    jobs = [manifest for manifest in found if manifest.get("kind") in PLANS]
    if not jobs:
        raise click.ClickException(f"there is no {', '.join(PLANS)} in {file.name}")
    sets = {manifest["metadata"]["name"]: manifest for manifest in found if manifest.get("kind") == "SampleSet"}
    for manifest in jobs:
        objects = planned(manifest, sets, training)
        click.echo(yaml.dump_all(objects, Dumper=Dumper, sort_keys=False, explicit_start=True, width=120), nl=False)


def read(file: TextIO, namespace: str) -> Iterator[Manifest]:
    try:
        for manifest in yaml.safe_load_all(file):
            if is_complete(manifest):
                yield {**manifest, "metadata": {"namespace": namespace, "uid": NOT_YET, **manifest["metadata"]}}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise click.ClickException(f"{file.name} is no YAML: {error}") from error


def planned(manifest: Manifest, sets: dict[str, Manifest], training: Settings) -> list[Manifest]:
    """Give the objects; what a job waits for is taken as ready."""
    try:
        objects = PLANS[manifest["kind"]](manifest, sets, training)
    except msgspec.ValidationError as error:
        raise click.ClickException(f"{manifest['metadata']['name']} cannot be read: {error}") from error
    return [{**KINDS[piece].identity, **found} for piece, found in objects]


def planned_paddle_job(manifest: Manifest, sets: dict[str, Manifest], training: Settings) -> Pieces:
    """Name addresses that only a cluster can give for the pods that will have them."""
    job = going_on(msgspec.convert({**manifest, "status": None}, PaddleJob))
    workers = job.spec.worker.replicas if job.spec.worker else 1
    snapshot = Snapshot(job, datetime.now(UTC), training, gangs=let_in(training))
    made, cache = cached(snapshot.supply)
    sample_set = ready_set(job.spec.sample_set_ref, job.metadata.namespace, workers, sets)
    snapshot = replace(snapshot, cache=cache, sample_set=sample_set)
    first = allowed(job, desired.plan(snapshot))
    pods = tuple(seen(pod, "Pending") for piece, pod in first.create if piece is Piece.POD)
    then = allowed(job, desired.plan(replace(snapshot, pods=pods)))
    return (*made, *then.apply, *first.create)


def going_on(job: PaddleJob) -> PaddleJob:
    if not job.spec.suspend:
        return job
    click.echo(f"{job.metadata.name} is suspended: this is what it gets when suspend is false", err=True)
    return msgspec.structs.replace(job, spec=msgspec.structs.replace(job.spec, suspend=False))


def planned_training_job(manifest: Manifest, sets: dict[str, Manifest], training: Settings) -> Pieces:
    """Let pods run as soon as they are made, since others wait for them."""
    job = msgspec.convert({**manifest, "status": None}, STRUCTS[manifest["kind"].lower()])
    snapshot = kubedl.Snapshot(job, datetime.now(UTC), training.scheduling, gangs=let_in(training))
    made, cache = cached(snapshot.supply)
    workers = len(members_of(job, WORKER)) or 1
    sample_set = ready_set(job.spec.sample_set_ref, job.metadata.namespace, workers, sets)
    snapshot = replace(snapshot, cache=cache, sample_set=sample_set)
    created: Pieces = ()
    while True:
        pods = tuple(seen(pod, "Running") for piece, pod in created if piece is Piece.POD)
        decision = allowed(job, kubedl_plan(replace(snapshot, pods=pods)))
        known = {(piece, found["metadata"]["name"]) for piece, found in created}
        new = tuple(part for part in decision.create if (part[0], part[1]["metadata"]["name"]) not in known)
        if not new:
            return (*made, *decision.apply, *created)
        created = (*created, *new)


PLANS = {
    "PaddleJob": planned_paddle_job,
    "TFJob": planned_training_job,
    "PyTorchJob": planned_training_job,
}


def let_in(training: Settings) -> tuple[Manifest, ...]:
    return (LET_IN,) if training.scheduling is Scheduling.VOLCANO else ()


def allowed(job: Kind, decision: Decision[Status]) -> Decision[Status]:
    if decision.refusal is not None:
        raise click.ClickException(f"{job.metadata.name}: {decision.refusal.message}")
    return decision


def seen(pod: Manifest, phase: str) -> ObservedPod:
    found = copy.deepcopy(pod)
    running = {"ready": True, "state": {"running": {}}}
    found["status"] = {"phase": phase, "podIP": f"IP-OF-{pod['metadata']['name']}", "containerStatuses": [running]}
    return observed_pod(found)


def cached(supply: Supply) -> tuple[Pieces, CacheBackend | None]:
    """Give the cache that the job describes, and take it, or the one that it names, as ready."""
    spec = supply.cache_spec
    if spec is None:
        return (), None
    made = cache_object(supply)
    metadata = ObjectMeta(name=supply.cache_name, namespace=supply.job.metadata.namespace)
    definition = CacheBackend.definition
    status = CacheBackendStatus(cache_status=CacheBackendStatusWord.PVC_CREATED.value)
    ready = CacheBackend(definition.api_version, definition.kind, metadata, spec, status)
    return () if made is None else ((Piece.CACHE, made),), ready


def ready_set(
    reference: SampleSetReference | None, namespace: str, partitions: int, sets: dict[str, Manifest]
) -> SampleSet | None:
    """Take the job's SampleSet as ready: the one in the file, or one with a partition for each worker."""
    if reference is None:
        return None
    otherwise = {
        "apiVersion": SampleSet.definition.api_version,
        "kind": SampleSet.definition.kind,
        "metadata": {"name": reference.name, "namespace": namespace},
        "spec": {"partitions": partitions, "secretRef": {"name": reference.name}},
    }
    found = msgspec.convert({**sets.get(reference.name, otherwise), "status": None}, SampleSet)
    return msgspec.structs.replace(found, status=SampleSetStatus(phase=SampleSetPhase.READY.value))
