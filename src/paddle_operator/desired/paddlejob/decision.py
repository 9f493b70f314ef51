"""What is to be written for a PaddleJob, and what is taken away of it."""

from paddle_operator.api.paddlejob import PaddleJobStatus
from paddle_operator.desired.paddlejob.snapshot import Snapshot
from paddle_operator.desired.training import decision
from paddle_operator.desired.training.decision import GANGS, Piece, Pieces, pieces

Decision = decision.Decision[PaddleJobStatus]


def withdrawn(snapshot: Snapshot) -> Pieces:
    """Delete the addresses, so that no pod starts with some that hold no longer; the way to them goes first."""
    return (*pieces(Piece.SERVICE, snapshot.services), *pieces(Piece.CONFIG_MAP, snapshot.config_maps))


def gangs(snapshot: Snapshot) -> Pieces:
    piece = GANGS.get(snapshot.settings.scheduling)
    return () if piece is None else pieces(piece, snapshot.gangs)
