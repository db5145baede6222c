"""Times as people and scripts write them: ISO 8601 in UTC, or how long ago, or how long from now.

Inside, a time is a whole number of microseconds; this module turns one into the other without a float in between, and
refuses what it does not understand with a sentence that says what it would.
"""

import re
from datetime import UTC, datetime, timedelta

from interlock.core.model import Micros
from interlock.core.times import EPOCH, iso

_MICROSECOND = timedelta(microseconds=1)
_UNITS: dict[str, Micros] = {"s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}
_DURATION = re.compile(r"([0-9]{1,5})([smhd])")

__all__ = ["duration_of", "iso", "iso_or_none", "time_of"]

ACCEPTED_DURATION = "a duration such as 15m, 12h or 30d"
ACCEPTED_TIME = "an ISO 8601 time such as 2026-11-15T09:30:00Z"


def iso_or_none(at: Micros | None) -> str | None:
    return None if at is None else iso(at)


def duration_of(text: str) -> Micros:
    """`15m` in microseconds, or ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"must be {ACCEPTED_DURATION}")
    return int(found[1]) * _UNITS[found[2]]


def time_of(text: str) -> Micros:
    """An ISO 8601 time in microseconds, or ValueError. Without a zone it is UTC, like every time we write."""
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"must be {ACCEPTED_TIME}") from None
    aware = given if given.tzinfo is not None else given.replace(tzinfo=UTC)
    return (aware - EPOCH) // _MICROSECOND


def past_of(text: str, now: Micros) -> Micros:
    """`2h` (ago) or an ISO 8601 time, or ValueError."""
    if _DURATION.fullmatch(text):
        return now - duration_of(text)
    try:
        return time_of(text)
    except ValueError:
        raise ValueError(f"must be {ACCEPTED_TIME}, or {ACCEPTED_DURATION} ago") from None
