"""The cluster's own certificate authority, and a certificate for everyone who talks in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from localkube.spec import write_atomically

AUTHORITY = "ca"


@dataclass(frozen=True)
class Subject:
    """Who a certificate speaks for; `serves` are the names and addresses it may answer under."""

    file: str
    name: str
    groups: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()


def certificate(directory: Path, file: str) -> Path:
    return directory / f"{file}.crt"


def key(directory: Path, file: str) -> Path:
    return directory / f"{file}.key"


def ensure(directory: Path, subjects: Sequence[Subject]) -> None:
    """Make what is missing; keep what is there, so that a second `up` changes nothing."""
    from localkube import signing  # noqa: PLC0415 what it needs is not installed for everybody who has our pytest plug-in

    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not certificate(directory, AUTHORITY).exists():
        _write_pair(directory, AUTHORITY, *signing.authority())
    if not key(directory, "service-account").exists():
        private, public = signing.key_pair()
        write_atomically(directory / "service-account.pub", public)
        write_atomically(key(directory, "service-account"), private, 0o600)
    for subject in subjects:
        if not certificate(directory, subject.file).exists():
            issuer = certificate(directory, AUTHORITY).read_bytes(), key(directory, AUTHORITY).read_bytes()
            made = signing.certificate(issuer, subject.name, subject.groups, subject.serves)
            _write_pair(directory, subject.file, *made)


def _write_pair(directory: Path, file: str, private: str, signed: str) -> None:
    """Write the key first: a certificate that exists always has its key, also after a kill in between."""
    write_atomically(key(directory, file), private, 0o600)
    write_atomically(certificate(directory, file), signed)
