"""Orders to runtime servers, each under an id that follows from what it is for; and what became of earlier ones."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.desired.sampleset.runtimes import Runtime, Standing, Word, Work

FIRST_PAUSE = timedelta(seconds=10)
LONGEST_PAUSE = timedelta(minutes=5)
MOST_DOUBLINGS = 5


@dataclass(frozen=True)
class Errand:
    """An order as the server's interface has it; an empty one cancels what was ordered under the id.

    `secret` is where the keys are that go with it.
    """

    pod: str
    id: str
    order: Manifest
    secret: Key | None = None


@dataclass(frozen=True)
class Try:
    """How the last try stands, the first has number 0. `errand`: give the order, again or anew; `due`: at that time.

    `refused` is what the server said of the order when it was given last, if it did not take it.
    """

    id: str
    number: int = 0
    work: Work | None = None
    errand: Errand | None = None
    due: datetime | None = None
    refused: str = ""

    @property
    def succeeded(self) -> bool:
        return self.work is not None and self.work.standing is Standing.SUCCEEDED and self.errand is None

    @property
    def failed(self) -> bool:
        return self.work is not None and self.work.standing in (Standing.FAILED, Standing.CANCELLED)

    @property
    def is_stuck(self) -> bool:
        return bool(self.refused) or (self.failed and self.errand is None)

    @property
    def complaint(self) -> str:
        return self.refused or (self.work.message if self.work else "")


def tried(
    runtime: Runtime,
    name: str,
    order: Manifest,
    now: datetime,
    secret: Key | None = None,
    counts_from: datetime | None = None,
) -> Try:
    """Look at the last try under this name; one that failed is made again, the later the more often.

    What began before `counts_from` does not count: something undid it since.
    """
    word = runtime.word or Word()

    def errand(number: int) -> Errand:
        return Errand(runtime.name, f"{name}-{number}", order, secret)

    found = _tried(_last(word, name), errand, now, counts_from)
    return replace(found, refused=word.refused.get(found.errand.id, "") if found.errand else "")


def _tried(
    last: tuple[str, int, Work | None], errand: Callable[[int], Errand], now: datetime, counts_from: datetime | None
) -> Try:
    id_, number, work = last
    if work is None:
        return Try(id_, errand=errand(0))
    current = Try(id_, number, work)
    if not work.standing.is_over:
        return replace(current, errand=errand(number) if work.lacks_keys else None)
    if work.standing is Standing.SUCCEEDED:
        undone = counts_from is not None and work.began is not None and work.began < counts_from
        return replace(current, errand=errand(number + 1) if undone else None)
    due = (work.ended or now) + min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(number, MOST_DOUBLINGS))
    return replace(current, errand=errand(number + 1)) if due <= now else replace(current, due=due)


def _last(word: Word, name: str) -> tuple[str, int, Work | None]:
    found = {
        int(number): work
        for id_, work in word.works.items()
        if (number := id_.removeprefix(f"{name}-")) != id_ and number.isascii() and number.isdecimal()
    }
    last = max(found, default=0)
    return f"{name}-{last}", last, found.get(last)
