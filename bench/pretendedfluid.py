"""A stand-in for Fluid on a real API server: Datasets get a volume and a claim at once, and take them along."""

import asyncio
import contextlib
from collections import defaultdict

from jobstage import PATIENCE, PAUSE
from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.controllers.cachebackend import CLAIMS, KINDS
from paddle_operator.desired.cachebackend.engine import Piece
from paddle_operator.kube import errors
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Kind, Preconditions
from support.fluid import FINALIZER

DATASETS = KINDS[Piece.DATASET]
VOLUMES = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
ANY = Preconditions()
SIZE = {"storage": "100Pi"}
BOUND = {"phase": "Bound", "ufsTotal": "11.06MiB", "cacheStates": {"cached": "11.06MiB"}}


class PretendedFluid:
    """Sees Datasets. Unlike Fluid it waits for no pods: that no claim is taken from a job is for others to see to."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._one_by_one: defaultdict[Key, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tasks: set[asyncio.Task[None]] = set()

    def replace(self, items: list[Manifest]) -> None:
        for item in items:
            self.put(item)

    def put(self, dataset: Manifest) -> None:
        task = asyncio.get_running_loop().create_task(self._keep(key_of(dataset)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def remove(self, dataset: Manifest) -> None:
        """Take no notice: what was made for it went before it."""

    async def _keep(self, key: Key) -> None:
        async with self._one_by_one[key]:
            with contextlib.suppress(errors.NotFoundError):
                dataset = await self._client.get(DATASETS, key)
                if "deletionTimestamp" in dataset["metadata"]:
                    await self._end(key)
                elif (dataset.get("status") or {}).get("phase") != "Bound":
                    await self._bind(key)

    async def _bind(self, key: Key) -> None:
        await self._client.patch(DATASETS, key, {"metadata": {"finalizers": [FINALIZER]}})
        volume = f"{key.namespace}-{key.name}"
        same: Manifest = {"accessModes": ["ReadOnlyMany"], "storageClassName": "fluid"}
        driver = {"driver": "fuse.csi.fluid.io", "volumeHandle": volume}
        bound = {"namespace": key.namespace, "name": key.name}
        claim = {"labels": {"fluid.io/dataset-id": volume}, "annotations": {"CreatedBy": "fluid"}, **bound}
        with contextlib.suppress(errors.AlreadyExistsError):
            spec = {**same, "capacity": SIZE, "csi": driver, "claimRef": bound}
            await self._client.create(VOLUMES, {"metadata": {"name": volume}, "spec": spec})
        with contextlib.suppress(errors.AlreadyExistsError):
            spec = {**same, "volumeName": volume, "resources": {"requests": SIZE}}
            await self._client.create(CLAIMS, {"metadata": claim, "spec": spec})
        await self._client.patch(DATASETS, key, {"status": BOUND}, subresource="status")

    async def _end(self, key: Key) -> None:
        for kind, made in ((CLAIMS, key), (VOLUMES, Key("", f"{key.namespace}-{key.name}"))):
            await self._remove(kind, made)
        await self._client.patch(DATASETS, key, {"metadata": {"finalizers": []}})

    async def _remove(self, kind: Kind, key: Key) -> None:
        with contextlib.suppress(errors.NotFoundError):
            await self._client.delete(kind, key, ANY)
            async with asyncio.timeout(PATIENCE):
                while True:
                    await self._client.get(kind, key)
                    await asyncio.sleep(PAUSE)
