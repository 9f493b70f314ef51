"""The way to a cluster: from kubeconfig files, or from inside a pod."""

import base64
import binascii
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from paddle_operator.api.manifest import Manifest
from paddle_operator.kube.credentials import Credentials, Exec, Fixed, Plugin, TokenFile
from paddle_operator.kube.errors import ConfigError
from paddle_operator.kube.tls import Material, Pair, Tls

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
# To go on without them would be to talk to another server, or as somebody else.
UNSUPPORTED = ("proxy-url", "as", "as-uid", "as-groups", "as-user-extra", "auth-provider")
# What a cluster's entry says to the credential plug-in.
PLUGIN_EXTENSION = "client.authentication.k8s.io/exec"


@dataclass(frozen=True)
class Config:
    server: str
    credentials: Credentials
    tls: Tls | None = None
    tls_server_name: str | None = None
    namespace: str = "default"


def load(kubeconfig: str | None = None, environment: Mapping[str, str] = os.environ) -> Config:
    """Take the named file; else KUBECONFIG; else the pod we are in; else the file in the home directory."""
    if kubeconfig:
        return from_files([Path(kubeconfig)])
    if listed := environment.get("KUBECONFIG"):
        return from_files([Path(name) for name in listed.split(os.pathsep) if name])
    if environment.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environment)
    return from_files([Path(environment.get("HOME", "/"), ".kube/config")])


def in_cluster(environment: Mapping[str, str], account: Path = SERVICE_ACCOUNT) -> Config:
    host = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    server = f"https://{f'[{host}]' if ':' in host else host}:{port}"
    authority, namespace = account / "ca.crt", account / "namespace"
    if not authority.exists():
        raise ConfigError(f"this looks like a pod, but {authority} is missing: mount the service account's token")
    return Config(
        server,
        TokenFile(account / "token", time.monotonic),
        Tls(lambda: Material(_text(authority, "ca.crt")), [authority], time.monotonic),
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
    )


def from_files(paths: Sequence[Path]) -> Config:
    """Read kubeconfig files as kubectl does: the first to name a thing decides, and missing files do not matter."""
    files = [(path, _read(path)) for path in paths if path.exists()]
    if not files:
        raise ConfigError(
            f"there is no cluster to talk to: {', '.join(map(str, paths))} does not exist. "
            "Name a kubeconfig with --kubeconfig or KUBECONFIG."
        )
    name = next((content["current-context"] for _, content in files if content.get("current-context")), None)
    if name is None:
        raise ConfigError(f"no current-context in {files[0][0]}: choose one with `kubectl config use-context`")
    context = _find(files, "contexts", "context", name)[1]
    place, cluster = _find(files, "clusters", "cluster", context.get("cluster", ""))
    home, user = _find(files, "users", "user", context["user"]) if context.get("user") else (place, {})
    return _config(context, _Entry(place.parent, cluster), _Entry(home.parent, user))


@dataclass(frozen=True)
class _Entry:
    """A part of a kubeconfig, and the folder that its relative paths start from."""

    folder: Path
    content: Manifest

    def text(self, name: str) -> str:
        """Give what is in the entry itself, in base64, or in the file it names; empty if neither."""
        data, path = self.content.get(f"{name}-data"), self.path(name)
        if data:
            try:
                return base64.b64decode("".join(data.split()), validate=True).decode()
            except (binascii.Error, UnicodeDecodeError) as error:
                raise ConfigError(f"{name}-data in the kubeconfig is not base64 text") from error
        return _text(path, name) if path else ""

    def path(self, name: str) -> Path | None:
        """Give the file that counts, if it is one: what is in the entry itself stands before it."""
        named = self.content.get(name)
        return self.folder / named if named and not self.content.get(f"{name}-data") else None


def _config(context: Manifest, cluster: _Entry, user: _Entry) -> Config:
    server = str(cluster.content.get("server") or "").rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise ConfigError(f"the kubeconfig's server {server!r} is no address: it starts with https://")
    for name in UNSUPPORTED:
        if cluster.content.get(name) or user.content.get(name):
            raise ConfigError(f"the kubeconfig asks for {name}, which is not supported: use an entry without it")
    tls = _tls(cluster, user)
    return Config(
        server,
        Exec(_plugin(user, cluster), time.time) if user.content.get("exec") else _fixed(user),
        tls if server.startswith("https:") else None,
        cluster.content.get("tls-server-name"),
        context.get("namespace") or "default",
    )


def _tls(cluster: _Entry, user: _Entry) -> Tls:
    verified = not cluster.content.get("insecure-skip-tls-verify", False)

    def read() -> Material:
        certificate = user.text("client-certificate")
        pair = Pair(certificate, user.text("client-key")) if certificate else None
        return Material(cluster.text("certificate-authority"), pair, verified)

    named = [cluster.path("certificate-authority"), user.path("client-certificate"), user.path("client-key")]
    return Tls(read, [path for path in named if path is not None], time.monotonic)


def _fixed(user: _Entry) -> Credentials:
    if name := user.content.get("tokenFile"):
        return TokenFile(user.folder / name, time.monotonic)
    return Fixed(user.content.get("token") or "")


def _plugin(user: _Entry, cluster: _Entry) -> Plugin:
    asked = user.content["exec"]
    if not asked.get("command") or not asked.get("apiVersion"):
        raise ConfigError("the kubeconfig's exec plug-in needs a command and an apiVersion")
    command = asked["command"]
    if "/" in command:
        command = str(user.folder / command)
    return Plugin(
        [command, *(asked.get("args") or [])],
        asked["apiVersion"],
        _environment(asked.get("env") or []),
        _told(cluster) if asked.get("provideClusterInfo") else None,
        asked.get("installHint") or "",
    )


def _environment(entries: Sequence[Manifest]) -> dict[str, str]:
    for entry in entries:
        if "name" not in entry or "value" not in entry:
            raise ConfigError(f"env of the kubeconfig's exec plug-in needs a name and a value: {sorted(entry)}")
    return {entry["name"]: entry["value"] for entry in entries}


def _told(cluster: _Entry) -> Manifest:
    """Give what a plug-in that asks for it is told of the cluster."""
    authority = cluster.text("certificate-authority")
    extensions = cluster.content.get("extensions") or []
    told = {
        "server": cluster.content["server"],
        "tls-server-name": cluster.content.get("tls-server-name"),
        "insecure-skip-tls-verify": cluster.content.get("insecure-skip-tls-verify"),
        "certificate-authority-data": base64.b64encode(authority.encode()).decode(),
        "config": next((found.get("extension") for found in extensions if found.get("name") == PLUGIN_EXTENSION), None),
    }
    return {name: value for name, value in told.items() if value}


def _text(path: Path, name: str) -> str:
    try:
        text = path.read_text()
    except OSError as error:
        raise ConfigError(f"{name} {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} {path} is not text") from error
    if not text.strip():  # no authority at all would mean to trust all that this machine trusts
        raise ConfigError(f"{name} {path} is empty")
    return text


def _read(path: Path) -> Manifest:
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        raise ConfigError(f"the kubeconfig {path} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"the kubeconfig {path} is not YAML") from error
    if not isinstance(content, dict):
        raise ConfigError(f"the kubeconfig {path} holds no settings")
    return content


def _find(files: Sequence[tuple[Path, Manifest]], plural: str, singular: str, name: str) -> tuple[Path, Manifest]:
    for path, content in files:
        for entry in content.get(plural) or []:
            if entry.get("name") == name:
                return path, entry.get(singular) or {}
    raise ConfigError(f"the kubeconfig has no {singular} named {name!r}")
