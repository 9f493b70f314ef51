"""Whom we trust and who we are on an encrypted connection; what is in files is read again when they change."""

import logging
import ssl
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from paddle_operator.kube.errors import ConfigError

log = logging.getLogger(__name__)
LOOK_AGAIN = 10.0


@dataclass(frozen=True)
class Pair:
    certificate: str
    key: str = field(repr=False)


@dataclass(frozen=True)
class Material:
    """What a context is made of: no authority means those of this machine."""

    authority: str = ""
    pair: Pair | None = None
    verified: bool = True


class Tls:
    """Contexts for new connections, always of what the files say; a change that is not whole yet is waited for."""

    def __init__(self, read: Callable[[], Material], files: Sequence[Path], clock: Callable[[], float]) -> None:
        self._read = read
        self._files = files
        self._clock = clock
        self._look_again_at = clock() + LOOK_AGAIN
        self._stamps = [_stamp(path) for path in files]
        self._said = self._made_of = read()
        self._made = tls_context(self._made_of)

    def context(self, pair: Pair | None = None) -> ssl.SSLContext:
        """Give the context as it is now; a pair that a plug-in gave stands before that of the files."""
        if self._clock() >= self._look_again_at:
            self._look_again_at = self._clock() + LOOK_AGAIN
            self._look()
        self._make(replace(self._said, pair=pair) if pair else self._said)
        return self._made

    def _look(self) -> None:
        stamps = [_stamp(path) for path in self._files]
        if stamps == self._stamps:
            return
        try:
            said = self._read()
            self._make(said)
        except ConfigError as error:
            log.warning("certificates not renewed retry_in=%.0fs: %s", LOOK_AGAIN, error)
            return
        self._stamps, self._said = stamps, said
        log.info("certificates renewed files=%s", ",".join(path.name for path in self._files))

    def _make(self, material: Material) -> None:
        if material != self._made_of:
            self._made, self._made_of = tls_context(material), material


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def tls_context(material: Material) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=material.authority or None)
    except ssl.SSLError as error:
        raise ConfigError(f"the cluster's certificate authority is not a certificate: {error.reason}") from error
    # Python 3.13 asks for extensions that the authorities of many clusters do not carry.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not material.verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if material.pair is not None:
        _load(context, material.pair)
    return context


def _load(context: ssl.SSLContext, pair: Pair) -> None:
    """Give the context our certificate; `ssl` reads it from files only, so it is in one for a moment."""
    with tempfile.TemporaryDirectory(prefix="kube-") as folder:
        path = Path(folder, "pair.pem")
        path.touch(mode=0o600)
        path.write_text(f"{pair.certificate}\n{pair.key}\n")
        try:
            context.load_cert_chain(path, password="")  # without one, a locked key would be asked for at the terminal
        except ssl.SSLError as error:
            raise ConfigError(f"the client certificate and its key are not a pair: {error.reason}") from error
