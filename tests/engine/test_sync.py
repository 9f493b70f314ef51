"""Syncs on a real JuiceFS, from an S3 endpoint whose keys are nowhere to be seen."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from localkube.waiting import wait_until
from support.enginebox import AREA, Box, Bucket, Volume, made_box
from support.runtimeprogram import RuntimeProgram

ACCESS, SECRET = "PLANTEDaccess", "PLANTEDsecret/+%&' $x"
KEYS = {"accessKey": ACCESS, "secretKey": f"{SECRET}\n"}
FILES = {f"train/{number:02}": os.urandom(20_000) for number in range(20)}
# Prefixes that begin as another does where an address would end.
ODD = {f"{prefix}/file": prefix.encode() for prefix in ("exp", "exp#1", "exp2", "exp?1", "exp 1", "exp+1", "e:x@p:1")}


class Shop:
    """A box with an S3 endpoint, a volume and a server."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.bucket = Bucket(box, ACCESS, SECRET)
        self.bucket.fill({**FILES, **ODD})
        self.volume = Volume(box)
        self.source = box.inside(AREA / "source")
        self.source.mkdir()
        self.server = RuntimeProgram(box, self.volume, f"--source-dirs={AREA}/source")
        self.server.start()

    def order(self, **more: object) -> dict[str, object]:
        return {"type": "sync", "source": self.bucket.uri, "no-https": True, "credentials": KEYS, **more}

    def is_whole(self, destination: str = "") -> bool:
        root = self.volume.inside / destination
        return all((root / name).read_bytes() == content for name, content in FILES.items())


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with made_box(tmp_path_factory.mktemp("shop")) as box:
        yield Shop(box)


def command_lines() -> dict[int, bytes]:
    found = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found[int(path.parent.name)] = path.read_bytes()
        except OSError:
            continue
    return found


@contextmanager
def all_command_lines() -> Iterator[set[bytes]]:
    """Collect what any process of the machine has on its command line, as long as this lasts."""
    seen: set[bytes] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.005):
            seen.update(command_lines().values())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def test_a_sync_copies_the_source_and_its_keys_are_nowhere_to_be_seen(shop: Shop) -> None:
    with all_command_lines() as seen:
        done = shop.server.done("copy", **shop.order())
        shop.server.done("not-so", **shop.order(destination="w", credentials={**KEYS, "secretKey": "PLANTEDwrong"}))
    assert done["state"] == "Succeeded", done
    assert (done["result"]["files"], done["result"].get("failed", 0)) == (len(FILES) + len(ODD), 0)
    assert shop.is_whole()
    assert any(b"sync" in line and shop.bucket.uri.encode() in line for line in seen), "the sync itself was not seen"
    answers = [shop.server.ask("GET", path).text for path in ("/v1/status", "/v1/operations")]
    spooled = [path.read_bytes() for path in shop.server.spooled()]
    places = [*seen, *spooled, shop.box.log("server").encode(), *(answer.encode() for answer in answers)]
    assert spooled
    assert [place for place in places if b"PLANTED" in place] == []


def test_wrong_keys_fail_the_sync_with_what_the_store_said(shop: Shop) -> None:
    done = shop.server.done("wrong", **shop.order(destination="w", credentials={**KEYS, "secretKey": "PLANTEDwrong"}))
    assert done["state"] == "Failed"
    assert "SignatureDoesNotMatch" in done["message"]


def test_a_sync_into_a_directory_stays_in_it(shop: Shop) -> None:
    done = shop.server.done("deep", **shop.order(destination="deep/er", include="train/0.*", threads=2))
    assert done["state"] == "Succeeded"
    assert {path.name for path in (shop.volume.inside / "deep/er/train").iterdir()} >= {"00", "09"}


def test_a_prefix_in_a_bucket_is_taken_literally(shop: Shop) -> None:
    copied = {}
    for number, name in enumerate(ODD):
        place, prefix = f"from/{number}", name.removesuffix("/file")
        done = shop.server.done(f"odd-{number}", **shop.order(source=shop.bucket.part(prefix), destination=place))
        assert done["state"] == "Succeeded", done
        copied[name] = [path.read_bytes() for path in (shop.volume.inside / place).iterdir()]
    assert copied == {name: [content] for name, content in ODD.items()}


def test_a_second_sync_copies_nothing(shop: Shop) -> None:
    shop.server.done("first", **shop.order(destination="twice"))
    again = shop.server.done("second", **shop.order(destination="twice"))
    assert (again["state"], again["result"].get("bytes", 0)) == ("Succeeded", 0)
    assert again["result"]["skipped"] == len(FILES) + len(ODD)


@pytest.mark.parametrize("dry", [False, True], ids=["", "not even to look"])
@pytest.mark.parametrize("destination", ["link", "link/below"])
def test_a_symbolic_link_leads_no_sync_out_of_the_data_set(
    shop: Shop,
    destination: str,
    dry: bool,  # noqa: FBT001 a table's column
) -> None:
    outside = shop.box.inside(AREA / "outside")
    outside.mkdir(exist_ok=True)
    if not (shop.volume.inside / "link").is_symlink():
        (shop.volume.inside / "link").symlink_to(AREA / "outside")
    done = shop.server.done(f"out-{destination[5:]}{int(dry)}", **shop.order(destination=destination, dry=dry))
    assert done["state"] == "Failed"
    assert list(outside.iterdir()) == []


def test_a_link_that_is_planted_below_the_destination_is_not_followed(shop: Shop) -> None:
    outside = shop.box.inside(AREA / "beyond")
    outside.mkdir()
    place = shop.volume.inside / "planted"
    place.mkdir()
    (place / "train").symlink_to(AREA / "beyond")
    done = shop.server.done("planted", **shop.order(destination="planted"))
    assert list(outside.iterdir()) == []
    assert done["state"] == "Failed", done


def test_links_elsewhere_in_the_data_set_do_not_disturb_a_sync(shop: Shop) -> None:
    place = shop.volume.inside / "linked"
    place.mkdir()
    (place / "aside").symlink_to("/etc")
    (place / "broken").symlink_to("nowhere")
    done = shop.server.done("linked", **shop.order(destination="linked"))
    assert done["state"] == "Succeeded", done
    assert shop.is_whole("linked")


@pytest.mark.parametrize("destination", ["..", "/etc", "a/../../b", "a\nb", ".control"])
def test_a_hostile_destination_is_refused(shop: Shop, destination: str) -> None:
    assert shop.server.order("hostile", **shop.order(destination=destination)).status == 422


@pytest.mark.parametrize("source", ["file:///etc/", "file:///mnt/source/../token", "file:///mnt/sourcery/"])
def test_a_file_source_is_below_the_directories_that_the_server_was_given(shop: Shop, source: str) -> None:
    assert shop.server.order("source", type="sync", source=source).status == 422


def test_a_link_in_a_file_source_brings_nothing_from_outside_of_it(shop: Shop) -> None:
    place = shop.source / "linked"
    place.mkdir()
    (place / "own").write_bytes(b"x")
    (place / "again").symlink_to("own")
    (shop.source / "beside").write_bytes(b"y")
    (place / "beside").symlink_to("../beside")
    order = {"type": "sync", "source": f"file://{AREA}/source/linked", "destination": "leaked"}
    assert shop.server.done("inside", **order)["state"] == "Succeeded"
    (place / "file").symlink_to(AREA / "server-token")
    (place / "directory").symlink_to(AREA / "bin")
    assert shop.server.done("leak", **order)["state"] == "Failed"
    copied = [path for path in (shop.volume.inside / "leaked").rglob("*") if path.is_file()]
    shutil.rmtree(place)
    (shop.source / "beside").unlink()
    assert {path.name: path.read_bytes() for path in copied} == {"own": b"x", "again": b"x", "beside": b"y"}


def slow(shop: Shop, name: str) -> dict[str, object]:
    """Give an order that takes a few seconds: 4 MB at 1 MB a second."""
    for number in range(40):
        (shop.source / f"{number:02}").write_bytes(os.urandom(100_000))
    return {"type": "sync", "source": f"file://{AREA}/source", "destination": name, "bwlimit": 8, "threads": 1}


def syncs(name: str) -> list[int]:
    return [process for process, line in command_lines().items() if b"sync\0" in line and name.encode() in line]


def test_a_sync_that_is_cancelled_ends_with_its_process(shop: Shop) -> None:
    shop.server.order("cancelled", **slow(shop, "cut-short"))
    wait_until(lambda: bool(syncs("cut-short")), 90, "the sync does not begin", pause=0.02)
    assert shop.server.order("waiting", type="clear").body["state"] == "Queued"
    assert shop.server.cancel("waiting").body["state"] == "Cancelled"
    assert shop.server.cancel("cancelled").status == 200
    assert shop.server.ended("cancelled")["state"] == "Cancelled"
    assert syncs("cut-short") == []
    assert len(list((shop.volume.inside / "cut-short").glob("*"))) < 40


def test_a_sync_shows_how_far_it_is_and_when_it_has_found_all_of_how_much(shop: Shop) -> None:
    shop.server.order("slow", **slow(shop, "shown") | {"bwlimit": 3})
    seen = []

    def is_told_of_all() -> bool:
        seen.append(shop.server.operation("slow")["progress"])
        return bool(0 < seen[-1]["files"] < 40 == seen[-1]["totalFiles"])

    wait_until(is_told_of_all, 90, "no progress", pause=0.1)
    assert any(0 < found["files"] < 40 and found["totalFiles"] == 0 for found in seen)
    done = shop.server.ended("slow")["progress"]
    assert (done["files"], done["totalFiles"]) == (40, 40)


def test_a_server_that_is_killed_takes_its_sync_along_and_begins_it_again(shop: Shop) -> None:
    shop.server.order("killed", **slow(shop, "resumed"))
    wait_until(lambda: any((shop.volume.inside / "resumed").glob("*")), 90, "the sync does not begin", pause=0.05)
    shop.server.kill()
    wait_until(lambda: syncs("resumed") == [], 90, "the sync outlives its server", pause=0.02)
    shop.server.start()
    done = shop.server.ended("killed")
    assert done["state"] == "Succeeded", done
    copied = {path.name: path.read_bytes() for path in (shop.volume.inside / "resumed").iterdir()}
    assert copied == {path.name: path.read_bytes() for path in shop.source.iterdir()}


def test_after_a_restart_a_sync_waits_for_its_keys_and_for_nothing_else(shop: Shop) -> None:
    order = shop.order(destination="again", bwlimit=1, threads=1)
    shop.server.order("again", **order)
    wait_until(lambda: bool(syncs("again")), 90, "the sync does not begin", pause=0.02)
    shop.server.kill()
    shop.server.start()
    waiting = shop.server.operation("again")
    assert (waiting["state"], waiting["needsCredentials"]) == ("Queued", True)
    answer = shop.server.order("again", **order)
    assert (answer.status, answer.body["needsCredentials"]) == (200, False)
    assert shop.server.ended("again")["state"] == "Succeeded"
    assert shop.is_whole("again")
