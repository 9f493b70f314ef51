"""A runtime server that is stopped or killed at any moment: what was ordered is done in the end, once and whole."""

import os
import signal

from localkube.waiting import wait_until
from support.enginebox import Box, Volume
from support.runtimeprogram import RuntimeProgram


def started(box: Box) -> tuple[Volume, RuntimeProgram]:
    volume = Volume(box)
    server = RuntimeProgram(box, volume)
    server.start()
    return volume, server


def test_a_stopped_server_ends_well_and_its_successor_goes_on(box: Box) -> None:
    volume, server = started(box)
    for number in range(200):
        volume.write(f"train/{number}", os.urandom(5000))
    volume.empty_cache()
    server.order("warm", type="warmup")
    with server.watching() as response:
        assert response.readline()
        assert server.stop() == 0
    server.start()
    assert server.ended("warm")["state"] == "Succeeded"
    assert "Traceback" not in box.log("server")


def test_what_is_ordered_survives_every_kill(box: Box) -> None:
    volume, server = started(box)
    for number in range(300):
        volume.write(f"train/{number}", os.urandom(5000))
        volume.write(f"old/{number}", b"x")
    volume.empty_cache()
    orders: dict[str, dict[str, object]] = {
        "warm": {"type": "warmup"}, "remove": {"type": "rmr", "paths": ["old"]}, "clear": {"type": "clear"},
        "again": {"type": "warmup", "paths": ["train"]},
    }  # fmt: skip
    for name, order in orders.items():
        assert server.order(name, **order).status == 202
    for _ in range(4):
        server.kill()
        server.start()
    ends = {name: server.ended(name)["state"] for name in orders}
    assert set(ends.values()) == {"Succeeded"}, ends
    assert not (volume.inside / "old").exists()
    assert len([path for path in volume.blocks() if path.name.endswith("_5000")]) >= 300
    assert [operation["type"] for operation in server.status()["operations"]] == ["warmup", "rmr", "clear", "warmup"]


def test_what_was_cancelled_or_done_is_not_begun_again(box: Box) -> None:
    volume, server = started(box)
    volume.write("precious", b"x")
    done = server.done("clear", type="clear")
    server.order("long", type="warmup")
    server.order("remove", type="rmr", paths=["precious"])
    cancelled = server.cancel("remove").body["state"]
    server.kill()
    server.start()
    server.ended("long")
    assert server.operation("clear") == done
    assert server.operation("remove")["state"] == "Cancelled"
    assert (volume.inside / "precious").exists() == (cancelled == "Cancelled")


def test_two_servers_cannot_have_one_spool(box: Box) -> None:
    _, server = started(box)
    other = box.start("other", *server.argv, "--port=0")
    assert other.wait(30) == 1
    assert "another runtime server uses the spool" in box.log("other")


def test_a_mount_that_hangs_hangs_neither_requests_nor_the_end(box: Box) -> None:
    volume, server = started(box)
    volume.write("a", b"x")
    box.signal("mount", signal.SIGSTOP)
    try:
        wait_until(lambda: not server.is_ready(), 90, "it is ready though its mount hangs")
        assert server.ask("GET", "/healthz", token="").status == 200
        server.order("stuck", type="warmup")
        wait_until(lambda: server.operation("stuck")["state"] == "Running", 90, "it is not begun")
        server.cancel("stuck")
        assert server.ended("stuck")["state"] == "Cancelled"
        assert server.done("clear", type="clear")["state"] == "Succeeded"
    finally:
        box.signal("mount", signal.SIGCONT)
    wait_until(server.is_ready, 90, "it is not ready again")
    assert server.done("warm", type="warmup")["state"] == "Succeeded"
    box.signal("mount", signal.SIGSTOP)
    try:
        wait_until(lambda: not server.is_ready(), 90, "it is ready though its mount hangs")
        assert server.stop() == 0
    finally:
        box.signal("mount", signal.SIGCONT)
