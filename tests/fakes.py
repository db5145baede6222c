"""A clock that stands still until a test turns it."""


class FakeClock:
    def __init__(self, now: int = 1_000_000) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def ticks(self) -> int:
        return self._now

    def forward(self, micros: int) -> None:
        self._now += micros
