"""How patient we are with upstreams, and how long we wait before we try one again.

Every duration of this package that is a matter of judgement and not of the protocol stands here, so that a test can be
quick and an operator's question has one place to be answered. Nothing here waits.
"""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """Durations in seconds, unless the name says otherwise."""

    first: float = 0.2
    """The wait before the first new start; it doubles from there."""
    cap_stdio: float = 30.0
    """The longest wait before a process is started again; a call cuts it short."""
    cap_http: float = 1.5
    """The same for a server elsewhere: it comes back without us, and has to be usable soon after that."""
    steady: float = 10.0
    """After so long without trouble the waits begin anew."""
    starts_apart: float = 1.0
    """Calls wake an upstream that is down, but not more often than this."""
    patience: float = 2.0
    """How long a call waits for an upstream that is down before it is refused."""

    discover: float = 10.0
    """How long an upstream may take to say whether it speaks the modern protocol."""
    handshake: float = 60.0
    """How long it may take to answer the classic handshake: package runners fetch the program first."""
    listing: float = 60.0
    """How long it may take to list all of its tools."""
    rest: float = 5.0
    """How long it may take to list everything else before its tools are served without that."""
    probe: float = 3.0
    """How long an upstream that is in doubt may take to give a sign of life."""
    failures: int = 5
    """So many calls in a row that fail in transport put it in doubt."""

    refresh_apart: float = 1.0
    """Tool lists are not asked for more often than this, however often a change is announced."""
    refresh_every: float = 180.0
    """And they are asked for this often without any announcement."""
    refresh_rest: float = 10.0
    """A list that took long to read is followed by a rest that is so many times as long."""

    updates_apart: float = 0.1
    """One resource is not told to have changed more often than this."""

    idle: float = 600.0
    """An instance for one caller or credential is closed after so long without a call."""
    sweep: float = 15.0
    """How often we look for such instances."""
    most: int = 100
    """How many of them one server may have."""
    takeover: float = 10.0
    """How long the new instance of a changed server may take to start before it takes over as it is."""

    @classmethod
    def starting_within(cls, seconds: float) -> "Pace":
        """The pace for upstreams that have to answer within so long, whichever protocol they speak."""
        return cls(discover=seconds * _FOR_DISCOVER, handshake=seconds * (1 - _FOR_DISCOVER))


_FOR_DISCOVER = 0.6
"""The part of the time for the first question: the program is being loaded meanwhile."""


class Backoff:
    """The waits between attempts: each twice as long as the one before, none longer than its cap.

    Each is shortened a little by chance, so that upstreams that failed together do not come back together.
    """

    def __init__(self, first: float) -> None:
        self._first = first
        self._step = 0

    def next(self, cap: float) -> float:
        """How long to wait this time."""
        wait = min(cap, self._first * 2**self._step)
        if wait < cap:
            self._step += 1
        return wait * random.uniform(0.75, 1.0)  # noqa: S311 (nobody gains by guessing it)

    def reset(self) -> None:
        """Begin anew."""
        self._step = 0
