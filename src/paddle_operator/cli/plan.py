"""`paddle-operator plan`: what a PaddleJob would get, without a cluster."""

import copy
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import TextIO

import click
import msgspec
import yaml

from paddle_operator.api.manifest import Manifest, is_complete
from paddle_operator.api.paddlejob import PaddleJob
from paddle_operator.api.sampleset import SampleSet, SampleSetPhase, SampleSetStatus
from paddle_operator.cli.listing import Dumper
from paddle_operator.cli.training import training_options
from paddle_operator.controllers.jobplan import KINDS
from paddle_operator.desired.paddlejob import plan as desired
from paddle_operator.desired.paddlejob.decision import Decision
from paddle_operator.desired.paddlejob.snapshot import Settings, Snapshot
from paddle_operator.desired.training.decision import Piece
from paddle_operator.desired.training.observedpod import ObservedPod, observed_pod
from paddle_operator.desired.training.settings import Scheduling

NOT_YET = "00000000-0000-0000-0000-000000000000"
LET_IN: Manifest = {"status": {"phase": "Inqueue"}}


@click.command()
@click.option("-f", "--filename", "file", type=click.File(encoding="utf-8"), required=True, help="A file, or -.")
@click.option("--namespace", default="default", show_default=True, help="For manifests that name none.")
@training_options
def plan(file: TextIO, namespace: str, training: Settings) -> None:
    """Print what the PaddleJobs in a file would get: config maps, services, pods and gangs."""
    found = list(read(file, namespace))
    jobs = [manifest for manifest in found if manifest.get("kind") == PaddleJob.definition.kind]
    if not jobs:
        raise click.ClickException(f"there is no PaddleJob in {file.name}")
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
    """Give the objects; addresses that only a cluster can give are named for the pods that will have them."""
    try:
        job = msgspec.convert({**manifest, "status": None}, PaddleJob)
        sample_set = ready_set(job, sets)
    except msgspec.ValidationError as error:
        raise click.ClickException(f"{manifest['metadata']['name']} cannot be read: {error}") from error
    gangs = (LET_IN,) if training.scheduling is Scheduling.VOLCANO else ()
    snapshot = Snapshot(job, datetime.now(UTC), training, gangs=gangs, sample_set=sample_set)
    first = decided(snapshot)
    pods = tuple(with_address(pod) for piece, pod in first.create if piece is Piece.POD)
    then = decided(replace(snapshot, pods=pods))
    return [{**KINDS[piece].identity, **found} for piece, found in (*then.apply, *first.create)]


def decided(snapshot: Snapshot) -> Decision:
    decision = desired.plan(snapshot)
    if decision.refusal is not None:
        raise click.ClickException(f"{snapshot.job.metadata.name}: {decision.refusal.message}")
    return decision


def with_address(pod: Manifest) -> ObservedPod:
    seen = copy.deepcopy(pod)
    seen["status"] = {"phase": "Pending", "podIP": f"IP-OF-{pod['metadata']['name']}"}
    return observed_pod(seen)


def ready_set(job: PaddleJob, sets: dict[str, Manifest]) -> SampleSet | None:
    """Take the job's SampleSet as ready: the one in the file, or one with a partition for each worker."""
    reference = job.spec.sample_set_ref
    if reference is None:
        return None
    partitions = job.spec.worker.replicas if job.spec.worker else 1
    otherwise = {
        "apiVersion": SampleSet.definition.api_version,
        "kind": SampleSet.definition.kind,
        "metadata": {"name": reference.name, "namespace": job.metadata.namespace},
        "spec": {"partitions": partitions, "secretRef": {"name": reference.name}},
    }
    found = msgspec.convert({**sets.get(reference.name, otherwise), "status": None}, SampleSet)
    return msgspec.structs.replace(found, status=SampleSetStatus(phase=SampleSetPhase.READY.value))
