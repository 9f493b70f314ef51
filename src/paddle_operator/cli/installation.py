"""What is installed: the managers, with the rights of their controllers, and the options that they have in common."""

import functools
from collections.abc import Callable
from enum import StrEnum

import click

from paddle_operator.api.manifest import Manifest
from paddle_operator.controllers import access, cachebackend, paddlejob, samplejob, sampleset, trainingjob
from paddle_operator.desired.installation import csi
from paddle_operator.desired.installation.managers import NAMESPACE, Manager, Settings, namespace, objects
from paddle_operator.desired.training.settings import DEFAULT_IMAGE, Scheduling

IMAGE_HELP = "The image with this program and JuiceFS in it."
PULL_POLICIES = ("IfNotPresent", "Always", "Never")
OPTIONS = (
    click.option("--image", default=DEFAULT_IMAGE, show_default=True, help=IMAGE_HELP),
    click.option(
        "--pull-policy",
        type=click.Choice(PULL_POLICIES),
        default=PULL_POLICIES[0],
        show_default=True,
        help="When nodes fetch the image.",
    ),
    click.option("--namespace", default=NAMESPACE, show_default=True, help="Where the pods are."),
    click.option("--watch-namespace", "watched", default="", help="Look at this namespace only; without it, at all."),
    click.option(
        "--replicas",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="How many pods a manager has; one of them acts, the others wait.",
    ),
)


class Driver(StrEnum):
    """Who mounts JuiceFS volumes for pods: our plugin, or the driver that JuiceFS has, which is installed apart."""

    OURS = "ours"
    OFFICIAL = "official"


def installation_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options, and hand them to it as one: `settings`."""

    @functools.wraps(command)
    def with_settings(
        *, image: str, pull_policy: str, namespace: str, watched: str, replicas: int, **others: object
    ) -> None:
        command(settings=Settings(image, pull_policy, namespace, watched, replicas), **others)

    for option in reversed(OPTIONS):
        with_settings = option(with_settings)
    return with_settings


def controller_manager(scheduling: Scheduling = Scheduling.NONE, etcd_server: str = "") -> Manager:
    name = "paddle-controller-manager"
    chosen = {"--scheduling": scheduling.value, "--etcd-server": etcd_server}
    options = tuple(f"{option}={value}" for option, value in chosen.items() if value)
    rights = access.rights(paddlejob.access(scheduling), lease=name)
    return Manager(name, "controller-manager", paddlejob.NAME, rights, options)


def sampleset_manager(local_sources: str = "") -> Manager:
    name = "paddle-sampleset-manager"
    rights = access.rights(sampleset.ACCESS, lease=name)
    return Manager(name, "sampleset-manager", sampleset.NAME, rights, (f"--local-sources={local_sources}",))


def samplejob_manager() -> Manager:
    name = "paddle-samplejob-manager"
    return Manager(name, "samplejob-manager", samplejob.NAME, access.rights(samplejob.ACCESS, lease=name))


def training_manager() -> Manager:
    """Give the one of caches and of the jobs that came with them."""
    name = "paddle-training-manager"
    found = {cachebackend.NAME: cachebackend.ACCESS, **{job: trainingjob.access(job) for job in trainingjob.STRUCTS}}
    rights = access.rights(access.merged(*found.values()), lease=name)
    return Manager(name, "training-manager", ",".join(found), rights)


def operator(settings: Settings, manager: Manager) -> list[Manifest]:
    """Give our namespace, and the manager of PaddleJobs in it."""
    return [namespace(settings), *objects(manager, settings)]


def extension_managers(local_sources: str = "") -> tuple[Manager, ...]:
    return sampleset_manager(local_sources), samplejob_manager(), training_manager()


def extensions(settings: Settings, plugin: csi.Settings | None, local_sources: str = "") -> list[Manifest]:
    """Give all managers but that of PaddleJobs, for a namespace that is there; the CSI plugin if asked for."""
    managers = extension_managers(local_sources)
    made = [manifest for manager in managers for manifest in objects(manager, settings)]
    return [*made, *(csi.objects(plugin) if plugin else ())]
