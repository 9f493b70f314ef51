"""The way to a cluster is found as kubectl finds it, and what is wrong with it is said in a sentence."""

import asyncio
import base64
import json
import os
import ssl
import sys
from pathlib import Path

import pytest
import yaml

from localkube import pki
from paddle_operator.api.manifest import Manifest
from paddle_operator.kube import config, credentials
from paddle_operator.kube.credentials import Exec, Fixed, Plugin, TokenFile
from paddle_operator.kube.errors import ConfigError
from paddle_operator.kube.tls import Pair


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    pki.ensure(folder, [pki.Subject("admin", "admin")])
    return folder


def kubeconfig(cluster: Manifest | None = None, user: Manifest | None = None, **context: str) -> Manifest:
    return {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", **context}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://cluster:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
    }


def written(path: Path, content: object) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


async def test_a_token_and_the_names_of_things_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "config", kubeconfig({"tls-server-name": "inside"}, {"token": "t"}, namespace="shop"))
    found = config.from_files([path])
    assert (found.server, found.namespace, found.tls_server_name) == ("https://cluster:6443", "shop", "inside")
    assert (await found.credentials.proof()).headers == {"Authorization": "Bearer t"}
    assert (repr(await found.credentials.proof()), repr(found.credentials)) == ("Proof(pair=None)", "Fixed()")


def test_certificates_are_read_from_files_beside_the_kubeconfig(tmp_path: Path, certificates: Path) -> None:
    for name in ("ca.crt", "admin.crt", "admin.key"):
        (tmp_path / name).write_bytes((certificates / name).read_bytes())
    cluster = {"certificate-authority": "ca.crt"}
    user = {"client-certificate": "admin.crt", "client-key": "admin.key"}
    found = config.from_files([written(tmp_path / "config", kubeconfig(cluster, user))])
    assert found.tls is not None
    assert [entry["subject"] for entry in found.tls.context().get_ca_certs()] != []
    assert found.tls.context().verify_mode == ssl.CERT_REQUIRED
    assert not found.tls.context().verify_flags & ssl.VERIFY_X509_STRICT


def test_certificates_are_read_from_the_kubeconfig_itself(tmp_path: Path, certificates: Path) -> None:
    def data(name: str) -> str:
        return base64.encodebytes((certificates / name).read_bytes()).decode()

    assert data("ca.crt").count("\n") > 1, "wrapped, as base64 prints it"
    cluster = {"certificate-authority-data": data("ca.crt")}
    user = {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")}
    found = config.from_files([written(tmp_path / "config", kubeconfig(cluster, user))])
    assert found.tls is not None
    assert len(found.tls.context().get_ca_certs()) == 1


def test_verification_is_off_only_when_asked(tmp_path: Path) -> None:
    path = written(tmp_path / "config", kubeconfig({"insecure-skip-tls-verify": True}))
    tls = config.from_files([path]).tls
    assert tls is not None
    assert (tls.context().verify_mode, tls.context().check_hostname) == (ssl.CERT_NONE, False)


def test_of_several_files_the_first_to_name_a_thing_decides(tmp_path: Path) -> None:
    first = written(tmp_path / "first", {"current-context": "here"})
    second = written(tmp_path / "second", kubeconfig({"server": "https://second"}))
    third = written(tmp_path / "third", kubeconfig({"server": "https://third"}))
    listed = os.pathsep.join(map(str, [tmp_path / "missing", first, second, third]))
    assert config.load(environment={"KUBECONFIG": listed}).server == "https://second"
    assert config.load(str(third), {"KUBECONFIG": listed}).server == "https://third"


async def test_in_a_pod_the_service_account_is_used(tmp_path: Path, certificates: Path) -> None:
    (tmp_path / "ca.crt").write_bytes((certificates / "ca.crt").read_bytes())
    (tmp_path / "namespace").write_text("shop")
    (tmp_path / "token").write_text("first\n")
    found = config.in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}, tmp_path)
    assert (found.server, found.namespace) == ("https://[fd00::1]:6443", "shop")
    assert (await found.credentials.proof()).token == "first"  # noqa: S105 no secret


def test_in_a_pod_without_its_service_account_it_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"a pod, but .*/ca.crt is missing: mount the service account"):
        config.in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, tmp_path)


def test_the_pod_we_are_in_counts_before_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    inside = config.Config("https://inside", Fixed())
    monkeypatch.setattr(config, "in_cluster", lambda _: inside)
    (tmp_path / ".kube").mkdir()
    written(tmp_path / ".kube/config", kubeconfig())
    assert config.load(environment={"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOME": str(tmp_path)}) is inside
    assert config.load(environment={"HOME": str(tmp_path)}).server == "https://cluster:6443"


async def test_a_token_file_lies_beside_the_kubeconfig(tmp_path: Path) -> None:
    found = config.from_files([written(tmp_path / "config", kubeconfig(user={"tokenFile": "token"}))])
    with pytest.raises(ConfigError, match=r"the token file .*/token cannot be read: No such file or directory"):
        await found.credentials.proof()
    (tmp_path / "token").write_text("t\n")
    assert (await found.credentials.proof()).headers == {"Authorization": "Bearer t"}


async def test_a_plug_in_of_the_kubeconfig_runs_from_its_folder_and_knows_the_cluster(
    tmp_path: Path, certificates: Path
) -> None:
    program = tmp_path / "bin/login"
    program.parent.mkdir()
    program.write_text(
        '#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >"$PLACE/asked"\nprintf \'{"status": {"token": "%s"}}\' "$1-$WORD"\n'
    )
    program.chmod(0o755)
    env = [{"name": "WORD", "value": "secret"}, {"name": "PLACE", "value": str(tmp_path)}]
    asked = {
        "command": "./bin/login",
        "apiVersion": "v1",
        "args": ["two words"],
        "env": env,
        "provideClusterInfo": True,
    }
    extensions = [
        {"name": "another", "extension": {"last-update": "today"}},
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "06e3fbd18de8"}},
    ]
    cluster = {
        "certificate-authority": str(certificates / "ca.crt"),
        "tls-server-name": "inside",
        "insecure-skip-tls-verify": True,
        "extensions": extensions,
    }
    path = written(tmp_path / "config", kubeconfig(cluster, {"exec": asked}))
    assert (await config.from_files([path]).credentials.proof()).token == "two words-secret"  # noqa: S105 no secret
    told = json.loads((tmp_path / "asked").read_text())["spec"]["cluster"]
    assert base64.b64decode(told.pop("certificate-authority-data")) == (certificates / "ca.crt").read_bytes()
    assert told == {
        "server": "https://cluster:6443/",
        "tls-server-name": "inside",
        "insecure-skip-tls-verify": True,
        "config": {"audience": "06e3fbd18de8"},
    }


def test_a_plug_in_without_a_path_is_looked_for_and_knows_nothing_it_did_not_ask_for(tmp_path: Path) -> None:
    asked = {"command": "login", "apiVersion": "v1", "installHint": "Install it."}
    found = config.from_files([written(tmp_path / "config", kubeconfig(user={"exec": asked}))]).credentials
    assert isinstance(found, Exec)
    assert found._plugin == Plugin(["login"], "v1", hint="Install it.")


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", "is not YAML"), (b"\xff\xfe\xff", "is not YAML"), (None, "cannot be read: Is a directory")],
)
def test_a_kubeconfig_that_is_none_is_said(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "config"
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"the kubeconfig .*/config {message}"):
        config.from_files([path])


def test_among_several_of_a_kind_the_named_one_counts(tmp_path: Path) -> None:
    content = kubeconfig()
    content["clusters"].insert(0, {"name": "other", "cluster": {"server": "https://other"}})
    assert config.from_files([written(tmp_path / "config", content)]).server == "https://cluster:6443"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "holds no settings"),
        ({}, "no current-context"),
        ({"current-context": "gone"}, "has no context named 'gone'"),
        ({**kubeconfig(), "clusters": []}, "has no cluster named 'c'"),
        (kubeconfig({"server": "cluster"}), "is no address"),
        (kubeconfig({"certificate-authority": "nowhere.crt"}), r"certificate-authority .*/nowhere.crt cannot be read"),
        (kubeconfig({"certificate-authority": "/dev/null"}), "certificate-authority /dev/null is empty"),
        (kubeconfig(user={"client-certificate": sys.executable}), "client-certificate .* is not text"),
        (kubeconfig({"certificate-authority-data": "!"}), "is not base64 text"),
        (kubeconfig({"certificate-authority-data": "eA=="}), "is not a certificate"),
        (kubeconfig(user={"exec": {"command": "x"}}), "needs a command and an apiVersion"),
        (
            kubeconfig(user={"exec": {"command": "x", "apiVersion": "v1", "env": [{"name": "WORD"}]}}),
            r"env of the kubeconfig's exec plug-in needs a name and a value: \['name'\]",
        ),
        (kubeconfig({"proxy-url": "http://proxy:3128"}), "asks for proxy-url, which is not supported"),
        (kubeconfig(user={"as": "admin"}), "asks for as, which is not supported"),
        (kubeconfig(user={"as-groups": ["system:masters"]}), "asks for as-groups, which is not supported"),
        (kubeconfig(user={"auth-provider": {"name": "oidc"}}), "asks for auth-provider, which is not supported"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        config.from_files([written(tmp_path / "config", content)])


def test_no_cluster_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no cluster to talk to: .*\.kube/config does not exist"):
        config.load(environment={"HOME": str(tmp_path)})


async def test_a_token_file_is_read_again_after_a_minute_and_when_refused(tmp_path: Path) -> None:
    now = 0.0
    path = tmp_path / "token"
    path.write_text("first")
    found = TokenFile(path, lambda: now)
    assert (await found.proof()).token == "first"  # noqa: S105 no secret
    path.write_text("second")
    assert (await found.proof()).token == "first"  # noqa: S105 no secret
    now = 61.0
    assert (await found.proof()).token == "second"  # noqa: S105 no secret
    path.write_text("third")
    found.invalidate()
    assert (await found.proof()).token == "third"  # noqa: S105 no secret


def plugin(tmp_path: Path, body: str) -> Plugin:
    program = tmp_path / "login"
    program.write_text(f"#!/bin/sh\necho run >>{tmp_path}/runs\n{body}\n")
    program.chmod(0o755)
    return Plugin([str(program)], "client.authentication.k8s.io/v1")


async def test_a_plug_in_runs_again_when_its_token_ends_or_is_refused(tmp_path: Path) -> None:
    now = 0.0
    status = {"token": "t", "expirationTimestamp": "1970-01-01T00:10:00Z"}
    found = Exec(plugin(tmp_path, f"echo '{json.dumps({'status': status})}'"), lambda: now)
    for _ in range(3):
        assert (await found.proof()).token == "t"  # noqa: S105 no secret
    assert (tmp_path / "runs").read_text().count("run") == 1
    now = 571.0
    await found.proof()
    assert (tmp_path / "runs").read_text().count("run") == 2
    now = 0.0
    found.invalidate()
    await found.proof()
    assert (tmp_path / "runs").read_text().count("run") == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("echo no; echo why >&2; exit 3", "ended with 3: why"),
        ("echo no", "printed no ExecCredential"),
        ("echo '{\"status\": {}}'", "gave neither a token nor a certificate"),
        ("echo '[]'", "printed no ExecCredential"),
        ('echo \'{"status": {"token": "t", "expirationTimestamp": "soon"}}\'', "is no time: 'soon'"),
    ],
)
async def test_a_plug_in_that_fails_is_said(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await Exec(plugin(tmp_path, body), lambda: 0.0).proof()


async def test_a_plug_in_may_give_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "certificate", "clientKeyData": "key"}
    proof = await Exec(plugin(tmp_path, f"echo '{json.dumps({'status': status})}'"), lambda: 0.0).proof()
    assert (proof.pair, proof.headers) == (Pair("certificate", "key"), {})
    assert "key='key'" not in repr(proof)


async def test_a_plug_in_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "EXEC_TIMEOUT", 0.2)
    with pytest.raises(ConfigError, match="gave no answer in 0 s"):
        await Exec(plugin(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 600"), lambda: 0.0).proof()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_all_who_ask_at_once_wait_for_one_run(tmp_path: Path) -> None:
    found = Exec(plugin(tmp_path, 'echo \'{"status": {"token": "t"}}\''), lambda: 0.0)
    proofs = await asyncio.gather(*(found.proof() for _ in range(5)))
    assert ({proof.token for proof in proofs}, (tmp_path / "runs").read_text()) == ({"t"}, "run\n")


async def test_a_plug_in_that_is_not_installed_is_said_with_its_hint() -> None:
    missing = Plugin(["/nonexistent/login"], "v1", hint="Install it.")
    with pytest.raises(ConfigError, match=r"does not run: No such file or directory\. Install it\."):
        await Exec(missing, lambda: 0.0).proof()


def test_a_plug_in_is_told_of_the_cluster_when_it_asks() -> None:
    told = json.loads(Plugin(["x"], "v1", cluster={"server": "s"}).information)
    assert told == {
        "apiVersion": "v1",
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "s"}},
    }
    assert credentials.expiry({}) == float("inf")
