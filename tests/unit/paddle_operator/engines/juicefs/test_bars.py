"""How far a sync is: a total is told when all is found, and not before."""

from paddle_operator.engines.juicefs.bars import STEADY, Bar
from paddle_operator.engines.operations import Progress
from paddle_operator.engines.reports import Data


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def shown(found: int, percent: int) -> str:
    return f"[+++++       \0\0\0]     {found}  {percent}%  149.5/s  2.9 MB/s "


def test_a_total_is_told_when_work_goes_on_and_nothing_more_is_found() -> None:
    clock = Clock()
    bar = Bar(clock=clock)
    assert bar.progress(Data(5000, 3)) == Progress(files=3, bytes=5000)
    bar.read("2026/11/17 juicefs[1] <INFO>: Syncing from a to b")
    for found in (1000, 2000, 3000):
        clock.now += STEADY
        bar.read(shown(found, 10))
        assert bar.progress(Data(7000, 100)).total_files == 0
    clock.now += STEADY
    assert bar.progress(Data(7000, 300)).total_files == 0, "nothing was done in the meantime"
    assert bar.progress(Data(9000, 320)) == Progress(320, 3000, 9000)
    bar.read(shown(3000, 50))
    assert bar.progress(Data(9000, 320)) == Progress(1500, 3000, 9000), "others were there already"
    bar.read(shown(4000, 50))
    assert bar.progress(Data(9000, 320)).total_files == 0


def test_directories_that_are_made_do_not_count_for_more_than_is_done() -> None:
    bar = Bar()
    bar.read(shown(100, 50))
    assert bar.progress(Data(0, 90)).files == 51
    bar.read(shown(100, 100))
    assert bar.progress(Data(0, 900)).files == 100
