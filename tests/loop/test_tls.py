"""On encrypted connections the server is verified, and renewed certificates are used from the next connection on."""

import contextlib
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from localkube import pki
from paddle_operator.kube import config, errors, tls
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import Request

WHO = Request("GET", "/who", repeatable=True)


@pytest.fixture(autouse=True)
def _look_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls, "LOOK_AGAIN", 0.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two authorities; each has a server and two users."""
    folder = tmp_path_factory.mktemp("pki")
    subjects = [
        pki.Subject("server", "server", serves=("127.0.0.1",)),
        pki.Subject("ada", "ada"),
        pki.Subject("eve", "eve"),
    ]
    for name in ("old", "new"):
        pki.ensure(folder / name, subjects)
    return folder


async def who(request: web.Request) -> web.Response:
    assert request.transport is not None
    subject = request.transport.get_extra_info("peercert")["subject"]
    return web.json_response({"name": dict(part[0] for part in subject)["commonName"]})


@contextlib.asynccontextmanager
async def serving(certificates: Path, port: int = 0) -> AsyncIterator[int]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    app = web.Application()
    app.router.add_get("/who", who)
    server = TestServer(app, port=port or None)
    await server.start_server(ssl=context)
    try:
        assert server.port is not None
        yield server.port
    finally:
        await server.close()


def bring(certificates: Path, user: str, folder: Path) -> None:
    shutil.copyfile(certificates / "ca.crt", folder / "ca.crt")
    shutil.copyfile(certificates / f"{user}.crt", folder / "user.crt")
    shutil.copyfile(certificates / f"{user}.key", folder / "user.key")


def kubeconfig(folder: Path, port: int) -> config.Config:
    content = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [
            {"name": "c", "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority": "ca.crt"}}
        ],
        "users": [{"name": "u", "user": {"client-certificate": "user.crt", "client-key": "user.key"}}],
    }
    (folder / "config").write_text(yaml.safe_dump(content))
    return config.load(str(folder / "config"))


async def test_a_renewed_certificate_is_shown_to_the_server(made: Path, tmp_path: Path) -> None:
    bring(made / "old", "ada", tmp_path)
    async with serving(made / "old") as port, Client(kubeconfig(tmp_path, port), "tester") as client:
        assert await client.send(WHO) == {"name": "ada"}
        bring(made / "old", "eve", tmp_path)
        assert await client.send(WHO) == {"name": "eve"}


async def test_a_new_authority_is_trusted_once_it_is_on_disk(made: Path, tmp_path: Path) -> None:
    bring(made / "old", "ada", tmp_path)
    async with contextlib.AsyncExitStack() as stack:
        async with serving(made / "old") as port:
            client = await stack.enter_async_context(Client(kubeconfig(tmp_path, port), "tester"))
            assert await client.send(WHO) == {"name": "ada"}
        await stack.enter_async_context(serving(made / "new", port))
        with pytest.raises(errors.UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
            await client.send(WHO)
        bring(made / "new", "ada", tmp_path)
        assert await client.send(WHO) == {"name": "ada"}


async def test_a_server_of_another_name_is_not_believed(made: Path, tmp_path: Path) -> None:
    bring(made / "old", "ada", tmp_path)
    async with serving(made / "old") as port:
        reached = kubeconfig(tmp_path, port)
        async with Client(config.Config(f"https://localhost:{port}", reached.credentials, reached.tls), "t") as client:
            with pytest.raises(errors.UnreachableError, match="CERTIFICATE_VERIFY_FAILED"):
                await client.send(WHO)
