"""The steps of the documents' quick start, in their order and under their numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localkube.init.control import Program
from localkube.kubectl import Kubectl, Manifest
from localkube.node import Node
from localkube.waiting import wait_until
from quickstart import images
from quickstart.stage import SYSTEM, Stage

FILES = ("deploy/v1/crd.yaml", "deploy/v1/operator.yaml", "deploy/extensions/controllers.yaml")
OURS = "--selector=app.kubernetes.io/part-of=paddle-operator"
KINDS = ("paddlejobs", "samplejobs", "samplesets")
EXAMPLES = "examples/quickstart"
SET = "sampleset/imagenet"
SIZES = ("find", f"{images.PLACE}/demo", "-mindepth", "1", "-printf", "%y %s\\n")
# JuiceFS counts whole units for each file and each directory; a mount tells of larger ones, and of one more.
UNIT, STEP = 4 << 10, 64 << 10
REDIS_PORT = 6379
REDIS = f"bind 0.0.0.0\nport {REDIS_PORT}\nprotected-mode no\nappendonly yes\ndir /var/lib/redis\n"
REDIS_PATIENCE = 30.0


@dataclass(frozen=True)
class Demo:
    """What the bucket's demo has, which a set must have, too: the sizes of its files, and how many directories."""

    sizes: tuple[int, ...] = ()
    directories: int = 0

    @property
    def cached(self) -> int:
        return sum(self.sizes)

    @property
    def total(self) -> int:
        units = sum(-(-size // UNIT) for size in self.sizes) + self.directories
        return (units * UNIT // STEP + 1) * STEP

    def is_in(self, status: Manifest) -> bool:
        """Tell whether a set says that it has this much, and no more."""
        figures = status.get("cacheStatus") or {}
        files = len(self.sizes) + self.directories
        told = figures.get("fileCount"), figures.get("totalFiles"), figures.get("totalBytes")
        return status.get("phase") == "Ready" and told == (files, f"{files:,}", self.total)

    def is_cached(self, status: Manifest) -> bool:
        return self.is_in(status) and status["cacheStatus"].get("cachedBytes") == self.cached


@dataclass(frozen=True)
class Step:
    title: str
    perform: Callable[[Stage], None]


def install(stage: Stage) -> None:
    for file in FILES:
        stage.apply(file)
    with stage.progress.step("the managers, and the CSI plugin on every node"):
        for part in stage.kubectl.run("get", "deployments,daemonsets", OURS, "-o", "name").split():
            stage.kubectl.rolled_out(part)
    stage.show("get", "crd", *(f"{kind}.batch.paddlepaddle.org" for kind in KINDS))
    stage.show("-n", SYSTEM, "get", "pods")


def start_redis(stage: Stage) -> None:
    """Start one on a node, as the documents do, and give it a name in the cluster."""
    node = stage.cluster.nodes[0]
    with stage.progress.step(f"Redis on {node.name}, redis.{SYSTEM}.svc.cluster.local"):
        keep_redis(node)
        stage.kubectl.apply(*named("redis", node.spec.address, REDIS_PORT))


def keep_redis(node: Node) -> None:
    node.control.run_inside(["mkdir", "-p", "/var/lib/redis"])
    node.control.run_inside(["tee", "/var/lib/redis/redis.conf"], stdin=REDIS)
    argv = ["/usr/bin/env", "redis-server", "/var/lib/redis/redis.conf"]
    node.control.start(Program("redis", argv, {"PATH": "/usr/bin:/bin"}, "/var/log/localkube/redis.log"))
    otherwise = f"Redis does not answer; see {node.paths.logs}/redis.log"
    wait_until(lambda: "PONG" in node.control.run_inside(["redis-cli", "ping"]), REDIS_PATIENCE, otherwise)


def named(name: str, address: str, port: int) -> list[Manifest]:
    """Give a name in the cluster to something that is no pod."""
    service = {"ports": [{"port": port}], "clusterIP": "None"}
    labels = {"kubernetes.io/service-name": name}
    endpoint = {"addresses": [address], "conditions": {"ready": True}}
    found = {"addressType": "IPv4", "ports": [{"port": port}], "endpoints": [endpoint]}
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service},
        {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": name, "labels": labels}}
        | found,
    ]


def make_secret(stage: Stage) -> None:
    stage.apply(f"{EXAMPLES}/secret.yaml")


def make_sample_set(stage: Stage) -> None:
    stage.apply(f"{EXAMPLES}/store.yaml")
    with stage.progress.step("a small set of pictures in the bucket"):
        stage.kubectl.rolled_out("deployment/store")
        in_store(stage.kubectl, "python3", "-", stdin=Path(images.__file__).read_text())
    stage.apply(f"{EXAMPLES}/imagenet.yaml", STORE=store_address(stage))
    stage.until(SET, "Ready", "the data copied and in the node's cache")
    stage.until(SET, observe_demo(stage.kubectl).is_cached, "and counted")
    stage.show("get", "sampleset", "-n", SYSTEM)
    stage.show("get", "pods", "-n", SYSTEM)


def manage_data(stage: Stage) -> None:
    """Remove the data, bring it again, empty the cache, and fill it; the set's own table follows each job."""
    demo = observe_demo(stage.kubectl)
    run_job(stage, "rmr")
    stage.until(SET, Demo().is_in, "the data gone from the set")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)
    run_job(stage, "sync", STORE=store_address(stage))
    stage.until(SET, demo.is_in, "the data in the set again")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)
    run_job(stage, "clear")
    stage.until(SET, lambda status: demo.is_in(status) and is_cold(status), "nothing left in the cache")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)
    run_job(stage, "warmup")
    stage.until(SET, demo.is_cached, "all of it in the cache again")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)


def observe_demo(kubectl: Kubectl) -> Demo:
    """Look at the pictures themselves: what the set says is compared with them."""
    found = [line.split() for line in in_store(kubectl, *SIZES).splitlines()]
    sizes = tuple(int(size) for kind, size in found if kind == "f")
    return Demo(sizes, len(found) - len(sizes))


def in_store(kubectl: Kubectl, *argv: str, stdin: str | None = None) -> str:
    return kubectl.run("exec", "-i", "deploy/store", "-c", "gateway", "--", *argv, stdin=stdin)


def is_cold(status: Manifest) -> bool:
    return (status.get("cacheStatus") or {}).get("cachedBytes") == 0


def run_job(stage: Stage, kind: str, **values: str) -> None:
    """Do it again where an earlier quick start has done it: a SampleJob is carried out once."""
    job = f"samplejob/imagenet-{kind}"
    stage.kubectl.run("delete", job, "--ignore-not-found")
    stage.apply(f"{EXAMPLES}/{kind}-job.yaml", **values)
    stage.until(job, "Succeeded", f"{kind} by the set's server")
    stage.show("get", "samplejob", f"imagenet-{kind}", "-n", SYSTEM)


def store_address(stage: Stage) -> str:
    return str(stage.kubectl.get("service/store")["spec"]["clusterIP"])


def make_job(stage: Stage) -> None:
    stage.apply(f"{EXAMPLES}/ps-demo.yaml")
    stage.until("paddlejob/ps-demo", "Running", "a worker on the node that has the data")
    stage.show("get", "paddlejob", "-n", SYSTEM)
    stage.show("exec", "ps-demo-worker-0", "-n", SYSTEM, "--", "ls", "/mnt/imagenet")


STEPS = (
    Step("Install the operator and the cache", install),
    Step("1. Prepare a Redis", start_redis),
    Step("2. Make the Secret", make_secret),
    Step("3. Make the SampleSet", make_sample_set),
    Step("4. Try SampleJobs", manage_data),
    Step("5. Make the PaddleJob", make_job),
)


def perform(stage: Stage) -> None:
    for step in STEPS:
        stage.progress.say(f"\n== {step.title}\n")
        step.perform(stage)
