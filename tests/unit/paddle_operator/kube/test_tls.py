"""Certificates that are renewed on disk are used without a restart, as soon as they are whole."""

import logging
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography.hazmat.primitives import serialization

from localkube import pki
from paddle_operator.kube import config, tls
from paddle_operator.kube.errors import ConfigError
from paddle_operator.kube.tls import LOOK_AGAIN, Material, Pair, Tls


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pki")
    for name in ("old", "new"):
        pki.ensure(folder / name, [pki.Subject("user", name)])
    return folder


class Renewed:
    """The files of one user, changed one by one, and a clock that is put forward."""

    def __init__(self, made: Path, folder: Path) -> None:
        self.now = 0.0
        self._made = made
        self._folder = folder
        self.bring("old", "ca.crt", "user.crt", "user.key")
        cluster = {"server": "https://here", "certificate-authority": "ca.crt"}
        user = {"client-certificate": "user.crt", "client-key": "user.key"}
        content = {
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        }
        (folder / "config").write_text(yaml.safe_dump(content))
        found = config.from_files([folder / "config"]).tls
        assert found is not None
        self.tls = Tls(found._read, found._files, lambda: self.now)

    def bring(self, which: str, *names: str) -> None:
        for name in names:
            shutil.copyfile(self._made / which / name, self._folder / f"{name}.new")
            (self._folder / f"{name}.new").replace(self._folder / name)

    def trusts(self, which: str) -> bool:
        wanted = ssl.create_default_context(cadata=(self._made / which / "ca.crt").read_text())
        return self.tls.context().get_ca_certs() == wanted.get_ca_certs()


@pytest.fixture
def renewed(made: Path, tmp_path: Path) -> Renewed:
    return Renewed(made, tmp_path)


def test_what_does_not_change_stays_the_same_context(renewed: Renewed) -> None:
    """So that connections are used again."""
    first = renewed.tls.context()
    renewed.now = 10 * LOOK_AGAIN
    assert renewed.tls.context() is first


def test_new_files_are_seen_after_a_while_and_not_looked_for_each_time(renewed: Renewed) -> None:
    first = renewed.tls.context()
    renewed.bring("new", "ca.crt", "user.crt", "user.key")
    renewed.now = LOOK_AGAIN - 0.1
    assert renewed.tls.context() is first
    renewed.now = LOOK_AGAIN
    assert renewed.tls.context() is not first
    assert renewed.trusts("new")


@pytest.mark.parametrize(
    "half",
    [
        lambda renewed: renewed.bring("new", "user.crt"),
        lambda renewed: (renewed._folder / "user.crt").write_text("-----BEGIN"),
        lambda renewed: (renewed._folder / "user.key").unlink(),
        lambda renewed: (renewed._folder / "ca.crt").write_text(""),
    ],
    ids=["the key is still the old one", "half written", "gone for a moment", "empty"],
)
def test_what_is_not_whole_yet_is_waited_for(
    renewed: Renewed, half: Callable[[Renewed], None], caplog: pytest.LogCaptureFixture
) -> None:
    first = renewed.tls.context()
    half(renewed)
    renewed.now = LOOK_AGAIN
    assert renewed.tls.context() is first
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    renewed.bring("new", "ca.crt", "user.crt", "user.key")
    renewed.now = 2 * LOOK_AGAIN
    assert renewed.trusts("new")


def test_the_certificate_of_a_plug_in_stands_before_that_of_the_files(renewed: Renewed, made: Path) -> None:
    pair = Pair((made / "new/user.crt").read_text(), (made / "new/user.key").read_text())
    with_pair = renewed.tls.context(pair)
    assert renewed.tls.context(pair) is with_pair
    assert renewed.tls.context() is not with_pair
    with pytest.raises(ConfigError, match="are not a pair"):
        renewed.tls.context(Pair(pair.certificate, ""))


def test_a_locked_key_is_an_error_and_no_question_at_the_terminal(made: Path) -> None:
    key = serialization.load_pem_private_key((made / "new/user.key").read_bytes(), password=None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    ).decode()
    with pytest.raises(ConfigError, match="are not a pair"):
        tls.tls_context(Material(pair=Pair((made / "new/user.crt").read_text(), locked)))
