"""The documents' data set on a real cluster: its source, its Secret and SampleSet, and what is seen of it."""

import hashlib
import json
from collections.abc import Callable, Mapping

from localkube.errors import LocalkubeError
from localkube.kubectl import Kubectl, Manifest
from localkube.node import Node
from localkube.waiting import wait_until
from paddle_operator.desired.sampleset.servers import CACHE_DIRECTORY
from support.examples import documents
from support.manifests import ABSENT, changed, circulating

NAME = "imagenet"
PLACE = f"/mnt/{NAME}"
KEYS = {"access-key": "planted-access-key", "secret-key": "planted-secret-key"}
USER, PASSWORD = "reader", "planted-redis-password"
STORE = "quickstart/store.yaml"
PORT = 9000
# Whoever gives a name gives a password, too; the tests themselves do not. What is in it outlives the process.
REDIS = f"""
bind 0.0.0.0
protected-mode no
appendonly yes
save ""
dir /run/redis
user {USER} on >{PASSWORD} ~* &* +@all
"""
PATIENCE = 90.0
# Blocks that are whole: one that is being written has another name until it is.
BLOCKS = ("-path", "*/raw/chunks/*", "-type", "f", "-not", "-name", "*.tmp", "-printf", "%f\n")
# Prints the checksums of files; JuiceFS' own, in the root, have names with a dot, and one of them has no end.
CHECKSUMS = """
import hashlib, json, pathlib, sys
top = pathlib.Path(sys.argv[1])
names = sys.argv[2:] or [str(path.relative_to(top)) for path in top.glob('[!.]*/*')]
print(json.dumps({name: hashlib.sha256((top / name).read_bytes()).hexdigest() for name in names}))
"""
FILLING = """
import json, pathlib, sys
for name, content in json.load(sys.stdin).items():
    path = pathlib.Path('/store/filling') / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
"""
STORED = """
local keys, sum = redis.call('keys', '*'), ''
table.sort(keys)
for _, key in ipairs(keys) do sum = redis.sha1hex(sum .. key .. redis.call('get', key)) end
return sum
"""


def files(number: int) -> dict[str, str]:
    """Give so many files of different sizes in a few directories, whose contents follow from their names."""
    names = [f"n0151485{7 + index % 3}/{index:04}.jpg" for index in range(number)]
    return {name: hashlib.sha256(name.encode()).hexdigest() * (1 + index % 40) for index, name in enumerate(names)}


FILES = files(300)


def checksums(contents: Mapping[str, str]) -> dict[str, str]:
    return {name: hashlib.sha256(content.encode()).hexdigest() for name, content in contents.items()}


def store(image: str) -> list[Manifest]:
    """Give the quick start's S3 endpoint, with this image and keys of the tests' own."""
    secret, service, deployment = (changed(made, {"metadata.namespace": ABSENT}) for made in documents(STORE))
    pod = "spec.template.spec"
    images = {f"{pod}.{place}.0.image": image for place in ("initContainers", "containers")}
    return [{**secret, "data": None, "stringData": KEYS}, service, changed(deployment, images)]


def fill(kubectl: Kubectl, contents: Mapping[str, str]) -> str:
    """Put files into the bucket, and give their address."""
    inside = ("exec", "-i", "deploy/store", "-c", "gateway", "--")
    kubectl.run(*inside, "python3", "-c", FILLING, stdin=json.dumps(contents))
    address = f"s3://paddleflow-public.{kubectl.get('service/store')['spec']['clusterIP']}:{PORT}/imagenet/demo"
    kubectl.run(*inside, "juicefs", "--no-agent", "sync", "/store/filling/", f"{address}/")
    return address


def volume_secret(address: str) -> Manifest:
    """Give the documents' Secret with another address, and with the line ends that their command leaves."""
    values = {"name": NAME, "storage": "redis", "access-key": USER, "secret-key": PASSWORD}
    values |= {"bucket": f"redis://{address}:6379/1", "metaurl": f"redis://{USER}:{PASSWORD}@{address}:6379/0"}
    lines = {key: f"{value}\n" for key, value in values.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": NAME}, "stringData": lines}


def sample_set(source: str) -> Manifest:
    """Give the documents' SampleSet with another address, which takes keys."""
    return changed(circulating(f"SampleSet/{NAME}"), {"spec.source": {"uri": source, "secretRef": {"name": "store"}}})


class Watched:
    """The SampleSet as its users see it."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl

    @property
    def status(self) -> Manifest:
        found: Manifest = self.kubectl.get(f"sampleset/{NAME}").get("status") or {}
        return found

    def cached_on(self) -> list[str]:
        """Name the nodes of the partitions, in their order."""
        return [found["node"] for found in sorted(self.status["nodes"], key=lambda found: int(found["partition"]))]

    def is_ready(self, partitions: int) -> bool:
        status = self.status
        servers = (status.get("runtimeStatus") or {}).get("runtimeReady")
        return bool(status.get("phase") == "Ready" and servers == f"{partitions}/{partitions}")

    def eventually(self, condition: Callable[[], bool], otherwise: str, timeout: float = PATIENCE) -> None:
        """Wait, and say where the set stood when it took too long."""
        try:
            wait_until(condition, timeout, otherwise, pause=0.3)
        except LocalkubeError as error:
            raise AssertionError(f"{error}: {json.dumps(self.status, indent=1)}") from error

    def until_ready(self, partitions: int) -> None:
        self.eventually(lambda: self.is_ready(partitions), f"not Ready with {partitions} partitions")

    def scale(self, partitions: int) -> None:
        patch = json.dumps({"spec": {"partitions": partitions}})
        self.kubectl.run("patch", f"sampleset/{NAME}", "--type=merge", f"--patch={patch}")

    def cached(self, partition: int) -> list[int]:
        """Give the sizes of the blocks in a partition's cache, which its server sees."""
        return block_sizes(self.kubectl.execute(f"{NAME}-runtime-{partition}", "find", CACHE_DIRECTORY, *BLOCKS))

    def read(self, pod: str, *names: str) -> dict[str, str]:
        """Have a pod read files, or all, and give their checksums."""
        told: dict[str, str] = json.loads(self.kubectl.execute(pod, "python3", "-c", CHECKSUMS, PLACE, *names))
        return told


def block_sizes(listed: str) -> list[int]:
    """Give the sizes of blocks, as the names of their files tell them."""
    return sorted(int(name.rpartition("_")[2]) for name in listed.splitlines())


def cached_sizes(node: Node, volume: str) -> list[int]:
    """Give the sizes of the blocks in a node's cache of this volume."""
    place = f"/dev/shm/{volume}/cache"  # a node's, where a cache is that nobody gave another place
    return block_sizes(node.control.run_inside(["find", place, *BLOCKS]))


def stored(node: Node) -> str:
    """Give the checksum of all objects of the volume, in the Redis on this node."""
    return node.control.run_inside(["redis-cli", "-n", "1", "eval", STORED, "0"])
