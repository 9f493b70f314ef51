"""A manager of crews on kopf as its tutorial writes one: plain functions, and the official client of Kubernetes."""
# mypy: disable-error-code="import-not-found, untyped-decorator"
# Both live in a venv of their own: here their names have no types.

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus

import kopf
from kubernetes import client, config

from crews import crew
from crews.crew import Manifest

CREWS = (crew.GROUP, crew.VERSION, crew.PLURAL)
OURS = {crew.LABEL: kopf.PRESENT}
Index = Mapping[str, Iterable[str]]
ROLL = crew.RollCall()


@kopf.on.startup()
def connect(**_: object) -> None:
    config.load_kube_config()


def owner_of(meta: Manifest) -> Manifest:
    return next((owner for owner in meta.get("ownerReferences") or () if owner.get("controller")), {})


@kopf.index("pods", labels=OURS)
def pods(meta: Manifest, name: str, **_: object) -> dict[str, str]:
    return {owner_of(meta).get("uid", ""): name}


@kopf.on.resume(*CREWS)
@kopf.on.create(*CREWS)
def ensure(body: Manifest, uid: str, namespace: str, pods: Index, **_: object) -> None:
    api = client.CoreV1Api()
    settings, workers = crew.config_map(body), crew.pods(body)
    kopf.adopt([settings, *workers])
    create(api.create_namespaced_config_map, namespace, settings)
    for worker in workers:
        create(api.create_namespaced_pod, namespace, worker)
    report(body, len(set(pods.get(uid, ()))))
    ROLL.call(body["metadata"]["name"])


def create(call: Callable[[str, Manifest], object], namespace: str, manifest: Manifest) -> None:
    """Make it; one that is there already is left alone."""
    try:
        call(namespace, manifest)
    except client.ApiException as error:
        if error.status != HTTPStatus.CONFLICT:
            raise


@kopf.on.event("pods", labels=OURS)
def pod_changed(meta: Manifest, namespace: str, pods: Index, **_: object) -> None:
    owner = owner_of(meta)
    present = len(set(pods.get(owner.get("uid", ""), ())))
    if present == crew.PODS:
        api = client.CustomObjectsApi()
        body = api.get_namespaced_custom_object(crew.GROUP, crew.VERSION, namespace, crew.PLURAL, owner["name"])
        report(body, present)


def report(body: Manifest, present: int) -> None:
    status = crew.status(body, present)
    known = body.get("status") or {}
    if present != crew.PODS or all(known.get(name) == value for name, value in status.items()):
        return
    metadata = body["metadata"]
    client.CustomObjectsApi().patch_namespaced_custom_object_status(
        crew.GROUP, crew.VERSION, metadata["namespace"], crew.PLURAL, metadata["name"], {"status": status}
    )
