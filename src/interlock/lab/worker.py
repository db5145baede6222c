"""The only thing in the lab that calls a tool.

Whatever wants a call, a probe, a proposal, a test, asks a worker for it, and the worker holds it to the plan, to the
budget, to the number of calls that may be under way at once, to the pause between calls over HTTP, and to the time that
a call may take.

This module refuses a tool that the plan does not call, a second call of a tool that is called once, and every call
after the budget. It never repeats a call by itself.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import Any

from msgspec.structs import replace

from interlock import errors
from interlock.clock import Clock, SystemClock
from interlock.core.budget import CallBudget
from interlock.errors import InterlockError
from interlock.lab.model import Observed, Workbench
from interlock.lab.plan import Decision, Planned
from interlock.lab.run import Knobs

GRACE = 0.5
"""How many seconds more than a call may take we wait for the gateway, which has the same limit, to say that it is
over: it knows under which id that stands in the activity log."""
_SECOND = 1_000_000


class NotPlanned(InterlockError):
    """Raised for a call that the plan does not have."""

    def __init__(self, planned: Planned) -> None:
        super().__init__(planned.reason or errors.NOT_IN_PLAN(tool=planned.tool.name))
        self.planned = planned


class Worker:
    """Calls the tools of one server under one plan."""

    def __init__(
        self,
        bench: Workbench,
        plan: Iterable[Planned],
        knobs: Knobs,
        *,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.bench = bench
        self.budget = CallBudget(knobs.max_calls)
        self.plan = {each.tool.name: each for each in plan}
        self._called: set[str] = set()
        self._places = asyncio.Semaphore(knobs.concurrency)
        self._turn = asyncio.Lock()
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._delay = int(knobs.call_delay * _SECOND) if bench.is_http else 0
        self._last: int | None = None
        """When a call last began or ended."""
        self._seconds = knobs.timeout

    async def call(self, tool: str, arguments: dict[str, Any], unchecked: bool = False) -> Observed:
        """Call a tool of the plan. Raises NotPlanned or BudgetExhausted; everything that comes of a call that was made
        is in what is returned."""
        self._admit(tool)
        async with self._places, self._paused():
            return await self._made(tool, arguments, unchecked=unchecked)

    def _admit(self, tool: str) -> None:
        # INVARIANT: nothing is awaited in here, so that of many who ask for a tool that is called once, one gets it.
        planned = self.plan.get(tool)
        if planned is None:
            raise InterlockError(errors.NOT_IN_PLAN(tool=tool))
        if not planned.decision.calls:
            raise NotPlanned(planned)
        if planned.decision is Decision.EXECUTE_ONCE and tool in self._called:
            raise NotPlanned(replace(planned, reason=errors.CALLED_ONCE(tool=tool)))
        self.budget.acquire()
        self._called.add(tool)

    @contextlib.asynccontextmanager
    async def _paused(self) -> AsyncGenerator[None]:
        """A pause after whatever happened last, if the server is reached over HTTP."""
        if self._delay:
            async with self._turn:
                while (left := self._left()) > 0:
                    await self._sleep(left / _SECOND)
                self._last = self._clock.ticks()
        try:
            yield
        finally:
            self._last = self._clock.ticks()

    def _left(self) -> int:
        return 0 if self._last is None else self._last + self._delay - self._clock.ticks()

    async def _made(self, tool: str, arguments: dict[str, Any], *, unchecked: bool) -> Observed:
        began = self._clock.ticks()
        try:
            async with asyncio.timeout(self._seconds + GRACE):
                return await self.bench.call(tool, arguments, unchecked=unchecked)
        except TimeoutError:
            took = (self._clock.ticks() - began) / 1000
            overdue = errors.UPSTREAM_TIMEOUT(server=self.bench.server, seconds=f"{self._seconds:g}")
            return Observed(tool, arguments, took, refusal=overdue)
