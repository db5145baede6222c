"""Whether a gateway may act, where others change what it acts by.

A stop, a revoked token or a spent grant may be known to the database alone. So a gateway acts only for a short while
after it has looked there and taken up what it saw: one that is cut off, or was frozen and comes back, refuses until it
has looked again. That while is shorter than the time after which the others take it for dead.

INVARIANT: nothing is sent on a decision of a run that has ended; whoever decided asks again before the first byte.

This module refuses to look, and to compare times of two machines.
"""

from interlock.clock import Clock
from interlock.core.model import Micros
from interlock.store.protocol import OutOfTouch
from interlock.store.shared import IN_TOUCH


class Lease:
    """The right of one run of a gateway to act. It begins with the first look."""

    def __init__(self, run: str, clock: Clock) -> None:
        self.run = run
        self._clock = clock
        self._until: Micros | None = None
        self.others = 0
        """How many other gateways lived at the last look, as far as anybody knows."""

    def looked(self, began: Micros, others: int = 0) -> None:
        """What a look showed is known here, and so many others; `began` is when it was begun, in ticks."""
        self._until, self.others = began + IN_TOUCH, others

    @property
    def holds(self) -> bool:
        """Whether the last look is recent enough."""
        return self._until is not None and self._clock.ticks() < self._until

    def check(self, run: str | None = None) -> None:
        """Raises OutOfTouch when the last look was too long ago, or the run is another than the one given."""
        if not self.holds or run not in (None, self.run):
            raise OutOfTouch("The database has not been looked at for too long.")
