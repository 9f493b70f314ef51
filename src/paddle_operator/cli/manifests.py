"""`paddle-operator manifests`: what to apply to a cluster, printed from the code that needs it."""

import click
import yaml

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.names import MANAGER
from paddle_operator.cli.manager import ALL, choose
from paddle_operator.controllers import access, paddlejob, sampleset
from paddle_operator.desired.installation import csi
from paddle_operator.desired.paddlejob.snapshot import Scheduling

IMAGE = "paddle-operator:dev"
NAMESPACE = "paddle-system"
VERSIONS = {"v1": crd.v1, "v1beta1": crd.v1beta1}


class Dumper(yaml.SafeDumper):
    """Write out what is there twice: a reference to the other place saves nobody anything."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # the same for all
        return True


@click.group()
def manifests() -> None:
    """Print what to apply to a cluster."""


@manifests.command()
@click.option(
    "--version",
    type=click.Choice(list(VERSIONS)),
    default="v1",
    show_default=True,
    help="v1 for Kubernetes 1.29 and newer, v1beta1 for those before 1.16.",
)
def crds(version: str) -> None:
    """Print the definitions of our kinds."""
    show([VERSIONS[version](kind) for kind in crd.KINDS])


@manifests.command()
@click.option("--namespace", default=NAMESPACE, show_default=True, help="Where the manager runs.")
@click.option("--controllers", "names", default=ALL, show_default=True, help="As the manager's option.")
@click.option(
    "--scheduling",
    type=click.Choice([found.value for found in Scheduling]),
    default="",
    help="As the manager's option: leave for PodGroups or Workloads only where they are used.",
)
def rbac(namespace: str, names: str, scheduling: str) -> None:
    """Print the manager's account, and what it may do: what its controllers do, and nothing else."""
    chosen = choose(names, accesses(Scheduling(scheduling)))
    show(access.account(Key(namespace, MANAGER), access.merged(*chosen), lease=MANAGER))


def accesses(scheduling: Scheduling) -> dict[str, tuple[access.Access, ...]]:
    """Give what each controller does in a cluster, by its name."""
    return {paddlejob.NAME: paddlejob.access(scheduling), sampleset.NAME: sampleset.ACCESS}


@manifests.command("csi")
@click.option("--image", default=IMAGE, show_default=True, help="The image with this program and JuiceFS in it.")
@click.option("--namespace", default=NAMESPACE, show_default=True, help="Where the plugin's pods are.")
@click.option(
    "--kubelet-dir", default="/var/lib/kubelet", show_default=True, help="The kubelet's directory on the nodes."
)
@click.option("--inject/--no-inject", default=True, show_default=True, help="As of csi-node.")
def csi_node(image: str, namespace: str, kubelet_dir: str, *, inject: bool) -> None:
    """Print the CSI node plugin: for clusters without the JuiceFS CSI driver."""
    show(csi.objects(csi.Settings(image, namespace, kubelet_dir, inject)))


def show(objects: list[Manifest]) -> None:
    click.echo(yaml.dump_all(objects, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120), nl=False)
