"""An event loop in which chance decides who goes next, and nobody ever really waits.

Of everything that is ready one step is taken at random, by a generator that was seeded: so each seed is one way in
which tasks can get into each other's way, and the same seed is the same way again. When nothing is ready, time jumps to
the next timer. Nothing here touches a file, a socket or a thread.

Steps belong to the life that they were started in, which a context variable carries from task to task. When a life is
over, none of its steps is taken any more, as when a process is killed: not even what it would do at its end.
"""

import asyncio
import contextvars
import heapq
import itertools
import random
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
START = 1_700_000_000_000_000
"""What the clock shows at the beginning, in microseconds."""


class Life:
    """From the start of a process to its end."""

    def __init__(self) -> None:
        self.over = False


LIFE: contextvars.ContextVar[Life | None] = contextvars.ContextVar("life", default=None)


class Stuck(Exception):
    """Somebody waits, and there is nothing left that could ever wake it."""


class _Step(asyncio.TimerHandle):
    """Something to do, at once or at some time."""

    def __init__(
        self,
        loop: "VirtualLoop",
        when: float,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        context: contextvars.Context | None,
    ) -> None:
        self.context = contextvars.copy_context() if context is None else context
        super().__init__(when, callback, args, loop, self.context)
        self._what = callback, args

    def take(self) -> None:
        callback, args = self._what
        self.context.run(callback, *args)


class VirtualLoop(asyncio.AbstractEventLoop):
    """Runs coroutines in an order that the seed decides."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self._buried: list[_Step] | None = []
        """The steps of those whose life is over, which are not taken; None once they are, for the sake of order."""
        self.problems: list[dict[str, Any]] = []
        """What nobody caught."""
        self._now = 0.0
        self._ready: list[_Step] = []
        self._timers: list[tuple[float, int, _Step]] = []
        self._order = itertools.count()

    # What tasks and futures need ---------------------------------------------------------------------------------

    def time(self) -> float:
        return self._now

    def get_debug(self) -> bool:
        return False

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        step = _Step(self, self._now, callback, args, context)
        self._ready.append(step)
        return step

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.TimerHandle:
        step = _Step(self, when, callback, args, context)
        heapq.heappush(self._timers, (when, next(self._order), step))
        return step

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Left out when its time comes."""

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Any,
        *,
        name: object = None,
        context: contextvars.Context | None = None,
    ) -> "asyncio.Task[Any]":
        return asyncio.Task(coro, loop=self, name=None if name is None else str(name), context=context)

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.problems.append(context)

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    # Running ------------------------------------------------------------------------------------------------------

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run to the end of `main`. Raises Stuck when it cannot be reached."""
        asyncio._set_running_loop(self)  # pyright: ignore[reportPrivateUsage] - there is no public way
        try:
            task: asyncio.Task[T] = self.create_task(main)
            while not task.done():
                self._step()
            return task.result()
        finally:
            asyncio._set_running_loop(None)  # pyright: ignore[reportPrivateUsage]

    def _step(self) -> None:
        if not self._ready and not self._timers:
            raise Stuck
        if not self._ready:
            # A little further than to the timer: a clock that stood still would do what no clock does.
            self._now = max(self._now, self._timers[0][0]) + 1e-6
        while self._timers and self._timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(self._timers)[2])
        step = self._drawn()
        life = step.context.get(LIFE)
        if self._buried is not None and life is not None and life.over:
            self._buried.append(step)
        elif not step.cancelled():
            step.take()

    def exhume(self) -> None:
        """Take the steps of lives that are over all the same: at the very end, so that their tasks can be ended."""
        self._ready += self._buried or ()
        self._buried = None

    def _drawn(self) -> _Step:
        """One of those that are ready. The last takes its place: order means nothing here."""
        at = int(self.chance.random() * len(self._ready))
        self._ready[at], self._ready[-1] = self._ready[-1], self._ready[at]
        return self._ready.pop()


class VirtualClock:
    """The clock of the product: the time of the loop, and a microsecond more whenever it is read, so that of any two
    readings it is known which came first."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._readings = 0

    def now(self) -> int:
        self._readings += 1
        return START + int(self._loop.time() * 1_000_000) + self._readings

    def ticks(self) -> int:
        return self.now()
