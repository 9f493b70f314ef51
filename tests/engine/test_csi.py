"""The CSI node plugin with real JuiceFS mounts, in a mount namespace of the test's own."""

import itertools
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import grpc
import pytest

from localkube.waiting import wait_until
from paddle_operator.csi import mounttable
from paddle_operator.csi.messages import NodeGetVolumeStatsRequest, NodeGetVolumeStatsResponse, Unit, VolumeCondition
from paddle_operator.csi.namespaces import Namespace
from support import csinode, juicefs
from support.csinode import Container, Node
from support.juicefs import Redis

PASSWORD = "planted-secret-password"  # noqa: S105 the one that is looked for
KEY = "planted-secret-key"
NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Redis]:
    juicefs.require()
    with juicefs.redis(tmp_path_factory.mktemp("redis"), PASSWORD) as served:
        yield served


@contextmanager
def running(node: Node) -> Iterator[Node]:
    try:
        node.start()
        yield node
    finally:
        node.stop()
        csinode.remove_groups()


@contextmanager
def hole() -> Iterator[int]:
    """Give a port where connections are taken and never answered."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port: int = silent.getsockname()[1]
        yield port


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """Give a directory with a short name: a socket's path has 107 characters at most."""
    with tempfile.TemporaryDirectory(prefix="csi-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def shared(redis: Redis, place: Path) -> Iterator[Node]:
    del redis
    with running(Node(place)) as made:
        yield made


@pytest.fixture
def node(shared: Node) -> Iterator[Node]:
    """Give a node without volumes, whose plugin runs; who fails is shown what the plugin said meanwhile."""
    said = shared.log.stat().st_size if shared.log.exists() else 0
    shared.start_plugin()
    yield shared
    shared.clear()
    sys.stdout.write(f"--- the plugin's log\n{shared.log.read_bytes()[said:].decode(errors='replace')}")


@pytest.fixture
def hasty(node: Node) -> Iterator[Node]:
    """Give one whose plugin soon takes a client for one that hangs."""
    usual, node.answers_within = node.answers_within, 1.0
    node.stop_plugin()
    node.start_plugin()
    yield node
    node.answers_within = usual
    node.stop_plugin()


class Volume:
    """One that no other test has: its handle, and secrets for it."""

    def __init__(self, redis: Redis, directory: Path, number: int) -> None:
        self.redis = redis
        self.database = number
        self.directory = directory
        self.handle = f"vol-{number}"

    def secret(self, **changed: str) -> dict[str, str]:
        values = {"name": self.handle, "storage": "file", "bucket": f"{self.directory}/bucket/"}
        values |= {"metaurl": f"{self.redis.address(self.database)}\n", "access-key": "someone", "secret-key": KEY}
        return {**values, **changed}


@pytest.fixture
def volume(redis: Redis, place: Path) -> Volume:
    return Volume(redis, place, next(NUMBERS))


def mended(container: Container, name: str, text: str) -> None:
    wait_until(lambda: container.sees(name, text), 90, f"{container.place} is not mended")


def refused(container: Container, name: str) -> bool:
    try:
        container.write(name, "x")
    except subprocess.CalledProcessError as error:
        return "Read-only file system" in error.stderr
    return False


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


def test_a_client_is_brought_back_while_the_kubelet_is_writing_a_note_anew(node: Node, volume: Volume) -> None:
    node.publish("a", volume.handle, volume.secret())
    node.note("a", volume.handle).write_text("")
    node.kill_client(volume.handle)
    wait_until(lambda: node.is_served(volume.handle), 90, "the client does not come back")


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


def test_a_killed_plugin_leaves_the_mounts_and_its_successor_knows_them(node: Node, volume: Volume) -> None:
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    first.write("hello", "there")
    before = node.clients(volume.handle)
    node.kill_plugin()
    assert first.read("hello") == "there"
    node.start_plugin()
    second = node.container(node.publish("b", volume.handle, volume.secret()))
    assert second.read("hello") == "there"
    assert node.clients(volume.handle) == before
    for pod in ("a", "b"):
        node.unpublish(pod, volume.handle)
    for container in (first, second):
        container.end()
    wait_until(lambda: not node.clients(volume.handle), 90, "the client stays")


def test_a_plugin_that_is_told_to_stop_takes_its_sockets_away_and_nothing_else(node: Node, volume: Volume) -> None:
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    first.write("hello", "there")
    assert node.stop_plugin() == 0
    assert not node.places.socket.exists()
    assert not node.places.registration.exists()
    assert first.read("hello") == "there"


def test_a_client_that_dies_is_brought_back_again_and_again_and_the_pods_mounts_with_it(
    node: Node, volume: Volume
) -> None:
    target = node.publish("a", volume.handle, volume.secret())
    plain = node.container(target)
    following = node.container(target, propagation="slave")
    plain.write("hello", "there")
    for _ in range(3):
        node.kill_client(volume.handle)
        for container in (plain, following):
            mended(container, "hello", "there")
        wait_until(lambda: node.is_mended(target, volume.handle), 90, "the node's own place is not mended")
    assert [len(layers) for layers in (plain.layers(), node.layers(target))] == [2, 2]
    assert len(following.layers()) <= 3
    later = node.container(target)
    assert later.read("hello") == "there"


def test_a_part_of_a_volume_in_a_container_is_mended_too(node: Node, volume: Volume) -> None:
    target = node.publish("a", volume.handle, volume.secret())
    whole = node.container(target)
    whole.run("mkdir", "-p", str(whole.place / "some/part"))
    whole.write("some/part/hello", "there")
    part = node.container(target, subpath="some/part")
    node.kill_client(volume.handle)
    mended(part, "hello", "there")


def test_mending_a_part_follows_no_link_out_of_the_volume(node: Node, volume: Volume) -> None:
    (node.root / "outside").mkdir()
    (node.root / "outside/hello").write_text("the node's own")
    target = node.publish("a", volume.handle, volume.secret())
    whole = node.container(target)
    whole.run("mkdir", str(whole.place / "part"))
    part = node.container(target, subpath="part")
    whole.run("rmdir", str(whole.place / "part"))
    whole.run("ln", "-s", str(node.root / "outside"), str(whole.place / "part"))
    whole.write("done", "yes")
    node.kill_client(volume.handle)
    mended(whole, "done", "yes")
    assert not part.sees("hello", "the node's own")


def test_what_was_read_only_stays_so_when_the_client_was_brought_back(node: Node, volume: Volume) -> None:
    writer = node.container(node.publish("w", volume.handle, volume.secret()))
    writer.write("hello", "there")
    target = node.publish("r", volume.handle, volume.secret(), readonly=True)
    readers = [node.container(target), node.container(target, propagation="slave")]
    own = node.container(node.target("w", volume.handle), propagation="slave")
    own.run("mount", "-o", "remount,bind,ro", str(own.place))
    assert all(refused(reader, "new") for reader in (*readers, own))
    node.kill_client(volume.handle)
    for reader in (*readers, own):
        mended(reader, "hello", "there")
    wait_until(lambda: node.is_mended(target, volume.handle), 90, "the node's own place is not mended")
    assert all(refused(reader, "new") for reader in (*readers, own, node.container(target)))
    writer.write("new", "by who may")


def test_a_client_that_died_while_no_plugin_was_there_is_brought_back_by_the_next(node: Node, volume: Volume) -> None:
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    first.write("hello", "there")
    node.kill_plugin()
    node.kill_client(volume.handle)
    wait_until(lambda: not first.sees("hello", "there"), 90, "the client lives")
    node.start_plugin()
    mended(first, "hello", "there")


def test_without_injection_only_containers_that_follow_the_node_are_mended(place: Path, volume: Volume) -> None:
    with running(Node(place / "n", injects=False)) as node:
        node.start_plugin()
        target = node.publish("a", volume.handle, volume.secret())
        following, other = node.container(target, propagation="slave"), node.container(target)
        following.write("hello", "there")
        node.kill_client(volume.handle)
        mended(following, "hello", "there")
        assert not other.sees("hello", "there")


def test_a_metadata_engine_that_comes_back_late_delays_but_does_not_prevent(
    node: Node, volume: Volume, redis: Redis
) -> None:
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    first.write("hello", "there")
    redis.stop()
    node.kill_client(volume.handle)
    wait_until(lambda: "not mended" in node.log.read_text(), 90, "it did not try")
    redis.start()
    mended(first, "hello", "there")


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
    assert refused(node.container(target), "new")


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


def test_a_part_that_the_kubelet_mounted_for_a_container_is_mended_for_its_next_life(
    node: Node, volume: Volume
) -> None:
    target = node.publish("a", volume.handle, volume.secret())
    whole = node.container(target)
    whole.run("mkdir", str(whole.place / "part"))
    whole.write("part/hello", "there")
    place = node.places.pods / "a/volume-subpaths/data/main/0"
    csinode.inside(node.pid, "mkdir", "-p", str(place))
    csinode.inside(node.pid, "mount", "--bind", str(target / "part"), str(place))
    node.kill_client(volume.handle)
    wait_until(lambda: len(node.layers(place)) == 2, 90, "the part is not mended")
    assert csinode.inside(node.pid, "cat", str(place / "hello")) == "there"
    csinode.inside(node.pid, "umount", "--recursive", "--lazy", str(place))


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


def test_a_volume_that_was_mended_is_let_go_of_while_another_is_in_use(node: Node, volume: Volume) -> None:
    """A client has a view of the node's mounts, in which nothing may be mended: it would hold the volume for ever."""
    other = Volume(volume.redis, volume.directory, next(NUMBERS))
    node.publish("b", other.handle, other.secret())
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    node.publish("c", other.handle, other.secret())
    first.write("hello", "there")
    for handle in (volume.handle, other.handle, volume.handle):
        node.kill_client(handle)
        wait_until(partial(node.is_served, handle), 90, "the client is not back")
    mended(first, "hello", "there")
    (client,) = node.clients(other.handle)
    view = mounttable.layers(Namespace(client).mounts(), node.target("b", other.handle))
    assert len(view) == len(node.layers(node.target("b", other.handle)))
    first.end()
    node.unpublish("a", volume.handle)
    wait_until(lambda: not node.clients(volume.handle), 90, "the client stays")
    assert node.clients(other.handle)
    for pod in ("b", "c"):
        node.unpublish(pod, other.handle)
    wait_until(lambda: not node.clients(other.handle), 90, "the other client stays")


def test_a_client_that_a_killed_plugin_left_is_not_taken_for_its_successors(node: Node, volume: Volume) -> None:
    """It may mount while the next plugin makes the volume, which then ends it: a dead mount is there already."""
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(node.publish, "a", volume.handle, volume.secret())
        wait_until(lambda: bool(node.clients(volume.handle)), 90, "no client is started", 0.001)
        (stray,) = node.clients(volume.handle)
        os.kill(stray, signal.SIGSTOP)
        node.kill_plugin()
        asked.exception()
        assert node.layers(node.places.stage(volume.handle)) == []
        address = f"{volume.redis.port}/{volume.database}"
        node.start_plugin()
        asked = pool.submit(node.publish, "a", volume.handle, volume.secret())
        wait_until(lambda: {*node.words_of(address)} - {stray} != set(), 90, "the volume is not made", 0.001)
        (maker,) = {*node.words_of(address)} - {stray}
        os.kill(maker, signal.SIGSTOP)
        os.kill(stray, signal.SIGCONT)
        wait_until(lambda: bool(node.layers(node.places.stage(volume.handle))), 90, "the stray does not mount", 0.001)
        os.kill(maker, signal.SIGCONT)
        container = node.container(asked.result())
    container.write("hello", "there")
    assert container.read("hello") == "there"


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(lambda node, volume: node.words_of(f"{volume.redis.port}/{volume.database}"), id="formatting"),
        pytest.param(lambda node, volume: node.clients(volume.handle), id="starting a client"),
        pytest.param(lambda node, volume: node.layers(node.places.stage(volume.handle)), id="mounting"),
        pytest.param(lambda node, volume: node.layers(node.target("a", volume.handle)), id="copying the mount"),
    ],
)
def test_a_plugin_that_is_killed_while_it_works_is_followed_by_one_that_ends_the_work(
    node: Node, volume: Volume, moment: Callable[[Node, Volume], list[object]]
) -> None:
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(node.publish, "a", volume.handle, volume.secret())
        wait_until(lambda: bool(moment(node, volume)), 90, "the moment does not come", 0.001)
        node.kill_plugin()
        asked.exception()
    node.start_plugin()
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    first.write("hello", "there")
    wait_until(lambda: len(node.clients(volume.handle)) == 1, 90, "there is not one client")
    assert len(node.layers(node.target("a", volume.handle))) == 1
    assert len(node.layers(node.places.stage(volume.handle))) == 1
    first.end()
    node.unpublish("a", volume.handle)
    wait_until(lambda: not node.clients(volume.handle), 90, "the client stays")
    assert node.layers(node.places.stage(volume.handle)) == []
