"""A JuiceFS volume on the cluster, as the official driver's documents describe it, and pods that have it."""

from dataclasses import dataclass
from pathlib import Path

import yaml
from click.testing import CliRunner

from localkube.cluster import Cluster
from localkube.errors import LocalkubeError
from localkube.kubectl import Kubectl
from localkube.node import Node
from localkube.waiting import wait_until
from paddle_operator.cli.main import main
from paddle_operator.csi.places import Places
from support import csinode, workloads
from support.workloads import Manifest

SYSTEM = "paddle-system"
MANY = 60
# A kubelet that failed to unmount tries again after two minutes at most.
UNMOUNTED = 150


def plugin_objects(image: str) -> list[Manifest]:
    """Give what is printed for installing the plugin, and the namespace that it goes to."""
    printed = CliRunner().invoke(main, ["manifests", "csi", f"--image={image}"])
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}},
        *yaml.safe_load_all(printed.output),
    ]


def installed(cluster: Cluster, image: str) -> Kubectl:
    """Have the plugin on every node, installed as people install it."""
    kubectl = Kubectl.of(cluster, SYSTEM)
    kubectl.apply(*plugin_objects(image))
    everywhere = {node.name for node in cluster.nodes}
    wait_until(lambda: registered(kubectl) == everywhere, MANY, "the driver is not registered on every node")
    return kubectl


def uninstall(cluster: Cluster, image: str) -> None:
    """Take the plugin away, when no kubelet needs it any more: of pods that are gone, volumes are unmounted later."""
    wait_until(lambda: not any(map(volumes_on, cluster.nodes)), UNMOUNTED, "volumes are still mounted")
    names = [f"{manifest['kind']}/{manifest['metadata']['name']}" for manifest in plugin_objects(image)]
    Kubectl.of(cluster, SYSTEM).run("delete", *names, "--wait", "--ignore-not-found")


def volumes_on(node: Node) -> list[str]:
    search = 'test ! -d "$1" || find "$1" -name "*.json"'
    return node.control.run_inside(["sh", "-c", search, "sh", str(Places().records)]).splitlines()


def registered(kubectl: Kubectl) -> set[str]:
    """Name the nodes whose kubelet knows the driver."""
    return {
        node["metadata"]["name"]
        for node in kubectl.items("csinodes")
        if any(driver["name"] == "csi.juicefs.com" for driver in node["spec"].get("drivers") or ())
    }


@dataclass(frozen=True)
class Volume:
    """One of a test's own: its secret, its claim, and pods that have it at /data."""

    kubectl: Kubectl
    name: str
    database: int

    def objects(self, address: str, password: str) -> list[Manifest]:
        """Give a volume whose metadata are in a Redis known by a name, and its data in one known by an address."""
        values = {"name": self.name, "storage": "redis", "bucket": f"redis://{address}:6379/0", "secret-key": password}
        values["metaurl"] = (
            f"redis://:{password}@redis.{self.kubectl.namespace}.svc.cluster.local:6379/{self.database}\n"
        )
        size = {"storage": "1Ti"}
        shared = {"accessModes": ["ReadWriteMany"], "storageClassName": "paddle-operator"}
        spec = {**shared, "capacity": size, "persistentVolumeReclaimPolicy": "Retain", "csi": self._csi()}
        claim = {**shared, "resources": {"requests": size}, "volumeName": self.name}
        named = {"apiVersion": "v1", "metadata": {"name": self.name}}
        return [
            {**named, "kind": "Secret", "stringData": values},
            {**named, "kind": "PersistentVolume", "spec": spec},
            {**named, "kind": "PersistentVolumeClaim", "spec": claim},
            *named_address("redis", address, 6379),
        ]

    def _csi(self) -> Manifest:
        options = f"cache-dir=/dev/shm/{self.name},cache-size=64,metrics=127.0.0.1:0"
        return {
            "driver": "csi.juicefs.com",
            "fsType": "juicefs",
            "volumeHandle": self.name,
            "volumeAttributes": {"mountOptions": options},
            "nodePublishSecretRef": {"name": self.name, "namespace": self.kubectl.namespace},
        }

    def pod(self, name: str, node: str, *, read_only: bool = False) -> Manifest:
        manifest = workloads.sleeping_pod(name, node)
        claim = {"claimName": self.name, "readOnly": read_only}
        manifest["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
        manifest["spec"]["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
        return manifest

    def start(self, *pods: Manifest) -> None:
        self.kubectl.apply(*pods)
        self.kubectl.wait("condition=Ready", *(f"pod/{pod['metadata']['name']}" for pod in pods))

    def write(self, pod: str, name: str, text: str) -> None:
        self.kubectl.execute(pod, "python3", "-c", f"open('/data/{name}', 'w').write({text!r})")

    def sees(self, pod: str, name: str, text: str) -> bool:
        return self.kubectl.execute(pod, "cat", f"/data/{name}") == text

    def refuses(self, pod: str) -> bool:
        try:
            self.write(pod, "new", "x")
        except LocalkubeError as error:
            return "Read-only file system" in str(error)
        return False

    def clients(self, node: Node) -> list[int]:
        """Find the node's JuiceFS processes of this volume, numbered as this machine numbers them."""
        stage = str(Places().stage(self.name))
        return [process for process, words in csinode.command_lines() if words[-1] == stage and is_on(process, node)]

    def is_gone_from(self, node: Node) -> bool:
        return not self.clients(node) and self.name not in node.control.run_inside(["cat", "/proc/1/mountinfo"])


def is_on(process: int, node: Node) -> bool:
    """Tell a node's processes by their namespace."""
    try:
        own, its = (Path(f"/proc/{number}/ns/pid").readlink() for number in (node.control.pid(), process))
    except OSError:
        return False
    return own == its


def named_address(name: str, address: str, port: int) -> list[Manifest]:
    """Give a name in the cluster to something that is no pod."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name},
            "spec": {"ports": [{"port": port}], "clusterIP": "None"},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "labels": {"kubernetes.io/service-name": name}},
            "addressType": "IPv4",
            "ports": [{"port": port}],
            "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        },
    ]
