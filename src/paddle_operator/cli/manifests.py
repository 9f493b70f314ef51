"""`paddle-operator manifests`: what to apply to a cluster, printed from the code that needs it."""

import click
import yaml

from paddle_operator.api import crd

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
    definitions = [VERSIONS[version](kind) for kind in crd.KINDS]
    click.echo(yaml.dump_all(definitions, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120), nl=False)
