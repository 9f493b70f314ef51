"""The examples that users begin with, and ways to run them here."""

from pathlib import Path

import yaml

from support.manifests import Manifest, changed

PLACE = Path(__file__).parents[2] / "examples"
JOBS = sorted(path.stem.removeprefix("paddlejob-") for path in PLACE.glob("paddlejob-*.yaml"))


def documents(file: str) -> list[Manifest]:
    return list(yaml.safe_load_all((PLACE / file).read_text()))


def example(name: str) -> Manifest:
    [job] = documents(f"paddlejob-{name}.yaml")
    return dict(job)


def on_image(job: Manifest, image: str) -> Manifest:
    """Give the job with another image in all of its roles."""
    roles = [role for role in ("ps", "worker", "heter") if role in job["spec"]]
    return changed(job, {f"spec.{role}.template.spec.containers.0.image": image for role in roles})


def trainings() -> Manifest:
    """Give the config map that README.md has users make of the programs."""
    programs = {path.name: path.read_text() for path in sorted((PLACE / "trainings").glob("*.py"))}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trainings"}, "data": programs}
