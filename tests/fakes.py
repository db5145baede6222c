"""A clock that stands still until a test turns it."""

from collections.abc import Callable


class FakeClock:
    def __init__(self, now: int = 1_000_000) -> None:
        self._now = now
        self.followers: list[Callable[[int], None]] = []
        """Other clocks that show the same time."""

    def now(self) -> int:
        return self._now

    def ticks(self) -> int:
        return self._now

    def forward(self, micros: int) -> None:
        self._now += micros
        for each in self.followers:
            each(self._now)
