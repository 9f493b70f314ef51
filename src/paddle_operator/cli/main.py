"""The `paddle-operator` command itself: its help, and the verbs it knows."""

import click

from paddle_operator.cli.csi import csi_node
from paddle_operator.cli.manager import manager
from paddle_operator.cli.manifests import manifests
from paddle_operator.cli.plan import plan
from paddle_operator.cli.runtime import runtime_server
from paddle_operator.cli.version import version
from paddle_operator.cli.waitfor import wait_for
from paddle_operator.cli.watch import watch


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run distributed training on Kubernetes, with its data cached next to the workers."""


main.add_command(csi_node)
main.add_command(manager)
main.add_command(manifests)
main.add_command(plan)
main.add_command(runtime_server)
main.add_command(version)
main.add_command(wait_for)
main.add_command(watch)
