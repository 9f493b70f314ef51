"""The committed files and the quick start, as people have them: managers that work with the rights they are given."""

import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from localkube.cluster import Cluster
from localkube.kubectl import Kubectl
from localkube.progress import Progress
from paddle_operator.desired.sampleset.figures import in_words
from quickstart.images import FOLDERS
from quickstart.stage import ROOT, SYSTEM, Stage
from quickstart.steps import FILES, Demo, observe_demo, perform
from support import juicefs
from support.installation import MANAGERS, check_managers, images, left, left_inside, run_a_job

from .conftest import DEFINITIONS


@dataclass(frozen=True)
class QuickStart:
    """What is there when it has been performed, and all that it said."""

    kubectl: Kubectl
    said: str

    def table(self, command: str) -> list[list[str]]:
        """Give the cells that the last such command answered, by its lines."""
        return self.tables(command)[-1]

    def tables(self, command: str) -> list[list[list[str]]]:
        answers = [rest.partition("\n\n")[0] for rest in self.said.split(f"$ kubectl {command}\n")[1:]]
        return [[line.split() for line in answer.splitlines()] for answer in answers]


@pytest.fixture(scope="module")
def quick_start(kube: Cluster, default_image: str, kinds_served: Kubectl) -> Iterator[QuickStart]:
    del default_image, kinds_served
    juicefs.require()
    said = io.StringIO()
    stage = Stage(kube, Progress(Console(file=said, highlight=False, soft_wrap=True)))
    try:
        perform(stage)
        yield QuickStart(stage.kubectl, said.getvalue())
    finally:
        print(said.getvalue())  # noqa: T201 shown where a test fails
        if "redis" in (node := kube.nodes[0]).control.status():
            node.control.stop("redis")


def test_the_quick_start_prints_the_tables_of_the_documents(quick_start: QuickStart) -> None:
    header, *rows = quick_start.table(f"get pods -n {SYSTEM}")
    assert header == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [row[1:4] for row in rows] == [["1/1", "Running", "0"]] * len(rows)
    names = [row[0] for row in rows]
    assert "imagenet-runtime-0" in names
    assert [manager for manager in MANAGERS if not any(name.startswith(manager) for name in names)] == []
    for kind in ("rmr", "sync", "clear", "warmup"):
        job = f"imagenet-{kind}"
        header, row = quick_start.table(f"get samplejob {job} -n {SYSTEM}")
        assert header == ["NAME", "PHASE", "TYPE", "SAMPLESET", "PROGRESS", "AGE"]
        assert row[:5] == [job, "Succeeded", kind, "imagenet", "100%"]
    header, row = quick_start.table(f"get paddlejob -n {SYSTEM}")
    assert [header, row[:3]] == [["NAME", "STATUS", "MODE", "AGE"], ["ps-demo", "Running", "PS"]]
    assert quick_start.table(f"exec ps-demo-worker-0 -n {SYSTEM} -- ls /mnt/imagenet") == [["n01514859"]]


def test_each_number_of_a_set_s_tables_is_true(quick_start: QuickStart) -> None:
    """What is left in a cache right after an rmr, and what a sync leaves there, is JuiceFS' own business."""
    demo = observe_demo(quick_start.kubectl)
    (first,) = quick_start.tables(f"get sampleset -n {SYSTEM}")
    removed, synced, cleared, warmed = quick_start.tables(f"get sampleset imagenet -n {SYSTEM}")
    whole, cached = in_words(demo.total), in_words(demo.cached)
    for header, row in (first, removed, synced, cleared, warmed):
        assert " ".join(header) == "NAME TOTAL SIZE CACHED SIZE AVAIL SPACE RUNTIME PHASE AGE"
        assert [row[0], *row[7:9]] == ["imagenet", "1/1", "Ready"]
    assert len(demo.sizes) == FOLDERS["demo/n01514859"]
    assert total_and_cached(first) == [whole, cached]
    assert total_and_cached(removed)[0] == in_words(Demo().total)
    assert total_and_cached(synced)[0] == whole
    assert total_and_cached(cleared) == [whole, in_words(0)]
    assert total_and_cached(warmed) == [whole, cached]


def total_and_cached(table: list[list[str]]) -> list[str]:
    return [" ".join(table[1][1:3]), " ".join(table[1][3:5])]


def test_managers_need_no_more_than_they_may(quick_start: QuickStart) -> None:
    check_managers(quick_start.kubectl)


@pytest.mark.usefixtures("_kinds_again")
def test_what_was_installed_goes_and_leaves_nothing(quick_start: QuickStart) -> None:
    quick_start.kubectl.run("delete", "paddlejobs,samplejobs,samplesets", "--all", "--wait")
    for file in reversed(FILES):
        quick_start.kubectl.run("delete", "-f", str(ROOT / file), "--wait")
    assert [*left(quick_start.kubectl), *left_inside(quick_start.kubectl)] == []


@pytest.mark.usefixtures("_kinds_again")
def test_kustomize_installs_the_image_that_it_names_and_takes_all_away_again(
    kube: Cluster, kinds_served: Kubectl, namespace: Kubectl, operator_image: str, tmp_path: Path
) -> None:
    kinds_served.run("delete", "-f", str(DEFINITIONS), "--wait")
    copied = shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    written = copied / "kustomization.yaml"
    written.write_text(written.read_text().replace("newTag: dev", f"newTag: {operator_image.rpartition(':')[2]}"))
    home = Kubectl.of(kube, SYSTEM)
    home.run("apply", "-k", str(copied))
    for part in home.run("get", "deployments,daemonsets", "-o", "name").split():
        home.rolled_out(part)
    assert images(home) == {operator_image}
    run_a_job(namespace)
    check_managers(home)
    home.run("delete", "-k", str(copied), "--wait")
    assert [*left(home), *left_inside(home)] == []
