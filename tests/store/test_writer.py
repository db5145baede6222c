"""The writer's queue and thread, over a ledger on paper that can be held up and made to fail."""

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Sequence

import pytest

from interlock.core.model import JsonObject
from interlock.store.protocol import StoreUnavailable, Uncertain
from interlock.store.rows import activity_of, record_of
from interlock.store.writer import GroupWriter, Job, Limits, Rows
from tests.store.examples import NOW, StoppedClock, TickingClock, activity, insist

LOST = "records_lost"
FULL = "The queue of the store is full: the disk is slower than the calls."


class Paper:
    """A ledger that keeps what it is given, each batch by itself."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.problem: Exception = StoreUnavailable("disk full")
        self.failures = 0.0
        self.gate = threading.Event()
        self.gate.set()
        self.busy = threading.Event()
        self.kept = threading.Semaphore(0)
        self.failed = threading.Semaphore(0)
        self.bodies: list[JsonObject] = []
        self.closed = False

    def commit(self, jobs: Sequence[Job]) -> Sequence[bool]:
        self.busy.set()
        self.gate.wait()
        if self.failures > 0:
            self.failures -= 1
            self.failed.release()
            raise self.problem
        self.batches.append([_shown(job, number) for job in jobs for number in range(len(job.records))])
        self.bodies += [activity_of(record.row).body for job in jobs for record in job.records]
        self.kept.release()
        return [True] * len(jobs)

    def close(self) -> None:
        self.closed = True

    async def hold_up(self, writer: GroupWriter) -> None:
        """Let the writer take one job and get stuck in it, so that whatever comes next has to queue."""
        self.gate.clear()
        self.busy.clear()
        writer.put(job(0))
        await asyncio.to_thread(self.busy.wait)


def _shown(job: Job, number: int) -> str:
    told = activity_of(job.records[number].row)
    return f"{LOST} {told.body['records']}: {told.body['why']}" if told.body.get("event") == LOST else told.id[-1]


def job(*numbers: int, waiter: asyncio.Future[bool] | None = None) -> Job:
    return Job(tuple(record_of(activity(number)) for number in numbers), waiter=waiter)


async def written(writer: GroupWriter, *numbers: int) -> bool:
    waiter = asyncio.get_running_loop().create_future()
    writer.put(job(*numbers, waiter=waiter))
    return await waiter


async def refused(writer: GroupWriter, *numbers: int) -> str:
    with pytest.raises(StoreUnavailable) as refusal:
        await written(writer, *numbers)
    return str(refusal.value)


@pytest.fixture
def paper() -> Paper:
    return Paper()


@pytest.fixture
async def writer(paper: Paper) -> AsyncIterator[GroupWriter]:
    made = GroupWriter(paper, TickingClock(), Limits(records=5, characters=20_000))
    yield made
    paper.gate.set()
    paper.failures = 0
    await asyncio.to_thread(made.close)


# Grouping -------------------------------------------------------------------------------------------------------
async def test_what_gathers_during_one_batch_is_the_next_one(paper: Paper, writer: GroupWriter) -> None:
    await paper.hold_up(writer)
    first = asyncio.ensure_future(written(writer, 1))
    await asyncio.sleep(0)
    writer.put(job(2))
    second = asyncio.ensure_future(written(writer, 3, 4))
    await asyncio.sleep(0)
    paper.gate.set()

    assert await asyncio.gather(first, second) == [True, True]
    assert paper.batches == [["0"], ["1", "2", "3", "4"]]


@pytest.mark.parametrize(
    "limits", [Limits(batch_records=2), Limits(batch_characters=5 * len(record_of(activity(1)).text))]
)
async def test_what_is_too_much_for_one_batch_is_written_in_several_and_in_order(paper: Paper, limits: Limits) -> None:
    writer = GroupWriter(paper, TickingClock(), limits)
    await paper.hold_up(writer)
    for numbers in ((1,), (2,), (3, 4, 5), (6,)):
        writer.put(job(*numbers))
    waiting = asyncio.ensure_future(written(writer, 7))
    await asyncio.sleep(0)
    paper.gate.set()

    assert await waiting
    assert paper.batches == [["0"], ["1", "2"], ["3", "4", "5"], ["6", "7"]]
    await asyncio.to_thread(writer.close)


async def test_closing_writes_what_is_queued_in_as_many_batches_as_it_takes(paper: Paper) -> None:
    writer = GroupWriter(paper, TickingClock(), Limits(batch_records=1))
    await paper.hold_up(writer)
    for number in (1, 2, 3):
        writer.put(job(number))
    closing = asyncio.ensure_future(asyncio.to_thread(writer.close))
    paper.gate.set()
    await closing

    assert paper.batches == [["0"], ["1"], ["2"], ["3"]]


async def test_all_who_wait_for_a_batch_are_woken_at_once(
    paper: Paper, writer: GroupWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    original = loop.call_soon_threadsafe
    calls: list[object] = []

    def counting(callback: Callable[..., object], *arguments: object) -> asyncio.Handle:
        if threading.current_thread().name == "interlock-store-writer":
            calls.append(callback)
        return original(callback, *arguments)

    await paper.hold_up(writer)
    monkeypatch.setattr(loop, "call_soon_threadsafe", counting)
    waiting = [asyncio.ensure_future(written(writer, number)) for number in range(1, 5)]
    await asyncio.sleep(0)
    paper.gate.set()
    await asyncio.gather(*waiting)

    assert len(calls) == 1


async def test_one_who_no_longer_waits_does_not_disturb_the_others(paper: Paper, writer: GroupWriter) -> None:
    await paper.hold_up(writer)
    gone, waiting = (asyncio.ensure_future(written(writer, number)) for number in (1, 2))
    await asyncio.sleep(0)
    gone.cancel()
    paper.gate.set()

    assert await waiting
    assert paper.batches == [["0"], ["1", "2"]]


# Bounds ---------------------------------------------------------------------------------------------------------
async def test_a_full_queue_refuses_until_there_is_room_again(paper: Paper, writer: GroupWriter) -> None:
    await paper.hold_up(writer)
    writer.put(job(1, 2, 3, 4))

    assert "queue" in await refused(writer, 5)
    paper.gate.set()
    await insist(lambda: written(writer, 6))

    assert paper.batches == [["0"], ["1", "2", "3", "4"], ["6"]]


async def test_what_does_not_get_into_a_full_queue_is_written_down_as_lost(paper: Paper, writer: GroupWriter) -> None:
    await paper.hold_up(writer)
    writer.put(job(1, 2, 3, 4))

    with pytest.raises(StoreUnavailable, match="queue"):
        writer.put(job(5))
    assert writer.ailing
    paper.gate.set()
    await insist(lambda: written(writer, 6))

    lines = [line for batch in paper.batches for line in batch]
    assert [line for line in lines if line.startswith(LOST)] == [f"{LOST} 1: {FULL}"]
    assert not writer.ailing


LARGE = [
    Job((record_of(activity(1, text="x" * 9_000)),)),
    Job((), rows=(Rows("INSERT", (("x" * 9_000, None, 1),) * 2),)),
]


@pytest.mark.parametrize("large", LARGE, ids=["records", "rows"])
async def test_few_large_ones_fill_the_queue_too(paper: Paper, writer: GroupWriter, large: Job) -> None:
    await paper.hold_up(writer)
    writer.put(large)

    with pytest.raises(StoreUnavailable, match="queue"):
        writer.put(large)


# Failures -------------------------------------------------------------------------------------------------------
async def test_everyone_who_waits_hears_why_a_batch_failed(paper: Paper, writer: GroupWriter) -> None:
    paper.failures = math.inf
    told = await asyncio.gather(refused(writer, 1), refused(writer, 2))

    assert told == ["disk full", "disk full"]


async def test_a_failure_that_was_heard_does_not_close_the_door(paper: Paper, writer: GroupWriter) -> None:
    paper.failures = math.inf
    await refused(writer, 1)
    paper.failures = 0

    assert await written(writer, 2)
    assert paper.batches == [["2"]]


async def test_an_error_nobody_thought_of_is_a_failure_like_any_other(paper: Paper, writer: GroupWriter) -> None:
    paper.problem, paper.failures = MemoryError(), math.inf
    assert await refused(writer, 1) == "MemoryError"
    paper.failures = 0

    assert await written(writer, 2)


async def test_after_an_unheard_failure_no_more_is_queued_unheard_until_the_loss_is_written_down(
    paper: Paper, writer: GroupWriter
) -> None:
    await paper.hold_up(writer)
    paper.failures = math.inf
    paper.gate.set()

    # Whether these join the failing batch or come after it, they hear of it.
    assert await refused(writer, 1) == "disk full"
    with pytest.raises(StoreUnavailable, match="disk full"):
        writer.put(job(2))
    paper.failures = 0
    await insist(lambda: written(writer, 3))

    assert [line for batch in paper.batches for line in batch] == [f"{LOST} 2: disk full", "3"]


async def test_whoever_waits_is_served_as_soon_as_the_loss_can_be_written_down(
    paper: Paper, writer: GroupWriter
) -> None:
    paper.failures = 1
    await paper.hold_up(writer)
    paper.gate.set()
    await asyncio.to_thread(paper.failed.acquire)

    assert await written(writer, 1)
    assert paper.batches == [[f"{LOST} 1: disk full", "1"]]


async def test_the_writer_ails_from_a_failure_to_the_next_success(paper: Paper, writer: GroupWriter) -> None:
    healthy = writer.ailing
    paper.failures = 2
    await refused(writer, 1)
    after_one = writer.ailing
    await refused(writer, 2)
    after_two = writer.ailing
    await written(writer, 3)

    assert (healthy, after_one, after_two, writer.ailing) == (False, True, True, False)


async def test_a_batch_with_nothing_in_it_does_not_prove_that_the_writer_is_well(
    paper: Paper, writer: GroupWriter
) -> None:
    paper.failures = 1
    await refused(writer, 1)
    asked = asyncio.get_running_loop().create_future()
    writer.put(Job((), None, asked, (Rows("x", ()),)))
    await asked
    after_nothing = writer.ailing
    await written(writer, 2)

    assert (after_nothing, writer.ailing) == (True, False)


async def test_that_records_fail_and_that_they_are_written_again_is_said_once_each(
    paper: Paper, writer: GroupWriter, caplog: pytest.LogCaptureFixture
) -> None:
    paper.failures = 3
    for number in (1, 2, 3):
        await refused(writer, number)
    for number in (4, 5):
        await written(writer, number)
    await asyncio.to_thread(writer.close)

    assert [each.getMessage() for each in caplog.records] == [
        "Records cannot be written: disk full. Calls that need one are refused until they can.",
        "Records can be written again.",
    ]


async def test_how_much_was_lost_meanwhile_is_said_when_it_is_written_again(
    paper: Paper, writer: GroupWriter, caplog: pytest.LogCaptureFixture
) -> None:
    paper.failures = 1
    await paper.hold_up(writer)
    paper.gate.set()
    await asyncio.to_thread(paper.failed.acquire)
    await written(writer, 1)
    await asyncio.to_thread(writer.close)

    said = [each.getMessage() for each in caplog.records][-1]
    assert said.startswith("Records can be written again. 1 activity could not be written between ")


async def test_that_it_is_not_known_whether_something_was_written_is_told_to_who_waits(
    paper: Paper, writer: GroupWriter
) -> None:
    paper.failures, paper.problem = 1, Uncertain("nobody heard")

    with pytest.raises(Uncertain, match="nobody heard"):
        await written(writer, 1)
    paper.failures, paper.problem = 1, StoreUnavailable("disk full")
    with pytest.raises(StoreUnavailable) as refusal:
        await written(writer, 2)
    assert not isinstance(refusal.value, Uncertain)


async def test_what_is_lost_while_a_loss_is_being_written_down_is_told_next(paper: Paper, writer: GroupWriter) -> None:
    paper.failures = 1
    await paper.hold_up(writer)
    paper.gate.set()
    await asyncio.to_thread(paper.failed.acquire)
    paper.gate.clear()
    paper.busy.clear()
    telling = asyncio.ensure_future(written(writer, 1))
    await asyncio.sleep(0)
    await asyncio.to_thread(paper.busy.wait)
    with pytest.raises(StoreUnavailable, match="disk full"):
        writer.put(job(2))
    paper.gate.set()
    await telling
    await written(writer, 3)

    lost = [line for batch in paper.batches for line in batch if line.startswith(LOST)]
    assert lost == [f"{LOST} 1: disk full"] * 2


async def test_a_loss_says_of_which_time_it_is(paper: Paper, writer: GroupWriter) -> None:
    await paper.hold_up(writer)
    paper.failures = 2
    writer.put(job(2_000, 1))
    paper.gate.set()
    await insist(lambda: written(writer, 4))

    (told,) = [body for body in paper.bodies if body.get("event") == LOST]
    assert (told["since"], told["until"]) == (NOW, NOW + 2_000)
    time = "between 2023-11-14T22:13:20.000+00:00 and 2023-11-14T22:13:20.002+00:00"
    assert told["text"] == f"3 activities could not be written {time}."


async def test_a_loss_is_written_down_without_another_record_to_carry_it(paper: Paper, writer: GroupWriter) -> None:
    await paper.hold_up(writer)
    paper.failures = math.inf
    paper.gate.set()
    await refused(writer)
    paper.failures = 0
    with pytest.raises(StoreUnavailable):
        writer.put(job(1))
    await asyncio.to_thread(paper.kept.acquire)

    assert paper.batches == [[f"{LOST} 2: disk full"]]


async def test_what_was_queued_behind_a_failure_is_written_after_the_loss(paper: Paper, writer: GroupWriter) -> None:
    paper.failures = 1
    await paper.hold_up(writer)
    writer.put(job(1))
    waiting = asyncio.ensure_future(written(writer, 2))
    await asyncio.sleep(0)
    paper.gate.set()

    assert await waiting
    assert paper.batches == [[f"{LOST} 1: disk full", "1", "2"]]


async def test_losses_add_up_until_they_are_written_down(paper: Paper, writer: GroupWriter) -> None:
    paper.failures = 2
    await paper.hold_up(writer)
    writer.put(job(1, 2))
    waiting = asyncio.ensure_future(refused(writer, 3))
    await asyncio.sleep(0)
    paper.gate.set()
    await waiting
    await insist(lambda: written(writer, 4))

    assert [line for batch in paper.batches for line in batch] == [f"{LOST} 3: disk full", "4"]


async def test_a_loss_that_cannot_even_be_told_does_not_end_the_writer(paper: Paper) -> None:
    clock = StoppedClock()
    writer = GroupWriter(paper, clock, Limits())
    clock.stopped = True
    paper.failures = 1
    writer.put(job(1))
    await refused(writer)
    clock.stopped = False
    await insist(lambda: written(writer, 2))
    await asyncio.to_thread(writer.close)

    assert [line.split(":")[0] for batch in paper.batches for line in batch] == [f"{LOST} 1", "2"]


# The end --------------------------------------------------------------------------------------------------------
async def test_closing_writes_what_is_queued_and_refuses_what_comes_later(paper: Paper) -> None:
    writer = GroupWriter(paper, TickingClock(), Limits())
    await paper.hold_up(writer)
    writer.put(job(1))
    closing = asyncio.ensure_future(asyncio.to_thread(writer.close))
    paper.gate.set()
    await closing

    assert paper.batches == [["0"], ["1"]]
    assert paper.closed
    with pytest.raises(StoreUnavailable, match="closed"):
        writer.put(job(2))


async def test_closing_tries_once_more_to_write_down_a_loss(paper: Paper) -> None:
    writer = GroupWriter(paper, TickingClock(), Limits())
    paper.failures = math.inf
    writer.put(job(1))
    await refused(writer)
    paper.failures = 0
    await asyncio.to_thread(writer.close)

    assert paper.batches == [[f"{LOST} 1: disk full"]]


async def test_closing_says_what_it_could_not_write(paper: Paper) -> None:
    writer = GroupWriter(paper, TickingClock(), Limits())
    paper.failures = math.inf
    await paper.hold_up(writer)
    closing = asyncio.ensure_future(asyncio.to_thread(writer.close))
    paper.gate.set()

    with pytest.raises(StoreUnavailable, match="disk full"):
        await closing
    assert paper.closed


def test_a_loop_that_has_ended_does_not_stop_the_writer(paper: Paper) -> None:
    async def leave_early() -> GroupWriter:
        writer = GroupWriter(paper, TickingClock(), Limits())
        await paper.hold_up(writer)
        writer.put(job(1, waiter=asyncio.get_running_loop().create_future()))
        return writer

    writer = asyncio.run(leave_early())
    paper.gate.set()
    writer.close()

    assert paper.batches == [["0"], ["1"]]
