"""Our definitions on a real API server: what it takes, keeps and refuses, and what it says then."""

import json
import re
from pathlib import Path

import pytest

from localkube import errors
from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from support.manifests import NAMES, Manifest, changed, circulating
from support.refusals import ALLOWED_EDITS, FROZEN_EDITS, REFUSED, Edit

DEFINITIONS = Path(__file__).parents[2] / "deploy/v1/crd.yaml"
KINDS = ("paddlejobs", "samplesets", "samplejobs", "cachebackends", "tfjobs", "pytorchjobs")


@pytest.fixture(scope="module", autouse=True)
def cluster(kube: Cluster) -> Kubectl:
    """Give the cluster's kubectl once the API server serves our kinds."""
    kubectl = Kubectl.of(kube)
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", str(DEFINITIONS))
    kubectl.run("wait", "--for=condition=Established", "--timeout=60s", "-f", str(DEFINITIONS))
    return kubectl


def create(kubectl: Kubectl, manifest: Manifest, *words: str) -> Manifest:
    """Create it with the strictest field validation, so that a field that would be pruned is an error."""
    argv = ("create", "--validate=strict", "-o", "json", "-f", "-", *words)
    made: Manifest = json.loads(kubectl.run(*argv, stdin=json.dumps(manifest)))
    return made


def edited(kubectl: Kubectl, edit: Edit) -> str:
    """Create what is edited, with its status, then edit it as a user does."""
    manifest = circulating(edit.of)
    made = create(kubectl, manifest)
    resource = f"{made['kind'].lower()}/{made['metadata']['name']}"
    if edit.status:
        status = json.dumps({"status": edit.status})
        kubectl.run("patch", resource, "--subresource=status", "--type=merge", f"--patch={status}")
    return kubectl.run("replace", "-f", "-", stdin=json.dumps(changed(manifest, edit.changes)))


def lost(before: object, after: object) -> bool:
    """Tell whether something of the one is not in the other; what is added is no loss."""
    if isinstance(before, dict):
        return not isinstance(after, dict) or any(lost(before[key], after.get(key)) for key in before)
    if isinstance(before, list):
        return not isinstance(after, list) or len(before) != len(after) or any(map(lost, before, after))
    return before != after


def test_there_is_no_complaint_about_the_definitions(cluster: Kubectl) -> None:
    for definition in cluster.items("crd"):
        if definition["spec"]["names"]["plural"] in KINDS:
            conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
            assert conditions == {"NamesAccepted": "True", "Established": "True"}


@pytest.mark.parametrize("name", NAMES)
def test_what_users_have_is_taken_and_kept_with_nothing_lost(namespace: Kubectl, name: str) -> None:
    manifest = circulating(name)
    create(namespace, manifest)
    kept = namespace.get(manifest["kind"], manifest["metadata"]["name"])
    assert not lost(manifest, kept), kept["spec"]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_kept_is_taken_again(namespace: Kubectl, name: str) -> None:
    made = create(namespace, circulating(name))
    namespace.apply({**made, "metadata": {"name": made["metadata"]["name"]}})
    kept = namespace.get(made["kind"], made["metadata"]["name"])
    assert kept["spec"] == made["spec"]
    assert kept["metadata"]["generation"] == 1


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_cannot_work_is_refused_in_words(cluster: Kubectl, wrong: str) -> None:
    name, changes, message = REFUSED[wrong]
    with pytest.raises(errors.CommandFailedError) as refusal:
        create(cluster, changed(circulating(name), changes), "--dry-run=server")
    assert message in refusal.value.output.replace('\\"', '"')


def test_enough_is_refused() -> None:
    assert len(REFUSED) >= 60


@pytest.mark.parametrize("edit", FROZEN_EDITS)
def test_what_cannot_change_any_more_does_not(namespace: Kubectl, edit: str) -> None:
    with pytest.raises(errors.CommandFailedError) as refusal:
        edited(namespace, FROZEN_EDITS[edit])
    assert FROZEN_EDITS[edit].message in refusal.value.output


@pytest.mark.parametrize("edit", ALLOWED_EDITS)
def test_what_can_change_does(namespace: Kubectl, edit: str) -> None:
    assert edited(namespace, ALLOWED_EDITS[edit]).strip().endswith("replaced")


@pytest.mark.parametrize(
    ("name", "status", "header", "row"),
    [
        (
            "SampleSet/imagenet",
            {
                "phase": "Ready",
                "cacheStatus": {"totalSize": "58 MiB", "cachedSize": "200 B", "diskAvail": "12 GiB"},
                "runtimeStatus": {"runtimeReady": "1/1"},
            },
            "NAME       TOTAL SIZE   CACHED SIZE   AVAIL SPACE   RUNTIME   PHASE   AGE",
            "imagenet   58 MiB       200 B         12 GiB        1/1       Ready   ",
        ),
        ("SampleJob/imagenet-rmr", {"phase": "Succeeded"}, "NAME           PHASE", "imagenet-rmr   Succeeded"),
        (
            "PaddleJob/ps-demo",
            {"phase": "Running", "mode": "PS"},
            "NAME      STATUS    MODE   AGE",
            "ps-demo   Running   PS     ",
        ),
        (
            "CacheBackend/test-cachebackend",
            {"jobName": "tf-cache", "cacheStatus": "PVCCreating"},
            "NAME                JOB-NAME   CACHE-STATUS   AGE",
            "test-cachebackend   tf-cache   PVCCreating    ",
        ),
    ],
)
def test_kubectl_get_shows_the_table_that_users_know(
    namespace: Kubectl, name: str, status: Manifest, header: str, row: str
) -> None:
    made = create(namespace, circulating(name))
    resource = f"{made['kind'].lower()}/{made['metadata']['name']}"
    namespace.run(
        "patch", resource, "--subresource=status", "--type=merge", f"--patch={json.dumps({'status': status})}"
    )
    lines = namespace.run("get", made["kind"]).splitlines()
    assert lines[0].rstrip() == header
    assert lines[1].startswith(row)


def test_wide_tables_show_the_newer_columns(namespace: Kubectl) -> None:
    create(namespace, circulating("CacheBackend/test-cachebackend"))
    assert re.split(r"\s{2,}", namespace.run("get", "cachebackend", "-o", "wide").splitlines()[0].strip()) == [
        "NAME",
        "JOB-NAME",
        "CACHE-STATUS",
        "AGE",
        "ENGINE",
        "USED-NUM",
        "LAST-USED-TIME",
    ]


def test_the_short_name_of_a_paddlejob_is_known(namespace: Kubectl) -> None:
    create(namespace, circulating("PaddleJob/resnet"))
    assert namespace.get("pdj/resnet")["kind"] == "PaddleJob"


def test_the_api_server_writes_the_defaults(namespace: Kubectl) -> None:
    job = create(namespace, changed(circulating("SampleJob/imagenet-warmup"), {"spec.warmupOptions": {}}))
    assert job["spec"]["warmupOptions"] == {"strategyName": "sequence"}
    made = create(namespace, changed(circulating("SampleSet/imagenet"), {"spec.csi": {}}))
    assert made["spec"]["csi"] == {"driver": "juicefs"}


def test_a_status_is_written_by_its_own_way_only(namespace: Kubectl) -> None:
    made = create(namespace, changed(circulating("SampleSet/imagenet"), {"status": {"phase": "Ready"}}))
    assert "status" not in made


def test_kubectl_explain_reads_well(cluster: Kubectl) -> None:
    told = cluster.run("explain", "sampleset.spec")
    assert "The data set that is wanted." in told
    assert re.search(r"partitions\s+<integer> -required-\n\s+How many nodes cache the data, each a part of it\.", told)
    fields = re.findall(r"^  (\w+)\t", told, re.MULTILINE)
    assert {"cache", "csi", "noSync", "partitions", "secretRef", "source", "sources", "tolerations"} <= set(fields)
    assert "<no description>" not in told
