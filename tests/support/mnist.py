"""The document's training, wherever it runs: its data, its job on our own engine, and small programs."""

import hashlib
import json
from dataclasses import dataclass

from localkube.kubectl import Kubectl
from localkube.node import Node
from localkube.waiting import wait_until
from paddle_operator.api.manifest import Manifest
from support.manifests import changed, circulating

DIRECTORY = "/dataset/mnist"
PATIENCE = 100
FILES = {f"{kind}-{part}-ubyte": hashlib.sha256(f"{kind}{part}".encode()).hexdigest() * 2000
         for kind in ("train", "t10k") for part in ("images", "labels")}  # fmt: skip
JUICEFS = {"juicefs": {"secretRef": {"name": "imagenet"}}}
# Stands in for the document's program: it reads all of --data_dir, and tells what was not in the cache.
PROGRAM = """
import hashlib, json, os, pathlib, sys
given = dict(word[2:].split("=") for word in sys.argv[1:])
top = pathlib.Path(given["data_dir"])
def misses():
    lines = (top.parent / ".stats").read_text().splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if line.startswith("juicefs_blockcache_miss "))
before = misses()
found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in top.iterdir()}
told = {"cache": os.environ["KUBEDL_CACHE_NAME"], "files": found, "missed": misses() - before}
print(json.dumps(told), flush=True)
"""
# Every task listens; a worker ends when it has reached all others by their names.
TENSORFLOW = """
import json, os, socket, time
config = json.loads(os.environ["TF_CONFIG"])
task, cluster = config["task"], config["cluster"]
assert sorted(os.listdir("/data/mnist")), "no data"
server = socket.create_server(("", 2222))
others = [name for names in cluster.values() for name in names]
others.remove(cluster[task["type"]][task["index"]])
for name in others:
    host, port = name.split(":")
    for _ in range(600):
        try:
            socket.create_connection((host, int(port)), 2).close()
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit(f"{name} is not reached")
print(json.dumps(config), flush=True)
time.sleep(600 if task["type"] == "ps" else 5)
"""
# Trains on until it is stopped.
ENDLESS = """
import os, signal
assert os.listdir("/data/mnist"), "no data"
signal.pause()
"""
# The master counts who comes; ranks and the number of all are what they should be, or it fails.
TORCH = """
import os, socket, time
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
assert os.listdir("/data/mnist"), "no data"
if rank == 0:
    server = socket.create_server(("", address[1]))
    ranks = {0}
    while len(ranks) < world:
        connection, _ = server.accept()
        ranks.add(int(connection.recv(16)))
        connection.sendall(b"met")
        connection.close()
    print(sorted(ranks), flush=True)
else:
    for _ in range(600):
        try:
            with socket.create_connection(address, 2) as connection:
                connection.sendall(str(rank).encode())
                assert connection.recv(16) == b"met"
            break
        except OSError:
            time.sleep(0.1)
    else:
        raise SystemExit("the master is not reached")
"""
# Each process learns from its share of the data, as PyTorch does it: what they have learned is the same at last.
DISTRIBUTED = """
import json, pathlib
import torch, torch.distributed as together
together.init_process_group("gloo")
rank, world = together.get_rank(), together.get_world_size()
torch.manual_seed(rank)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 1))
steps = torch.optim.SGD(model.parameters(), lr=0.01)
for path in sorted(pathlib.Path("/data/mnist").iterdir())[rank::world]:
    read = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).float() / 255
    steps.zero_grad()
    (model(read.reshape(-1, 64)) - 1).square().mean().backward()
    steps.step()
learned = torch.cat([part.detach().flatten() for part in model.parameters()])
found = [torch.empty_like(learned) for _ in range(world)]
together.all_gather(found, learned)
told = {"rank": rank, "world": world, "same": all(map(learned.equal, found))}
print(json.dumps(told), flush=True)
together.destroy_process_group()
"""


def put_on(node: Node) -> None:
    """Lay the data on a node, as the document says that one has to."""
    node.control.run_inside(["mkdir", "-p", DIRECTORY])
    for name, content in FILES.items():
        node.control.run_inside(["tee", f"{DIRECTORY}/{name}"], stdin=content)


@dataclass(frozen=True)
class Training:
    """Where it runs: by kubectl, on an image that is at hand, with the data in a directory of each node."""

    kubectl: Kubectl
    image: str
    directory: str = DIRECTORY

    @property
    def source(self) -> Manifest:
        return {"location": f"local://{self.directory}", "subDirName": "mnist"}

    def documents_job(self) -> list[Manifest]:
        """Give the document's TFJob with our engine; its program comes in a ConfigMap."""
        place = "spec.tfReplicaSpecs.Worker.template.spec"
        container = f"{place}.containers.0"
        script = {"name": "script", "mountPath": "/var/tf_mnist"}
        job = circulating("TFJob/tf-cache")
        words = job["spec"]["tfReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]["command"]
        changes = {
            "spec.cacheBackend.cacheEngine": JUICEFS,
            "spec.cacheBackend.dataset.dataSources.0.location": self.source["location"],
            f"{container}.image": self.image,
            f"{container}.command": ["python3", *words[1:]],
            f"{container}.resources": {},
            f"{container}.volumeMounts": [script],
            f"{place}.volumes": [{"name": "script", "configMap": {"name": "program"}}],
        }
        program = {"mnist_with_summaries.py": PROGRAM}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "program"}, "data": program}
        return [config, changed(job, changes)]

    def tensorflow(self, name: str, program: str = TENSORFLOW) -> Manifest:
        """Give a TFJob with a parameter server and two workers."""
        types = {"PS": 1, "Worker": 2}
        specs = {found: self._replicas("tensorflow", program, number) for found, number in types.items()}
        return self._job("TFJob", name, tfReplicaSpecs=specs)

    def torch(self, name: str, program: str = TORCH) -> Manifest:
        """Give a PyTorchJob of two processes."""
        specs = {found: self._replicas("pytorch", program, 1) for found in ("Master", "Worker")}
        return self._job("PyTorchJob", name, pytorchReplicaSpecs=specs)

    def _replicas(self, container: str, program: str, number: int) -> Manifest:
        made = {"name": container, "image": self.image, "command": ["python3", "-c", program]}
        spec = {"containers": [made], "terminationGracePeriodSeconds": 0}
        return {"replicas": number, "restartPolicy": "Never", "template": {"spec": spec}}

    def _job(self, kind: str, name: str, **types: Manifest) -> Manifest:
        cache = {"name": "mnist", "mountPath": "/data"}
        return {
            "apiVersion": "training.kubedl.io/v1alpha1",
            "kind": kind,
            "metadata": {"name": name},
            "spec": {**types, "cacheBackend": cache, "cleanPodPolicy": "Running"},
        }

    def shared_cache(self, idle_seconds: int) -> Manifest:
        """Give a cache under a name of its own, which goes when nobody uses it."""
        return {
            "apiVersion": "cache.kubedl.io/v1alpha1",
            "kind": "CacheBackend",
            "metadata": {"name": "mnist"},
            "spec": {
                "dataset": {"dataSources": [self.source]},
                "cacheEngine": JUICEFS,
                "options": {"idleTime": idle_seconds},
            },
        }

    def until_succeeded(self, what: str) -> None:
        wait_until(lambda: self._state(what) == "Succeeded", PATIENCE, f"{what} does not succeed")

    def _state(self, what: str) -> str:
        found = (self.kubectl.get(what).get("status") or {}).get("conditions") or [{}]
        return str(found[-1].get("type", ""))

    def told(self, pod: str) -> Manifest:
        found: Manifest = json.loads(self.kubectl.run("logs", pod))
        return found
