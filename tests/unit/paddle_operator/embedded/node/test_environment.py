"""What a container is started with."""

import pytest

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.node.environment import Whereabouts, command_line, expanded, variables
from paddle_operator.embedded.node.sources import CONFIG_MAPS, SECRETS, ConfigurationError, Sources, references

WHERE = Whereabouts("machine", "198.18.0.1", "198.18.0.7")
POD: Manifest = {
    "metadata": {"name": "demo", "namespace": "default", "uid": "7", "labels": {"app": "demo"}},
    "spec": {"containers": []},
}
SOURCES = Sources({(CONFIG_MAPS, "settings"): {"A": b"one", "not a name": b"x"}, (SECRETS, "keys"): {"K": b"secret"}})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("$(A)/$(A)", "1/1", id="a name that is known, twice"),
        pytest.param("$(B)", "$(B)", id="a name that is not known stays"),
        pytest.param("$$(A)", "$(A)", id="two dollar signs are one"),
        pytest.param("$A ${A} $(A", "$A ${A} $(A", id="a shell's ways are not ours"),
    ],
)
def test_names_in_parentheses_become_values(text: str, wanted: str) -> None:
    assert expanded(text, {"A": "1"}) == wanted


def variable(name: str, **fields: object) -> Manifest:
    return {"name": name, **fields}


@pytest.mark.parametrize(
    ("container", "wanted"),
    [
        pytest.param(
            {"env": [variable("A", value="1"), variable("B", value="$(A)2")]}, {"A": "1", "B": "12"}, id="values"
        ),
        pytest.param({"envFrom": [{"configMapRef": {"name": "settings"}}]}, {"A": "one"}, id="all of a ConfigMap"),
        pytest.param(
            {"envFrom": [{"prefix": "S_", "secretRef": {"name": "keys"}}]}, {"S_K": "secret"}, id="a Secret, prefixed"
        ),
        pytest.param(
            {"envFrom": [{"configMapRef": {"name": "gone", "optional": True}}]}, {}, id="what may be missing is missing"
        ),
        pytest.param(
            {"env": [variable("K", valueFrom={"secretKeyRef": {"name": "keys", "key": "K"}})]},
            {"K": "secret"},
            id="one key",
        ),
        pytest.param(
            {"env": [variable("IP", valueFrom={"fieldRef": {"fieldPath": "status.podIP"}})]},
            {"IP": "198.18.0.7"},
            id="the pod's own address",
        ),
        pytest.param(
            {"env": [variable("L", valueFrom={"fieldRef": {"fieldPath": "metadata.labels['app']"}})]},
            {"L": "demo"},
            id="a label",
        ),
        pytest.param(
            {"envFrom": [{"configMapRef": {"name": "settings"}}], "env": [variable("A", value="mine")]},
            {"A": "mine"},
            id="what is said by name wins",
        ),
    ],
)
def test_variables_come_from_all_that_a_pod_may_name(container: Manifest, wanted: dict[str, str]) -> None:
    assert variables(POD, container, SOURCES, WHERE) == wanted


@pytest.mark.parametrize(
    ("container", "words"),
    [
        pytest.param({"envFrom": [{"secretRef": {"name": "gone"}}]}, 'secret "gone" not found', id="no such Secret"),
        pytest.param(
            {"env": [variable("A", valueFrom={"configMapKeyRef": {"name": "settings", "key": "Z"}})]},
            "couldn't find key Z in ConfigMap settings",
            id="no such key",
        ),
        pytest.param(
            {"env": [variable("A", valueFrom={"fieldRef": {"fieldPath": "status.phase"}})]},
            "there is no field status.phase",
            id="no such field",
        ),
    ],
)
def test_what_is_missing_is_named(container: Manifest, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        variables(POD, container, SOURCES, WHERE)


def test_a_command_line_is_command_and_args_with_their_values() -> None:
    container = {"name": "main", "command": ["train"], "args": ["--rank=$(RANK)"]}
    assert command_line(container, {"RANK": "3"}) == ("train", "--rank=3")


def test_a_container_without_a_command_is_refused_since_images_are_not_run() -> None:
    with pytest.raises(ConfigurationError, match="names no command"):
        command_line({"name": "main", "image": "nginx"}, {})


def test_a_pod_reads_what_its_containers_and_volumes_name() -> None:
    spec: Manifest = {
        "containers": [{"name": "main", "envFrom": [{"configMapRef": {"name": "a"}}]}],
        "initContainers": [
            {"name": "first", "env": [variable("K", valueFrom={"secretKeyRef": {"name": "b", "key": "k"}})]}
        ],
        "volumes": [
            {"name": "one", "secret": {"secretName": "c"}},
            {"name": "two", "projected": {"sources": [{"configMap": {"name": "d"}}]}},
        ],
    }
    assert set(references(spec)) == {(CONFIG_MAPS, "a"), (SECRETS, "b"), (SECRETS, "c"), (CONFIG_MAPS, "d")}
