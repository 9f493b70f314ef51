"""Manifests for one machine."""

import base64
import copy
from pathlib import Path

import pytest

from paddle_operator.embedded import manifests
from paddle_operator.embedded.manifests import ManifestError

JOB = """
apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata: {name: one}
spec:
  worker:
    template:
      spec:
        nodeSelector: {gpu: "true"}
        containers:
        - {name: main, image: demo, command: [train], resources: {limits: {cpu: 1}}}
"""


def written(directory: Path, text: str) -> Path:
    file = directory / "file.yaml"
    file.write_text(text)
    return file


def test_a_file_may_hold_several_manifests_and_lists_of_them(tmp_path: Path) -> None:
    text = "kind: List\nitems:\n- {metadata: {name: a}}\n- {metadata: {name: b}}\n---\n---\nmetadata: {name: c}\n"
    found = manifests.read(written(tmp_path, text))
    assert [manifest["metadata"]["name"] for manifest in found] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("a: [", "is no YAML", id="no YAML"),
        pytest.param("kind: Pod", "without metadata.name", id="no name"),
        pytest.param(
            "kind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: main}]}",
            "names no command",
            id="an image's command",
        ),
        pytest.param(
            "kind: SampleSet\nmetadata: {name: big}\nspec: {partitions: 3}",
            "asks for 3 partitions.*set partitions to 1",
            id="more nodes than one",
        ),
        pytest.param(
            "kind: Deployment\nmetadata: {name: web}",
            "nobody looks after Deployment web on one machine",
            id="a kind that nobody looks after",
        ),
        pytest.param(
            "kind: CacheBackend\nmetadata: {name: mnist}\nspec: {cacheEngine: {fluid: {}}}",
            "CacheBackend mnist caches with Fluid, which is not here",
            id="a cache of another engine",
        ),
        pytest.param(
            "kind: TFJob\nmetadata: {name: tf}\nspec: {cacheBackend: {cacheEngine: {fluid: {}}}}",
            "TFJob tf caches with Fluid, which is not here",
            id="a job with a cache of another engine",
        ),
    ],
)
def test_what_one_machine_cannot_do_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ManifestError, match=words):
        manifests.read(written(tmp_path, text))


@pytest.mark.parametrize(
    "spec",
    ["[1]", "text", "{partitions: two, worker: [1]}", "{worker: {template: 1}, cacheBackend: 2}", "{containers: 3}"],
)
def test_what_is_wrong_everywhere_is_left_to_the_api_server(tmp_path: Path, spec: str) -> None:
    assert len(manifests.read(written(tmp_path, f"kind: SampleSet\nmetadata: {{name: x}}\nspec: {spec}"))) == 1


def test_what_is_ignored_is_named_once(tmp_path: Path) -> None:
    found = manifests.read(written(tmp_path, f"{JOB}---{JOB}"))
    assert manifests.ignored(found) == ["node selectors, affinities, tolerations and priorities", "images", "resources"]


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        pytest.param("affinity: {podAntiAffinity: {a: 1}}", "node selectors, affinities, tolerations and priorities"),
        pytest.param("topologySpreadConstraints: [{}]", "node selectors, affinities, tolerations and priorities"),
        pytest.param("hostNetwork: true", "the host's network"),
        pytest.param("containers: [{name: a, command: [a], lifecycle: {preStop: {}}}]", "lifecycle hooks"),
        pytest.param("securityContext: {runAsUser: 1}", "security contexts"),
        pytest.param("affinity: 3", "", id="what is wrong everywhere"),
    ],
)
def test_all_that_is_ignored_is_named(tmp_path: Path, spec: str, named: str) -> None:
    found = manifests.read(written(tmp_path, f"kind: Pod\nmetadata: {{name: x}}\nspec: {{{spec}}}"))
    assert manifests.ignored(found) == ([named] if named else [])


def test_network_policies_are_left_out_and_named(tmp_path: Path) -> None:
    found = manifests.read(written(tmp_path, f"kind: NetworkPolicy\nmetadata: {{name: x}}\n---{JOB}"))
    assert manifests.ignored(found)[0] == "network policies"
    assert [manifest["kind"] for manifest in manifests.followed(found)] == ["PaddleJob"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        pytest.param(JOB, "", id="a job without data of its own"),
        pytest.param("kind: SampleSet\nmetadata: {name: a}", "SampleSet a", id="a data set"),
        pytest.param(
            "kind: CacheBackend\nmetadata: {name: a}\nspec: {cacheEngine: {juicefs: {}}}",
            "CacheBackend a",
            id="a cache",
        ),
        pytest.param(
            "kind: TFJob\nmetadata: {name: a}\nspec: {cacheBackend: {cacheEngine: {juicefs: {}}}}",
            "TFJob a",
            id="a job with a cache of its own",
        ),
    ],
)
def test_what_is_mounted_is_known_before_anything_starts(tmp_path: Path, text: str, named: str) -> None:
    assert manifests.mounted(manifests.read(written(tmp_path, text))) == named


SERVICE = "kind: Service\nmetadata: {name: redis}\n---\n"
ENCODED = base64.b64encode(b"redis://redis/1").decode()


@pytest.mark.parametrize(
    ("store", "named"),
    [
        pytest.param("stringData: {metaurl: 'redis://:hush@redis:6379/1'}", "metaurl at redis,", id="a Service's name"),
        pytest.param(f"data: {{metaurl: {ENCODED}}}", "metaurl at redis,", id="encoded"),
        pytest.param("stringData: {metaurl: 'redis://redis.default:6379/1'}", "metaurl at redis.default,", id="longer"),
        pytest.param("stringData: {metaurl: 'mysql://me:x@(db.other.svc:3306)/a'}", "at db.other.svc,", id="MySQL"),
        pytest.param(
            "stringData: {bucket: 'http://minio.a.svc.cluster.local:9000/b'}", "bucket at minio", id="objects"
        ),
    ],
)
def test_stores_that_only_pods_reach_are_refused_in_words(tmp_path: Path, store: str, named: str) -> None:
    found = manifests.read(written(tmp_path, f"{SERVICE}kind: Secret\nmetadata: {{name: keys}}\n{store}"))
    with pytest.raises(ManifestError, match=f"Secret keys has .*{named}"):
        manifests.refuse_hidden_stores(found)


@pytest.mark.parametrize(
    "store",
    [
        "stringData: {metaurl: 'redis://redis:x@10.0.0.1:6379/1'}",
        "stringData: {metaurl: 'sqlite3:///redis/meta.db', bucket: /redis}",
        "stringData: 3",
        "data: [1]",
        "data: {metaurl: 3, bucket: ü}",
    ],
)
def test_stores_elsewhere_are_let_be(tmp_path: Path, store: str) -> None:
    found = manifests.read(written(tmp_path, f"{SERVICE}kind: Secret\nmetadata: {{name: keys}}\n{store}"))
    before = copy.deepcopy(found)
    manifests.refuse_hidden_stores(found)
    assert [one["kind"] for one in found] == ["Service", "Secret"]
    assert found == before
