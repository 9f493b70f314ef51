"""Pure: the control plane's certificates, command lines and settings."""

from pathlib import Path

from localkube import pki
from localkube.init.control import Program
from localkube.paths import ClusterPaths
from localkube.pki import Subject
from localkube.spec import ClusterSpec

ETCD = "http://127.0.0.1:2379"
DOMAIN = "cluster.local"
# Idle Go programs spend most of their time waking each other's threads: one is enough for who seldom has work.
ONE_THREAD = {"GOMAXPROCS": "1"}
# Those that everybody waits for have every core, and collect garbage less often: memory is cheaper than waiting.
READY_FOR_LOAD = {"GOGC": "400"}
LOADED = ("etcd", "kube-apiserver")
COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "coredns")


def subjects(cluster: ClusterSpec) -> list[Subject]:
    names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        f"kubernetes.default.svc.{DOMAIN}",
        "localhost",
    ]
    return [
        Subject(
            "kube-apiserver",
            "kube-apiserver",
            serves=(*names, "127.0.0.1", cluster.gateway, cluster.api_service),
        ),
        Subject("apiserver-kubelet-client", "apiserver-kubelet-client"),
        Subject("admin", "kubernetes-admin", ("system:masters",)),
        Subject("kube-controller-manager", "system:kube-controller-manager"),
        Subject("kube-scheduler", "system:kube-scheduler"),
        Subject("coredns", "system:coredns"),
    ]


def programs(cluster: ClusterSpec, paths: ClusterPaths) -> list[Program]:
    arguments = {
        "etcd": _etcd(paths),
        "kube-apiserver": _apiserver(cluster, paths),
        "kube-controller-manager": _controller_manager(cluster, paths),
        "kube-scheduler": _scheduler(cluster, paths),
        "coredns": [f"-conf={paths.settings / 'Corefile'}", "-quiet"],
    }
    binaries = Path(cluster.binaries)
    return [
        Program(
            name=name,
            argv=[str(binaries / name), *arguments[name]],
            environment={
                "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": str(paths.root),
                **(READY_FOR_LOAD if name in LOADED else ONE_THREAD),
            },
            log=str(paths.logs / f"{name}.log"),
        )
        for name in COMPONENTS
    ]


def _etcd(paths: ClusterPaths) -> list[str]:
    return [
        f"--data-dir={paths.etcd}",
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
        "--unsafe-no-fsync",  # the machine's page cache outlives the process: enough for a disposable cluster
        "--log-level=warn",
    ]


def _apiserver(cluster: ClusterSpec, paths: ClusterPaths) -> list[str]:
    authority = pki.certificate(paths.pki, pki.AUTHORITY)
    return [
        f"--etcd-servers={ETCD}",
        "--secure-port=6443",
        f"--advertise-address={cluster.gateway}",
        f"--tls-cert-file={pki.certificate(paths.pki, 'kube-apiserver')}",
        f"--tls-private-key-file={pki.key(paths.pki, 'kube-apiserver')}",
        f"--client-ca-file={authority}",
        f"--service-account-key-file={paths.pki / 'service-account.pub'}",
        f"--service-account-signing-key-file={pki.key(paths.pki, 'service-account')}",
        f"--service-account-issuer=https://kubernetes.default.svc.{DOMAIN}",
        f"--kubelet-certificate-authority={authority}",
        f"--kubelet-client-certificate={pki.certificate(paths.pki, 'apiserver-kubelet-client')}",
        f"--kubelet-client-key={pki.key(paths.pki, 'apiserver-kubelet-client')}",
        "--kubelet-preferred-address-types=InternalIP",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--anonymous-auth=false",
        "--allow-privileged=true",
        f"--service-cluster-ip-range={cluster.services}",
        *_options(cluster, "--runtime-config"),
    ]


def _controller_manager(cluster: ClusterSpec, paths: ClusterPaths) -> list[str]:
    return [
        f"--kubeconfig={paths.settings / 'kube-controller-manager.kubeconfig'}",
        f"--service-account-private-key-file={pki.key(paths.pki, 'service-account')}",
        f"--root-ca-file={pki.certificate(paths.pki, pki.AUTHORITY)}",
        f"--cluster-signing-cert-file={pki.certificate(paths.pki, pki.AUTHORITY)}",
        f"--cluster-signing-key-file={pki.key(paths.pki, pki.AUTHORITY)}",
        "--use-service-account-credentials",
        "--allocate-node-cidrs=false",
        f"--cluster-cidr={cluster.pods}",
        "--node-monitor-period=2s",
        "--node-monitor-grace-period=20s",
        "--pvclaimbinder-sync-period=2s",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        *_options(cluster),
    ]


def _scheduler(cluster: ClusterSpec, paths: ClusterPaths) -> list[str]:
    return [
        f"--kubeconfig={paths.settings / 'kube-scheduler.kubeconfig'}",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        *_options(cluster),
    ]


def _options(cluster: ClusterSpec, runtime_config: str = "") -> list[str]:
    gates = [f"--feature-gates={cluster.feature_gates}"] if cluster.feature_gates else []
    return gates + ([f"{runtime_config}={cluster.runtime_config}"] if runtime_config and cluster.runtime_config else [])


def corefile(cluster: ClusterSpec, paths: ClusterPaths) -> str:
    """Names of the cluster are answered; every other name does not exist, at once, since nothing is forwarded."""
    return f"""\
.:53 {{
    bind {cluster.gateway}
    errors
    health 127.0.0.1:8080
    ready 127.0.0.1:8181
    cache {{
        success 9984 5
        denial 9984 1
    }}
    kubernetes {DOMAIN} in-addr.arpa ip6.arpa {{
        kubeconfig {paths.settings / "coredns.kubeconfig"}
        pods insecure
        ttl 5
        fallthrough in-addr.arpa ip6.arpa
    }}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""
