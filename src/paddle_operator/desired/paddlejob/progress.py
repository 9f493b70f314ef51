"""A job on its way: its data, its gang, its addresses, and the pods that it lacks."""

from dataclasses import replace
from datetime import datetime, timedelta

from paddle_operator.api import names
from paddle_operator.api.manifest import Manifest
from paddle_operator.api.paddlejob import Intranet, PaddleJobPhase
from paddle_operator.desired.paddlejob.coordination import waits_in_vain
from paddle_operator.desired.paddlejob.data import wait_state
from paddle_operator.desired.paddlejob.decision import Decision, withdrawn
from paddle_operator.desired.paddlejob.environment import config_map, noted_hosts, number_of
from paddle_operator.desired.paddlejob.gang import gang, is_held, scheduling_of, why_impossible
from paddle_operator.desired.paddlejob.hostport import lacks_port, lacks_record
from paddle_operator.desired.paddlejob.lifecycle import replaced
from paddle_operator.desired.paddlejob.network import Network, dns_name, services
from paddle_operator.desired.paddlejob.pods import pod
from paddle_operator.desired.paddlejob.refusal import refusal_of_config
from paddle_operator.desired.paddlejob.roles import members_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.paddlejob.state import State, state_of
from paddle_operator.desired.paddlejob.view import View
from paddle_operator.desired.telling import Refusal
from paddle_operator.desired.training.decision import GANGS, Piece, Pieces, pieces, stopped
from paddle_operator.desired.training.observedpod import ObservedPod, waits_since
from paddle_operator.desired.training.settings import Scheduling
from paddle_operator.desired.training.supply import cache_object, claim, deadline, lack

PORT_PAUSE_SECONDS = 15.0
GANG_PAUSE_SECONDS = 15.0
# Who has seen all of its peers waits no longer than this.
MISLED_FOR = timedelta(seconds=10)


def go_on(view: View) -> Decision:
    """Make what is missing, in the order in which it is needed; pods that are there need neither data nor queue."""
    return _with_cache(view, _next(view))


def _next(view: View) -> Decision:
    snapshot = view.snapshot
    if (missing := lack(view.supply)) is not None and not view.fleet.current:
        decision = Decision(view.status(wait_state(view.supply, missing)))
        return decision.looked_at_again(snapshot.now, deadline(view.supply))
    if lacks_port(snapshot):
        return _wait_for_port(view)
    decision = Decision(view.status(state_of(snapshot, view.fleet)))
    if why := why_impossible(snapshot):
        return _without_gang(view, decision, why)
    decision = _with_gang(view, decision)
    if is_held(snapshot) and not view.fleet.current:
        state = State(PaddleJobPhase.PENDING, names.REASON_QUEUING, "the PodGroup waits to be let into its queue")
        return replace(decision, status=view.status(state))
    return _with_pods(view, _with_addresses(view, decision))


def _with_cache(view: View, decision: Decision) -> Decision:
    """Make the cache that the job describes, and tell one that is there that the job uses it."""
    made = cache_object(view.supply)
    create = decision.create if made is None else ((Piece.CACHE, made), *decision.create)
    return replace(decision, create=create, claimed=claim(view.supply))


def _wait_for_port(view: View) -> Decision:
    """Look again and again, since nobody tells this job that another has ended."""
    ports = view.snapshot.settings.port_range
    message = (
        f"all host ports from {ports.first} to {ports.last} are taken by other jobs: it starts when one of them ends,"
        " or with a wider --port-range of the manager"
    )
    state = State(PaddleJobPhase.PENDING, names.REASON_NO_HOST_PORT, message)
    return Decision(view.status(state), look_again=PORT_PAUSE_SECONDS)


def _without_gang(view: View, decision: Decision, why: str) -> Decision:
    """Make no pods; those that are there go on. Look again and again, since nobody tells when the kind is served."""
    if not view.fleet.current:
        state = State(PaddleJobPhase.PENDING, names.REASON_NO_GANGS, why)
        decision = replace(decision, status=view.status(state))
    return replace(decision, look_again=GANG_PAUSE_SECONDS)


def refused(view: View, refusal: Refusal) -> Decision:
    """Make nothing; pods that are there, since before the job was edited, go on and are told of."""
    if view.fleet.current:
        state = state_of(view.snapshot, view.fleet)
    else:
        state = State(PaddleJobPhase.PENDING, refusal.reason, refusal.message)
    return Decision(view.status(state), refusal=refusal)


def _with_gang(view: View, decision: Decision) -> Decision:
    snapshot = view.snapshot
    wanted = gang(snapshot)
    if wanted is None:
        return decision
    scheduling = scheduling_of(snapshot)
    gangs = pieces(GANGS[scheduling], [wanted])
    if scheduling is Scheduling.VOLCANO:
        return replace(decision, apply=gangs)
    # A Workload cannot change: one that does not fit any more gives way to another.
    outlived = [found for found in snapshot.gangs if found["spec"]["podGroups"] != wanted["spec"]["podGroups"]]
    return replace(decision, create=gangs, delete=pieces(Piece.WORKLOAD, outlived))


def _with_addresses(view: View, decision: Decision) -> Decision:
    """Write addresses before any pod that reads them; those by number only when each pod has its own.

    Until then there is no way to them, so that no new pod starts.
    """
    snapshot, network = view.snapshot, _with_past(view)
    job = snapshot.job
    if any(member.name not in network.hosts for member in members_of(job)):
        return replace(decision, delete=(*decision.delete, *_outlived(view)))
    config = config_map(job, network)
    if (refusal := refusal_of_config(config["data"], network)) is not None:
        return refused(view, refusal)
    if not snapshot.services and not any(pod.node or pod.address for pod in snapshot.pods):
        # Who waits for a node looks for nobody yet, maybe for hours: until then services would only cost the cluster.
        return replace(decision, apply=(*decision.apply, (Piece.CONFIG_MAP, config)))
    wanted = services(job, network) if _may_lead_there(snapshot, config) else ()
    named = {_name(service) for service in wanted}
    surplus = [service for service in snapshot.services if _name(service) not in named]
    return replace(
        decision,
        apply=(*decision.apply, (Piece.CONFIG_MAP, config), *pieces(Piece.SERVICE, wanted)),
        delete=(*decision.delete, *pieces(Piece.SERVICE, surplus)),
    )


def _outlived(view: View) -> Pieces:
    """Keep the last addresses for those that run already: a container that its node starts again reads them again."""
    is_begun = view.fleet.current or view.fleet.done
    return pieces(Piece.SERVICE, view.snapshot.services) if is_begun else withdrawn(view.snapshot)


def _with_past(view: View) -> Network:
    """Give those who are done the address that they had: they have none any more, and nobody looks for them."""
    job, noted = view.snapshot.job, noted_hosts(view.snapshot.config_maps)
    done = [member for member in members_of(job) if member.name in view.fleet.done]
    past = {member.name: noted.get(number_of(member)) or dns_name(job, member.name) for member in done}
    return replace(view.network, hosts={**past, **view.network.hosts})


def _may_lead_there(snapshot: Snapshot, config: Manifest) -> bool:
    """Tell whether pods may find each other: with numbers only when they are written, since then pods start."""
    if snapshot.job.spec.intranet is not Intranet.POD_IP:
        return True
    return any(found.get("data") == config["data"] for found in snapshot.config_maps)


def _name(manifest: Manifest) -> str:
    return str(manifest["metadata"]["name"])


def _with_pods(view: View, decision: Decision) -> Decision:
    if decision.refusal is not None:
        return decision
    snapshot, fleet = view.snapshot, view.fleet
    failed, later = replaced(snapshot, fleet)
    # What is to go before them, a Workload of another size or the way to addresses of before, must be gone.
    missing = () if decision.delete else fleet.missing
    made = [pod(snapshot, member, view.network, view.edition, fleet.done) for member in missing]
    held_up = _held_up(view)
    misled = [found for found, due in held_up if due <= snapshot.now]
    port = {"metadata": {"annotations": {names.ANNOTATION_HOST_PORT: str(view.network.port)}}}
    return replace(
        decision,
        change=port if lacks_record(snapshot.job) else {},
        create=(*decision.create, *pieces(Piece.POD, made)),
        delete=(*decision.delete, *stopped((*fleet.surplus, *failed, *misled))),
    ).looked_at_again(snapshot.now, None if later is None else snapshot.now + later, *(due for _, due in held_up))


def _held_up(view: View) -> list[tuple[ObservedPod, datetime]]:
    """Give pods that wait for somebody who has ended, and when others shall be made in their place, which do not."""
    job, fleet = view.snapshot.job, view.fleet
    members = [(member, fleet.current[member.name]) for member in members_of(job) if member.name in fleet.current]
    return [
        (found, since + MISLED_FOR)
        for member, found in members
        if fleet.done
        and (since := waits_since(found)) is not None
        and waits_in_vain(job, member, view.network, found.manifest, fleet.done)
    ]
