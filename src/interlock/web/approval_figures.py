"""`GET /approvals/metrics`: how many calls wait now, how approvals ended, and how long people took to answer.

The store counts; what is put together here is small. Waiting is only measured where somebody answered: a call that
nobody answered says how long its deadline was, and nothing about people.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.core.approvals import SECOND
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import Micros
from interlock.store.approvals import Stretch
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.filters import since_of
from interlock.web.parts import Here
from interlock.web.stats import width_for

MOST_POINTS = 121
"""A month in stretches of six hours, and the one that has just begun."""


class FiguresQuery(BaseModel):
    """Of which time; `pending` and `oldest_wait_seconds` are of now."""

    model_config = ConfigDict(extra="forbid")

    since: str = Field(default="30d", description="ISO 8601, or how long ago: 15m, 2h, 7d.")


@dataclass(frozen=True, slots=True)
class Point:
    """The approvals that were asked for in the stretch of time that begins at `at`."""

    at: str
    approved: int
    denied: int
    timeout: int
    cancelled: int
    pending: int
    average_wait_seconds: float | None


@dataclass(frozen=True, slots=True)
class ApprovalFigures:
    """Approvals that were asked for since then. Waits are of those that somebody answered; null when there is none.

    `listening` is whether anybody would hear of a new one now.
    """

    since: str
    pending: int
    oldest_wait_seconds: float
    listening: bool
    approved: int
    denied: int
    timeout: int
    cancelled: int
    average_wait_seconds: float | None
    median_wait_seconds: float | None
    p95_wait_seconds: float | None
    approval_rate: float | None
    width_seconds: int
    series: list[Point]


async def get_approval_figures(query: Annotated[FiguresQuery, Query()], here: Here) -> Response:
    """Show how many calls wait, how approvals ended, and how long they took."""
    now = here.clock.now()
    since = since_of(query.since, now)
    width = width_for(since, now + 1, MOST_POINTS)
    found = await here.store.approvals.figures(since, width)
    board = here.room.register.board
    whole = _counted(found.stretches)
    return json_answer(
        ApprovalFigures(
            since=times.iso(since),
            pending=len(board),
            oldest_wait_seconds=board.longest_wait(now) / SECOND,
            listening=bool(here.listening()),
            approved=whole.approved,
            denied=whole.denied,
            timeout=whole.timeout,
            cancelled=whole.cancelled,
            average_wait_seconds=whole.average,
            median_wait_seconds=quantile(found.waits, 50),
            p95_wait_seconds=quantile(found.waits, 95),
            approval_rate=whole.approved / whole.answered if whole.answered else None,
            width_seconds=width // SECOND,
            series=_series(found.stretches, since, now, width),
        )
    )


def quantile(waits: Sequence[Micros], percent: int) -> float | None:
    """The shortest of some waits, in order, that so many percent of them do not exceed, in seconds."""
    if not waits:
        return None
    rank = -(-len(waits) * percent // 100)
    return waits[max(0, rank - 1)] / SECOND


@dataclass(slots=True)
class _Counts:
    """How some approvals ended, by status."""

    approved: int = 0
    denied: int = 0
    timeout: int = 0
    cancelled: int = 0
    pending: int = 0
    waited: Micros = 0

    @property
    def answered(self) -> int:
        return self.approved + self.denied

    @property
    def average(self) -> float | None:
        return self.waited / self.answered / SECOND if self.answered else None


def _counted(stretches: Sequence[Stretch]) -> _Counts:
    counts = dict.fromkeys(ApprovalState, 0)
    for each in stretches:
        counts[each.status] += each.count
    return _Counts(**{status.value: count for status, count in counts.items()}, waited=sum(s.waited for s in stretches))


def _series(stretches: Sequence[Stretch], since: Micros, now: Micros, width: Micros) -> list[Point]:
    by_time: dict[Micros, list[Stretch]] = {}
    for each in stretches:
        by_time.setdefault(each.at, []).append(each)
    points = ((at, _counted(by_time.get(at, ()))) for at in range(since // width * width, now + 1, width))
    return [
        Point(times.iso(at), each.approved, each.denied, each.timeout, each.cancelled, each.pending, each.average)
        for at, each in points
    ]
