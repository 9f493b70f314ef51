"""The HTTP interface, on a real server: who may ask, what is refused, what is told."""

import http.client
import json
import os
from collections.abc import Generator

import pytest

from localkube.waiting import wait_until
from paddle_operator.api.manifest import Manifest
from support.enginebox import AREA, Box, Volume
from support.runtimeprogram import RuntimeProgram

ROUTES = [
    ("GET", "/v1/status"), ("GET", "/v1/watch"), ("GET", "/v1/operations"), ("GET", "/v1/operations/a"),
    ("PUT", "/v1/operations/a"), ("DELETE", "/v1/operations/a"), ("GET", "/"), ("GET", "/v2/anything"),
]  # fmt: skip


def test_without_the_token_everything_is_refused(server: RuntimeProgram) -> None:
    for method, path in ROUTES:
        for token in ("", "wrong", server.token[:-1], f"{server.token}x", "é"):
            headers = {"Authorization": f"Bearer {token}".encode()}
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            connection.request(method, path, b'{"type":"clear"}', headers)
            response = connection.getresponse()
            assert response.status == 401, (method, path, token)
            assert server.token not in response.read().decode()
            connection.close()
    assert server.ask("GET", "/v1/operations/a").status == 404


def test_a_new_token_counts_at_once(server: RuntimeProgram) -> None:
    file, old, new = server.box.inside(AREA / "server-token"), server.token, f"{server.token}-new"
    file.write_text(new)
    assert server.ask("GET", "/v1/status", token=old).status == 401
    assert server.ask("GET", "/v1/status", token=new).status == 200
    file.write_text("")
    assert server.ask("GET", "/v1/status", token="").status == 401
    file.write_text(old)


def test_probes_need_no_token(server: RuntimeProgram) -> None:
    assert server.ask("GET", "/healthz", token="").status == 200
    assert server.ask("GET", "/readyz", token="").status == 200


BAD_IDS = ["..", ".", "%2e%2e%2fescape", "a%2fb", "UPPER", "-a", "a..b", "a%00b", "a%0ab", "x" * 128, "%F0%9F%92%A9"]


@pytest.mark.parametrize("name", BAD_IDS)
def test_a_hostile_id_is_refused(server: RuntimeProgram, name: str) -> None:
    before = server.spooled()
    assert server.ask("PUT", f"/v1/operations/{name}", {"type": "clear"}).status in {400, 404, 405}
    assert server.spooled() == before


BAD_BODIES = {
    "nothing": (b"", 400),
    "no JSON": (b"{", 400),
    "not UTF-8": (b'{"type":"\xff"}', 400),
    "no type": (b"{}", 400),
    "an unknown type": (b'{"type":"format"}', 400),
    "an unknown field": (b'{"type":"clear","force":true}', 400),
    "a field of the wrong type": (b'{"type":"rmr","paths":"train"}', 400),
    "a path that is none": (b'{"type":"rmr","paths":[null]}', 400),
    "no paths": (b'{"type":"rmr","paths":[]}', 422),
    "a share that is none": (b'{"type":"warmup","share":{"partition":3,"partitions":3}}', 422),
    "nested too deeply": (b'{"type":"rmr","paths":' + b"[" * 100_000, 400),
    "too many paths": (b'{"type":"rmr","paths":[' + b'"a",' * 20_000 + b'"a"]}', 422),
    "too large": (b'{"type":"rmr","paths":["' + b"a" * (2 << 20) + b'"]}', 413),
    "a source of the server's own": (b'{"type":"sync","source":"file:///etc/"}', 422),
    "a source with keys in it": (b'{"type":"sync","source":"s3://PLANTED:SECRET@bucket/x"}', 422),
    "no source": (b'{"type":"sync"}', 422),
    "an unknown scheme": (b'{"type":"sync","source":"ftp://host/x"}', 422),
    "hosts that are options": (b'{"type":"sync","source":"s3://b.host/x","worker":"-oProxyCommand=id"}', 422),
    "keys that JuiceFS wants on its command line": (
        b'{"type":"sync","source":"ks3://b.host/x","credentials":{"accessKey":"PLANTED","secretKey":"SECRET"}}',
        422,
    ),
}


@pytest.mark.parametrize(("body", "status"), BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_a_bad_order_is_refused_with_a_sentence(server: RuntimeProgram, body: bytes, status: int) -> None:
    answer = server.ask("PUT", "/v1/operations/bad", body)
    assert answer.status == status, answer
    assert list(answer.body) == ["error"]
    assert 10 < len(answer.body["error"]) < 400
    assert "PLANTED" not in answer.text
    assert "SECRET" not in answer.text
    assert server.ask("GET", "/v1/operations/bad").status == 404


def test_the_same_order_again_is_the_same_operation(volume: Volume, server: RuntimeProgram) -> None:
    volume.write("a/b", b"x")
    first = server.order("one", type="rmr", paths=["a"])
    again = server.order("one", type="rmr", paths=["a"])
    other = server.order("one", type="rmr", paths=["b"])
    assert (first.status, again.status, other.status) == (202, 200, 409)
    done = server.ended("one")
    volume.write("a/b", b"x")
    assert server.order("one", type="rmr", paths=["a"]).body == done
    assert (volume.inside / "a/b").exists()


def test_an_unknown_operation_is_not_found(server: RuntimeProgram) -> None:
    assert server.ask("GET", "/v1/operations/nobody").status == 404
    assert server.ask("DELETE", "/v1/operations/nobody").status == 404


def test_a_finished_operation_stays_as_it_is_when_cancelled(server: RuntimeProgram) -> None:
    done = server.done("one", type="clear")
    for _ in range(2):
        assert server.cancel("one").body == done


def watched(server: RuntimeProgram) -> Generator[Manifest | None]:
    with server.watching() as response:
        while line := response.readline():
            yield json.loads(line) if line.strip() else None


def test_a_watch_tells_at_once_and_of_each_change_and_beats_in_between(volume: Volume, server: RuntimeProgram) -> None:
    reports = watched(server)
    first = next(reports)
    assert first
    assert first["mounted"]
    server.order("warm", type="warmup")
    states = []
    for report in reports:
        if report is None:
            break
        states += [operation["state"] for operation in report["operations"]]
    assert states[-1] == "Succeeded"
    volume.write("new", os.urandom(100_000))
    grown = next(report for report in reports if report)
    assert grown["data"]["bytes"] > first["data"]["bytes"]
    reports.close()


def test_the_status_tells_what_there_is_and_what_is_cached(volume: Volume, server: RuntimeProgram) -> None:
    for number in range(30):
        volume.write(f"train/{number}", os.urandom(20_000))
    volume.await_cached(20_000, 30)
    server.done("clear", type="clear")
    wait_until(lambda: server.status()["data"]["files"] == 31, 90, "the files are not counted")
    wait_until(lambda: server.status()["cache"]["blocks"] == 0, 90, "the cache is not empty")
    assert server.done("warm", type="warmup")["state"] == "Succeeded"
    wait_until(lambda: server.status()["cache"]["blocks"] >= 30, 90, "the cache is not full")
    full = server.status()
    assert full["data"]["bytes"] >= 30 * 20_000
    assert full["cache"]["used"] >= 30 * 20_000
    assert full["cache"]["capacity"] >= full["cache"]["free"] > 0
    assert full["engine"] == "juicefs"
    assert [operation["type"] for operation in full["operations"]][-2:] == ["clear", "warmup"]


def test_a_server_whose_mount_is_gone_lives_and_is_not_ready(box: Box) -> None:
    volume = Volume(box)
    server = RuntimeProgram(box, volume)
    server.start()
    volume.box.run("umount", "--lazy", str(volume.mount))
    wait_until(lambda: not server.is_ready(), 90, "it is ready without a mount")
    assert server.ask("GET", "/healthz", token="").status == 200
    assert not server.status()["mounted"]
    assert server.done("warm", type="warmup")["state"] == "Failed"
    assert server.done("clear", type="clear")["state"] == "Succeeded"
    volume.begin()
    wait_until(server.is_ready, 90, "it is not ready again")
