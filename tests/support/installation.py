"""What an installation is made of, as it is seen in a cluster: the managers, and what is left when they are gone."""

from localkube.kubectl import Kubectl
from support.paddlejobs import Jobs, paddle_job, role
from support.samplesets import sample_set, secret

MANAGERS = (
    *("paddle-controller-manager", "paddle-sampleset-manager", "paddle-samplejob-manager"),
    "paddle-training-manager",
)
# All that an installation makes outside of namespaces, and the namespaces themselves.
KINDS = "namespaces,clusterroles,clusterrolebindings,csidrivers,customresourcedefinitions"
# What it makes in namespaces.
INSIDE = "deployments,daemonsets,pods,serviceaccounts,roles,rolebindings"
HANDED_ON = "PADDLE_OPERATOR_IMAGE"
OURS = "--selector=app.kubernetes.io/part-of=paddle-operator"
# Those of other tests are not ours, nor what Kubernetes has by itself.
NAMES = ("paddle-", "csi.juicefs.com", "batch.paddlepaddle.org", "kubedl.io")


def left(kubectl: Kubectl, *words: str) -> list[str]:
    """Name what is in no namespace and has one of these words, or of ours, in its name."""
    names = kubectl.run("get", KINDS, "-o", "name").split()
    return [name for name in names if any(word in name.partition("/")[2] for word in words or NAMES)]


def left_inside(kubectl: Kubectl) -> list[str]:
    """Name what is in any namespace and is labelled as ours; what was made for users' objects is not."""
    return kubectl.run("get", INSIDE, OURS, "--all-namespaces", "-o", "name").split()


def images(home: Kubectl) -> set[str]:
    """Name the images of all our pods there, and those that they are told to make further pods of."""
    containers = [part for pod in home.items("pods", OURS) for part in pod["spec"]["containers"]]
    handed_on = [one["value"] for part in containers for one in part.get("env", []) if one["name"] == HANDED_ON]
    return {*handed_on, *(part["image"] for part in containers)}


def check_managers(home: Kubectl) -> None:
    """See that they were never told that they may not, and never had to be started again."""
    pods = home.items("pods", OURS)
    assert [again for pod in pods for again in pod["status"]["containerStatuses"] if again["restartCount"]] == []
    for manager in MANAGERS:
        said = home.run("logs", f"deployment/{manager}", "--tail=-1")
        assert "lease acquired" in said
        assert [line for line in said.splitlines() if "orbidden" in line] == []


def run_a_job(watched: Kubectl) -> None:
    jobs = Jobs(watched)
    jobs.submit(paddle_job("single", worker=role(1, "true")))
    jobs.until("Completed", "single")
    watched.run("delete", "pdj/single", "--wait")


def begin_a_set(watched: Kubectl) -> None:
    """Have a data set begin and end; its servers find no Redis, and need not."""
    watched.apply({"apiVersion": "v1", "kind": "Secret", **secret(watched.namespace)}, sample_set(watched.namespace))
    watched.wait("jsonpath={.status.phase}=Bound", "sampleset/imagenet")
    watched.wait("create", "pod/imagenet-runtime-0")
    watched.run("delete", "samplesets", "--all", "--wait")
