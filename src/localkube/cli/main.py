"""The command `localkube`: one group, its verbs in the files beside."""

import os
import sys

import click

from localkube import errors, packages
from localkube.cli import faults, images, inspect, lifecycle


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def localkube() -> None:
    """Run a real Kubernetes on one machine, without Docker.

    Every node is a process tree with its own network, disk and devices, so that what is true on several machines is
    true here: paths differ between nodes, links can be slow or cut, and a node can die.
    """


for command in (*lifecycle.COMMANDS, *inspect.COMMANDS, *images.COMMANDS, *faults.COMMANDS):
    localkube.add_command(command)


def main() -> None:
    """Say what a person can act on in one sentence; anything else is a bug and keeps its traceback."""
    packages.extend_path()
    try:
        localkube(standalone_mode=False)
    except errors.LocalkubeError as error:
        sys.exit(_said(str(error)))
    except PermissionError:
        if os.geteuid() == 0:
            raise
        sys.exit(_said("localkube needs root: run it with sudo"))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(_said("stopped; `localkube up` goes on from here, `localkube down` removes what is there", 130))


def _said(message: str, code: int = 1) -> int:
    click.echo(f"localkube: {message}", err=True)
    return code
