"""The clock of the machine, in the units that are stored."""

import time

from interlock.clock import SystemClock


def test_now_is_microseconds_since_the_epoch() -> None:
    before = time.time_ns() // 1000
    now = SystemClock().now()

    assert before <= now <= time.time_ns() // 1000


def test_ticks_only_go_forward() -> None:
    clock = SystemClock()
    seen = [clock.ticks() for _ in range(1000)]

    assert seen == sorted(seen)
