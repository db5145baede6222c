"""`GET /activity/stats`: how many calls ended how, by class, server, verdict and time.

The store counts; what is put together here is small. Names of servers can be made up by whoever calls, so only the most
frequent are told by name.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Query, Response
from pydantic import Field

from interlock import errors
from interlock.core.model import Micros
from interlock.store.protocol import ActivityCount, ActivityType
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.filters import ActivityFilters, filter_of
from interlock.web.parts import Here
from interlock.web.problems import Refusal

MOST_STRETCHES = 119
"""Of whole ones; the one that has just begun makes them 120."""
MOST_SERVERS = 50
NONE, OTHERS = "none", "others"
"""Stand for what has no class, server or verdict, and for the servers that are not told by name."""

_MINUTE = 60_000_000
_WIDTHS = tuple(_MINUTE * each for each in (1, 5, 15, 60, 180, 360, 720, 1440, 7 * 1440, 30 * 1440, 365 * 1440))
_CALLS = (ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION)


class StatsQuery(ActivityFilters):
    """What to count; calls, unless `type` says otherwise, of the last 24 hours."""

    since: str | None = Field(default="24h", description="ISO 8601, or how long ago: 15m, 2h, 7d.")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time that begins at `at`."""

    at: str
    total: int
    by_status: dict[str, int]
    by_verdict: dict[str, int]


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts. Not `complete` when there is more than is counted at once: then of the newest.

    `series` has a stretch of `width_seconds` for each part of the time, also where nothing happened.
    `calls_per_minute` is of the last sixty seconds, whatever time is asked for.
    """

    since: str
    until: str
    complete: bool
    calls_per_minute: int
    total: int
    by_status: dict[str, int]
    by_class: dict[str, int]
    by_server: dict[str, int]
    by_verdict: dict[str, int]
    width_seconds: int
    series: list[Stretch]


async def get_stats(query: Annotated[StatsQuery, Query()], here: Here) -> Response:
    """Count calls by how they ended, by class, server and verdict, and over time."""
    now = here.clock.now()
    wanted = filter_of(query, now)
    since, until = wanted.since or 0, now + 1 if wanted.until is None else wanted.until
    if until <= since:
        raise Refusal(errors.BAD_FIELDS(problems="since: it must be before until"))
    width = width_for(since, until)
    wanted = replace(wanted, types=wanted.types or _CALLS)
    found = await here.store.activity_stats(wanted, width)
    lately = await here.store.activity_stats(replace(wanted, since=now - _MINUTE, until=None), _MINUTE)
    counts = found.counts
    return json_answer(
        Stats(
            since=times.iso(since),
            until=times.iso(until),
            complete=found.complete,
            calls_per_minute=sum(each.count for each in lately.counts),
            total=sum(each.count for each in counts),
            by_status=_by(counts, lambda each: each.status),
            by_class=_by(counts, lambda each: each.safety_class),
            by_server=_most(_by(counts, lambda each: each.server)),
            by_verdict=_by(counts, lambda each: each.verdict),
            width_seconds=width // 1_000_000,
            series=_series(counts, since, until, width),
        )
    )


def width_for(since: Micros, until: Micros, most: int = MOST_STRETCHES) -> Micros:
    """The narrowest stretch that cuts the time into few enough."""
    fitting = (width for width in _WIDTHS if (until - since) // width < most)
    return next(fitting, _WIDTHS[-1])


def _by(counts: Iterable[ActivityCount], key: Callable[[ActivityCount], str | None]) -> dict[str, int]:
    """Counts by a key, the most frequent first."""
    found: Counter[str] = Counter()
    for each in counts:
        found[key(each) or NONE] += each.count
    return dict(found.most_common())


def _most(counts: dict[str, int]) -> dict[str, int]:
    names = list(counts)
    told = {name: counts[name] for name in names[:MOST_SERVERS]}
    rest = sum(counts[name] for name in names[MOST_SERVERS:])
    return {**told, OTHERS: told.get(OTHERS, 0) + rest} if rest else told


def _series(counts: Iterable[ActivityCount], since: Micros, until: Micros, width: Micros) -> list[Stretch]:
    by_time: dict[Micros, list[ActivityCount]] = {}
    for each in counts:
        by_time.setdefault(each.at, []).append(each)
    return [_stretch(at, by_time.get(at, [])) for at in range(since // width * width, until, width)]


def _stretch(at: Micros, counts: Sequence[ActivityCount]) -> Stretch:
    total = sum(each.count for each in counts)
    return Stretch(times.iso(at), total, _by(counts, lambda each: each.status), _by(counts, lambda each: each.verdict))
