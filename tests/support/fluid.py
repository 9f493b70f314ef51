"""As much of Fluid as a test needs: its kinds, and a stand-in that binds Datasets, slowly or not at all if told so."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from paddle_operator.api.manifest import Key, Manifest, key_of, uid_of
from support.embeddedapi import Api

PAUSE = 0.003
GROUP = "data.fluid.io"
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
LEVEL = {
    "type": "object",
    "required": ["mediumtype"],
    "properties": {
        "mediumtype": {"type": "string", "enum": ["MEM", "SSD", "HDD"]},
        "path": {"type": "string"},
        "quota": {"x-kubernetes-int-or-string": True},
    },
}
RUNTIME = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer", "format": "int32"},
        "tieredstore": {"type": "object", "properties": {"levels": {"type": "array", "items": LEVEL}}},
    },
}
MOUNT = {
    "type": "object",
    "required": ["mountPoint"],
    "properties": {
        "mountPoint": {"type": "string", "minLength": 5},
        "name": {"type": "string"},
        "options": {"type": "object", "additionalProperties": {"type": "string"}},
        "encryptOptions": {"type": "array", "items": OPEN},
    },
}
DATASET = {
    "type": "object",
    "properties": {
        "mounts": {"type": "array", "minItems": 1, "items": MOUNT},
        "placement": {"type": "string", "enum": ["Exclusive", "", "Shared"]},
    },
}
DATA_LOAD = {
    "type": "object",
    "required": ["dataset"],
    "properties": {
        "dataset": {"type": "object", "properties": {"name": {"type": "string"}, "namespace": {"type": "string"}}},
        "target": {"type": "array", "items": {"type": "object", "properties": {"path": {"type": "string"}}}},
        "loadMetadata": {"type": "boolean"},
    },
}
PHASE = {"name": "Phase", "type": "string", "jsonPath": ".status.phase"}


def definition(kind: str, spec: Manifest, *columns: Manifest) -> Manifest:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "properties": {"spec": spec, "status": OPEN}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{**version, "additionalPrinterColumns": list(columns), "schema": {"openAPIV3Schema": schema}}],
        },
    }


DEFINITIONS = [
    definition("Dataset", DATASET, PHASE),
    definition("AlluxioRuntime", RUNTIME),
    definition("JuiceFSRuntime", RUNTIME),
    definition("DataLoad", DATA_LOAD, PHASE),
]
FINALIZER = "fluid-dataset-controller-finalizer"
RUNTIME_FINALIZER = "runtime-controller-finalizer"
RUNTIMES = ("alluxioruntimes", "juicefsruntimes")


class Fluid:
    """`why_not`: Datasets are not set up, for this reason. `slow`: they begin and do not end."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.slow = False
        self.why_not = ""

    async def run(self) -> None:
        seen = -1
        while True:
            if seen != self.api.version:
                seen = self.api.version
                for dataset in self.api.all("datasets"):
                    self._keep(dataset)
                for plural in RUNTIMES:
                    for runtime in self.api.all(plural):
                        self._end_runtime(plural, runtime)
                for load in self.api.all("dataloads"):
                    self._say("dataloads", load, {"phase": "Complete", "conditions": []})
            await asyncio.sleep(PAUSE)

    def runtime(self, key: Key) -> tuple[str, Manifest] | None:
        for plural in RUNTIMES:
            for found in self.api.all(plural):
                if key_of(found) == key:
                    return plural, found
        return None

    def _keep(self, dataset: Manifest) -> None:
        key, runtime = key_of(dataset), self.runtime(key_of(dataset))
        if "deletionTimestamp" in dataset["metadata"]:
            self._put("datasets", dataset, metadata={"finalizers": []})
            return
        if FINALIZER not in (dataset["metadata"].get("finalizers") or []):
            self._put("datasets", dataset, metadata={"finalizers": [FINALIZER]})
        if runtime is None or self.why_not:
            failed = {"type": "NotReady", "status": "True", "reason": "DatasetFailedToSetup", "message": self.why_not}
            conditions = [failed] if self.why_not else []
            self._say("datasets", dataset, {"phase": "NotBound", "ufsTotal": "[Calculating]", "conditions": conditions})
            return
        self._adopt(dataset, *runtime)
        if (dataset.get("status") or {}).get("phase") == "Failed":
            return
        if self.slow:
            self._say(runtime[0], runtime[1], {"masterPhase": "Ready", "workerPhase": "NotReady"})
            self._say("datasets", dataset, {"phase": "NotBound", "ufsTotal": "11.06MiB"})
            return
        self._bind(key, dataset)

    def _adopt(self, dataset: Manifest, plural: str, runtime: Manifest) -> None:
        """Own the runtime, beside whoever made it, and label it."""
        owners = runtime["metadata"].get("ownerReferences") or []
        if uid_of(dataset) in [owner["uid"] for owner in owners]:
            return
        key = key_of(dataset)
        owner = {"apiVersion": f"{GROUP}/v1alpha1", "kind": "Dataset", "name": key.name, "uid": uid_of(dataset)}
        labels = {"fluid.io/dataset-id": f"{key.namespace}-{key.name}"}
        owned = {"ownerReferences": [*owners, {**owner, "controller": True}], "labels": labels}
        self._put(plural, runtime, metadata={**owned, "finalizers": [RUNTIME_FINALIZER]})

    def _bind(self, key: Key, dataset: Manifest) -> None:
        metadata = {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {"fluid.io/dataset-id": f"{key.namespace}-{key.name}"},
            "annotations": {"CreatedBy": "fluid"},
        }
        spec = {
            "accessModes": ["ReadOnlyMany"],
            "storageClassName": "fluid",
            "volumeName": f"{key.namespace}-{key.name}",
            "resources": {"requests": {"storage": "100Pi"}},
        }
        if key.name not in [key_of(claim).name for claim in self.api.all("persistentvolumeclaims")]:
            claim = {"metadata": metadata, "spec": spec, "status": {"phase": "Bound"}}
            self.api.put("persistentvolumeclaims", claim)
        cached = {"cached": "11.06MiB", "cacheCapacity": "1.00GiB", "cachedPercentage": "100.0%"}
        status = {"phase": "Bound", "ufsTotal": "11.06MiB", "cacheStates": cached, "conditions": []}
        self._say("datasets", dataset, status)

    def _end_runtime(self, plural: str, runtime: Manifest) -> None:
        """Take the claim away with the runtime, not with the Dataset."""
        key = key_of(runtime)
        if "deletionTimestamp" not in runtime["metadata"]:
            return
        if key.name in self.api.names("persistentvolumeclaims"):
            self.api.remove("persistentvolumeclaims", key)
        self._put(plural, runtime, metadata={"finalizers": []})

    def fail(self, name: str, message: str, namespace: str = "default") -> None:
        failed = {"type": "NotReady", "status": "True", "reason": "DatasetFailed", "message": message}
        dataset = self.api.get("datasets", namespace, name)
        self._say("datasets", dataset, {"phase": "Failed", "conditions": [failed]})

    def recover(self, name: str, namespace: str = "default") -> None:
        dataset = self.api.get("datasets", namespace, name)
        self._say("datasets", dataset, {"phase": "NotBound", "conditions": []})

    def _say(self, plural: str, manifest: Manifest, status: Manifest) -> None:
        if any((manifest.get("status") or {}).get(name) != value for name, value in status.items()):
            self._put(plural, manifest, status=status)

    def _put(self, plural: str, manifest: Manifest, metadata: Manifest | None = None, **parts: Manifest) -> None:
        namespace, name = key_of(manifest)
        self.api.put(plural, {"metadata": {"namespace": namespace, "name": name, **(metadata or {})}, **parts})


@contextlib.asynccontextmanager
async def running(api: Api) -> AsyncIterator[Fluid]:
    fluid = Fluid(api)
    task = asyncio.create_task(fluid.run())
    try:
        yield fluid
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    if not task.cancelled() and (error := task.exception()) is not None:
        raise error
