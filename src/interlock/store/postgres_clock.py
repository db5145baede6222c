"""The time of the database, as a gateway knows it: one clock for all gateways, whatever each machine believes.

Between two looks it goes on with the monotonic clock of the machine, so a wall clock that is wrong, or set while we
run, is seen by nobody. What a look tells is not when exactly the database read its clock, only between which two
moments: as long as what is known lies between them it stays as it is, so that time does not jump with the network.

This module refuses to ask the database; it is told.
"""

from interlock.clock import Clock
from interlock.core.model import Micros


class PostgresClock:
    """The clock of the machine until it was told the time of the database; that from then on. Any thread may ask."""

    def __init__(self, machine: Clock) -> None:
        self._machine = machine
        self._ahead: Micros | None = None
        """How far the time of the database is ahead of the ticks."""

    def now(self) -> Micros:
        ahead = self._ahead
        return self._machine.now() if ahead is None else self._machine.ticks() + ahead

    def ticks(self) -> Micros:
        return self._machine.ticks()

    def told(self, now: Micros, since: Micros, until: Micros) -> None:
        """At some moment between these two, in ticks, the clock of the database showed this."""
        least, most = now - until, now - since
        if self._ahead is None:
            self._ahead = (least + most) // 2
        else:
            self._ahead = max(least, min(self._ahead, most))
