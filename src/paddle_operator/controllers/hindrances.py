"""Why a server's node cannot start it, in the node's words: asked for when one waits long, and not often."""

import asyncio
import contextlib
from collections.abc import Iterable

from paddle_operator.api.manifest import Manifest, uid_of
from paddle_operator.control.controller import World
from paddle_operator.desired.sampleset.runtimes import STUCK_AFTER, STUCK_PAUSE, Runtime
from paddle_operator.kube import errors
from paddle_operator.kube.events import EVENTS
from paddle_operator.kube.request import Scope

LONGEST_WORDS = 500
# The other words that a kubelet has only say that it waits.
TELLING = "MountVolume"


class Hindrances:
    """Keeps what was heard for a while; events are neither watched nor asked for while all is well."""

    def __init__(self) -> None:
        self._heard: dict[str, tuple[float, str]] = {}

    async def observe(self, world: World, runtimes: Iterable[Runtime]) -> dict[str, str]:
        """Give it by the pod's name, for the first server that waits: all mount the same."""
        waits = ((found, found.starts_since) for found in sorted(runtimes, key=lambda found: found.partition))
        stuck = next(
            (found for found, since in waits if since is not None and since + STUCK_AFTER <= world.now()), None
        )
        if stuck is None:
            return {}
        uid, now = uid_of(stuck.pod.manifest), asyncio.get_running_loop().time()
        self._heard = {pod: heard for pod, heard in self._heard.items() if heard[0] + STUCK_PAUSE > now}
        if uid not in self._heard:
            self._heard[uid] = now, await last_words(world, stuck.pod.manifest)
        return {stuck.name: self._heard[uid][1]}


async def last_words(world: World, pod: Manifest) -> str:
    """Give what the kubelet last said of a volume; nothing where the manager may not read it."""
    chosen = f"involvedObject.uid={uid_of(pod)},reason=FailedMount,type=Warning"
    with contextlib.suppress(errors.ForbiddenError):
        listed = await world.client.list(Scope(EVENTS, pod["metadata"]["namespace"], fields=chosen))
        said = sorted(listed.items, key=lambda event: str(event.get("lastTimestamp") or event.get("eventTime") or ""))
        messages = [str(event.get("message") or "") for event in said]
        told = [message for message in messages if message.startswith(TELLING)] or messages
        return told[-1].rpartition(" desc = ")[2][:LONGEST_WORDS] if told else ""
    return ""
