"""Jobs that stand in line: who has to look when one of them changes, and how often each is read."""

import datetime as dt

import pytest

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.control.store import Store
from paddle_operator.controllers import joblines
from paddle_operator.controllers.joblines import LINE, Lines, Reading, by_line
from support.samplejobs import job
from support.samplesnapshots import NOON

SET, STRANGER = Key("default", "imagenet"), Key("default", "stranger")
BEGUN = {"phase": "Running", "jobName": "id"}
LACKING = {
    "phase": "Pending",
    "conditions": [{"type": "Succeeded", "status": "False", "reason": "ErrorSecretNotExist"}],
}


class World:
    """A store with jobs that stand in line, a minute apart, and who was woken."""

    def __init__(self, *names: str) -> None:
        self.store = Store({LINE: by_line})
        self.woken: list[str] = []
        self.lines = Lines(lambda key: self.woken.append(key.name))
        self._version = 0
        for name in names:
            self.put(name)
        self.look()

    def put(self, name: str, status: Manifest | None = None, **spec: object) -> None:
        self._version += 1
        when = (NOON + dt.timedelta(minutes=ord(name[0]))).isoformat()
        own = {"creationTimestamp": when, "resourceVersion": str(self._version), "uid": name}
        manifest = job("clear", name, **spec)
        self.store.put({**manifest, "metadata": {**manifest["metadata"], **own}, "status": status})

    def look(self, me: Key = STRANGER) -> list[str]:
        """Name who is woken by a look."""
        self.woken.clear()
        self.lines.front(self.store, SET, me)
        return sorted(self.woken)

    def front(self) -> list[str]:
        return [rival.name for rival in self.lines.front(self.store, SET, STRANGER)]


def test_all_in_line_look_once_when_it_is_first_seen_but_for_the_one_who_looks() -> None:
    world = World()
    for name in "abc":
        world.put(name)
    assert world.look(Key("default", "b")) == ["a", "c"]
    assert world.look() == []


@pytest.mark.parametrize(
    ("name", "status", "spec"),
    [
        ("f", None, {}),
        ("e", {"phase": "Pending", "progress": "3 files"}, {}),
        ("a", {"phase": "Pending", "progress": "3 files"}, {}),
        ("e", LACKING, {}),
        ("e", {"phase": "Failed"}, {}),
        ("f", {"phase": "Succeeded"}, {}),
        ("a0", None, {"schedule": "@daily"}),
        ("f", LACKING, {"terminate": True}),
    ],
    ids=[
        *("one more", "far behind", "figures of the next", "far behind without a Secret", "an end far behind"),
        *("an end unseen", "a schedule", "one that would cancel others and cannot begin"),
    ],
)
def test_what_is_nothing_to_others_wakes_nobody(name: str, status: Manifest | None, spec: Manifest) -> None:
    world = World("a", "b", "c", "d", "e")
    world.put(name, status, **spec)
    assert world.look() == []


@pytest.mark.parametrize(
    ("name", "status", "spec"),
    [
        ("a", BEGUN, {}),
        ("e", BEGUN, {}),
        ("a", {"phase": "Succeeded"}, {}),
        ("c", {"phase": "Failed"}, {}),
        ("b", LACKING, {}),
        ("e", None, {"terminate": True}),
        ("A", None, {}),
    ],
    ids=["a start", "a start far behind", "an end", "an end near", "a lack", "one that cancels others", "an older one"],
)
def test_what_others_go_by_wakes_all_in_line(name: str, status: Manifest | None, spec: Manifest) -> None:
    world = World("a", "b", "c", "d", "e")
    world.put(name, status, **spec)
    assert {"d"} <= set(world.look())
    assert world.look() == []


def test_who_saw_a_job_in_front_looks_when_it_is_gone() -> None:
    world = World("a", "b", "c")
    gone = world.store.get(Key("default", "a"))
    assert gone is not None
    world.store.remove(gone)
    assert world.look() == ["b", "c"]
    assert world.front() == ["b", "c"]


def test_first_come_those_that_have_begun_then_the_next_few_and_all_that_cancel_others() -> None:
    world = World("a", "b", "c", "d", "e", "f")
    world.put("b", LACKING)
    world.put("e", BEGUN)
    world.put("g", terminate=True)
    assert world.front() == ["e", "a", "c", "d", "g"]


def test_a_job_that_did_not_change_is_read_once_however_many_look(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = joblines.reading

    def noted(job: Manifest) -> Reading:
        read.append(job["metadata"]["name"])
        return real(job)

    monkeypatch.setattr(joblines, "reading", noted)
    world = World("a", "b", "c")
    for _ in range(10):
        world.look()
    world.put("b", BEGUN)
    world.look()
    assert sorted(read) == ["a", "b", "b", "c"]
