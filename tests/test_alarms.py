"""Alarms ring once, late by two ticks at most, and never when they were taken back."""

import asyncio

import pytest

from interlock.alarms import TICK, Alarms


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def rung(alarms: Alarms, seconds: float) -> float:
    """When an alarm rang, counted from when it was set."""
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    began = loop.time()
    alarms.set(seconds, done.set)
    await done.wait()
    return loop.time() - began


@pytest.mark.parametrize("seconds", [0.0, TICK / 2, TICK, 3 * TICK])
async def test_an_alarm_never_rings_early(seconds: float) -> None:
    assert await rung(Alarms(), seconds) >= seconds


async def test_an_alarm_for_a_time_that_has_passed_rings() -> None:
    async with asyncio.timeout(10):
        await rung(Alarms(), -1.0)


async def test_an_alarm_that_is_set_after_a_rest_rings() -> None:
    alarms = Alarms()
    await rung(alarms, 0.0)
    await asyncio.sleep(3 * TICK)

    assert await rung(alarms, TICK) >= TICK


def test_an_owner_that_comes_to_run_in_another_loop_is_served_there() -> None:
    alarms = Alarms()

    async def leave_one_behind() -> None:
        alarms.set(3600, list[str]().clear)

    asyncio.run(leave_one_behind())

    assert asyncio.run(rung(alarms, TICK)) >= TICK


async def test_alarms_ring_in_the_order_of_their_times() -> None:
    alarms, heard = Alarms(), list[str]()
    alarms.set(2 * TICK, lambda: heard.append("later"))
    alarms.set(0.0, lambda: heard.append("sooner"))
    await rung(alarms, 4 * TICK)

    assert heard == ["sooner", "later"]


async def test_an_alarm_that_was_taken_back_does_not_ring() -> None:
    alarms, heard = Alarms(), list[str]()
    alarm = alarms.set(0.0, lambda: heard.append("rung"))
    alarm.cancel()
    await rung(alarms, 2 * TICK)
    alarm.cancel()

    assert heard == []


async def test_a_block_that_takes_too_long_is_left_by_a_timeout() -> None:
    with pytest.raises(TimeoutError), Alarms().deadline(0.0):
        await asyncio.Event().wait()

    assert (task := asyncio.current_task()) is not None
    assert task.cancelling() == 0


async def test_a_block_that_ends_in_time_is_left_alone() -> None:
    alarms = Alarms()
    with alarms.deadline(TICK) as deadline:
        pass
    await rung(alarms, 3 * TICK)

    assert not deadline.expired


async def test_a_deadline_can_be_over_before_its_time() -> None:
    deadline = Alarms().deadline(3600)
    asyncio.get_running_loop().call_soon(deadline.expire)

    with pytest.raises(TimeoutError), deadline:
        await asyncio.Event().wait()


async def test_a_deadline_without_a_time_is_over_when_somebody_says_so() -> None:
    deadline = Alarms().deadline(None)
    asyncio.get_running_loop().call_soon(deadline.expire)

    with pytest.raises(TimeoutError), deadline:
        await asyncio.Event().wait()


async def test_a_deadline_that_is_left_has_no_say_any_more() -> None:
    with Alarms().deadline(3600) as deadline:
        pass
    deadline.expire()
    await asyncio.sleep(0)

    assert not deadline.expired


async def test_whoever_is_cancelled_within_a_deadline_stays_cancelled() -> None:
    waiting = asyncio.Event()

    async def wait() -> None:
        with Alarms().deadline(3600):
            waiting.set()
            await asyncio.Event().wait()

    task = asyncio.ensure_future(wait())
    await waiting.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_whoever_is_cancelled_and_too_late_is_cancelled() -> None:
    waiting = asyncio.Event()

    async def wait() -> None:
        with Alarms().deadline(3600) as deadline:
            waiting.set()
            try:
                await asyncio.Event().wait()
            finally:
                deadline.expire()

    task = asyncio.ensure_future(wait())
    await waiting.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_within_a_deadline_comes_out_as_it_is() -> None:
    with pytest.raises(ValueError, match="mine"), Alarms().deadline(3600):
        raise ValueError("mine")


async def test_there_is_no_deadline_without_a_task() -> None:
    alarms, problems = Alarms(), list[str]()

    def outside() -> None:
        try:
            with alarms.deadline(1):
                pass
        except RuntimeError as problem:
            problems.append(str(problem))

    asyncio.get_running_loop().call_soon(outside)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert problems == ["a deadline needs a task"]


async def test_a_timer_does_not_run_for_alarms_that_were_taken_back() -> None:
    loop, alarms = asyncio.get_running_loop(), Alarms()
    alarms.set(3600, list[str]().clear).cancel()
    before = loop.time()
    await asyncio.sleep(3 * TICK)

    assert alarms.rests, f"the timer still runs {loop.time() - before:.3f} s later"


async def test_an_alarm_that_fails_does_not_silence_the_others() -> None:
    loop, alarms, told = asyncio.get_running_loop(), Alarms(), list[str]()
    loop.set_exception_handler(lambda loop, context: told.append(repr(context["exception"])))
    alarms.set(0.0, [].pop)

    async with asyncio.timeout(10):
        await rung(alarms, 0.0)

    assert told == ["IndexError('pop from empty list')"]
