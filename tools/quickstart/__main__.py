"""Performs the quick start: brings up the cluster, has the image on its nodes, and goes through the steps."""

import shutil
import sys
import time
from pathlib import Path

from rich.console import Console

from localkube import clusters, errors, packages
from localkube.cluster import Cluster
from localkube.images import archive, build
from localkube.kubectl import Kubectl
from localkube.paths import Home
from localkube.progress import Progress
from paddle_operator.desired.training.settings import DEFAULT_IMAGE
from quickstart.stage import SYSTEM, Stage
from quickstart.steps import perform

CLUSTER = "quickstart"
END = """
The data of a remote bucket are in the memory of a node, and a job runs beside them. Look around:

  export KUBECONFIG={kubeconfig}
  {kubectl} -n paddle-system describe sampleset imagenet

`.venv/bin/localkube down --name {name}` removes all of it. This took {seconds:.0f} s.\
"""


def bring_up(progress: Progress) -> Cluster:
    """Have a cluster with the image on its nodes, as it is built now."""
    if shutil.which("redis-server") is None:
        raise errors.LocalkubeError("there is no redis-server: install it (Debian: redis-server), then run this again")
    home = Home.from_environment()
    cluster = clusters.up(home, clusters.Request(CLUSTER), progress, replace_other=True)
    built = build.archive_of(home, DEFAULT_IMAGE)
    cluster.load(built, progress)
    renew(Kubectl.of(cluster, SYSTEM), built)
    return cluster


def renew(kubectl: Kubectl, built: Path) -> None:
    """End pods that run an older build of the image: its name has not changed, so nobody else would."""
    identity = archive.identity(built)
    outdated = [
        pod["metadata"]["name"]
        for pod in kubectl.items("pods")
        for container in pod["status"].get("containerStatuses", ())
        if container["image"] == DEFAULT_IMAGE and container["imageID"] != identity
    ]
    if outdated:
        kubectl.run("delete", "pods", *outdated)


def main() -> None:
    begun = time.monotonic()
    packages.extend_path()
    progress = Progress(Console(highlight=False, soft_wrap=True))
    try:
        cluster = bring_up(progress)
        perform(Stage(cluster, progress))
    except errors.LocalkubeError as error:
        sys.exit(f"quickstart: {error}")
    except KeyboardInterrupt:
        sys.exit("quickstart: stopped; run it again to go on from here")
    kubectl = Path(cluster.spec.binaries) / "kubectl"
    seconds = time.monotonic() - begun
    progress.say(END.format(kubeconfig=cluster.paths.kubeconfig, kubectl=kubectl, name=CLUSTER, seconds=seconds))


if __name__ == "__main__":
    main()
