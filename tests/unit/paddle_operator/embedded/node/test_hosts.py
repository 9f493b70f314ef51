"""The names that lead to pods."""

from pathlib import Path

from paddle_operator.api.manifest import Manifest
from paddle_operator.embedded.node import hosts


def service(name: str, *, waits_for_ready: bool = False, namespace: str = "default") -> Manifest:
    spec = {"selector": {"app": "demo"}, "publishNotReadyAddresses": not waits_for_ready}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def pod(name: str, address: str, *, ready: bool = True, phase: str = "Running", subdomain: str = "") -> Manifest:
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "demo"}},
        "spec": {"hostname": name, "subdomain": subdomain},
        "status": {
            "podIP": address,
            "phase": phase,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def addresses(name: str, found: list[hosts.Named]) -> set[str]:
    return {one.address for one in found if name in (*one.near, *one.far)}


def test_a_service_leads_to_all_its_pods() -> None:
    found = hosts.names([service("demo")], [pod("a", "1.1.1.1"), pod("b", "1.1.1.2")])
    assert addresses("demo", found) == {"1.1.1.1", "1.1.1.2"}
    assert addresses("demo.default.svc.cluster.local", found) == {"1.1.1.1", "1.1.1.2"}


def test_a_pod_with_a_subdomain_has_a_name_of_its_own() -> None:
    found = hosts.names([service("demo")], [pod("a", "1.1.1.1", subdomain="demo"), pod("b", "1.1.1.2")])
    assert addresses("a.demo", found) == {"1.1.1.1"}
    assert addresses("b.demo", found) == set()


def test_who_is_not_ready_or_has_ended_is_not_found_by_a_service_that_asks_for_it() -> None:
    pods = [pod("a", "1.1.1.1", ready=False), pod("b", "1.1.1.2"), pod("c", "1.1.1.3", phase="Failed")]
    found = hosts.names([service("demo"), service("ready", waits_for_ready=True)], pods)
    assert addresses("demo", found) == {"1.1.1.1", "1.1.1.2"}
    assert addresses("ready", found) == {"1.1.1.2"}


def test_short_names_hold_in_their_own_namespace_only() -> None:
    found = hosts.names([service("demo")], [pod("a", "1.1.1.1")])
    near = hosts.text("1.1.1.9", "me", "default", found)
    far = hosts.text("1.1.1.9", "me", "elsewhere", found)
    assert "1.1.1.1 demo demo.default" in near
    assert "1.1.1.1 demo.default " in far
    assert "1.1.1.9 me" in far


def test_a_hosts_file_is_written_in_place_when_names_change(tmp_path: Path) -> None:
    place = tmp_path / "hosts"
    files = hosts.HostsFiles()
    files.add("7", place, pod("me", "1.1.1.9"), "1.1.1.9")
    before = place.stat().st_ino
    files.update(hosts.names([service("demo")], [pod("a", "1.1.1.1")]))
    assert "1.1.1.1 demo" in place.read_text()
    files.update([])
    assert "demo" not in place.read_text()
    assert place.stat().st_ino == before
