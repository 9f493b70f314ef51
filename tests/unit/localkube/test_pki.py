"""Certificates say who is who, verify against the authority, and are made once."""

import stat
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from localkube import controlplane, kubeconfig, nodeplane, pki, spec


def _read(directory: Path, file: str) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pki.certificate(directory, file).read_bytes())


def test_a_kubelets_certificate_names_its_node_and_group(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    pki.ensure(tmp_path, nodeplane.subjects(cluster.nodes[0]))
    made = _read(tmp_path, "kubelet-node-1")
    made.verify_directly_issued_by(_read(tmp_path, "ca"))
    assert made.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value == "system:node:node-1"
    assert made.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value == "system:nodes"
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["node-1"]
    assert [str(address) for address in names.get_values_for_type(x509.IPAddress)] == ["10.201.0.11"]


def test_only_who_serves_may_serve(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    pki.ensure(tmp_path, controlplane.subjects(cluster))
    may = {
        file: ExtendedKeyUsageOID.SERVER_AUTH
        in _read(tmp_path, file).extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        for file in ("kube-apiserver", "admin", "kube-scheduler")
    }
    assert may == {"kube-apiserver": True, "admin": False, "kube-scheduler": False}


def test_what_is_there_is_kept(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    pki.ensure(tmp_path, controlplane.subjects(cluster))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    pki.ensure(tmp_path, controlplane.subjects(cluster))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_key_without_its_certificate_is_made_anew(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    """That is what a kill between the two writes leaves."""
    pki.ensure(tmp_path, controlplane.subjects(cluster))
    pki.certificate(tmp_path, "admin").unlink()
    pki.ensure(tmp_path, controlplane.subjects(cluster))
    _read(tmp_path, "admin").verify_directly_issued_by(_read(tmp_path, "ca"))


def test_keys_and_kubeconfigs_are_readable_by_their_owner_only(cluster: spec.ClusterSpec, tmp_path: Path) -> None:
    pki.ensure(tmp_path, controlplane.subjects(cluster))
    kubeconfig.write(tmp_path / "admin.kubeconfig", "paper", cluster.server, tmp_path, "admin")
    secret = [path for path in tmp_path.iterdir() if path.suffix in {".key", ".kubeconfig"}]
    assert len(secret) == 9
    assert {stat.S_IMODE(path.stat().st_mode) for path in secret} == {0o600}
