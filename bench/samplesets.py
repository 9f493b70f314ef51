"""Measures the manager with many SampleSets in several namespaces of a real API server: made at once, and at rest."""

import argparse
import asyncio
import base64
import contextlib
import datetime as dt
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from crews.process import Program, Running, running
from figures import Facts, Findings
from jobstage import ASKED, NAMESPACES, PATIENCE, READS, WRITES, Audience, serve_kinds
from localkube import clusters
from localkube.cluster import Cluster
from localkube.paths import Home
from localkube.progress import Progress
from paddle_operator.api.manifest import Key, Manifest, key_of, labels_of
from paddle_operator.api.names import LABEL_SAMPLESET
from paddle_operator.control.metrics import Metrics
from paddle_operator.controllers.kinds import NODES, SAMPLE_SETS
from paddle_operator.controllers.secrets import SECRETS
from paddle_operator.desired.sampleset.servers import PORT
from paddle_operator.kube import config
from paddle_operator.kube.client import Client
from paddle_operator.kube.request import PODS, Kind, Scope
from paddle_operator.kube.watch import Watch
from support.cachecluster import WELL
from support.fakeruntime import FakeRuntime, Spool
from support.samplesets import sample_set, secret

CLUSTER = "bench-sets"
COMMAND = "PYTHONPATH=tests .venv/bin/python bench/samplesets.py"
LEASES = Kind("coordination.k8s.io", "v1", "leases", "Lease")
OF_SETS = "samplesets|persistentvolumes|persistentvolumeclaims|statefulsets|services|secrets|pods"
OURS = re.compile(rf'\bresource="(?:{OF_SETS})"')
RENEWAL = 5.0
TAIL = 15.0
PREFACE = f"""\
`{COMMAND} --keep` writes this file.

{{sets}} SampleSets of one partition, in {{namespaces}} namespaces, are made together on a real API server. Claims are
bound, pods made and scheduled by Kubernetes itself; the nodes and the runtime servers are pretended, and do at once
what they are told. Writes and reads are what the API server counts for sets, volumes, claims, StatefulSets, Services,
Secrets and pods, by whomever, Kubernetes' own among them. CPU is the manager's. At rest: {{seconds:.0f}} s in which
nobody changes anything.
"""


class Nodes:
    """Nodes that are not there: they are Ready, and a server answers for each pod that is put on them."""

    def __init__(self, client: Client, number: int) -> None:
        self._client = client
        self._names = [f"far-{index}" for index in range(number)]
        self._servers: dict[Key, FakeRuntime] = {}
        self._begun: set[Key] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def make(self) -> None:
        room = {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "capacity": room, "allocatable": room}
        for name in self._names:
            labels = {"kubernetes.io/hostname": name}
            await self._client.create(NODES, {"metadata": {"name": name, "labels": labels}})
            await self._client.patch(NODES, Key("", name), {"status": ready}, subresource="status")
        await self._client.patch(NODES, Key("", "node-1"), {"spec": {"unschedulable": True}})

    async def live(self) -> None:
        """Renew what tells Kubernetes that they live."""
        while True:
            for name in self._names:
                spec = {"holderIdentity": name, "leaseDurationSeconds": 40}
                spec["renewTime"] = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                metadata = {"name": name, "namespace": "kube-node-lease"}
                await self._client.apply(LEASES, {"metadata": metadata, "spec": spec})
            await asyncio.sleep(RENEWAL)

    def replace(self, items: list[Manifest]) -> None:
        for item in items:
            self.put(item)

    def put(self, pod: Manifest) -> None:
        key = key_of(pod)
        if pod["spec"].get("nodeName") in self._names and LABEL_SAMPLESET in labels_of(pod) and key not in self._begun:
            self._begun.add(key)
            task = asyncio.get_running_loop().create_task(self._serve(key, len(self._begun)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def remove(self, pod: Manifest) -> None:
        """Take no notice: pods stay."""

    async def _serve(self, key: Key, number: int) -> None:
        found = await self._client.get(SECRETS, Key(key.namespace, key.name.rpartition("-")[0]))
        token = base64.b64decode(found["data"]["token"]).decode()
        server = self._servers[key] = FakeRuntime(Spool(), lambda: token, dict(WELL))
        server.host, server.port = f"127.9.{number // 250}.{number % 250 + 1}", PORT
        await server.start()
        conditions = [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady", "Initialized")]
        status = {"phase": "Running", "podIP": server.host, "podIPs": [{"ip": server.host}], "conditions": conditions}
        await self._client.patch(PODS, key, {"status": status}, subresource="status")

    async def stop(self) -> None:
        for server in self._servers.values():
            await server.stop()


def manager(kubeconfig: Path) -> Program:
    """Start it as users do, for all namespaces; the last word is where its lease is."""
    argv = (
        str(Path(sys.executable).with_name("paddle-operator")), "manager", "--controllers=sampleset",
        f"--kubeconfig={kubeconfig}", "--metrics-bind-address=0", "--health-probe-bind-address=0",
        "--lease-namespace",
    )  # fmt: skip
    paths = os.pathsep.join(path for path in sys.path if path)
    return Program("manager", argv, {**os.environ, "PYTHONPATH": paths})


def is_ready(manifest: Manifest) -> bool:
    return (manifest.get("status") or {}).get("phase") == "Ready"


@contextlib.asynccontextmanager
async def watched(client: Client, nodes: Nodes) -> AsyncIterator[Audience]:
    ready = Audience(is_ready)
    tasks = [asyncio.create_task(nodes.live())]
    for kind, audience in ((SAMPLE_SETS, ready), (PODS, nodes)):
        tasks.append(asyncio.create_task(Watch(client, Scope(kind), audience, Metrics()).run()))
    try:
        yield ready
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await nodes.stop()


class Bench:
    def __init__(self, cluster: Cluster, asked: argparse.Namespace, progress: Progress) -> None:
        self._cluster, self._asked, self._progress = cluster, asked, progress

    def _counted(self, verbs: re.Pattern[str]) -> int:
        told = ASKED.findall(self._cluster.api.request("GET", "/metrics"))
        return sum(int(float(number)) for labels, number in told if verbs.search(labels) and OURS.search(labels))

    async def run(self, log: Path) -> Facts:
        kubeconfig = self._cluster.paths.kubeconfig
        async with Client(config.load(str(kubeconfig)), "bench") as client:
            await serve_kinds(client)
            nodes = Nodes(client, self._asked.namespaces)
            await nodes.make()
            spaces = [f"team-{number}" for number in range(self._asked.namespaces)]
            for namespace in spaces:
                await client.create(NAMESPACES, {"metadata": {"name": namespace}})
                await client.create(SECRETS, secret(namespace))
            async with watched(client, nodes) as ready, running(manager(kubeconfig), "default", log) as process:
                return await self._measure(client, spaces, ready, process)

    async def _measure(self, client: Client, spaces: list[str], ready: Audience, process: Running) -> Facts:
        each = self._asked.sets // len(spaces)
        keys = {Key(namespace, f"set-{number}") for namespace in spaces for number in range(each)}
        writes, begun = self._counted(WRITES), time.monotonic()
        with self._progress.step(f"{len(keys)} sets at once"):
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*(client.create(SAMPLE_SETS, named(key)) for key in keys))
                last = await ready.seen.last_of(keys) - begun
        await asyncio.sleep(TAIL)
        made, cpu, peak = self._counted(WRITES), process.cpu, process.peak
        reads = self._counted(READS)
        with self._progress.step("at rest"):
            await asyncio.sleep(self._asked.seconds)
        return {
            "at once: to the last Ready": f"{last:.1f} s",
            "at once: writes per set": f"{(made - writes) / len(keys):.1f}",
            "at once: CPU": f"{cpu:.1f} s",
            "at once: peak memory": f"{peak:.0f} MB",
            "at rest: writes": str(self._counted(WRITES) - made),
            "at rest: reads": str(self._counted(READS) - reads),
            "at rest: CPU": f"{(process.cpu - cpu) / self._asked.seconds * 100:.1f} % of a core",
        }


def named(key: Key) -> Manifest:
    made = sample_set(key.namespace)
    return {**made, "metadata": {"name": key.name, "namespace": key.namespace}}


def measure(asked: argparse.Namespace, progress: Progress) -> Facts:
    home = Home.from_environment()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        try:
            cluster = clusters.up(home, clusters.Request(CLUSTER, nodes=1), progress, replace_other=True)
            return asyncio.run(Bench(cluster, asked, progress).run(asked.log or Path(scratch) / "manager.log"))
        finally:
            clusters.down(home, CLUSTER, progress)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, epilog=f"Run it as {COMMAND}; it takes about 2 minutes.")
    parser.add_argument("--sets", type=int, default=100, help="how many sets are made at once (100)")
    parser.add_argument("--namespaces", type=int, default=10, help="in how many namespaces, and on how many nodes (10)")
    parser.add_argument("--seconds", type=float, default=60.0, help="seconds over which the rest is measured (60)")
    parser.add_argument("--log", type=Path, default=None, help="where the manager's log is kept")
    parser.add_argument("--keep", action="store_true", help="write the results to bench/results")
    asked = parser.parse_args()
    # Ended from outside, it still takes its cluster and its manager with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    found = Findings.of(measure(asked, Progress()))
    found.show()
    if asked.keep:
        found.keep("samplesets", "What many SampleSets take", PREFACE.format(**vars(asked)))


if __name__ == "__main__":
    main()
