"""Our definitions in the hands of kubectl: tables, short names and explanations."""

import json
import re

import pytest

from localkube.kubectl import Kubectl
from support.manifests import Manifest, circulating

KINDS = ("paddlejobs", "samplesets", "samplejobs", "cachebackends", "tfjobs", "pytorchjobs")


@pytest.fixture(scope="module", autouse=True)
def cluster(kinds_served: Kubectl) -> Kubectl:
    return kinds_served


def create(kubectl: Kubectl, manifest: Manifest, *words: str) -> Manifest:
    """Create it with the strictest field validation, so that a field that would be pruned is an error."""
    argv = ("create", "--validate=strict", "-o", "json", "-f", "-", *words)
    made: Manifest = json.loads(kubectl.run(*argv, stdin=json.dumps(manifest)))
    return made


def test_there_is_no_complaint_about_the_definitions(cluster: Kubectl) -> None:
    for definition in cluster.items("crd"):
        if definition["spec"]["names"]["plural"] in KINDS:
            conditions = {one["type"]: one["status"] for one in definition["status"]["conditions"]}
            assert conditions == {"NamesAccepted": "True", "Established": "True"}


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
        (
            "SampleJob/imagenet-rmr",
            {"phase": "Succeeded", "progress": "100%"},
            "NAME           PHASE       TYPE   SAMPLESET   PROGRESS   AGE",
            "imagenet-rmr   Succeeded   rmr    imagenet    100%       ",
        ),
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


def test_kubectl_explain_reads_well(cluster: Kubectl) -> None:
    told = cluster.run("explain", "sampleset.spec")
    assert "The data set that is wanted." in told
    assert re.search(r"partitions\s+<integer> -required-\n\s+How many nodes cache the data, each a part of it;", told)
    fields = re.findall(r"^  (\w+)\t", told, re.MULTILINE)
    assert {"cache", "csi", "noSync", "partitions", "secretRef", "source", "sources", "tolerations"} <= set(fields)
    assert "<no description>" not in told
