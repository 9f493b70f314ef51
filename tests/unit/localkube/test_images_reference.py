"""Names of images: what a person writes, and what the kubelet asks for."""

import pytest

from localkube import errors
from localkube.images import reference


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("testbox:1", "docker.io/library/testbox:1"),
        ("testbox", "docker.io/library/testbox:latest"),
        ("team/app:2", "docker.io/team/app:2"),
        ("docker.io/app:2", "docker.io/library/app:2"),
        ("docker.io/team/app:2", "docker.io/team/app:2"),
        ("localhost/app:dev", "localhost/app:dev"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
        ("registry.example.org/a/b/c:v1.2.3", "registry.example.org/a/b/c:v1.2.3"),
        ("registry:5000/a:1", "registry:5000/a:1"),
    ],
)
def test_a_name_gets_the_registry_and_the_tag_that_the_kubelet_would_give_it(written: str, asked: str) -> None:
    assert reference.full(written) == asked
    assert reference.full(asked) == asked


@pytest.mark.parametrize(
    "name", ["", "App:1", "a b", "app:", "/app", "app:-x", "app@sha256:00", "-app", "a//b", "app\n"]
)
def test_what_cannot_name_an_image_is_refused_in_words(name: str) -> None:
    with pytest.raises(errors.LocalkubeError, match="cannot name an image"):
        reference.full(name)
