"""The embedded API server behind the fault proxy, and what a test does to its objects behind everybody's back."""

import contextlib
import functools
from collections.abc import AsyncIterator, Iterable

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest, key_of
from paddle_operator.embedded.apiserver import patches
from paddle_operator.embedded.apiserver.deletion import Deletion
from paddle_operator.embedded.apiserver.objects import Options
from paddle_operator.embedded.apiserver.resources import Resource, defined
from paddle_operator.embedded.apiserver.server import Server
from support.definition import DEFINITION
from support.faultproxy import FaultProxy

SOMEBODY = Options("somebody")


class Api(FaultProxy):
    """Clients come by the proxy; the test itself does not, so its own writes are neither counted nor disturbed."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.config)
        self._objects = server.objects
        self._resources = {resource.kind.plural: resource for resource in server.catalogue}

    @property
    def version(self) -> int:
        return self._objects.storage.version

    def put(self, plural: str, manifest: Manifest) -> Manifest:
        """Create it, or merge it into what is there; with its status, as if whoever writes it had done so."""
        resource, key = self._resources[plural], key_of(manifest)
        body = {name: part for name, part in manifest.items() if name != "status" or not resource.has_status}
        if self._objects.storage.find(resource.kind, key) is None:
            written = self._objects.create(resource, key.namespace, body, SOMEBODY)
        else:
            written = self._merge(resource, key, body)
        if "status" in manifest and resource.has_status:
            written = self._merge(resource, key, {"status": manifest["status"]}, "status")
        return written

    def _merge(self, resource: Resource, key: Key, change: Manifest, subresource: str = "") -> Manifest:
        def merged(before: Manifest) -> Manifest:
            result = patches.merge_patched(before, change)
            assert isinstance(result, dict)
            return result

        return self._objects.patch(resource, key, merged, SOMEBODY, subresource)

    def remove(self, plural: str, key: Key) -> None:
        self._objects.delete(self._resources[plural], key, Deletion())

    def get(self, plural: str, namespace: str, name: str) -> Manifest:
        return self._objects.storage.get(self._resources[plural].kind, Key(namespace, name))

    def all(self, plural: str) -> list[Manifest]:
        return self._objects.storage.items(self._resources[plural].kind)

    def names(self, plural: str) -> list[str]:
        return [key_of(manifest).name for manifest in self.all(plural)]

    def redefine(self, definition: Manifest) -> None:
        """Serve a kind by another definition, as after an upgrade."""
        resource = defined(definition)
        self._resources[resource.kind.plural] = resource
        self._objects.redefine(resource)

    def forget(self) -> None:
        """Forget the history, as etcd does when it compacts."""
        self._objects.storage.forget()

    def expire(self) -> None:
        """Forget the history, and end the watches."""
        self.forget()
        self.end_watches()


@functools.cache
def _served() -> list[Manifest]:
    """Give our kinds and that of the tiny controller, worked out once for all tests."""
    return [*map(crd.v1, crd.KINDS), DEFINITION]


@contextlib.asynccontextmanager
async def running(definitions: Iterable[Manifest] | None = None) -> AsyncIterator[Api]:
    async with Server(_served() if definitions is None else definitions).running() as server:
        api = Api(server)
        await api.start()
        try:
            yield api
        finally:
            await api.stop()
