"""Deadlines by the thousand, for next to nothing.

Almost every deadline is met, so what it costs to set one and to take it back is what counts. `asyncio.timeout` costs
more than deciding about a call does; here setting one is a place in a dict, and one timer per tick looks after them
all. The price is that an alarm may ring two ticks late. It never rings early.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType

TICK = 0.02
"""In seconds. An alarm waits for the tick after its time, and then to be looked for, so it may be two of these late."""


class Alarm:
    """Something that happens after a while, unless it is taken back first."""

    __slots__ = ("_alarms", "_ring", "_tick")

    def __init__(self, alarms: "Alarms", tick: int, ring: Callable[[], None]) -> None:
        self._alarms = alarms
        self._tick = tick
        self._ring = ring

    def cancel(self) -> None:
        """Take it back; nothing happens if it has rung."""
        self._alarms.forget(self, self._tick)

    def ring(self) -> None:
        self._ring()


class Alarms:
    """All alarms of one owner, in the event loop that it runs in."""

    def __init__(self) -> None:
        self._due: dict[int, dict[Alarm, None]] = {}
        self._seen = 0
        """The tick that was looked at last."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def rests(self) -> bool:
        """Whether there is nothing to look after, so that an idle process sleeps."""
        return self._timer is None

    def set(self, seconds: float, ring: Callable[[], None]) -> Alarm:
        """Ring after so many seconds, up to two ticks later; at the next tick if the time has passed already."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # what was set in a loop that has ended is of no interest to anybody
            self._loop, self._timer = loop, None
            self._due.clear()
        tick = int((loop.time() + max(seconds, 0.0)) / TICK) + 1
        alarm = Alarm(self, tick, ring)
        self._due.setdefault(tick, {})[alarm] = None
        if self._timer is None:
            self._seen = int(loop.time() / TICK)
            self._timer = loop.call_later(TICK, self._look, loop)
        return alarm

    def forget(self, alarm: Alarm, tick: int) -> None:
        due = self._due.get(tick)
        if due is not None:
            due.pop(alarm, None)
            if not due:  # else the timer would not rest before its time
                del self._due[tick]

    def deadline(self, seconds: float | None) -> "Deadline":
        """A block that must be left within so many seconds, or before it is expired; else it ends in TimeoutError."""
        return Deadline(self, seconds)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        seen, self._seen = self._seen, int(loop.time() / TICK)
        rings = [alarm for tick in range(seen + 1, self._seen + 1) for alarm in self._due.pop(tick, ())]
        self._timer = loop.call_later(TICK, self._look, loop) if self._due else None
        for alarm in rings:
            try:
                alarm.ring()
            except Exception as problem:  # told as the loop tells of its own timers: the other alarms ring all the same
                loop.call_exception_handler({"message": "An alarm failed.", "exception": problem})


class Deadline:
    """What `asyncio.timeout` is, with an alarm."""

    __slots__ = ("_alarm", "_alarms", "_cancelling", "_seconds", "_task", "expired")

    def __init__(self, alarms: Alarms, seconds: float | None) -> None:
        self._alarms = alarms
        self._seconds = seconds
        self._task: asyncio.Task[object] | None = None
        self._alarm: Alarm | None = None
        self._cancelling = 0
        self.expired = False

    def expire(self) -> None:
        """It is over now."""
        if not self.expired and self._task is not None:
            self.expired = True
            self._task.cancel()

    def __enter__(self) -> "Deadline":
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline needs a task")
        self._task, self._cancelling = task, task.cancelling()
        if self._seconds is not None:
            self._alarm = self._alarms.set(self._seconds, self.expire)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if self._alarm is not None:
            self._alarm.cancel()
        # Somebody else may have cancelled the task as well, and then it stays cancelled.
        if self.expired and task is not None and task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error
