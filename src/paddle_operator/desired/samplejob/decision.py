"""What is to be written for a SampleJob, as data: orders, runs, its status, and when to look again."""

from dataclasses import dataclass, replace
from datetime import datetime

from paddle_operator.api.manifest import Manifest
from paddle_operator.api.samplejob import SampleJobStatus
from paddle_operator.desired.sampleset.errands import Errand
from paddle_operator.desired.telling import Notice


@dataclass(frozen=True)
class Decision:
    """`finalizers` are the job's own from now on, if they change. `expired`: its time is over, and it is deleted.

    `create` and `delete` are runs of its schedule; those to be deleted are given as they were observed.
    """

    status: SampleJobStatus | None
    finalizers: tuple[str, ...] | None = None
    errands: tuple[Errand, ...] = ()
    create: tuple[Manifest, ...] = ()
    delete: tuple[Manifest, ...] = ()
    expired: bool = False
    notices: tuple[Notice, ...] = ()
    look_again: float | None = None

    def looked_at_again(self, now: datetime, *moments: datetime | None) -> "Decision":
        """Look again at the first of these moments that is to come, and a little later than it."""
        waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
        known = [] if self.look_again is None else [self.look_again]
        return replace(self, look_again=min([*known, *waits], default=None))
