"""What waits for one target: in which order it goes out, when it is given up, and what is told of that."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from msgspec.structs import replace

from interlock.approve.outbox import MOST_WAITING, Attempt, Delivery, Fate, Message, Outbox, Status
from tests.approve.receiving import MESSAGE, SECONDS
from tests.fakes import FakeClock

HOUR = 3600.0
TAKEN, MISSED, GONE = Attempt(Fate.TAKEN, "200"), Attempt(Fate.MISSED, "500"), Attempt(Fate.GONE, "410")


class Scripted:
    """A target that takes attempts as it was told to, then all of them; a raised gate lets them through."""

    shown = "https://scripted"

    def __init__(self, *attempts: Attempt | Exception, pauses: tuple[float, ...] = (), at_once: int = 1) -> None:
        self.attempts = list(attempts)
        self.pauses = pauses
        self.at_once = at_once
        self.sent: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def send(self, message: Message) -> Attempt:
        self.sent.append(message.id)
        await self.gate.wait()
        attempt = self.attempts.pop(0) if self.attempts else TAKEN
        if isinstance(attempt, Exception):
            raise attempt
        return attempt


class Told:
    """What an outbox told."""

    def __init__(self) -> None:
        self.deliveries: list[Delivery] = []
        self._news = asyncio.Event()

    def __call__(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        self._news.set()

    @property
    def statuses(self) -> list[tuple[int, Status]]:
        return [(each.attempt, each.status) for each in self.deliveries]

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not holds():
                self._news.clear()
                await self._news.wait()


def boxed(target: Scripted) -> tuple[Outbox, Told]:
    told = Told()
    return Outbox(target, FakeClock(), told), told


@asynccontextmanager
async def delivering(box: Outbox) -> AsyncGenerator[None]:
    """Deliver, and when the block ends make the attempts that are due and give up the rest."""
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        box.start(group)
        yield
        box.end()
        if box.tasks:
            await asyncio.wait(box.tasks)
        box.close("the end")


def message(number: int) -> Message:
    return replace(MESSAGE, id=f"m{number}")


async def test_a_message_is_tried_again_after_each_pause_until_it_is_taken() -> None:
    target = Scripted(MISSED, MISSED, pauses=(0, 0, 0))
    box, told = boxed(target)
    async with delivering(box):
        box.put(message(1))
        await told.until(lambda: len(told.deliveries) == 3)

    assert target.sent == ["m1"] * 3
    assert told.statuses == [(1, Status.RETRYING), (2, Status.RETRYING), (3, Status.DELIVERED)]
    assert box.failures == 0


async def test_after_the_last_attempt_it_is_given_up() -> None:
    target = Scripted(*[MISSED] * 6, pauses=(0,) * 5)
    box, told = boxed(target)
    async with delivering(box):
        box.put(message(1))
        await told.until(lambda: len(told.deliveries) == 6)

    assert told.statuses[-1] == (6, Status.FAILED)
    assert len(target.sent) == 6
    assert (box.failures, box.last_failure) == (6, "500")


async def test_others_go_ahead_of_one_that_waits_for_another_attempt() -> None:
    target = Scripted(MISSED, pauses=(HOUR,))
    box, told = boxed(target)
    async with delivering(box):
        box.put(message(1))
        box.put(message(2))
        await told.until(lambda: len(told.deliveries) == 2)

    assert target.sent == ["m1", "m2"]
    assert told.statuses == [(1, Status.RETRYING), (1, Status.DELIVERED), (1, Status.FAILED)]
    assert told.deliveries[-1].detail == "the end"


async def test_what_the_target_asks_for_counts_for_everything_that_waits_for_it() -> None:
    target = Scripted(replace(MISSED, wait=HOUR), pauses=(0,))
    box, told = boxed(target)
    async with delivering(box):
        box.put(message(1))
        await told.until(lambda: len(told.deliveries) == 1)
        box.put(message(2))

    assert target.sent == ["m1"]
    assert [each.status for each in told.deliveries] == [Status.RETRYING, Status.FAILED, Status.FAILED]


async def test_what_the_target_asks_for_replaces_the_pause() -> None:
    target = Scripted(MISSED, replace(MISSED, wait=0.0), pauses=(0, HOUR))
    box, told = boxed(target)
    async with delivering(box):
        box.put(message(1))
        await told.until(lambda: len(told.deliveries) == 3)

    assert told.statuses[-1] == (3, Status.DELIVERED)


async def test_beyond_its_bound_the_oldest_is_given_up_and_that_is_told() -> None:
    box, told = boxed(Scripted())
    for number in range(MOST_WAITING + 2):
        box.put(replace(message(number), approval=f"apr-{number}"))

    assert [(each.approval, each.attempt, each.status) for each in told.deliveries] == [
        ("apr-0", 0, Status.FAILED),
        ("apr-1", 0, Status.FAILED),
    ]
    assert told.deliveries[0].detail == "more than 1000 notices were waiting"


async def test_one_that_was_tried_is_still_the_oldest() -> None:
    target = Scripted(MISSED, pauses=(HOUR,))
    box, told = boxed(target)
    target.gate.clear()
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        box.start(group)
        box.put(replace(message(0), approval="tried"))
        while not target.sent:  # noqa: ASYNC110 - the turn in which the attempt begins
            await asyncio.sleep(0)
        for number in range(MOST_WAITING):
            box.put(message(number))
        target.gate.set()
        await told.until(lambda: len(told.deliveries) >= 2)
        box.close("the end")

    assert [each.approval for each in told.deliveries[:2]] == ["tried", "tried"]
    assert told.statuses[:2] == [(1, Status.RETRYING), (1, Status.FAILED)]


async def test_a_target_that_wants_no_more_is_told_no_more_until_it_is_revived() -> None:
    target = Scripted(GONE, pauses=(0, 0))
    box, told = boxed(target)
    target.gate.clear()
    async with delivering(box):
        box.put(message(1))
        box.put(message(2))
        target.gate.set()
        await told.until(lambda: len(told.deliveries) == 2)
        box.put(message(3))
        was_gone = box.gone
        box.revive()
        box.put(message(4))
        await told.until(lambda: len(told.deliveries) == 3)

    assert target.sent == ["m1", "m4"]
    assert [each.status for each in told.deliveries] == [Status.FAILED, Status.FAILED, Status.DELIVERED]
    assert (was_gone, box.gone) == (True, False)


async def test_no_more_are_on_their_way_at_once_than_the_target_bears() -> None:
    target = Scripted(at_once=2)
    box, told = boxed(target)
    target.gate.clear()
    for number in range(5):
        box.put(message(number))
    async with delivering(box):
        while len(target.sent) < 2:  # noqa: ASYNC110 - the turns in which both workers begin
            await asyncio.sleep(0)
        for _ in range(10):
            await asyncio.sleep(0)
        at_once = len(target.sent)
        target.gate.set()
        await told.until(lambda: len(told.deliveries) == 5)

    assert at_once == 2


async def test_a_defect_of_a_target_is_a_failure_without_its_words() -> None:
    box, told = boxed(Scripted(RuntimeError("swordfish")))
    async with delivering(box):
        box.put(message(1))
        await told.until(lambda: len(told.deliveries) == 1)
        box.put(message(2))
        await told.until(lambda: len(told.deliveries) == 2)

    assert told.deliveries[0].detail == "it could not be sent (RuntimeError)"
    assert told.statuses == [(1, Status.FAILED), (1, Status.DELIVERED)]


async def test_what_is_under_way_when_it_is_closed_is_given_up_once() -> None:
    target = Scripted()
    box, told = boxed(target)
    target.gate.clear()
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        box.start(group)
        box.put(message(1))
        while not target.sent:  # noqa: ASYNC110 - the turn in which the attempt begins
            await asyncio.sleep(0)
        box.close("the end")
        box.put(message(2))

    assert [(each.status, each.detail) for each in told.deliveries] == [(Status.FAILED, "the end")] * 2
