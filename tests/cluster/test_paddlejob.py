"""PaddleJobs in real pods: every mode and every kind of address, order, quotas, and jobs that cannot work."""

from localkube.kubectl import Kubectl, Manifest
from support import workloads
from support.manifests import changed
from support.paddlejobs import ENDLESS, PEERS, Jobs, paddle_job, role

from .conftest import Begin

# By name: which pods meet, and how. A pod that finds another than it was told fails, and its job with it.
MEETINGS: dict[str, Manifest] = {
    "servers": {"ps": role(2, *PEERS), "worker": role(2, *PEERS), "withGloo": 1, "cleanPodPolicy": "Never"},
    "two": {"worker": role(2, *PEERS), "cleanPodPolicy": "Never"},
    "four": {"worker": role(4, *PEERS)},
    "single": {"worker": role(1, *PEERS)},
    "heter": {"ps": role(1, *PEERS), "worker": role(1, *PEERS), "heter": role(1, *PEERS)},
    "by-number": {"ps": role(1, *PEERS), "worker": role(2, *PEERS), "intranet": "PodIP"},
    "by-service": {"ps": role(1, *PEERS), "worker": role(2, *PEERS), "intranet": "Service", "withGloo": 2},
    "on-hosts": {"ps": role(1, *PEERS), "worker": role(2, *PEERS), "intranet": "Host"},
    "also-on-hosts": {"worker": role(2, *PEERS), "intranet": "Host"},
}
MODES = {
    "servers": "PS", "two": "Collective", "four": "Collective", "single": "Single", "heter": "PS", "by-number": "PS",
    "by-service": "PS", "on-hosts": "PS", "also-on-hosts": "Collective",
}  # fmt: skip
SMALL = {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}}
TEMPLATE = "spec.worker.template.spec"
SIMPLE = paddle_job("simple", worker=role(1, *ENDLESS))
# Jobs that the API server lets in: what is wrong, and what is said of it.
CANNOT_WORK: dict[str, tuple[Manifest, str]] = {
    "no-volume": (
        {f"{TEMPLATE}.containers.0.volumeMounts": [{"name": "nowhere", "mountPath": "/data"}]},
        'spec.containers[0].volumeMounts[0].name: Not found: "nowhere"',
    ),
    "no-priority": ({f"{TEMPLATE}.priorityClassName": "nowhere"}, "no PriorityClass with name nowhere was found"),
    "no-data": (
        {"spec.sampleSetRef": {"name": "nowhere", "mountPath": "/data"}},
        "WaitingForData: there is no SampleSet nowhere in namespace ",
    ),
    "no-etcd": ({"spec.elastic": 1}, "NoEtcdServer: an elastic job needs etcd"),
}
# Those that only several nodes and their ports show.
NO_PLACE: dict[str, tuple[Manifest, str]] = {
    "no-port": ({"spec.intranet": "Host"}, "NoHostPort: all host ports from 40000 to 40039 are taken by other jobs"),
    "no-node": (
        {f"{TEMPLATE}.nodeSelector": {"nowhere": "at-all"}},
        "PodsPending: 1 of 1 pods do not run yet; no-node-worker-0: 0/3 nodes are available",
    ),
}


def quota(**hard: str) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota"},
        "spec": {"hard": {"requests.cpu": "1", "requests.memory": "1Gi", "limits.cpu": "4", **hard}},
    }


def limited(replicas: int, *command: str, **fields: object) -> Manifest:
    made = role(replicas, *command)
    made["template"]["spec"]["containers"][0] |= {"resources": SMALL, **fields}
    return made


def event_reasons(kubectl: Kubectl, name: str) -> list[str]:
    found = kubectl.items("events", f"--field-selector=involvedObject.name={name},involvedObject.kind=PaddleJob")
    return [event["reason"] for event in sorted(found, key=lambda event: event["metadata"]["creationTimestamp"])]


def test_pods_of_every_mode_find_each_other_at_every_kind_of_address(namespace: Kubectl, jobs: Jobs) -> None:
    jobs.submit(*(paddle_job(name, **spec) for name, spec in MEETINGS.items()))
    jobs.until("Completed", *MEETINGS, timeout=240)
    assert {name: jobs.status(name)["mode"] for name in MEETINGS} == MODES
    # The workers' success has stopped the parameter servers; what has ended stays, and its logs with it.
    jobs.eventually(lambda: sorted(jobs.pods("servers")) == ["servers-worker-0", "servers-worker-1"], "servers run on")
    assert namespace.run("logs", "servers-worker-1", "--container=main") == "TRAINER 1 met 4\n"
    assert namespace.run("logs", "two-worker-0", "--container=main") == "TRAINER 0 met 2\n"
    jobs.eventually(lambda: "Completed" in event_reasons(namespace, "four"), "no event tells of the end")
    on_hosts = [namespace.get(f"pdj/{name}")["metadata"] for name in MEETINGS if name.endswith("on-hosts")]
    assert len({found["annotations"]["host-port"] for found in on_hosts}) == 2
    kept = {"servers", "two"}
    jobs.eventually(lambda: {name.rpartition("-worker-")[0] for name in jobs.pods()} == kept, "others have pods")


def waiting_for_its_server() -> Manifest:
    """Give a job whose server is ready when it is told so, in a pod's own memory: without a cluster, /tmp is shared."""
    is_ready = {"exec": {"command": ["test", "-e", "/dev/shm/ready"]}, "periodSeconds": 1}
    return paddle_job("waiting", ps=limited(1, *ENDLESS, readinessProbe=is_ready), worker=limited(2, *ENDLESS))


def is_started(pod: Manifest) -> bool:
    return any(container.get("started") for container in pod["status"].get("containerStatuses", []))


def test_workers_wait_for_ready_servers(namespace: Kubectl, jobs: Jobs) -> None:
    jobs.submit(waiting_for_its_server())
    jobs.eventually(lambda: jobs.status("waiting").get("worker", {}).get("starting") == 2, "the workers do not wait")
    jobs.until("Starting", "waiting")
    assert jobs.why("waiting", "Stalled") == ""
    # Its own init container comes first.
    jobs.eventually(lambda: is_started(jobs.pods()["waiting-ps-0"]), "the server does not start")
    namespace.execute("waiting-ps-0", "touch", "/dev/shm/ready")
    jobs.until("Running", "waiting")
    table = namespace.run("get", "pdj").splitlines()
    assert table[0] == "NAME      STATUS    MODE   AGE"
    assert table[1].startswith("waiting   Running   PS     ")
    jobs.eventually(lambda: event_reasons(namespace, "waiting") == ["Running"], "no event tells of the beginning")


def test_quotas_hold_nobody_up_for_ever(namespace: Kubectl, begin: Begin) -> None:
    jobs = Jobs(namespace)
    namespace.apply(quota(pods="2"))
    manager = begin()
    jobs.submit(paddle_job("crowd", worker=limited(3, *ENDLESS)))
    jobs.eventually(lambda: "exceeded quota: quota" in jobs.why("crowd", "Stalled"), "the quota is not told of")
    assert jobs.why("crowd", "Stalled").startswith("Forbidden: ")
    namespace.apply(quota(pods="3"))
    jobs.until("Running", "crowd")
    assert jobs.why("crowd", "Stalled") == ""
    assert manager.alive


def say_why(jobs: Jobs, faulty: dict[str, tuple[Manifest, str]]) -> None:
    """Submit jobs that cannot work, and a good one, and wait for what is said of each."""
    jobs.submit(*(changed(SIMPLE, {"metadata.name": name, **change}) for name, (change, _) in faulty.items()))
    jobs.submit(paddle_job("good", worker=role(1, "true")))
    jobs.until("Completed", "good")
    for name, (_, words) in faulty.items():
        jobs.eventually(lambda: words in f"{jobs.why(name)} {jobs.why(name, 'Stalled')}", f"{name} does not say so")  # noqa: B023 asked at once


def test_jobs_that_cannot_work_say_why_and_others_go_on(jobs: Jobs) -> None:
    say_why(jobs, CANNOT_WORK)
    jobs.edit("no-volume", worker={"template": {"spec": workloads.pod_spec(*ENDLESS)}})
    jobs.until("Running", "no-volume")


def test_jobs_that_find_no_place_say_why_and_others_go_on(namespace: Kubectl, begin: Begin) -> None:
    jobs = Jobs(namespace)
    manager = begin("--port-range=40000,40039")
    jobs.submit(changed(SIMPLE, {"metadata.name": "on-hosts", "spec.intranet": "Host"}))
    jobs.until("Running", "on-hosts")
    # Four pods of one job have the same ports, and there are three nodes.
    jobs.submit(paddle_job("crowded", worker=role(4, *ENDLESS), intranet="Host"))
    jobs.eventually(lambda: "didn't have free ports" in jobs.why("crowded"), "it does not say that ports are taken")
    say_why(jobs, NO_PLACE)
    jobs.edit("no-node", worker={"template": {"spec": {"nodeSelector": None}}}, activeDeadlineSeconds=600)
    jobs.until("Running", "no-node")
    jobs.delete("on-hosts")
    jobs.until("Running", "no-port")
    assert manager.alive


def test_a_manager_started_again_writes_nothing(namespace: Kubectl, begin: Begin) -> None:
    jobs = Jobs(namespace)
    manager = begin()
    wanted = {"plain": "", "by-number": "PodIP", "by-service": "Service", "on-hosts": "Host"}
    roles = {"ps": role(1, *ENDLESS), "worker": role(1, *ENDLESS)}
    jobs.submit(*(paddle_job(name, **roles, intranet=intranet) for name, intranet in wanted.items()))
    jobs.submit(paddle_job("ended", worker=role(1, "true"), cleanPodPolicy="Never"))
    jobs.until("Running", *wanted)
    jobs.until("Completed", "ended")
    assert manager.stop() == 0
    before = jobs.versions()
    second = begin()
    jobs.submit(paddle_job("marker", worker=role(1, "true"), cleanPodPolicy="Never"))
    jobs.until("Completed", "marker")
    after = jobs.versions()
    assert {name: after[name] for name in before} == before
    said = second.log.read_text()
    assert [line for line in said.splitlines() if "kind=" in line and "marker" not in line] == []
