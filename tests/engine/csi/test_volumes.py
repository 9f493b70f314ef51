"""The CSI node plugin with real JuiceFS mounts, in a mount namespace of the test's own."""

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from localkube.waiting import wait_until
from paddle_operator.csi.messages import NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse, Unit, VolumeCondition
from support import csinode
from support.csinode import KEY, PASSWORD, Node, Volume


@pytest.fixture
def hasty(node: Node) -> Iterator[Node]:
    """Give one whose plugin soon takes a client for one that hangs."""
    usual, node.answers_within = node.answers_within, 1.0
    node.stop_plugin()
    node.start_plugin()
    yield node
    node.answers_within = usual
    node.stop_plugin()


@contextmanager
def hole() -> Iterator[int]:
    """Give a port where connections are taken and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port: int = silent.getsockname()[1]
        yield port


def test_pods_of_one_node_share_a_volume_and_its_one_client(node: Node, volume: Volume) -> None:
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    second = node.container(node.publish("b", volume.handle, volume.secret()))
    first.write("hello", "from the first")
    assert second.read("hello") == "from the first"
    assert len(node.clients(volume.handle)) == 1


def test_asking_twice_mounts_once(node: Node, volume: Volume) -> None:
    target = node.publish("a", volume.handle, volume.secret())
    node.publish("a", volume.handle, volume.secret())
    assert len(node.layers(target)) == 1


def test_a_note_that_the_kubelet_is_writing_anew_does_not_take_the_volume_from_its_pod(
    node: Node, volume: Volume
) -> None:
    target = node.publish("a", volume.handle, volume.secret())
    clients = node.clients(volume.handle)
    node.publish("b", volume.handle, volume.secret())
    node.note("a", volume.handle).write_text("")
    node.unpublish("b", volume.handle)
    node.publish("a", volume.handle, volume.secret())
    assert (node.clients(volume.handle), len(node.layers(target))) == (clients, 1)


def test_the_last_pod_takes_the_client_the_mount_and_the_secret_with_it(node: Node, volume: Volume) -> None:
    targets = [node.publish(pod, volume.handle, volume.secret()) for pod in ("a", "b")]
    node.unpublish("a", volume.handle)
    assert node.clients(volume.handle)
    node.unpublish("b", volume.handle)
    wait_until(lambda: not node.clients(volume.handle), 90, "the client stays")
    assert node.layers(node.places.stage(volume.handle)) == []
    assert csinode.inside(node.pid, "find", str(node.places.records), "-type", "f") == ""
    assert [target.exists() for target in targets] == [False, False]
    node.unpublish("b", volume.handle)


def test_a_plugin_that_is_told_to_stop_takes_its_sockets_away_and_nothing_else(node: Node, volume: Volume) -> None:
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    first.write("hello", "there")
    assert node.stop_plugin() == 0
    assert not node.places.socket.exists()
    assert not node.places.registration.exists()
    assert first.read("hello") == "there"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        pytest.param(
            {"metaurl": "redis://:guessed-secret@127.0.0.1:{port}/0"},
            "refuses the user or the password",
            id="wrong password",
        ),
        pytest.param({"metaurl": "redis://127.0.0.1:1/0"}, "cannot be reached", id="nobody there"),
        pytest.param({"metaurl": ""}, "has no metaurl", id="no address"),
        pytest.param({"storage": "nonsense"}, "nonsense", id="unknown storage"),
        pytest.param({"name": "_"}, "the volume's name", id="name that JuiceFS refuses"),
    ],
)
def test_a_secret_that_is_wrong_is_told_in_plain_words(
    node: Node, volume: Volume, changed: dict[str, str], sentence: str
) -> None:
    values = {name: value.format(port=volume.redis.port) for name, value in changed.items()}
    with pytest.raises(grpc.RpcError) as caught:
        node.publish("a", volume.handle, volume.secret(**values))
    said = str(caught.value)
    assert sentence in said
    assert not any(secret in said for secret in (PASSWORD, KEY, "guessed-secret"))
    assert node.clients(volume.handle) == []
    assert node.layers(node.places.stage(volume.handle)) == []


def test_a_volume_that_is_there_is_mounted_though_the_secret_does_not_say_where_its_data_is(
    node: Node, volume: Volume
) -> None:
    bare = volume.secret(storage="", bucket="")
    with pytest.raises(grpc.RpcError, match="holds no volume: give storage and bucket"):
        node.publish("a", volume.handle, bare)
    node.container(node.publish("a", volume.handle, volume.secret())).write("hello", "there")
    node.unpublish("a", volume.handle)
    assert node.container(node.publish("b", volume.handle, bare)).sees("hello", "there")


def test_a_volume_of_another_name_is_not_mounted_by_mistake(node: Node, volume: Volume) -> None:
    node.publish("a", volume.handle, volume.secret())
    with pytest.raises(grpc.RpcError, match=f"holds the volume '{volume.handle}', not 'another'"):
        node.publish("b", "other", volume.secret(name="another"))


def test_an_option_that_juicefs_does_not_know_is_named(node: Node, volume: Volume) -> None:
    with pytest.raises(grpc.RpcError, match=r"correct mountOptions.*speed"):
        node.publish("a", volume.handle, volume.secret(), options="speed=high")


def test_options_of_the_volume_reach_its_client(node: Node, volume: Volume) -> None:
    options = f"cache-dir={node.root}/cache,cache-size=64,ro"
    target = node.publish("a", volume.handle, volume.secret(), options=options)
    (client,) = node.clients(volume.handle)
    words = Path(f"/proc/{client}/cmdline").read_text().split("\0")
    assert {f"--cache-dir={node.root}/cache", "--cache-size=64"} <= set(words)
    assert node.container(target).refuses("new")


def test_keys_that_were_changed_in_the_secret_are_given_to_the_volume(node: Node, volume: Volume) -> None:
    node.publish("a", volume.handle, volume.secret())
    node.unpublish("a", volume.handle)
    node.publish("a", volume.handle, volume.secret(**{"secret-key": "changed"}))
    assert '"SecretKey": "changed"' in volume.redis.ask("-n", str(volume.database), "get", "setting")


@pytest.mark.parametrize("scheme", ["redis://", ""], ids=["with a scheme", "without one"])
def test_no_secret_is_on_a_command_line_in_a_log_or_for_others_to_read(node: Node, volume: Volume, scheme: str) -> None:
    metaurl = scheme + volume.redis.address(volume.database).removeprefix("redis://")
    node.publish("a", volume.handle, volume.secret(metaurl=metaurl))
    lines = [" ".join(words) for _, words in csinode.command_lines() if "redis-cli" not in words]
    logs = [path.read_text(errors="replace") for path in (node.log, *(node.places.plugin / "logs").iterdir())]
    assert [text for text in (*lines, *logs) if PASSWORD in text or KEY in text] == []
    record = str(node.places.record(volume.handle))
    assert csinode.inside(node.pid, "stat", "--file-system", "--format=%T", record) == "tmpfs\n"
    assert csinode.inside(node.pid, "stat", "--format=%a", record) == "600\n"
    assert csinode.inside(node.pid, "stat", "--format=%a", str(node.places.state)) == "700\n"


def test_a_volume_tells_how_full_it_is_and_whether_it_is_served(node: Node, volume: Volume) -> None:
    target = node.publish("a", volume.handle, volume.secret())
    node.container(target).write("hello", "x" * 100_000)
    request = NodeGetVolumeStatsRequest(volume.handle, str(target))
    stats = node.call("csi.v1.Node/NodeGetVolumeStats", request, NodeGetVolumeStatsResponse)
    assert stats.volume_condition == VolumeCondition(False, "the volume is served")
    in_bytes, in_inodes = stats.usage
    assert (in_bytes.unit, in_inodes.unit) == (Unit.BYTES, Unit.INODES)
    assert in_bytes.total > in_bytes.available > 0
    assert in_inodes.used > 0
    request = NodeGetVolumeStatsRequest(volume.handle, str(node.target("nobody", volume.handle)))
    with pytest.raises(grpc.RpcError, match="nothing is mounted"):
        node.call("csi.v1.Node/NodeGetVolumeStats", request, NodeGetVolumeStatsResponse)


def test_a_volume_that_cannot_be_reached_does_not_delay_another(node: Node, volume: Volume) -> None:
    with hole() as port, ThreadPoolExecutor() as pool:
        lost = pool.submit(node.publish, "a", "lost", volume.secret(metaurl=f"redis://127.0.0.1:{port}/0"))
        wait_until(lambda: bool(node.words_of(f"127.0.0.1:{port}")), 90, "it is not tried")
        node.publish("b", volume.handle, volume.secret())
        assert not lost.done()
        for process in node.words_of(f"127.0.0.1:{port}"):
            os.kill(process, signal.SIGKILL)
        with pytest.raises(grpc.RpcError, match="juicefs cannot format the volume"):
            lost.result()


def test_a_client_that_hangs_holds_up_neither_the_kubelet_nor_the_end_of_a_pod(hasty: Node, volume: Volume) -> None:
    target = hasty.publish("a", volume.handle, volume.secret())
    (client,) = hasty.clients(volume.handle)
    os.kill(client, signal.SIGSTOP)
    try:
        request = NodeGetVolumeStatsRequest(volume.handle, str(target))
        stats = hasty.call("csi.v1.Node/NodeGetVolumeStats", request, NodeGetVolumeStatsResponse)
        assert stats.volume_condition is not None
        assert stats.volume_condition.abnormal
        assert "does not answer" in stats.volume_condition.message
        with pytest.raises(grpc.RpcError, match="does not answer"):
            hasty.publish("b", volume.handle, volume.secret())
        hasty.unpublish("a", volume.handle)
        assert hasty.layers(target) == []
    finally:
        os.kill(client, signal.SIGCONT)
    wait_until(lambda: not hasty.clients(volume.handle), 90, "the client stays")


def test_a_plugin_that_stops_on_a_node_without_volumes_leaves_nothing_there(node: Node, volume: Volume) -> None:
    node.publish("a", volume.handle, volume.secret())
    node.unpublish("a", volume.handle)
    assert node.stop_plugin() == 0
    assert not node.places.plugin.exists()
    assert node.layers(node.places.state) == []
