"""A snapshot sorted: which pods are current, where they are found, whether the data is there."""

from dataclasses import dataclass

from paddle_operator.api.meta import Condition
from paddle_operator.api.paddlejob import PaddleJobStatus
from paddle_operator.desired.paddlejob.data import data_condition
from paddle_operator.desired.paddlejob.edition import Fleet, edition_of, fleet_of
from paddle_operator.desired.paddlejob.network import Network, network_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.paddlejob.state import State
from paddle_operator.desired.paddlejob.status import status_of
from paddle_operator.desired.training.fleet import Edition


@dataclass(frozen=True)
class View:
    snapshot: Snapshot
    network: Network
    edition: Edition
    fleet: Fleet
    data: Condition | None

    def status(self, state: State) -> PaddleJobStatus:
        return status_of(self.snapshot, state, self.edition, self.fleet.done, self.data)


def view_of(snapshot: Snapshot) -> View:
    network = network_of(snapshot)
    edition = edition_of(snapshot, network.port)
    return View(snapshot, network, edition, fleet_of(snapshot, edition), data_condition(snapshot))
