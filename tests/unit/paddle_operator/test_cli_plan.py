"""`paddle-operator plan`: what a job would get, printed without a cluster."""

import pytest
import yaml
from click.testing import CliRunner

from paddle_operator.api.manifest import Manifest
from paddle_operator.cli.main import main
from support.manifests import NAMES, changed, circulating

JOBS = [name for name in NAMES if name.startswith("PaddleJob/")]
DEMO = "PaddleJob/ps-demo"


def planned(*manifests: Manifest, options: tuple[str, ...] = ()) -> list[Manifest]:
    result = CliRunner().invoke(main, ["plan", "-f", "-", *options], input=yaml.safe_dump_all(manifests))
    assert result.exit_code == 0, result.output
    return list(yaml.safe_load_all(result.output))


def kinds(objects: list[Manifest]) -> list[tuple[str, str]]:
    return [(found["kind"], found["metadata"]["name"]) for found in objects]


@pytest.mark.parametrize("name", JOBS)
def test_each_job_that_users_have_gets_its_pods(name: str) -> None:
    job = circulating(name)
    objects = planned(job, options=("--etcd-server=etcd:2379",))
    replicas = sum(job["spec"][role]["replicas"] for role in ("ps", "worker", "heter") if role in job["spec"])
    found = [kind for kind, _ in kinds(objects)]
    assert (found.count("Pod"), found.count("ConfigMap")) == (replicas, 1)


def test_a_suspended_job_is_shown_as_if_it_went_on() -> None:
    job = circulating(DEMO)
    suspended = {**job, "spec": {**job["spec"], "suspend": True}}
    result = CliRunner().invoke(main, ["plan", "-f", "-"], input=yaml.safe_dump(suspended))
    assert list(yaml.safe_load_all(result.stdout)) == planned(job)
    assert result.stderr == "ps-demo is suspended: this is what it gets when suspend is false\n"


def test_the_documents_tf_job_gets_its_cache_and_its_pod() -> None:
    objects = planned(circulating("TFJob/tf-cache"))
    assert kinds(objects) == [
        ("CacheBackend", "cache-tf-cache-00000"),
        ("Service", "tf-cache-worker-0"),
        ("Pod", "tf-cache-worker-0"),
    ]
    assert objects[2]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] == "cache-tf-cache-00000"


@pytest.mark.parametrize(
    ("name", "pods"), [("TFJob/tf-every-field", 6), ("TFJob/tf-uses-a-cache", 1), ("PyTorchJob/pytorch-cache", 1)]
)
def test_each_training_job_that_users_have_gets_its_pods(name: str, pods: int) -> None:
    found = [kind for kind, _ in kinds(planned(circulating(name), options=("--scheduling=volcano",)))]
    assert (found.count("Pod"), found.count("PodGroup")) == (pods, 1)
    assert [kind for kind, _ in kinds(planned(circulating(name)))].count("Pod") == pods


def test_all_that_a_job_gets_is_printed_in_the_order_in_which_it_is_made() -> None:
    objects = planned(circulating(DEMO), options=("--scheduling=volcano", "--namespace=team"))
    assert kinds(objects) == [
        ("PodGroup", "ps-demo"),
        ("ConfigMap", "ps-demo"),
        ("Service", "ps-demo"),
        ("Service", "ps-demo-ps-ready"),
        ("Pod", "ps-demo-ps-0"),
        ("Pod", "ps-demo-worker-0"),
    ]
    assert {found["metadata"]["namespace"] for found in objects} == {"team"}


def test_addresses_that_only_a_cluster_gives_are_named_for_their_pods() -> None:
    objects = planned(changed(circulating(DEMO), {"spec.intranet": "PodIP"}))
    config = next(found for found in objects if found["kind"] == "ConfigMap")
    assert config["data"]["PADDLE_PSERVERS_IP_PORT_LIST"] == "IP-OF-ps-demo-ps-0:36000"


def test_the_sample_set_in_the_file_says_where_workers_go() -> None:
    job = changed(circulating(DEMO), {"spec.worker.replicas": 2})
    alone, beside = planned(job), planned(job, circulating("SampleSet/imagenet"))
    placed = [
        [found["metadata"]["name"] for found in objects if "affinity" in found.get("spec", {})]
        for objects in (alone, beside)
    ]
    assert placed == [["ps-demo-worker-0", "ps-demo-worker-1"], ["ps-demo-worker-0"]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("a: [", "is no YAML", id="no YAML"),
        pytest.param("", "there is no PaddleJob, TFJob, PyTorchJob in", id="nothing"),
        pytest.param("- a\n---\nkind: PaddleJob\n", "there is no PaddleJob, TFJob, PyTorchJob in", id="no object"),
        pytest.param(
            yaml.safe_dump(changed(circulating(DEMO), {"spec.worker.replicas": "two"})),
            "ps-demo cannot be read: Expected `int`, got `str` - at `$.spec.worker.replicas`",
            id="a number in words",
        ),
        pytest.param(
            yaml.safe_dump(changed(circulating(DEMO), {"spec.elastic": 1})),
            "ps-demo: an elastic job needs etcd",
            id="a job that cannot work",
        ),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(text: str, words: str) -> None:
    result = CliRunner().invoke(main, ["plan", "-f", "-"], input=text)
    assert result.exit_code == 1
    assert words in result.stderr
    assert "Traceback" not in result.output
