"""The steps of the documents' quick start, in their order and under their numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from localkube.init.control import Program
from localkube.kubectl import Manifest
from localkube.node import Node
from localkube.waiting import wait_until
from quickstart import images
from quickstart.stage import SYSTEM, Stage

FILES = ("deploy/v1/crd.yaml", "deploy/v1/operator.yaml", "deploy/extensions/controllers.yaml")
OURS = "--selector=app.kubernetes.io/part-of=paddle-operator"
KINDS = ("paddlejobs", "samplejobs", "samplesets")
EXAMPLES = "examples/quickstart"
SET = "sampleset/imagenet"
CACHED, FILES_COUNTED = ".status.cacheStatus.cachedBytes", ".status.cacheStatus.fileCount"
REDIS_PORT = 6379
REDIS = f"bind 0.0.0.0\nport {REDIS_PORT}\nprotected-mode no\nappendonly yes\ndir /var/lib/redis\n"
REDIS_PATIENCE = 30.0


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
        program = Path(images.__file__).read_text()
        size = int(
            stage.kubectl.run("exec", "-i", "deploy/store", "-c", "gateway", "--", "python3", "-", stdin=program)
        )
    stage.apply(f"{EXAMPLES}/imagenet.yaml", STORE=store_address(stage))
    stage.until(SET, ".status.phase", "Ready", "the data copied and in the node's cache")
    stage.until(SET, CACHED, lambda cached: cached >= size, "and counted")
    stage.show("get", "sampleset", "-n", SYSTEM)
    stage.show("get", "pods", "-n", SYSTEM)


def manage_data(stage: Stage) -> None:
    """Remove the data, bring it again, empty the cache, and fill it; the set's own table follows each job."""
    whole, count = stage.number(SET, CACHED), stage.number(SET, FILES_COUNTED)
    run_job(stage, "rmr")
    stage.until(SET, FILES_COUNTED, lambda files: files < count, "the data gone from the set")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)
    run_job(stage, "sync", STORE=store_address(stage))
    stage.until(SET, FILES_COUNTED, lambda files: files >= count, "the data in the set again")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)
    run_job(stage, "clear")
    stage.until(SET, CACHED, lambda size: size == 0, "nothing left in the cache")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)
    run_job(stage, "warmup")
    stage.until(SET, CACHED, lambda size: size >= whole, "all of it in the cache again")
    stage.show("get", "sampleset", "imagenet", "-n", SYSTEM)


def run_job(stage: Stage, kind: str, **values: str) -> None:
    """Do it again where an earlier quick start has done it: a SampleJob is carried out once."""
    job = f"samplejob/imagenet-{kind}"
    stage.kubectl.run("delete", job, "--ignore-not-found")
    stage.apply(f"{EXAMPLES}/{kind}-job.yaml", **values)
    stage.until(job, ".status.phase", "Succeeded", f"{kind} by the set's server")
    stage.show("get", "samplejob", f"imagenet-{kind}", "-n", SYSTEM)


def store_address(stage: Stage) -> str:
    return str(stage.kubectl.get("service/store")["spec"]["clusterIP"])


def make_job(stage: Stage) -> None:
    stage.apply(f"{EXAMPLES}/ps-demo.yaml")
    stage.until("paddlejob/ps-demo", ".status.phase", "Running", "a worker on the node that has the data")
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
