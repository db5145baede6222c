"""How much one caller may do at once and in a minute.

An agent in a loop must not take the upstreams from the others. What counts are calls that were let pass: a refusal
costs an upstream nothing, and an agent that is told what is wrong should not be punished for trying again.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from interlock.core.model import Micros

MINUTE = 60_000_000


@dataclass(frozen=True, slots=True)
class Limits:
    """None means no limit."""

    calls_per_minute: int | None = None
    in_flight: int | None = None


class Rates:
    """What each caller does now, and did within the last minute."""

    def __init__(self) -> None:
        self._under_way: Counter[str] = Counter()
        self._begun: defaultdict[str, deque[Micros]] = defaultdict(deque)

    def over(self, caller: str, limits: Limits, now: Micros) -> str | None:
        """Which limit another call would pass, as a sentence; None when it may go."""
        if limits.in_flight is not None and self._under_way[caller] >= limits.in_flight:
            return f"{limits.in_flight} are under way already"
        begun = self._begun[caller]
        while begun and begun[0] <= now - MINUTE:
            begun.popleft()
        if limits.calls_per_minute is not None and len(begun) >= limits.calls_per_minute:
            return f"{limits.calls_per_minute} a minute are allowed"
        return None

    @contextmanager
    def counting(self, caller: str, limits: Limits, now: Micros) -> Generator[None]:
        """Count a call while it is under way, and for a minute."""
        if limits.calls_per_minute is not None:
            self._begun[caller].append(now)
        self._under_way[caller] += 1
        try:
            yield
        finally:
            self._under_way[caller] -= 1
