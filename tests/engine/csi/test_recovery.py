"""What the CSI node plugin mends when clients, plugins or Redis die, with real JuiceFS mounts."""

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from localkube.waiting import wait_until
from paddle_operator.csi import mounttable
from paddle_operator.csi.namespaces import Namespace
from support import csinode
from support.csinode import Node, Volume
from support.juicefs import Redis


def test_a_client_is_brought_back_while_the_kubelet_is_writing_a_note_anew(node: Node, volume: Volume) -> None:
    node.publish("a", volume.handle, volume.secret())
    node.note("a", volume.handle).write_text("")
    node.kill_client(volume.handle)
    wait_until(lambda: node.is_served(volume.handle), 90, "the client does not come back")


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
            container.await_text("hello", "there")
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
    part.await_text("hello", "there")


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
    whole.await_text("done", "yes")
    assert not part.sees("hello", "the node's own")


def test_what_was_read_only_stays_so_when_the_client_was_brought_back(node: Node, volume: Volume) -> None:
    writer = node.container(node.publish("w", volume.handle, volume.secret()))
    writer.write("hello", "there")
    target = node.publish("r", volume.handle, volume.secret(), readonly=True)
    readers = [node.container(target), node.container(target, propagation="slave")]
    own = node.container(node.target("w", volume.handle), propagation="slave")
    own.run("mount", "-o", "remount,bind,ro", str(own.place))
    assert all(reader.refuses("new") for reader in (*readers, own))
    node.kill_client(volume.handle)
    for reader in (*readers, own):
        reader.await_text("hello", "there")
    wait_until(lambda: node.is_mended(target, volume.handle), 90, "the node's own place is not mended")
    assert all(reader.refuses("new") for reader in (*readers, own, node.container(target)))
    writer.write("new", "by who may")


def test_a_client_that_died_while_no_plugin_was_there_is_brought_back_by_the_next(node: Node, volume: Volume) -> None:
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    first.write("hello", "there")
    node.kill_plugin()
    node.kill_client(volume.handle)
    wait_until(lambda: not first.sees("hello", "there"), 90, "the client lives")
    node.start_plugin()
    first.await_text("hello", "there")


def test_without_injection_only_containers_that_follow_the_node_are_mended(place: Path, volume: Volume) -> None:
    with Node(place / "n", injects=False).running() as node:
        node.start_plugin()
        target = node.publish("a", volume.handle, volume.secret())
        following, other = node.container(target, propagation="slave"), node.container(target)
        following.write("hello", "there")
        node.kill_client(volume.handle)
        following.await_text("hello", "there")
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
    first.await_text("hello", "there")


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


def test_a_volume_that_was_mended_is_let_go_of_while_another_is_in_use(
    node: Node, volume: Volume, other_volume: Volume
) -> None:
    """A client has a view of the node's mounts, in which nothing may be mended: it would hold the volume for ever."""
    other = other_volume
    node.publish("b", other.handle, other.secret())
    first = node.container(node.publish("a", volume.handle, volume.secret()))
    node.publish("c", other.handle, other.secret())
    first.write("hello", "there")
    for handle in (volume.handle, other.handle, volume.handle):
        node.kill_client(handle)
        wait_until(partial(node.is_served, handle), 90, "the client is not back")
    first.await_text("hello", "there")
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
