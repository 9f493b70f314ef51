"""The laws of the queue."""

import asyncio

from paddle_operator.api.manifest import Key
from paddle_operator.control.queue import Queue
from paddle_operator.kube.backoff import Backoff
from support.eventually import eventually

ONE, TWO = Key("default", "one"), Key("default", "two")


async def take(queue: Queue) -> Key | None:
    return await asyncio.wait_for(queue.get(), 5)


async def test_a_key_asked_for_often_is_handed_out_once() -> None:
    queue = Queue()
    for _ in range(5):
        queue.add(ONE)
    queue.add(TWO)
    assert (queue.depth, await take(queue), await take(queue), queue.depth) == (2, ONE, TWO, 0)


async def test_a_key_in_work_waits_until_it_is_done_and_comes_once_more() -> None:
    queue = Queue()
    queue.add(ONE)
    await take(queue)
    queue.add(ONE)
    queue.add(ONE)
    queue.add(TWO)
    assert await take(queue) == TWO
    assert queue._ready.empty()
    queue.done(ONE)
    assert await take(queue) == ONE
    queue.done(ONE)
    assert queue.due_in(ONE) is None


async def test_what_is_asked_for_in_work_can_be_made_to_wait() -> None:
    queue = Queue()
    queue.add(ONE)
    await take(queue)
    queue.add(ONE)
    queue.settle(ONE, 0.01)
    queue.done(ONE)
    assert (queue.depth, queue.due_in(ONE) is not None) == (0, True)
    assert await take(queue) == ONE


async def test_the_earlier_time_wins() -> None:
    queue = Queue()
    queue.add(ONE, 60)
    queue.add(ONE, 600)
    assert 59 < (queue.due_in(ONE) or 0) <= 60
    queue.add(ONE, 10)
    assert 9 < (queue.due_in(ONE) or 0) <= 10
    queue.add(ONE)
    assert (queue.due_in(ONE), queue._timers) == (0.0, {})
    queue.add(ONE, 5)
    assert await take(queue) == ONE
    assert queue.due_in(ONE) is None
    queue.close()


async def test_a_time_that_comes_while_the_key_is_in_work_is_not_lost() -> None:
    queue = Queue()
    queue.add(ONE)
    await take(queue)
    queue.add(ONE, 0.001)
    await eventually(lambda: queue.due_in(ONE) == 0.0)
    queue.done(ONE)
    assert await take(queue) == ONE


async def test_each_failure_waits_longer_until_one_success() -> None:
    queue = Queue(Backoff(10.0, 1000.0))
    delays = [queue.retry(ONE) for _ in range(4)]
    assert all(whole / 2 <= delay <= whole for delay, whole in zip(delays, [10, 20, 40, 80], strict=True))
    assert queue.retry(TWO) <= 10
    queue.forget(ONE)
    assert queue.retry(ONE) <= 10
    queue.close()


async def test_a_change_ends_the_waiting_after_a_failure() -> None:
    queue = Queue(Backoff(1000.0, 1000.0))
    queue.retry(ONE)
    queue.add(ONE)
    assert await take(queue) == ONE


async def test_a_closed_queue_hands_out_nothing_to_anybody() -> None:
    queue = Queue()
    waiting = [asyncio.create_task(queue.get()) for _ in range(3)]
    await asyncio.sleep(0)
    queue.add(ONE, 1000)
    queue.close()
    assert await asyncio.gather(*waiting) == [None, None, None]
    queue.add(TWO)
    assert await take(queue) is None
    assert queue._timers == {}


async def test_no_key_is_ever_in_work_twice_at_once() -> None:
    queue = Queue()
    in_work: set[Key] = set()
    done = 0

    async def worker() -> None:
        nonlocal done
        while (key := await queue.get()) is not None:
            assert key not in in_work
            in_work.add(key)
            await asyncio.sleep(0)
            queue.add(Key("default", f"key-{(int(key.name[4:]) * 7 + done) % 5}"))
            in_work.discard(key)
            queue.done(key)
            done += 1
            if done == 500:
                queue.close()

    for number in range(5):
        queue.add(Key("default", f"key-{number}"))
    await asyncio.wait_for(asyncio.gather(*(worker() for _ in range(4))), 10)
    assert done >= 500
