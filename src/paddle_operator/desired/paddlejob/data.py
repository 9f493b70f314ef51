"""The data that a PaddleJob waits for before its pods are made."""

from paddle_operator.api import names
from paddle_operator.api.meta import Condition
from paddle_operator.api.paddlejob import PaddleJobPhase
from paddle_operator.desired.paddlejob.state import State
from paddle_operator.desired.training.supply import Supply, failure


def wait_state(supply: Supply, lack: Condition) -> State:
    given_up = failure(supply)
    if given_up is not None:
        return State(PaddleJobPhase.FAILED, given_up.reason, given_up.message)
    waiting = names.REASON_WAITING_FOR_DATA if lack.type == names.CONDITION_DATA_READY else lack.reason
    return State(PaddleJobPhase.PENDING, waiting, lack.message)
