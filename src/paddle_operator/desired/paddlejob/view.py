"""A snapshot sorted: which pods are current, where they are found, whether the data is there."""

from dataclasses import dataclass

from paddle_operator.api.paddlejob import PaddleJobStatus
from paddle_operator.desired.paddlejob.edition import Fleet, edition_of, fleet_of
from paddle_operator.desired.paddlejob.network import Network, network_of
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.paddlejob.state import State
from paddle_operator.desired.paddlejob.status import status_of
from paddle_operator.desired.training.fleet import Edition
from paddle_operator.desired.training.supply import Supply


@dataclass(frozen=True)
class View:
    snapshot: Snapshot
    network: Network
    edition: Edition
    fleet: Fleet
    supply: Supply

    def status(self, state: State, edition: Edition | None = None) -> PaddleJobStatus:
        done = self.fleet.done if edition is None else frozenset[str]()
        return status_of(self.snapshot, state, edition or self.edition, done, self.supply)


def view_of(snapshot: Snapshot) -> View:
    network = network_of(snapshot)
    edition = edition_of(snapshot, network.port)
    return View(snapshot, network, edition, fleet_of(snapshot, edition), snapshot.supply)
