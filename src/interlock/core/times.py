"""Times as people and other systems read them: ISO 8601 in UTC, with microseconds, so that texts sort like times."""

from datetime import UTC, datetime, timedelta

from interlock.core.model import Micros

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at: Micros) -> str:
    """A time as text."""
    return (EPOCH + timedelta(microseconds=at)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
