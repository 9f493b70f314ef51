"""The cluster's own certificate authority, and a certificate for everyone who talks in it."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from localkube.spec import write_atomically

LIFETIME = dt.timedelta(days=3650)
AUTHORITY = "ca"
# The API server checks a client's certificate anew for each request, which with RSA takes it half of the time or less.
AUTHORITY_BITS = 2048
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


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
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not certificate(directory, AUTHORITY).exists():
        _write_authority(directory)
    if not key(directory, "service-account").exists():
        private = ec.generate_private_key(ec.SECP256R1())
        public = private.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_atomically(directory / "service-account.pub", public.decode())
        write_atomically(key(directory, "service-account"), _pem(private), 0o600)
    for subject in subjects:
        if not certificate(directory, subject.file).exists():
            _write_certificate(directory, subject)


def _pem(private: PrivateKey) -> str:
    return private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def _name(common: str, groups: Sequence[str] = ()) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, public: PublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_authority(directory: Path) -> None:
    private = rsa.generate_private_key(public_exponent=65537, key_size=AUTHORITY_BITS)
    name = _name("localkube")
    builder = (
        _builder(name, name, private.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    _write_pair(directory, AUTHORITY, builder.sign(private, hashes.SHA256()), private)


def _write_certificate(directory: Path, subject: Subject) -> None:
    issuer = x509.load_pem_x509_certificate(certificate(directory, AUTHORITY).read_bytes())
    signer = serialization.load_pem_private_key(key(directory, AUTHORITY).read_bytes(), password=None)
    if not isinstance(signer, PrivateKey):
        raise TypeError(f"{key(directory, AUTHORITY)} is not a key that was written there")
    private = ec.generate_private_key(ec.SECP256R1())
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if subject.serves else [])]
    builder = (
        _builder(_name(subject.name, subject.groups), issuer.subject, private.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if subject.serves:
        alternatives = x509.SubjectAlternativeName([_alternative(word) for word in subject.serves])
        builder = builder.add_extension(alternatives, critical=False)
    _write_pair(directory, subject.file, builder.sign(signer, hashes.SHA256()), private)


def _alternative(word: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(word))
    except ValueError:
        return x509.DNSName(word)


def _write_pair(directory: Path, file: str, signed: x509.Certificate, private: PrivateKey) -> None:
    """Write the key first: a certificate that exists always has its key, also after a kill in between."""
    write_atomically(key(directory, file), _pem(private), 0o600)
    write_atomically(certificate(directory, file), signed.public_bytes(serialization.Encoding.PEM).decode())
