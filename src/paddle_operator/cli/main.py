"""The `paddle-operator` command itself: its help, and the verbs it knows."""

import click

from paddle_operator.cli.clearcache import clear_cache
from paddle_operator.cli.csi import csi_node
from paddle_operator.cli.delete import delete
from paddle_operator.cli.describe import describe
from paddle_operator.cli.down import down
from paddle_operator.cli.get import get
from paddle_operator.cli.logs import logs
from paddle_operator.cli.manager import manager
from paddle_operator.cli.manifests import manifests
from paddle_operator.cli.plan import plan
from paddle_operator.cli.run import run
from paddle_operator.cli.runtime import runtime_server
from paddle_operator.cli.version import version
from paddle_operator.cli.waitfor import wait_for
from paddle_operator.cli.watch import watch


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Run distributed training on Kubernetes, with its data cached next to the workers."""


main.add_command(clear_cache)
main.add_command(csi_node)
main.add_command(delete)
main.add_command(describe)
main.add_command(down)
main.add_command(get)
main.add_command(logs)
main.add_command(manager)
main.add_command(manifests)
main.add_command(plan)
main.add_command(run)
main.add_command(runtime_server)
main.add_command(version)
main.add_command(wait_for)
main.add_command(watch)
