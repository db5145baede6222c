"""The call budget of a lab run: a counter that many workers share.

Every planned call acquires from it first. Exactly `max_calls` acquisitions succeed, whatever the threads or tasks do,
and nothing is ever given back: a call that failed may still have had its effect.
"""

import threading

from interlock.errors import BudgetExhausted


class CallBudget:
    """A thread-safe budget of calls; None means no limit."""

    def __init__(self, max_calls: int | None = None) -> None:
        self.limit = max_calls
        self._used = 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        return self._used

    @property
    def left(self) -> int | None:
        """How many calls may still be made; None means no limit."""
        return None if self.limit is None else self.limit - self._used

    def acquire(self) -> None:
        """Take one call, or raise BudgetExhausted with the limit."""
        with self._lock:
            if self.limit is not None and self._used >= self.limit:
                raise BudgetExhausted(self.limit)
            self._used += 1
