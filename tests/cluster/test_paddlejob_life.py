"""The life of PaddleJobs in real pods: ends, restarts, deadlines, suspension, edits, deletion."""

import pytest

from localkube.kubectl import Kubectl, Manifest
from support import workloads
from support.paddlejobs import ENDLESS, Jobs, paddle_job, role

WELL, BADLY = ("true",), ("sh", "-c", "exit 3")
# By policy: whether the pods go when the job has ended well, and when it has failed.
CLEANED = {
    "": (True, False),
    "Always": (True, True),
    "Never": (False, False),
    "OnFailure": (False, True),
    "OnCompletion": (True, False),
}


def by_attempt(replicas: int, script: str) -> Manifest:
    """Give workers that know how often their job was started anew."""
    made = role(replicas, "sh", "-c", script)
    source = {"fieldRef": {"fieldPath": "metadata.annotations['batch.paddlepaddle.org/attempt']"}}
    made["template"]["spec"]["containers"][0]["env"] = [{"name": "ATTEMPT", "valueFrom": source}]
    return made


def test_pods_stay_or_go_as_the_policy_says(jobs: Jobs) -> None:
    wanted = [
        (f"{policy.lower() or 'default'}-{end}", policy, command, gone[number])
        for policy, gone in CLEANED.items()
        for number, (end, command) in enumerate({"well": WELL, "badly": BADLY}.items())
    ]
    jobs.submit(
        *(paddle_job(name, worker=role(1, *command), cleanPodPolicy=policy) for name, policy, command, _ in wanted)
    )
    jobs.until("Completed", *(name for name, *_ in wanted if name.endswith("-well")))
    jobs.until("Failed", *(name for name, *_ in wanted if name.endswith("-badly")))
    stay = sorted(f"{name}-worker-0" for name, _, _, gone in wanted if not gone)
    jobs.eventually(lambda: sorted(jobs.pods()) == stay, f"others stay than {stay}")
    assert jobs.why("never-badly", "Failed") == (
        "PodFailed: never-badly-worker-0 failed: container main ended with 3 (Error)"
    )


def test_a_job_starts_anew_as_a_whole_and_not_too_often(namespace: Kubectl, jobs: Jobs) -> None:
    first = '[ "$ATTEMPT" = 0 ] || exit 0; [ "$PADDLE_TRAINER_ID" = 0 ] && exit 7; sleep infinity'
    jobs.submit(
        paddle_job("second-try", worker=by_attempt(2, first), backoffLimit=3, cleanPodPolicy="Never"),
        paddle_job("hopeless", worker=by_attempt(1, "exit 9"), backoffLimit=1),
        paddle_job("slow", worker=role(1, *ENDLESS), activeDeadlineSeconds=2),
        paddle_job("passing", worker=role(1, "true"), ttlSecondsAfterFinished=1),
    )
    jobs.until("Completed", "second-try")
    assert jobs.status("second-try")["restarts"] == 1
    attempts = [pod["metadata"]["annotations"] for pod in jobs.pods("second-try").values()]
    assert [found["batch.paddlepaddle.org/attempt"] for found in attempts] == ["1", "1"]
    events = namespace.run("get", "events", "--field-selector=involvedObject.name=second-try")
    assert "second-try-worker-0 failed: container main ended with 7" in events
    jobs.until("Failed", "hopeless", "slow")
    assert jobs.why("hopeless", "Failed").startswith("BackoffLimitExceeded: hopeless-worker-0 failed")
    assert jobs.why("slow", "Failed").startswith("DeadlineExceeded: ")
    jobs.eventually(lambda: not jobs.pods("slow"), "a pod runs beyond the deadline")
    jobs.eventually(lambda: "passing" not in jobs.phases(), "the job outlives its time")


def test_a_live_job_is_suspended_scaled_and_changed(jobs: Jobs) -> None:
    jobs.submit(paddle_job("live", ps=role(1, *ENDLESS), worker=role(1, *ENDLESS), suspend=True))
    jobs.until("Suspended", "live")
    assert jobs.pods("live") == {}
    jobs.edit("live", suspend=False)
    jobs.until("Running", "live")
    first = jobs.uids("live")
    jobs.edit("live", worker=role(2, *ENDLESS))
    jobs.eventually(lambda: len(jobs.uids("live") - first) == 3, "not all are made anew for a third")
    jobs.until("Running", "live")
    second = jobs.uids("live")
    assert jobs.kubectl.get("configmap/live")["data"]["PADDLE_TRAINERS_NUM"] == "2"
    changed = role(2, *ENDLESS)
    changed["template"]["spec"]["containers"][0]["env"] = [{"name": "LESSON", "value": "two"}]
    jobs.edit("live", worker=changed)
    jobs.eventually(lambda: len(jobs.uids("live") - first - second) == 3, "the new template is not used")
    jobs.until("Running", "live")
    assert "restarts" not in jobs.status("live")
    jobs.edit("live", suspend=True)
    jobs.until("Suspended", "live")
    jobs.eventually(lambda: jobs.pods("live") == {}, "pods of a suspended job run on")


def test_a_worker_that_has_ended_well_is_not_run_again(jobs: Jobs) -> None:
    # In a pod's own memory: without a cluster, /tmp is the machine's.
    script = '[ "$PADDLE_TRAINER_ID" = 0 ] || while [ ! -e /dev/shm/end ]; do sleep 0.2; done'
    jobs.submit(paddle_job("uneven", worker=role(2, "sh", "-c", script)))
    jobs.eventually(lambda: jobs.status("uneven").get("worker", {}).get("succeeded") == 1, "nobody ends")
    jobs.kubectl.run("delete", "pod/uneven-worker-0", "--force")
    jobs.until("Running", "uneven")
    jobs.let_end("uneven-worker-1", "/dev/shm/end")
    jobs.until("Completed", "uneven")
    assert jobs.status("uneven")["worker"]["succeeded"] == 2
    assert "restarts" not in jobs.status("uneven")


def test_a_worker_that_begins_when_another_has_ended_does_not_wait_for_it(jobs: Jobs) -> None:
    late = workloads.container("sh", "-c", '[ "$(hostname)" = early-worker-0 ] || sleep 4', name="late")
    template = {"spec": workloads.pod_spec("true", initContainers=[late])}
    jobs.submit(paddle_job("early", worker={"replicas": 2, "template": template}))
    jobs.until("Completed", "early")
    assert "restarts" not in jobs.status("early")


@pytest.mark.usefixtures("kinds_collected")
def test_deleted_at_any_moment_a_job_leaves_nothing(jobs: Jobs) -> None:
    names = [f"early-{number}" for number in range(3)]
    roles = {"ps": role(1, *ENDLESS), "worker": role(1, *ENDLESS)}
    for name, how in zip(names, ("background", "foreground", "background"), strict=True):
        jobs.submit(paddle_job(name, **roles))
        jobs.kubectl.run("delete", f"pdj/{name}", f"--cascade={how}", "--wait=false")
    jobs.submit(*(paddle_job(name, **roles) for name in ("making", "running", "kept")))
    jobs.eventually(lambda: bool(jobs.pods("making")), "no pod is made")
    jobs.delete("making")
    jobs.until("Running", "running", "kept")
    jobs.delete("running")
    jobs.submit(paddle_job("running", **roles))
    jobs.until("Running", "running")
    jobs.delete("running", "kept")
    jobs.eventually(lambda: jobs.left() == [], "something is left")
    assert jobs.phases() == {}
