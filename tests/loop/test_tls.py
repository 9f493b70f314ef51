"""On encrypted connections the server is verified, and renewed certificates are used from the next connection on."""

import asyncio
import base64
import contextlib
import hashlib
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from aiohttp.http import WS_KEY
from aiohttp.test_utils import TestServer

from localkube import pki
from paddle_operator.api.manifest import Key
from paddle_operator.kube import command, config, connection, errors, tls
from paddle_operator.kube.client import Client
from paddle_operator.kube.command import Limits
from paddle_operator.kube.request import Request
from support.eventually import eventually

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


def server_context(certificates: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=certificates / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    return context


@contextlib.asynccontextmanager
async def serving(certificates: Path, port: int = 0) -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_get("/who", who)
    server = TestServer(app, port=port or None)
    await server.start_server(ssl=server_context(certificates))
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


class Silent:
    """Agrees to a websocket, and then neither reads nor writes nor ends anything until told to."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = (await reader.readuntil(b"\r\n\r\n")).decode()
        key = next(line.split()[1] for line in asked.splitlines() if line.lower().startswith("sec-websocket-key"))
        accepted = base64.b64encode(hashlib.sha1(key.encode() + WS_KEY).digest()).decode()  # noqa: S324 no secret
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a transport that reads
        lines = ["Upgrade: websocket", "Connection: upgrade", f"Sec-WebSocket-Accept: {accepted}"]
        protocol = "Sec-WebSocket-Protocol: v5.channel.k8s.io"
        writer.write("\r\n".join(["HTTP/1.1 101 Switching", *lines, protocol, "", ""]).encode())
        await self.may_end.wait()
        writer.transport.abort()
        self.ended.set()


async def test_a_command_that_is_given_up_leaves_no_connection_behind(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the other side does not agree to end it."""
    opened: list[asyncio.trsock.TransportSocket] = []
    monkeypatch.setattr(connection, "be_attentive", opened.append)
    monkeypatch.setattr(connection, "GOODBYE", 0.05)
    bring(made / "old", "ada", tmp_path)
    silent = Silent()
    server = await asyncio.start_server(silent.serve, "127.0.0.1", ssl=server_context(made / "old"))
    async with server, Client(kubeconfig(tmp_path, server.sockets[0].getsockname()[1]), "tester") as client:
        with pytest.raises(errors.UnreachableError, match="did not end"):
            await command.run(client, Key("default", "any"), ["sleep"], limits=Limits(seconds=0.2))
        await eventually(lambda: [made.fileno() for made in opened] == [-1])
        silent.may_end.set()
        await silent.ended.wait()
