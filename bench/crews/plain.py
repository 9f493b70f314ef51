"""How the manager on kopf writes: with plain requests, which leaves nothing but kopf itself to be slow."""
# mypy: disable-error-code="import-not-found, untyped-decorator"
# kopf lives in a venv of its own: here its names have no types.

import json
from http import HTTPStatus

import aiohttp
import kopf

from crews import crew
from crews.crew import Manifest


class Plain:
    def __init__(self, server: str, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._session = session

    async def create(self, manifest: Manifest) -> None:
        """Make a ConfigMap or a pod; one that is there already is left alone."""
        plural = f"{manifest['kind'].lower()}s"
        url = f"{self._server}/api/v1/namespaces/{manifest['metadata']['namespace']}/{plural}"
        async with self._session.post(url, json=manifest) as answer:
            await answer.read()
            if answer.status != HTTPStatus.CONFLICT:
                answer.raise_for_status()

    async def write_status(self, of: Manifest, status: Manifest) -> None:
        collection = f"/apis/{crew.GROUP}/{crew.VERSION}/namespaces/{of['metadata']['namespace']}/{crew.PLURAL}"
        url = f"{self._server}{collection}/{of['metadata']['name']}/status"
        body = json.dumps({"status": status})
        async with self._session.patch(url, data=body, headers={"Content-Type": crew.MERGE}) as answer:
            await answer.read()
            answer.raise_for_status()


@kopf.on.login()
async def connect(settings: object, memo: kopf.Memo, **_: object) -> object:
    """Let kopf and the writer have the same connections."""
    found = kopf.login_with_kubeconfig(settings=settings)
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=found.as_ssl_context()))
    memo.writer = Plain(found.server, session)
    return kopf.AiohttpSession(server=found.server, aiohttp_session=session)
