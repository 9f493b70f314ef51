"""The manager with exactly the rights that we print for it: it is never told that it may not, and may nothing else."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl, Manifest
from support.managerprogram import ManagerProgram
from support.paddlejobs import ENDLESS, PEERS, Jobs, paddle_job, role

ACCOUNT = "paddle-operator"
# What a manager of training jobs has no business with: verb, group, resource, subresource.
BEYOND = [
    ("get", "", "secrets", ""),
    ("create", "", "pods", "exec"),
    ("patch", "", "pods", ""),
    ("list", "", "nodes", ""),
    ("create", "batch.paddlepaddle.org", "paddlejobs", ""),
    ("patch", "batch.paddlepaddle.org", "samplesets", ""),
    ("create", "scheduling.volcano.sh", "podgroups", ""),
    ("create", "rbac.authorization.k8s.io", "clusterrolebindings", ""),
]


@pytest.fixture
def limited(kube: Cluster, namespace: Kubectl, tmp_path: Path) -> Iterator[Path]:
    """Give a kubeconfig of the account that we print, in the test's namespace."""
    command = Path(sys.executable).with_name("paddle-operator")
    argv = [str(command), "manifests", "rbac", "--controllers=paddlejob", f"--namespace={namespace.namespace}"]
    printed = subprocess.run(argv, capture_output=True, check=True, text=True).stdout
    namespace.run("apply", "--server-side", "-f", "-", stdin=printed)
    content = json.loads(kube.paths.kubeconfig.read_text())
    (user,) = content["users"]
    user["user"] = {"token": namespace.run("create", "token", ACCOUNT).strip()}
    kubeconfig = tmp_path / "limited.kubeconfig"
    kubeconfig.touch(0o600)
    kubeconfig.write_text(json.dumps(content))
    yield kubeconfig
    namespace.run("delete", "clusterrole,clusterrolebinding", ACCOUNT)


def may(namespace: Kubectl, verb: str, group: str, resource: str, part: str) -> bool:
    wanted = {"namespace": namespace.namespace, "verb": verb, "group": group, "resource": resource, "subresource": part}
    review: Manifest = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace.namespace}:{ACCOUNT}",
            "resourceAttributes": {name: value for name, value in wanted.items() if value},
        },
    }
    answer = json.loads(namespace.run("create", "-o", "json", "-f", "-", stdin=json.dumps(review)))
    return bool(answer["status"]["allowed"])


def test_a_manager_does_all_its_work_with_the_rights_that_we_print_and_may_nothing_else(
    kinds_served: Kubectl, operator_image: str, namespace: Kubectl, limited: Path, tmp_path: Path
) -> None:
    del kinds_served
    jobs = Jobs(namespace)
    lease = ("--leader-elect", f"--lease-namespace={namespace.namespace}")
    options = ("--controllers=paddlejob", f"--init-image={operator_image}", *lease)
    manager = ManagerProgram(limited, namespace.namespace, tmp_path / "manager.log", *options)
    manager.start()
    try:
        live_through_everything(jobs)
        assert manager.stop() == 0
    finally:
        manager.kill()
        sys.stdout.write(manager.log.read_text())
    said = manager.log.read_text()
    assert [line for line in said.splitlines() if "orbidden" in line] == []
    assert "lease acquired" in said
    assert [asked for asked in BEYOND if may(namespace, *asked)] == []
    assert may(namespace, "create", "", "pods", "")


def live_through_everything(jobs: Jobs) -> None:
    roles = {"ps": role(1, *PEERS), "worker": role(2, *PEERS)}
    meetings = {"by-name": "", "by-number": "PodIP", "by-service": "Service", "on-hosts": "Host"}
    jobs.submit(*(paddle_job(name, **roles, intranet=intranet) for name, intranet in meetings.items()))
    jobs.submit(
        paddle_job("failing", worker=role(1, "false"), backoffLimit=1),
        paddle_job("edited", worker=role(2, *ENDLESS)),
        paddle_job("passing", worker=role(1, "true"), ttlSecondsAfterFinished=0),
    )
    jobs.until("Running", "edited")
    jobs.edit("edited", worker={"replicas": 1})
    jobs.eventually(lambda: list(jobs.pods("edited")) == ["edited-worker-0"], "it does not shrink")
    jobs.edit("edited", suspend=True)
    jobs.until("Suspended", "edited")
    jobs.delete("edited")
    jobs.until("Completed", *meetings, timeout=150)
    jobs.until("Failed", "failing")
    jobs.eventually(lambda: not {"passing", "edited"} & set(jobs.phases()), "what has ended does not go")
