"""`paddle-operator csi-node`: the CSI node plugin, on every node that mounts JuiceFS without its own driver."""

import logging
import os
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from types import FrameType

import click

from paddle_operator.csi import plugin
from paddle_operator.csi.places import Places
from paddle_operator.engines.juicefs.flags import FlagError


@click.command("csi-node")
@click.option("--node-name", envvar="NODE_NAME", required=True, help="This node's name (also NODE_NAME).")
@click.option(
    "--kubelet-dir",
    type=click.Path(path_type=Path),
    default=Places.kubelet,
    show_default=True,
    help="The kubelet's directory, the same on the node and here.",
)
@click.option("--juicefs", default="juicefs", show_default=True, help="The JuiceFS program to install on the node.")
@click.option(
    "--inject/--no-inject",
    default=True,
    show_default=True,
    help="After a client died, mend mounts inside of running containers too; else only of those with"
    " mountPropagation: HostToContainer.",
)
@click.option("--verbose", is_flag=True, help="Say more.")
def csi_node(*, node_name: str, kubelet_dir: Path, juicefs: str, inject: bool, verbose: bool) -> None:
    """Mount JuiceFS volumes for the pods of this node."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    program = shutil.which(juicefs)
    if program is None:
        raise click.ClickException(f"there is no program {juicefs}: name it with --juicefs")
    if os.getpid() == plugin.NODES_FIRST_PROCESS:
        raise click.ClickException("the node's processes are not seen from here: set hostPID: true on the pod")
    settings = plugin.Settings(node_name, Path(program), Places(kubelet_dir), injects=inject)
    try:
        plugin.serve(settings, told_to_stop())
    except (OSError, RuntimeError, FlagError, subprocess.SubprocessError) as error:
        raise click.ClickException(f"the plugin cannot run: {error}; it needs a privileged container") from error


def told_to_stop() -> threading.Event:
    stop = threading.Event()

    def told(_: int, __: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, told)
    return stop
