"""Clusters of several homes on one machine: whose network it is, and who may take it away."""

import subprocess
import sys
from pathlib import Path

import pytest

BLOCK = "10.201.0.0/16"
# Two homes that have a cluster of one network each: after a reboot nothing kept the second from choosing it.
TWO_HOMES = f"""
import io, pathlib, sys
from rich.console import Console
from localkube import clusters, cluster, errors, spec
from localkube.init import network
from localkube.paths import Home
from localkube.progress import Progress

def made(home):
    paths = Home(pathlib.Path(sys.argv[1]) / home, pathlib.Path("/nowhere")).cluster("x")
    known = spec.ClusterSpec("x", spec.ident_of(paths.root), "{BLOCK}", "20G", "", "", "", "", ())
    paths.root.mkdir(parents=True)
    known.save(paths.spec)
    return known, paths

def keep(known, paths):
    try:
        clusters._keep_network(known, paths, Progress(Console(file=io.StringIO())))
    except errors.LocalkubeError as error:
        print(error)

clusters.NETWORKS = pathlib.Path(sys.argv[1]) / "lock"
network.bring_up("lo")
first, second = made("one"), made("two")
"""
SHOW = "\nprint(network.claims(first[0].ident), network.claims(second[0].ident))"


def said(place: Path, script: str) -> list[str]:
    """Run it with a network of its own, as after a reboot."""
    argv = ["unshare", "--net", sys.executable, "-c", f"{TWO_HOMES}{script}", str(place)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_network_that_nobody_took_is_claimed_again(tmp_path: Path) -> None:
    assert said(tmp_path, f"keep(*first){SHOW}\nkeep(*first){SHOW}") == [f"['{BLOCK}'] []"] * 2


@pytest.mark.parametrize(
    "taken", ["keep(*second)", f"network.ip('route', 'add', '{BLOCK}', 'dev', 'lo')"], ids=["a cluster", "a VPN"]
)
def test_a_network_that_somebody_took_meanwhile_is_left_to_them(tmp_path: Path, taken: str) -> None:
    told, claims = said(tmp_path, f"{taken}\nkeep(*first){SHOW}")
    assert told == (
        f"something else uses the network {BLOCK} of cluster x now: "
        "`localkube down --name x` removes it, `up --replace` makes it anew in another"
    )
    assert claims.startswith("[] ")


def test_who_goes_takes_no_route_of_another_with_it(tmp_path: Path) -> None:
    script = f"""
network.ip("route", "add", "10.201.64.0/18", "dev", "lo", "proto", network.ROUTE_PROTOCOL)
network.claim("{BLOCK}", second[0].ident)
cluster.take_down(first[1])
print(network.ip("route", "show", "10.201.64.0/18").split()[:3]){SHOW}
"""
    assert said(tmp_path, script) == ["['10.201.64.0/18', 'dev', 'lo']", f"[] ['{BLOCK}']"]


def test_who_goes_leaves_no_claim_not_even_when_its_file_is_damaged(tmp_path: Path) -> None:
    script = f"keep(*first){SHOW}\nfirst[1].spec.write_text('')\ncluster.take_down(first[1]){SHOW}"
    assert said(tmp_path, script) == [f"['{BLOCK}'] []", "[] []"]
