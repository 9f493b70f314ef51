"""Keys, and certificates that an authority signs; as PEM texts, a private key first."""

import datetime as dt
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=3650)
# The API server checks a client's certificate anew for each request, which with RSA takes it half of the time or less.
AUTHORITY_BITS = 2048
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


def key_pair() -> tuple[str, str]:
    private = ec.generate_private_key(ec.SECP256R1())
    public = private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _pem(private), public.decode()


def authority() -> tuple[str, str]:
    private = rsa.generate_private_key(public_exponent=65537, key_size=AUTHORITY_BITS)
    name = _name("localkube")
    builder = (
        _builder(name, name, private.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
    )
    return _pair(private, builder.sign(private, hashes.SHA256()))


def certificate(
    issuer: tuple[bytes, bytes], name: str, groups: Sequence[str], serves: Sequence[str]
) -> tuple[str, str]:
    """Have the issuer, a certificate and its key, sign one for a name; who serves may be a server, too."""
    above = x509.load_pem_x509_certificate(issuer[0])
    signer = serialization.load_pem_private_key(issuer[1], password=None)
    if not isinstance(signer, PrivateKey):
        raise TypeError("the authority's key is not of a kind that is made here")
    private = ec.generate_private_key(ec.SECP256R1())
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH, *([ExtendedKeyUsageOID.SERVER_AUTH] if serves else [])]
    builder = (
        _builder(_name(name, groups), above.subject, private.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
    )
    if serves:
        alternatives = x509.SubjectAlternativeName([_alternative(word) for word in serves])
        builder = builder.add_extension(alternatives, critical=False)
    return _pair(private, builder.sign(signer, hashes.SHA256()))


def _pair(private: PrivateKey, signed: x509.Certificate) -> tuple[str, str]:
    return _pem(private), signed.public_bytes(serialization.Encoding.PEM).decode()


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


def _alternative(word: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(word))
    except ValueError:
        return x509.DNSName(word)
