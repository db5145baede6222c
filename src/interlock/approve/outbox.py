"""What waits to be told to one target, and the attempts to tell it.

Each target has an outbox of its own, so that one that is dead, slow or hostile delays nobody else. An outbox holds a
bounded number of messages; beyond that the oldest is given up. A message that failed is tried again after a pause, and
others go ahead of it meanwhile, because a notice is about something that does not wait for long.

Nothing is kept on disk: what has not been delivered when the gateway stops is given up, and that is told.
This module refuses to know HTTP and processes; how a message is sent is the matter of the target.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from interlock.clock import Clock
from interlock.core.model import Micros

MOST_WAITING = 1_000
"""How many messages may wait for one target."""
TROUBLED = 3
"""So many attempts in a row that failed are worth a word to the operator."""


class Status(StrEnum):
    """What an attempt led to."""

    DELIVERED = "delivered"
    RETRYING = "retrying"
    FAILED = "failed"


class Fate(StrEnum):
    """How a target took one attempt."""

    TAKEN = "taken"
    MISSED = "missed"
    """It did not get there, or was not accepted; another attempt may succeed."""
    GONE = "gone"
    """The target wants no more messages at all."""


class Attempt(Struct, frozen=True):
    """What came of one attempt. `wait` is how many seconds the target asked to be left alone for."""

    fate: Fate
    detail: str
    wait: float | None = None


class Message(Struct, frozen=True):
    """What is told, as every target needs it. `body` is the JSON that goes out, `id` the same in each attempt."""

    id: str
    event: str
    approval: str
    tool: str
    body: bytes


class Delivery(Struct, frozen=True):
    """One attempt to tell something, or the end of them, as operators see it."""

    at: Micros
    event: str
    approval: str
    target: str
    attempt: int
    status: Status
    detail: str


class Target(Protocol):
    """Somebody who is told."""

    @property
    def shown(self) -> str:
        """The target as it may be shown: never more than the beginning of an address."""
        ...

    @property
    def pauses(self) -> tuple[float, ...]:
        """How many seconds to wait after each attempt that failed; there is one attempt more than these."""
        ...

    @property
    def at_once(self) -> int:
        """How many messages may be on their way at the same time."""
        ...

    async def send(self, message: Message) -> Attempt:
        """Make one attempt, within a time of its own."""
        ...


class _Waiting(Struct):
    """A message in the outbox: its place in the order of things told, the attempts made, and when the next is due."""

    number: int
    message: Message
    attempts: int
    due: float


class Outbox:
    """The messages for one target. `told` hears of every attempt, and once of the end of each message."""

    def __init__(self, target: Target, clock: Clock, told: Callable[[Delivery], None]) -> None:
        self.target = target
        self.tasks: set[asyncio.Task[None]] = set()
        self.gone = False
        """Whether the target said that it wants no more."""
        self.failures = 0
        """How many attempts in a row have failed."""
        self.last_failure = ""
        self._clock = clock
        self._told = told
        self._count = 0
        self._waiting: dict[int, _Waiting] = {}
        self._under_way: dict[int, _Waiting] = {}
        self._rest_until = 0.0
        self._news = asyncio.Event()
        self._ending = False
        self._closed = ""

    def put(self, message: Message) -> None:
        """Let a message wait for its first attempt; never waits itself."""
        if self.gone:
            return
        self._count += 1
        waiting = _Waiting(self._count, message, 0, 0.0)
        if self._closed:
            self._tell(waiting, Status.FAILED, self._closed)
        else:
            self._admit(waiting)

    def start(self, group: asyncio.TaskGroup) -> None:
        """Begin to deliver."""
        for _ in range(self.target.at_once):
            task = group.create_task(self._deliver())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def revive(self) -> None:
        """Try a target again that wanted no more: it was configured anew."""
        if self.gone:
            self.gone, self.failures = False, 0

    def end(self) -> None:
        """Make the attempts that are due, and then no more."""
        self._ending = True
        self._news.set()

    def close(self, why: str) -> None:
        """Stop now, and give up everything that has not been delivered."""
        self._closed = why
        for task in self.tasks:
            task.cancel()
        self._give_up([*self._under_way.values(), *self._waiting.values()], why)

    def _admit(self, waiting: _Waiting) -> None:
        self._waiting[waiting.number] = waiting
        self._news.set()
        if len(self._waiting) > MOST_WAITING:
            oldest = self._waiting[min(self._waiting)]
            self._give_up([oldest], f"more than {MOST_WAITING} notices were waiting")

    def _give_up(self, these: list[_Waiting], why: str) -> None:
        for waiting in these:
            self._waiting.pop(waiting.number, None)
            self._under_way.pop(waiting.number, None)
            self._tell(waiting, Status.FAILED, why)

    async def _deliver(self) -> None:
        while (waiting := await self._next()) is not None:
            self._under_way[waiting.number] = waiting
            attempt = await self._sent(waiting.message)
            # Whoever closed the outbox meanwhile has told of the end already.
            if self._under_way.pop(waiting.number, None) is not None:
                waiting.attempts += 1
                self._settle(waiting, attempt)

    async def _sent(self, message: Message) -> Attempt:
        try:
            return await self.target.send(message)
        except Exception as failed:  # a defect of ours: it must not end the gateway, and its text may hold an address
            return Attempt(Fate.MISSED, f"it could not be sent ({type(failed).__name__})")

    async def _next(self) -> _Waiting | None:
        """The next message whose time has come; None when there will be none."""
        loop = asyncio.get_running_loop()
        while True:
            first = min(self._waiting.values(), key=lambda each: each.due, default=None)
            wait = None if first is None else max(first.due, self._rest_until) - loop.time()
            if first is not None and wait is not None and wait <= 0:
                return self._waiting.pop(first.number)
            if self._ending:
                return None
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._news.wait()

    def _settle(self, waiting: _Waiting, attempt: Attempt) -> None:
        if attempt.fate is Fate.TAKEN:
            self.failures = 0
            self._tell(waiting, Status.DELIVERED, attempt.detail)
            return
        self.failures += 1
        self.last_failure = attempt.detail
        pauses = self.target.pauses
        if attempt.fate is Fate.GONE:
            self.gone = True
            self._give_up([waiting, *self._waiting.values()], attempt.detail)
        elif waiting.attempts > len(pauses):
            self._tell(waiting, Status.FAILED, attempt.detail)
        else:
            self._tell(waiting, Status.RETRYING, attempt.detail)
            self._put_off(waiting, attempt.wait, pauses)

    def _put_off(self, waiting: _Waiting, asked: float | None, pauses: tuple[float, ...]) -> None:
        """Let a message wait for another attempt. What the target asked for counts for all that wait for it."""
        now = asyncio.get_running_loop().time()
        if asked is None:
            # A little less by chance, so that those that failed together do not come back together.
            waiting.due = now + pauses[waiting.attempts - 1] * random.uniform(0.75, 1.0)  # noqa: S311 (no secret)
        else:
            waiting.due = self._rest_until = now + max(asked, pauses[0])
        self._admit(waiting)

    def _tell(self, waiting: _Waiting, status: Status, detail: str) -> None:
        message = waiting.message
        self._told(
            Delivery(
                self._clock.now(),
                message.event,
                message.approval,
                self.target.shown,
                waiting.attempts,
                status,
                detail,
            )
        )
