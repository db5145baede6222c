"""The figures of approvals over REST."""

from typing import Any

import pytest

from interlock.core.lifecycle import ApprovalEvent
from interlock.web.approval_figures import MOST_POINTS, quantile
from interlock.web.times import iso
from tests.web.office import HOUR, NOW, Office
from tests.web.questions import MINUTE, ask

SECOND = 1_000_000
NONE = {"approved": 0, "denied": 0, "timeout": 0, "cancelled": 0, "pending": 0, "average_wait_seconds": None}


async def answered(office: Office, number: int, how: str, after: int) -> None:
    """A question that is asked now and answered so many seconds later."""
    at = office.clock.now()
    await ask(office, number, created_at=at, expires_at=at + HOUR)
    office.clock.forward(after * SECOND)
    answer = await office.ask("POST", f"/approvals/ap_{number:04}/{how}", "approver")
    assert answer.status_code == 200


def without_series(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name not in ("series", "since")}


async def test_without_approvals_nothing_is_made_up(bare: Office) -> None:
    assert without_series(await bare.get("/approvals/metrics", "auditor")) == {
        "pending": 0,
        "oldest_wait_seconds": 0,
        "listening": False,
        "approved": 0,
        "denied": 0,
        "timeout": 0,
        "cancelled": 0,
        "average_wait_seconds": None,
        "median_wait_seconds": None,
        "p95_wait_seconds": None,
        "approval_rate": None,
        "width_seconds": 6 * 3600,
    }


async def test_approvals_are_counted_by_how_they_ended_and_waits_by_who_answered(bare: Office) -> None:
    for number, (how, after) in enumerate((("approve", 10), ("approve", 20), ("approve", 30), ("deny", 100)), 1):
        await answered(bare, number, how, after)
    gone = await ask(bare, 5, created_at=bare.clock.now(), expires_at=bare.clock.now() + HOUR)
    bare.clock.forward(MINUTE)
    await bare.parts.room.register.end(gone, ApprovalEvent.CANCEL, "client disconnected")
    await ask(bare, 6, created_at=bare.clock.now(), expires_at=bare.clock.now() + MINUTE)
    bare.clock.forward(MINUTE)
    await bare.parts.room.register.expire(bare.clock.now())
    await ask(bare, 7, created_at=bare.clock.now(), expires_at=bare.clock.now() + HOUR)
    bare.clock.forward(7 * SECOND)
    figures = await bare.get("/approvals/metrics?since=1h")

    assert without_series(figures) == {
        "pending": 1,
        "oldest_wait_seconds": 7,
        "listening": True,
        "approved": 3,
        "denied": 1,
        "timeout": 1,
        "cancelled": 1,
        "average_wait_seconds": 40,
        "median_wait_seconds": 20,
        "p95_wait_seconds": 100,
        "approval_rate": 0.75,
        "width_seconds": 60,
    }
    assert sum(each["pending"] for each in figures["series"]) == 1


async def test_the_series_has_a_point_for_each_stretch_also_where_nothing_happened(bare: Office) -> None:
    await answered(bare, 1, "approve", 5)
    bare.clock.forward(3 * MINUTE)
    await answered(bare, 2, "deny", 15)
    series = (await bare.get("/approvals/metrics?since=5m"))["series"]
    happened = [each for each in series if each["approved"] or each["denied"]]
    begin = NOW // MINUTE * MINUTE

    assert [each["at"] for each in series] == [iso(begin + (number - 2) * MINUTE) for number in range(len(series))]
    assert happened == [
        {**NONE, "at": iso(begin), "approved": 1, "average_wait_seconds": 5},
        {**NONE, "at": happened[1]["at"], "denied": 1, "average_wait_seconds": 15},
    ]


@pytest.mark.parametrize("since", ["1s", "59m", "2h", "1d", "30d", "365d", "2020-01-01T00:00:00Z", "1970-01-01"])
async def test_there_are_never_too_many_points(bare: Office, since: str) -> None:
    assert 1 <= len((await bare.get(f"/approvals/metrics?since={since}"))["series"]) <= MOST_POINTS


async def test_what_was_asked_for_before_is_left_out(bare: Office) -> None:
    await answered(bare, 1, "approve", 5)
    bare.clock.forward(2 * HOUR)
    figures = await bare.get("/approvals/metrics?since=1h")

    assert (figures["approved"], figures["since"]) == (0, iso(bare.clock.now() - HOUR))


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("since=soon", "since: must be an ISO 8601 time"),
        ("since=2100-01-01", "since: it must not be in the future"),
        ("until=1h", "until: it is not known here; known are since"),
    ],
)
async def test_a_time_that_makes_no_sense_is_refused(bare: Office, query: str, detail: str) -> None:
    refused = await bare.ask("GET", f"/approvals/metrics?{query}")

    assert refused.status_code == 400
    assert refused.json()["detail"].startswith(detail)


@pytest.mark.parametrize(
    ("waits", "percent", "expected"),
    [
        ([], 95, None),
        ([3], 50, 3),
        ([1, 2], 50, 1),
        ([1, 2, 3], 50, 2),
        (list(range(1, 101)), 95, 95),
        (list(range(1, 101)), 50, 50),
        (list(range(1, 21)), 95, 19),
    ],
)
def test_a_quantile_is_one_of_the_waits(waits: list[int], percent: int, expected: int | None) -> None:
    assert quantile([each * SECOND for each in waits], percent) == expected
