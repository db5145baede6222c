"""How much one caller may do at once and in a minute.

An agent in a loop must not take the upstreams from the others. What counts are calls that were let pass: a refusal
costs an upstream nothing, and an agent that is told what is wrong should not be punished for trying again. A call that
somebody has to approve counts in its minute when they are asked, because their time is worth more than an upstream's;
it does not count a second time when it passes, or when its caller comes back for it.
"""

from collections import Counter, defaultdict, deque
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

    def over(self, caller: str, limits: Limits, now: Micros, *, asked: bool = False) -> str | None:
        """Which limit another call would pass, as a sentence; None when it may go. `asked` was counted already."""
        if limits.in_flight is not None and self._under_way[caller] >= limits.in_flight:
            return f"{limits.in_flight} are under way already"
        if asked:
            return None
        begun = self._begun[caller]
        while begun and begun[0] <= now - MINUTE:
            begun.popleft()
        if limits.calls_per_minute is not None and len(begun) >= limits.calls_per_minute:
            return f"{limits.calls_per_minute} a minute are allowed"
        return None

    def ask(self, caller: str, limits: Limits, now: Micros) -> None:
        """Count a call for a minute."""
        if limits.calls_per_minute is not None:
            self._begun[caller].append(now)

    def begin(self, caller: str, limits: Limits, now: Micros, *, asked: bool = False) -> None:
        """Count a call that is under way until it has ended, and for a minute unless that was done when somebody was
        asked."""
        if not asked:
            self.ask(caller, limits, now)
        self._under_way[caller] += 1

    def end(self, caller: str) -> None:
        """A call that has begun is not under way any more."""
        self._under_way[caller] -= 1
