"""Options and arguments that several verbs share."""

import click

from localkube import clusters, errors
from localkube.cluster import Cluster
from localkube.paths import Home

DEFAULT_NAME = "localkube"

name = click.option(
    "--name", default=DEFAULT_NAME, envvar="LOCALKUBE_NAME", show_default=True, metavar="NAME", help="Which cluster."
)


def cluster(wanted: str) -> Cluster:
    """Find a cluster that runs."""
    found = clusters.find(Home.from_environment(), wanted)
    if not found.control.alive():
        raise errors.NotRunningError(f"cluster {wanted} is not running: `localkube up --name {wanted}` starts it again")
    return found
