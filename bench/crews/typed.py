"""How the manager on kopf writes: with kubernetes_asyncio, the client that most operators on kopf take."""
# mypy: disable-error-code="import-not-found, untyped-decorator"
# Both live in a venv of their own: here their names have no types.

from http import HTTPStatus

import kopf
from kubernetes_asyncio import client, config

from crews import crew
from crews.crew import Manifest


class Typed:
    def __init__(self) -> None:
        self._core = client.CoreV1Api()
        self._custom = client.CustomObjectsApi()

    async def create(self, manifest: Manifest) -> None:
        """Make a ConfigMap or a pod; one that is there already is left alone."""
        core = self._core
        create = core.create_namespaced_pod if manifest["kind"] == "Pod" else core.create_namespaced_config_map
        try:
            await create(manifest["metadata"]["namespace"], manifest)
        except client.ApiException as error:
            if error.status != HTTPStatus.CONFLICT:
                raise

    async def write_status(self, of: Manifest, status: Manifest) -> None:
        namespace, name = of["metadata"]["namespace"], of["metadata"]["name"]
        await self._custom.patch_namespaced_custom_object_status(
            crew.GROUP, crew.VERSION, namespace, crew.PLURAL, name, {"status": status}, _content_type=crew.MERGE
        )


@kopf.on.startup()
async def connect(memo: kopf.Memo, **_: object) -> None:
    await config.load_kube_config()
    memo.writer = Typed()
