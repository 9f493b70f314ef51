"""What the controller remembers between two looks, and forgets in time."""

from paddle_operator.api.manifest import Key, Manifest
from paddle_operator.controllers.kinds import CACHE_BACKENDS, SAMPLE_SETS
from paddle_operator.controllers.memory import Memory

ONE, TWO, DATA = (Key("team", name) for name in ("one", "two", "imagenet"))


def test_a_change_of_a_sample_set_is_a_change_for_the_jobs_that_want_it() -> None:
    memory = Memory()
    data: Manifest = {"metadata": {"namespace": "team", "name": "imagenet"}}
    memory.reads(SAMPLE_SETS, DATA, ONE)
    memory.reads(SAMPLE_SETS, DATA, TWO)
    assert set(memory.readers(SAMPLE_SETS)(data)) == {ONE, TWO}
    assert set(memory.readers(CACHE_BACKENDS)(data)) == set()
    memory.forget(ONE)
    assert set(memory.readers(SAMPLE_SETS)(data)) == {TWO}
    memory.forget(TWO)
    assert set(memory.readers(SAMPLE_SETS)(data)) == set()


def test_a_port_is_kept_for_a_job_until_it_is_written_down_or_the_job_is_gone() -> None:
    memory = Memory()
    memory.promise(ONE, 35000)
    memory.promise(TWO, 35020)
    assert memory.promised(ONE) == {35020}
    assert memory.promised(DATA) == {35000, 35020}
    memory.promise(ONE, None)
    memory.forget(TWO)
    assert memory.promised(DATA) == frozenset()
