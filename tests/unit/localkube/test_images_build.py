"""Building: from a Dockerfile, into an archive of its own, with words for what goes wrong."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

from localkube import errors
from localkube.images import archive, build
from localkube.paths import Home
from localkube.progress import Progress

needs_buildah = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("buildah") is None, reason="builds with buildah, as root"
)


@pytest.fixture
def context(tmp_path: Path) -> Path:
    directory = tmp_path / "context"
    directory.mkdir()
    (directory / "Dockerfile").write_text("FROM scratch\nCOPY hello /\nARG WORD=none\nLABEL word=$WORD\n")
    (directory / "hello").write_text("world")
    return directory


def _build(home: Home, context: Path, progress: Progress, **arguments: str) -> Path:
    return build.build(home, build.Recipe("app:1", context, build_args=arguments), progress)


@needs_buildah
def test_a_build_gives_an_archive_with_the_files_under_the_full_name(
    home: Home, context: Path, progress: Progress
) -> None:
    image = _build(home, context, progress)
    assert archive.references(image) == ["docker.io/library/app:1"]
    assert build.archive_of(home, "app:1") == image
    with tarfile.open(image) as outer:
        (name,) = [name for name in outer.getnames() if name.endswith(".tar") and "/" not in name]
        with tarfile.open(fileobj=outer.extractfile(name)) as layer:
            assert layer.getnames() == ["hello"]


@needs_buildah
def test_an_unchanged_build_leaves_the_archive_alone_and_a_changed_one_replaces_it(
    home: Home, context: Path, progress: Progress
) -> None:
    first = archive.identity(_build(home, context, progress))
    file = _build(home, context, progress)
    written = file.stat()
    assert archive.identity(_build(home, context, progress)) == first
    assert file.stat().st_ino == written.st_ino
    (context / "hello").write_text("changed")
    assert archive.identity(_build(home, context, progress)) != first


@needs_buildah
def test_build_arguments_reach_the_dockerfile(home: Home, context: Path, progress: Progress) -> None:
    identities = {archive.identity(_build(home, context, progress, WORD=word)) for word in ("one", "two")}
    assert len(identities) == 2


@needs_buildah
def test_a_failed_build_says_why_and_the_next_one_works(home: Home, context: Path, progress: Progress) -> None:
    good = (context / "Dockerfile").read_text()
    (context / "Dockerfile").write_text("FROM scratch\nCOPY missing /\n")
    with pytest.raises(errors.LocalkubeError, match=r"docker.io/library/app:1 cannot be built:(?s:.*)missing"):
        _build(home, context, progress)
    (context / "Dockerfile").write_text(good)
    assert _build(home, context, progress).exists()


@needs_buildah
def test_an_image_that_is_not_here_is_not_looked_for_elsewhere(home: Home, context: Path, progress: Progress) -> None:
    (context / "Dockerfile").write_text("FROM registry.example.org/nobody/nothing:1\n")
    with pytest.raises(errors.LocalkubeError, match="image not known"):
        _build(home, context, progress)


@needs_buildah
def test_a_damaged_storage_is_begun_anew(home: Home, context: Path, progress: Progress) -> None:
    _build(home, context, progress)
    damaged = [file for file in (home.cache / "images/storage").rglob("*") if file.suffix == ".json"]
    for file in damaged:
        file.write_text("{{{")
    (context / "hello").write_text("changed")
    assert damaged
    assert _build(home, context, progress).exists()


def test_a_context_without_a_dockerfile_is_refused(home: Home, tmp_path: Path, progress: Progress) -> None:
    with pytest.raises(errors.LocalkubeError, match=r"there is no .*/Dockerfile to build app:1 from"):
        _build(home, tmp_path, progress)


def test_a_tag_that_was_never_built_has_no_archive(home: Home) -> None:
    with pytest.raises(errors.LocalkubeError, match="no image app:1 was built here"):
        build.archive_of(home, "app:1")


def test_no_two_names_share_an_archive(home: Home) -> None:
    names = ["localhost:5000/x:1", "localhost/5000/x:1", "localhost/5000-x:1", "localhost/5000__x:1"]
    assert len({build._place(home, name) for name in names}) == len(names)
