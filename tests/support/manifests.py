"""Manifests that users have, and ways to change them."""

import copy
from pathlib import Path
from typing import Any

import yaml

Manifest = dict[str, Any]

CIRCULATING: tuple[Manifest, ...] = tuple(yaml.safe_load_all(Path(__file__).with_name("manifests.yaml").read_text()))
ABSENT = object()


def name_of(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


NAMES = [name_of(manifest) for manifest in CIRCULATING]


def circulating(name: str) -> Manifest:
    """Give a copy of one of them, without a namespace."""
    found = copy.deepcopy(CIRCULATING[NAMES.index(name)])
    found["metadata"].pop("namespace", None)
    return found


def changed(manifest: Manifest, changes: Manifest) -> Manifest:
    """Set what a path such as spec.sources.0.uri leads to, or take it away; the original stays as it is."""
    manifest = copy.deepcopy(manifest)
    for path, value in changes.items():
        *way, last = (int(step) if step.isdigit() else step for step in path.split("."))
        place: Any = manifest
        for step in way:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        if value is ABSENT:
            del place[last]
        else:
            place[last] = value
    return manifest
