"""What is kept of a cluster for whoever wonders why a test failed."""

from pathlib import Path

import pytest

from localkube import diagnostics
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.waiting import wait_until
from support import family, workloads


@pytest.mark.usefixtures("parents_served")
def test_custom_objects_events_and_both_lives_of_a_container_are_kept_and_no_secret(
    kube: Cluster, namespace: Kubectl, tmp_path: Path
) -> None:
    pod = workloads.sleeping_pod("twice", "node-1")
    script = "ls /lived/before && exec sleep infinity; touch /lived/before; echo in its first life; exit 1"
    pod["spec"]["volumes"] = [{"name": "lived", "emptyDir": {}}]
    pod["spec"]["containers"][0] |= {
        "command": ["sh", "-c", script],
        "volumeMounts": [{"name": "lived", "mountPath": "/lived"}],
    }
    namespace.apply(pod, family.parent("ada", namespace.namespace))
    namespace.run("create", "secret", "generic", "hush", "--from-literal=word=PLANTED")

    def lives_again() -> bool:
        (status,) = namespace.get("pod/twice")["status"].get("containerStatuses") or [{}]
        return bool(status.get("ready")) and status["restartCount"] == 1

    wait_until(lives_again, 60, "it does not live again")
    diagnostics.collect(kube, tmp_path)
    kept = tmp_path / namespace.namespace
    assert "ada" in (kept / "objects.yaml").read_text()
    assert "parent.example.org/ada" in (kept / "objects.txt").read_text()
    assert "twice" in (kept / "events.txt").read_text()
    assert "/lived/before" in (kept / "twice.log").read_text()
    assert "in its first life" in (kept / "twice.previous.log").read_text()
    assert (tmp_path / "logs-kube-apiserver.log").exists()
    texts = [path.read_text() for path in kept.rglob("*") if path.is_file()]
    assert not any("UExBTlRFRA" in text or "PLANTED" in text for text in texts)


def test_a_cluster_that_answers_too_slowly_is_not_waited_for(kube: Cluster, tmp_path: Path) -> None:
    diagnostics.collect(kube, tmp_path, seconds=0)
    assert (tmp_path / "nodes.txt").read_text() == "there was no time left to ask\n"
    assert (tmp_path / "nodes-node-1-logs-kubelet.log").read_text() != ""
