"""Whatever dies, PaddleJobs end as their policy says: pods, a node, the manager again and again, the API server."""

import os
import random
import secrets
import sys
import time

from localkube import faults
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest
from localkube.node import Node
from support.managerprogram import ManagerProgram
from support.paddlejobs import ENDLESS, PEERS, Jobs, paddle_job, role

from .conftest import Begin

# A new one each time finds more; KILL_SEED repeats one, as far as time can be repeated.
SEED = int(os.environ.get("KILL_SEED") or secrets.randbelow(1_000_000))
KILLS = 10
LONGEST_LIFE = 2.0
UNTIL_TOLD = ("sh", "-c", "while [ ! -e /tmp/end ]; do sleep 0.2; done")


def leaving_at_once(of: Manifest, rather: str) -> Manifest:
    """Let pods of a role run rather on this node, and be deleted when it is silent, which only it could confirm."""
    wanted = {"key": "kubernetes.io/hostname", "operator": "In", "values": [rather]}
    term = {"weight": 100, "preference": {"matchExpressions": [wanted]}}
    of["template"]["spec"] |= {
        "terminationGracePeriodSeconds": 1,
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}},
        "tolerations": [
            {"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
            for taint in ("not-ready", "unreachable")
        ],
    }
    return of


def on(node: str, of: Manifest) -> Manifest:
    of["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return of


def kill_again_and_again(manager: ManagerProgram, api_server: faults.Component) -> None:
    chance = random.Random(SEED)  # noqa: S311 to be repeated, not to be secret
    for number in range(1, KILLS + 1):
        life = chance.uniform(0.0, LONGEST_LIFE)
        time.sleep(life)  # this is no waiting for anything: it is how long it lives
        sys.stdout.write(f"KILL_SEED={SEED} life {number} ended after {life:.3f} s\n")
        assert manager.alive
        manager.kill()
        manager.start()
        if number == KILLS // 2:
            api_server.kill()


def test_whatever_dies_jobs_end_as_their_policy_says(
    kube: Cluster, namespace: Kubectl, begin: Begin, victim: Node
) -> None:
    jobs = Jobs(namespace)
    manager = begin()
    jobs.submit(
        paddle_job(
            "moving", ps=on("node-1", role(1, *ENDLESS)), worker=leaving_at_once(role(1, *UNTIL_TOLD), victim.name)
        )
    )
    jobs.until("Running", "moving")
    assert jobs.pods("moving")["moving-worker-0"]["spec"]["nodeName"] == victim.name
    server = jobs.pods("moving")["moving-ps-0"]["metadata"]["uid"]
    victim.kill()
    meetings = [f"meeting-{number}" for number in range(3)]
    nodes = ("node-1", "node-2", "node-1")
    jobs.submit(
        *(
            paddle_job(name, ps=on(node, role(1, *PEERS)), worker=on("node-2", role(2, *PEERS)), cleanPodPolicy="Never")
            for name, node in zip(meetings, nodes, strict=True)
        ),
        paddle_job("failing", worker=on("node-1", role(2, "sh", "-c", "exit 4")), backoffLimit=1),
        paddle_job("numbered", worker=on("node-2", role(2, *PEERS)), intranet="PodIP"),
    )
    kill_again_and_again(manager, faults.component(kube, "kube-apiserver"))
    jobs.until("Completed", *meetings, "numbered")
    jobs.until("Failed", "failing")
    assert jobs.status("failing")["restarts"] == 1
    assert {name: jobs.status(name).get("restarts", 0) for name in meetings} == dict.fromkeys(meetings, 0)
    wanted = sorted(f"{name}-worker-{number}" for name in meetings for number in range(2))
    jobs.eventually(lambda: [name for name in sorted(jobs.pods()) if "meeting" in name] == wanted, "others are there")

    def has_moved() -> bool:
        pod = jobs.pods("moving").get("moving-worker-0")
        return pod is not None and pod["spec"].get("nodeName") not in (None, victim.name)

    jobs.eventually(has_moved, "the dead node keeps its pod", timeout=120)
    jobs.until("Running", "moving")
    assert jobs.pods("moving")["moving-ps-0"]["metadata"]["uid"] == server
    assert f"deleted kind=Pod key={namespace.namespace}/moving-worker-0\n" in manager.log.read_text()
    jobs.let_end("moving-worker-0", "/tmp/end")
    jobs.until("Completed", "moving")
    assert manager.alive


def test_a_killed_pod_comes_back_and_the_others_do_not_notice(jobs: Jobs) -> None:
    jobs.submit(paddle_job("steady", ps=role(1, *ENDLESS), worker=role(2, *ENDLESS)))
    jobs.until("Running", "steady")
    before = {name: pod["metadata"]["uid"] for name, pod in jobs.pods("steady").items()}
    jobs.kubectl.run("delete", "pod/steady-worker-0", "--wait=false")
    jobs.eventually(lambda: len(jobs.uids("steady") - set(before.values())) == 1, "none comes in its place")
    jobs.until("Running", "steady")
    after = {name: pod["metadata"]["uid"] for name, pod in jobs.pods("steady").items()}
    assert {name for name in before if before[name] != after[name]} == {"steady-worker-0"}
    resolve = ("python3", "/opt/testbox/resolve.py", "steady-worker-0.steady")
    jobs.eventually(lambda: jobs.kubectl.execute("steady-worker-1", *resolve) is not None, "the new one is not found")
