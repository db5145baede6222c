"""The only reader of time, so that a test can turn the clock.

Times that are stored or compared are integer microseconds since the epoch; how long something took is measured with the
monotonic clock, which no wall-clock step disturbs.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """What everyone else asks for the time."""

    def now(self) -> int:
        """Microseconds since the epoch."""
        ...

    def ticks(self) -> int:
        """Microseconds of a clock that only ever goes forward; differences of it are durations."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> int:
        return time.time_ns() // 1000

    def ticks(self) -> int:
        return time.monotonic_ns() // 1000
