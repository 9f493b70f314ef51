"""Building: what Go is told, how far it is said to be, and the real thing on the smallest program."""

import io
import shutil
import subprocess
from pathlib import Path

import pytest
from rich.console import Console

from localkube import errors, preflight
from localkube.binaries import build, catalog, golang
from localkube.progress import Progress

PAUSE = next(binary for binary in catalog.BINARIES if binary.name == "pause")
GO = shutil.which("go")
HAS_GO = GO is not None and (golang.version_of(Path(GO)) or ()) >= catalog.go_version()


def builder(tmp_path: Path, go: Path, monkeypatch: pytest.MonkeyPatch) -> build.Builder:
    monkeypatch.setattr(preflight, "free_space", lambda _: 100 * preflight.GIB)
    draft = tmp_path / "draft"
    draft.mkdir()
    return build.Builder(go, draft, Progress(Console(file=io.StringIO())))


def fake_go(tmp_path: Path, body: str) -> Path:
    path = tmp_path / "go"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def test_the_tally_counts_packages_once_and_leaves_other_lines_alone() -> None:
    tally = build.Tally(frozenset({"runtime", "k8s.io/api/core/v1", "os"}))
    assert tally.count("runtime")
    assert tally.count("runtime")
    assert tally.count("os")
    assert not tally.count("# os")
    assert str(tally) == "2 of 3 packages"


def test_the_programs_are_told_the_version_of_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog, "kubernetes_version", lambda: (1, 40, 2))
    package = "k8s.io/component-base/version"
    assert build.linker_flags() == (
        f"-ldflags=-s -w -X {package}.gitVersion=v1.40.2 -X {package}.gitMajor=1 -X {package}.gitMinor=40 "
        f"-X {package}.gitTreeState=clean"
    )


def test_names_are_listed_as_a_person_would() -> None:
    assert build.names([PAUSE]) == "pause"
    assert build.names(catalog.BINARIES[-3:]) == "etcd, coredns and pause"


def test_kubectl_is_there_first_and_what_shares_packages_is_built_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[list[str]] = []
    made = builder(tmp_path, fake_go(tmp_path, ""), monkeypatch)
    made.build(catalog.BINARIES, lambda lot: taken.append([binary.name for binary in lot]))
    assert [lot[0] for lot in taken] == ["kubectl", "kube-apiserver", "etcd"]
    assert sorted(name for lot in taken for name in lot) == sorted(binary.name for binary in catalog.BINARIES)


def test_what_decides_the_result_is_set_whatever_the_person_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in {"GOOS": "plan9", "GOFLAGS": "-mod=vendor", "CGO_ENABLED": "1", "GOWORK": "/w"}.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("GOPROXY", "the person's own")
    go = fake_go(tmp_path, f'echo "$1 $GOOS $GOFLAGS $CGO_ENABLED $GOWORK $GOTMPDIR $GOPROXY" >>{tmp_path}/seen')
    builder(tmp_path, go, monkeypatch).build([PAUSE])
    told = f"linux -mod=readonly 0 off {tmp_path}/draft the person's own"
    assert (tmp_path / "seen").read_text().splitlines() == [f"env {told}", f"list {told}", f"build {told}"]


def test_modules_that_cannot_be_downloaded_are_told_with_gos_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = '[ "$1" = env ] || { echo "go: downloading a v1" >&2; echo "go: a@v1: no such host" >&2; exit 1; }'
    with pytest.raises(errors.LocalkubeError) as caught:
        builder(tmp_path, fake_go(tmp_path, script), monkeypatch).build([PAUSE])
    assert str(caught.value) == "`go list` ended with 1:\ngo: a@v1: no such host"


def test_an_interrupt_ends_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[str]] = []
    start = build.Builder._start

    def remembered(*arguments: object) -> subprocess.Popen[str]:
        started.append(start(*arguments))  # type: ignore[arg-type]  # passed on as they came
        return started[-1]

    def interrupted(_: build.Tally, __: str) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(build.Builder, "_start", remembered)
    monkeypatch.setattr(build.Tally, "count", interrupted)
    go = fake_go(tmp_path, '[ "$1" != build ] || { echo k8s.io/one >&2; exec sleep 60; }')
    with pytest.raises(KeyboardInterrupt):
        builder(tmp_path, go, monkeypatch).build([PAUSE])
    assert started[-1].returncode == -9


@pytest.mark.skipif(not HAS_GO, reason="no Go that is new enough")
def test_the_real_go_builds_a_static_pause_and_writes_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.stat().st_mtime_ns for path in catalog.MODULE.rglob("*")}
    made = builder(tmp_path, Path(str(GO)), monkeypatch)
    made.build([PAUSE])
    assert [path.name for path in made.draft.iterdir()] == ["pause"]
    assert (made.draft / "pause").read_bytes()[:4] == b"\x7fELF"
    assert {path: path.stat().st_mtime_ns for path in catalog.MODULE.rglob("*")} == before
    with subprocess.Popen([made.draft / "pause"]) as process:
        process.terminate()
    assert process.returncode in {0, -15}
