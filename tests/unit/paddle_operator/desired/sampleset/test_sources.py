"""Data that servers mount to copy it: a directory of the node where that is allowed, or another claim."""

import pytest

from paddle_operator.desired.sampleset.sources import mounted, mounts, origins, out_of_bounds
from support.samplesnapshots import decoded


def sources(*uris: str) -> list[dict[str, str]]:
    return [{"uri": uri, "path": f"p{number}"} for number, uri in enumerate(uris)]


def test_servers_copy_from_where_they_mount_it() -> None:
    found = decoded(source=None, sources=sources("s3://bucket/a", "local:///dataset/mnist/", "pvc://claim/a/b"))
    assert [origin.uri for origin in origins(found)] == [
        "s3://bucket/a",
        "file:///sources/1/",
        "file:///sources/2/a/b/",
    ]
    assert [(one.name, one.directory, one.volume) for one in mounts(found)] == [
        ("source-1", "/sources/1", {"hostPath": {"path": "/dataset/mnist", "type": "Directory"}}),
        ("source-2", "/sources/2", {"persistentVolumeClaim": {"claimName": "claim", "readOnly": True}}),
    ]
    assert mounted(0, "pvc://claim").uri == "file:///sources/0/"  # type: ignore[union-attr]  # a claim is mounted


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("local:///dataset/mnist", ""),
        ("local:///dataset", ""),
        ("local:///etc", "is not below a directory of the nodes that may be copied from"),
        ("local:///dataset2", "is not below"),
        ("local:///dataset/../etc", "is not below"),
        ("pvc://claim/../other", "leads out of its claim"),
        ("pvc://claim/a", ""),
        ("s3://bucket/../a", ""),
    ],
)
def test_nobody_copies_from_directories_of_nodes_that_the_manager_does_not_allow(uri: str, words: str) -> None:
    found = out_of_bounds(decoded(source=None, sources=sources(uri)), ("/dataset",))
    assert words in found
    assert bool(words) is bool(found)
    assert bool(out_of_bounds(decoded(source=None, sources=sources(uri)), ())) is (bool(words) or "local" in uri)
