"""Which programs a cluster is made of, in which versions: read from the pinned Go module."""

import hashlib
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from localkube import errors

MODULE = Path(__file__).parent / "go"
Version = tuple[int, ...]

# A suffix after a dash (a pre-release, a vendor's dispatcher to other files) is another program than its number says.
_KUBERNETES_ANSWER = r"\bv(\d+)\.(\d+)\.(\d+)(?![-\w])"
_ETCD_ANSWER = r"etcd Version: (\d+)\.(\d+)\.(\d+)(?![-\w])"
_ETCD_OLDEST, _ETCD_TOO_NEW = (3, 6), (4,)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i686": "386", "armv7l": "arm", "loongarch64": "loong64"}


@dataclass(frozen=True)
class Binary:
    """`package` is what Go builds; `question` makes the program tell its version, none where only our build will do."""

    name: str
    package: str
    question: tuple[str, ...] = ()

    @property
    def is_etcd(self) -> bool:
        return self.name == "etcd"

    @property
    def is_kubectl(self) -> bool:
        return self.name == "kubectl"

    def version_in(self, said: str) -> Version | None:
        match = re.search(_ETCD_ANSWER if self.is_etcd else _KUBERNETES_ANSWER, said)
        return tuple(int(number) for number in match.groups()) if match else None

    def accepts(self, version: Version) -> bool:
        """Kubernetes programs of one minor version fit each other; etcd promises its API within a major version."""
        if self.is_etcd:
            return _ETCD_OLDEST <= version < _ETCD_TOO_NEW
        return version[:2] == kubernetes_version()[:2]


def _of_kubernetes(name: str, *question: str) -> Binary:
    return Binary(name, f"k8s.io/kubernetes/cmd/{name}", question or ("--version",))


BINARIES = (
    _of_kubernetes("kube-apiserver"),
    _of_kubernetes("kube-controller-manager"),
    _of_kubernetes("kube-scheduler"),
    _of_kubernetes("kube-proxy"),
    _of_kubernetes("kubelet"),
    _of_kubernetes("kubectl", "version", "--client", "-o", "json"),
    Binary("etcd", "go.etcd.io/etcd/server/v3", ("--version",)),
    Binary("coredns", "./coredns"),
    Binary("pause", "./pause"),
)


def missing(directory: Path) -> list[Binary]:
    return [binary for binary in BINARIES if not (directory / binary.name).is_file()]


def kubernetes_version() -> Version:
    return _pinned(r"^\s*k8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)\b")


def go_version() -> Version:
    """Give the oldest Go that builds the module."""
    return _pinned(r"^go (\d+)\.(\d+)(?:\.(\d+))?$")


def _pinned(pattern: str) -> Version:
    match = re.search(pattern, (MODULE / "go.mod").read_text(), re.MULTILINE)
    if match is None:
        raise errors.LocalkubeError(f"{MODULE / 'go.mod'} is damaged: install localkube again")
    return tuple(int(number or 0) for number in match.groups())


def dotted(version: Version) -> str:
    return ".".join(str(number) for number in version)


def architecture() -> str:
    """Name this machine as Go does."""
    machine = platform.machine()
    return _ARCHITECTURES.get(machine, machine)


def key() -> str:
    """Equal for equal binaries: the versions, everything the build reads, the machine they run on."""
    digest = hashlib.sha256()
    for path in (MODULE / "go.mod", MODULE / "go.sum", *sorted(MODULE.glob("*/main.go"))):
        digest.update(path.read_bytes())
    return f"v{dotted(kubernetes_version())}-{digest.hexdigest()[:10]}-{architecture()}"
