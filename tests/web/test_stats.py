"""Counting calls: by how they ended, by class, server and verdict, and over time."""

from collections.abc import Sequence
from typing import Any

import pytest

from interlock.core.lifecycle import CallState
from interlock.store.protocol import Activity, ActivityType
from interlock.web.stats import MOST_STRETCHES, width_for
from tests.web.office import HOUR, NOW, Office, activity

MINUTE = HOUR // 60


async def recorded(office: Office, activities: Sequence[Activity], query: str = "") -> dict[str, Any]:
    await office.store.write(activities)
    office.clock.forward(HOUR)
    return await office.get(f"/activity/stats?{query}", "auditor")


async def test_calls_are_counted_by_all_they_share(bare: Office) -> None:
    known = {"safety_class": "read-only", "server": "up", "verdict": "allow"}
    told = await recorded(
        bare,
        [
            *(activity(number, **known) for number in range(3)),
            activity(3, status=CallState.ERROR, safety_class="dangerous", server="up", verdict="allow"),
            activity(4, type=ActivityType.POLICY_DECISION, status=CallState.BLOCKED, verdict="deny"),
            activity(5, type=ActivityType.TOKEN_CHANGE),
        ],
    )

    assert told["total"] == 5
    assert told["complete"] is True
    assert told["by_status"] == {"success": 3, "error": 1, "blocked": 1}
    assert told["by_class"] == {"read-only": 3, "dangerous": 1, "none": 1}
    assert told["by_server"] == {"up": 4, "none": 1}
    assert told["by_verdict"] == {"allow": 4, "deny": 1}


async def test_the_series_covers_the_time_also_where_nothing_happened(bare: Office) -> None:
    told = await recorded(bare, [activity(0), activity(1, status=CallState.ERROR), activity(3000)])
    busy = [each for each in told["series"] if each["total"]]

    assert told["width_seconds"] == 900
    assert len(told["series"]) == 97
    assert sum(each["total"] for each in told["series"]) == told["total"] == 3
    assert busy[0]["by_status"] == {"success": 1, "error": 1}
    assert busy[0]["by_verdict"] == {"none": 2}
    assert [each["at"] for each in told["series"]] == sorted(each["at"] for each in told["series"])


async def test_the_filters_of_the_list_count_here_too(bare: Office) -> None:
    told = await recorded(
        bare,
        [activity(0, server="a"), activity(1, server="b"), activity(2, server="b", status=CallState.ERROR)],
        "server=b&status=success,blocked",
    )

    assert told["total"] == 1


async def test_other_types_are_counted_when_they_are_asked_for(bare: Office) -> None:
    told = await recorded(bare, [activity(0), activity(1, type=ActivityType.TOOL_CHANGE)], "type=tool_change")

    assert told["total"] == 1


async def test_what_is_older_is_left_out(bare: Office) -> None:
    assert (await recorded(bare, [activity(0)], "since=30m"))["total"] == 0
    assert (await bare.get("/activity/stats?since=2h"))["total"] == 1


async def test_names_that_somebody_made_up_do_not_fill_the_answer(bare: Office) -> None:
    made_up = [activity(number, server=f"made-up-{number}") for number in range(200)]
    told = await recorded(bare, [*made_up, activity(200, server="real"), activity(201, server="real")])

    assert len(told["by_server"]) == 51
    assert told["by_server"]["real"] == 2
    assert told["by_server"]["others"] == 151


@pytest.mark.parametrize("query", ["since=soon", "since=1h&until=2h", "status=x", "limit=5"])
async def test_a_question_that_makes_no_sense_is_refused(bare: Office, query: str) -> None:
    assert (await bare.ask("GET", f"/activity/stats?{query}")).status_code == 400


@pytest.mark.parametrize(
    ("span", "width"),
    [
        (MINUTE, MINUTE),
        (HOUR, MINUTE),
        (24 * HOUR, 15 * MINUTE),
        (7 * 24 * HOUR, 3 * HOUR),
        (30 * 24 * HOUR, 12 * HOUR),
    ],
)
def test_a_stretch_is_as_narrow_as_it_can_be(span: int, width: int) -> None:
    assert width_for(NOW, NOW + span) == width
    assert span // width <= MOST_STRETCHES


@pytest.mark.parametrize("since", ["1m", "119m", "30h", "7d", "30d", "400d", "1970-01-01"])
async def test_there_are_never_more_stretches_than_a_plot_has_room_for(bare: Office, since: str) -> None:
    bare.clock.forward(17 * MINUTE + 1)

    assert 1 < len((await bare.get(f"/activity/stats?since={since}"))["series"]) <= 120


async def test_the_calls_of_the_last_minute_are_told_whatever_time_is_asked_for(bare: Office) -> None:
    await bare.store.write([activity(number, server="a") for number in (0, 30, 61, 100)])
    bare.clock.forward(2 * MINUTE)
    of_all, of_others = [await bare.get(f"/activity/stats?{query}") for query in ("until=1m", "server=b")]

    assert (of_all["calls_per_minute"], of_others["calls_per_minute"]) == (2, 0)
