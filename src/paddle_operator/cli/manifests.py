"""`paddle-operator manifests`: what to apply to a cluster, printed from the code that needs it."""

import click

from paddle_operator.api import crd
from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.api.names import MANAGER
from paddle_operator.cli import chart, installation
from paddle_operator.cli.installation import IMAGE_HELP, Driver, installation_options
from paddle_operator.cli.listing import text
from paddle_operator.cli.manager import ALL, choose, directories
from paddle_operator.controllers import access, cachebackend, paddlejob, samplejob, sampleset, trainingjob
from paddle_operator.desired.installation import csi
from paddle_operator.desired.installation.account import account
from paddle_operator.desired.installation.managers import NAMESPACE, Settings
from paddle_operator.desired.training.settings import DEFAULT_IMAGE, Scheduling

VERSIONS = {"v1": crd.v1, "v1beta1": crd.v1beta1}
SCHEDULING = click.option(
    "--scheduling",
    type=click.Choice([found.value for found in Scheduling]),
    default="",
    help="As the manager's option: leave for PodGroups or Workloads only where they are used.",
)
KUBELET_DIR = click.option(
    "--kubelet-dir", default="/var/lib/kubelet", show_default=True, help="The kubelet's directory on the nodes."
)
INJECT = click.option("--inject/--no-inject", default=True, show_default=True, help="As of csi-node.")


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
@SCHEDULING
def rbac(namespace: str, names: str, scheduling: str) -> None:
    """Print an account for a manager that is not installed, and what it may do: what its controllers do, no more."""
    chosen = choose(names, accesses(Scheduling(scheduling)))
    show(account(Key(namespace, MANAGER), access.rights(access.merged(*chosen), lease=MANAGER)))


def accesses(scheduling: Scheduling) -> dict[str, tuple[access.Access, ...]]:
    """Give what each controller does in a cluster, by its name."""
    return {
        paddlejob.NAME: paddlejob.access(scheduling),
        sampleset.NAME: sampleset.ACCESS,
        samplejob.NAME: samplejob.ACCESS,
        cachebackend.NAME: cachebackend.ACCESS,
        **{name: trainingjob.access(name, scheduling) for name in trainingjob.STRUCTS},
    }


@manifests.command("operator")
@installation_options
@SCHEDULING
@click.option("--etcd-server", default="", help="As the manager's option: etcd for elastic PaddleJobs.")
def operator(settings: Settings, scheduling: str, etcd_server: str) -> None:
    """Print the namespace and the manager of PaddleJobs: deploy/v1/operator.yaml."""
    show(installation.operator(settings, installation.controller_manager(Scheduling(scheduling), etcd_server)))


@manifests.command("extensions")
@installation_options
@click.option(
    "--csi",
    "driver",
    type=click.Choice([found.value for found in Driver]),
    default=Driver.OURS.value,
    show_default=True,
    help="Who mounts JuiceFS: our plugin, or the official driver, of which nothing is printed.",
)
@click.option("--local-sources", callback=directories, default="", help="As the manager's option: for local://.")
@KUBELET_DIR
@INJECT
def extensions(
    settings: Settings, driver: str, local_sources: tuple[str, ...], kubelet_dir: str, *, inject: bool
) -> None:
    """Print all managers but that of PaddleJobs, and the CSI node plugin: deploy/extensions/controllers.yaml."""
    plugin = csi.Settings(settings.image, settings.namespace, kubelet_dir, inject, settings.pull_policy)
    show(installation.extensions(settings, plugin if driver == Driver.OURS else None, ",".join(local_sources)))


@manifests.command("csi")
@click.option("--image", default=DEFAULT_IMAGE, show_default=True, help=IMAGE_HELP)
@click.option("--namespace", default=NAMESPACE, show_default=True, help="Where the plugin's pods are.")
@KUBELET_DIR
@INJECT
def csi_node(image: str, namespace: str, kubelet_dir: str, *, inject: bool) -> None:
    """Print the CSI node plugin alone: for clusters without the JuiceFS CSI driver."""
    show(csi.objects(csi.Settings(image, namespace, kubelet_dir, inject)))


@manifests.command("chart")
@click.argument("template", type=click.Choice(list(chart.TEMPLATES)))
def chart_template(template: str) -> None:
    """Print a template of the Helm chart: the same objects, with values where there are options."""
    click.echo(chart.TEMPLATES[template](), nl=False)


def show(objects: list[Manifest]) -> None:
    click.echo(text(objects), nl=False)
