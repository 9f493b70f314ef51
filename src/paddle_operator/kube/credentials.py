"""Who we are to the API server: nobody, a token, a token file that is read again, or what another program says."""

import asyncio
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from paddle_operator.api.manifest import Manifest
from paddle_operator.kube.errors import ConfigError
from paddle_operator.kube.tls import Pair

EXEC_TIMEOUT = 60.0
EARLY = 30.0
REREAD = 60.0


@dataclass(frozen=True)
class Proof:
    """What goes with one request: a header, or the certificate of its connection."""

    token: str = field(default="", repr=False)
    pair: Pair | None = None

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


class Credentials(Protocol):
    async def proof(self) -> Proof: ...

    def invalidate(self) -> None:
        """Make the next proof a new one: the API server did not accept the last."""


@dataclass(frozen=True)
class Fixed:
    """A token that never changes, or none: there may be a certificate for the connection."""

    token: str = field(default="", repr=False)

    async def proof(self) -> Proof:
        return Proof(self.token)

    def invalidate(self) -> None:
        pass


class TokenFile:
    """A token in a file that somebody renews, as the kubelet does in a pod."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._token = ""
        self._read_again_at = 0.0

    async def proof(self) -> Proof:
        if not self._token or self._clock() >= self._read_again_at:
            self._token = self._read()
            self._read_again_at = self._clock() + REREAD
        return Proof(self._token)

    def _read(self) -> str:
        try:
            return self._path.read_text().strip()
        except OSError as error:
            raise ConfigError(f"the token file {self._path} cannot be read: {error.strerror}") from error

    def invalidate(self) -> None:
        self._token = ""


@dataclass(frozen=True)
class Plugin:
    """A program that prints an ExecCredential, as the kubeconfig names it."""

    command: Sequence[str]
    api_version: str
    environment: Mapping[str, str] = field(default_factory=dict)
    cluster: Manifest | None = None
    hint: str = ""

    @property
    def information(self) -> str:
        spec: Manifest = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        return json.dumps({"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec})


class Exec:
    """Runs the plug-in when there is no proof yet, when it is about to expire, or when it was refused."""

    def __init__(self, plugin: Plugin, wall_clock: Callable[[], float]) -> None:
        self._plugin = plugin
        self._wall_clock = wall_clock
        self._proof: Proof | None = None
        self._expires = float("inf")
        self._lock = asyncio.Lock()

    async def proof(self) -> Proof:
        async with self._lock:
            if self._proof is None or self._wall_clock() >= self._expires - EARLY:
                status = parse_exec_credential(await self._run(), self._plugin)
                self._proof, self._expires = proof_of(status), expiry(status)
            return self._proof

    def invalidate(self) -> None:
        self._proof = None

    async def _run(self) -> bytes:
        program = self._plugin.command[0]
        environment = {**os.environ, **self._plugin.environment, "KUBERNETES_EXEC_INFO": self._plugin.information}
        try:
            process = await asyncio.create_subprocess_exec(
                *self._plugin.command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
            )
        except OSError as error:
            raise ConfigError(
                f"the credential plug-in {program} does not run: {error.strerror}. {self._plugin.hint}"
            ) from error
        try:
            async with asyncio.timeout(EXEC_TIMEOUT):
                output, said = await process.communicate()
        except TimeoutError as error:
            raise ConfigError(f"the credential plug-in {program} gave no answer in {EXEC_TIMEOUT:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            words = said.decode(errors="replace").strip()[-500:]
            raise ConfigError(f"the credential plug-in {program} ended with {process.returncode}: {words}")
        return output


def parse_exec_credential(output: bytes, plugin: Plugin) -> Manifest:
    try:
        status = json.loads(output)["status"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"the credential plug-in {plugin.command[0]} printed no ExecCredential") from error
    if not isinstance(status, dict) or not (status.get("token") or status.get("clientCertificateData")):
        raise ConfigError(f"the credential plug-in {plugin.command[0]} gave neither a token nor a certificate")
    return status


def proof_of(status: Manifest) -> Proof:
    certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
    return Proof(status.get("token") or "", Pair(certificate, key or "") if certificate else None)


def expiry(status: Manifest) -> float:
    """Give the second at which a credential ends; one that does not say lasts until it is refused."""
    said = status.get("expirationTimestamp")
    try:
        return datetime.fromisoformat(str(said)).timestamp() if said else float("inf")
    except ValueError as error:
        raise ConfigError(f"the credential plug-in gave an expirationTimestamp that is no time: {said!r}") from error
