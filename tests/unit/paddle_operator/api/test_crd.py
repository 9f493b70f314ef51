"""The definitions of our kinds, as they are committed and applied."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml
from click.testing import CliRunner
from msgspec import inspect

from paddle_operator.api import crd
from paddle_operator.api.definition import Kind
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.meta import Resource
from paddle_operator.cli.main import main

ROOT = Path(__file__).parents[4]
KINDS = {kind.definition.kind: kind for kind in crd.KINDS}


def schemas(schema: Manifest, path: str = "") -> Iterator[tuple[str, Manifest]]:
    """Every schema in a schema, with its path."""
    yield path, schema
    for name, part in schema.get("properties", {}).items():
        yield from schemas(part, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from schemas(schema[key], f"{path}[]")


def v1_schema(kind: type[Kind]) -> Manifest:
    found: Manifest = crd.v1(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def v1beta1_schema(kind: type[Kind]) -> Manifest:
    found: Manifest = crd.v1beta1(kind)["spec"]["validation"]["openAPIV3Schema"]
    return found


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_the_committed_definitions_are_what_the_command_prints(version: str) -> None:
    printed = CliRunner().invoke(main, ["manifests", "crds", "--version", version])
    assert printed.exit_code == 0
    assert printed.output == (ROOT / "deploy" / version / "crd.yaml").read_text()


def test_the_command_prints_v1_unless_told_otherwise() -> None:
    documents = list(yaml.safe_load_all(CliRunner().invoke(main, ["manifests", "crds"]).output))
    assert documents == [crd.v1(kind) for kind in crd.KINDS]
    assert {document["apiVersion"] for document in documents} == {"apiextensions.k8s.io/v1"}


def test_the_definitions_have_the_names_that_users_know() -> None:
    assert [crd.v1(kind)["metadata"]["name"] for kind in crd.KINDS] == [
        "paddlejobs.batch.paddlepaddle.org",
        "samplesets.batch.paddlepaddle.org",
        "samplejobs.batch.paddlepaddle.org",
        "cachebackends.cache.kubedl.io",
        "tfjobs.training.kubedl.io",
        "pytorchjobs.training.kubedl.io",
    ]
    versions = [kind.definition.version for kind in crd.KINDS]
    assert versions == ["v1", "v1alpha1", "v1alpha1", "v1alpha1", "v1alpha1", "v1alpha1"]
    assert [kind.definition.short_names for kind in crd.KINDS] == [("pdj",), (), (), (), (), ()]


@pytest.mark.parametrize(
    ("kind", "usual", "wide"),
    [
        ("PaddleJob", ["Status", "Mode", "Age"], []),
        ("SampleSet", ["TOTAL SIZE", "CACHED SIZE", "AVAIL SPACE", "Runtime", "PHASE", "AGE"], []),
        ("SampleJob", ["PHASE", "TYPE", "SAMPLESET", "PROGRESS", "AGE"], ["SCHEDULE"]),
        ("CacheBackend", ["Job-Name", "Cache-Status", "Age"], ["Engine", "Used-Num", "Last-Used-Time"]),
        ("TFJob", ["State", "Age", "Model-Version", "Cache-Backend", "Max-Lifetime", "TTL-AFTER-FINISHED"], []),
        ("PyTorchJob", ["State", "Age", "Model-Version", "Cache-Backend", "Max-Lifetime", "TTL-AFTER-FINISHED"], []),
    ],
)
def test_the_columns_are_those_that_users_know(kind: str, usual: list[str], wide: list[str]) -> None:
    columns = crd.v1(KINDS[kind])["spec"]["versions"][0]["additionalPrinterColumns"]
    assert [column["name"] for column in columns if "priority" not in column] == usual
    assert [column["name"] for column in columns if column.get("priority") == 1] == wide


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_shows_a_field_that_there_is(kind: str) -> None:
    known = {path for path, _ in schemas(v1_schema(KINDS[kind]))} | {".metadata.creationTimestamp"}
    paths = [column.path.replace("[-1:]", "[]") for column in KINDS[kind].definition.columns]
    assert [path for path in paths if path not in known] == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described_for_kubectl_explain(kind: str) -> None:
    silent = [
        path
        for path, schema in schemas(v1_schema(KINDS[kind]))
        if "description" not in schema and path != ".metadata" and not path.endswith("[]")
    ]
    assert silent == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_description_is_a_sentence(kind: str) -> None:
    described = {
        path: schema["description"] for path, schema in schemas(v1_schema(KINDS[kind])) if "description" in schema
    }
    assert {path: text for path, text in described.items() if text[-1] not in ".…)"} == {}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_rule_matches_is_bounded(kind: str) -> None:
    unbounded = [
        path
        for path, schema in schemas(v1_schema(KINDS[kind]))
        for rule in schema.get("x-kubernetes-validations", [])
        if rule["rule"].startswith("self.matches") and "maxLength" not in schema
    ]
    assert unbounded == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_pattern_speaks_where_a_rule_does(kind: str) -> None:
    both = [
        path
        for path, schema in schemas(v1_schema(KINDS[kind]))
        if "pattern" in schema and "x-kubernetes-validations" in schema
    ]
    assert both == []


@pytest.mark.parametrize("kind", KINDS)
def test_old_clusters_get_patterns_and_nothing_they_do_not_know(kind: str) -> None:
    definition = crd.v1beta1(KINDS[kind])
    assert definition["apiVersion"] == "apiextensions.k8s.io/v1beta1"
    assert definition["spec"]["version"] == KINDS[kind].definition.version
    assert definition["spec"]["additionalPrinterColumns"][0]["JSONPath"].startswith(".")
    keys = {key for _, schema in schemas(v1beta1_schema(KINDS[kind])) for key in schema}
    assert keys & crd.NEWER_THAN_V1BETA1 == set()
    assert "pattern" in keys


@pytest.mark.parametrize("kind", KINDS)
def test_both_versions_have_the_same_fields(kind: str) -> None:
    old, new = (list(map(first, schemas(make(KINDS[kind])))) for make in (v1beta1_schema, v1_schema))
    assert old == new


def first(pair: tuple[str, Manifest]) -> str:
    return pair[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_is_structural(kind: str) -> None:
    for path, schema in schemas(v1_schema(KINDS[kind])):
        assert "type" in schema or schema.get("x-kubernetes-int-or-string"), path
        assert not {"$ref", "anyOf", "title", "const"} & set(schema), path
        assert not ("properties" in schema and "additionalProperties" in schema), path


def structs(info: inspect.Type) -> Iterator[type[msgspec.Struct]]:
    match info:
        case inspect.StructType():
            yield info.cls
            for field in info.fields:
                yield from structs(field.type)
        case inspect.UnionType():
            for one in info.types:
                yield from structs(one)
        case inspect.VarTupleType():
            yield from structs(info.item_type)
        case inspect.DictType():
            yield from structs(info.value_type)
        case inspect.Metadata():
            yield from structs(info.type)


@pytest.mark.parametrize("kind", KINDS)
def test_every_struct_says_what_it_is_and_is_frozen(kind: str) -> None:
    found = list(structs(inspect.type_info(KINDS[kind])))
    assert {KINDS[kind]} < set(found)
    assert issubclass(KINDS[kind], Resource)
    for struct in found:
        assert struct.__doc__, struct
        assert struct.__doc__.endswith("."), struct
        assert struct.__struct_config__.frozen, struct
        assert not struct.__struct_config__.forbid_unknown_fields, struct


@pytest.mark.parametrize("kind", KINDS)
def test_structs_with_rules_have_names_of_their_own(kind: str) -> None:
    found = set(structs(inspect.type_info(KINDS[kind])))
    assert len({struct.__name__ for struct in found}) == len(found)


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_is_for_people(kind: str) -> None:
    for path, schema in schemas(v1_schema(KINDS[kind])):
        for rule in schema.get("x-kubernetes-validations", []):
            assert re.match(r"[a-zA-Z]", rule["message"]), path
            assert "regex" not in rule["message"], path
            assert len(rule["message"]) < 200, path
