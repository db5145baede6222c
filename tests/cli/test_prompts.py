"""What the screen asks back."""

from typing import Any

import pytest

from interlock.cli.prompts import choices, sent
from tests.cli.approvals import approval


def words(**changed: Any) -> list[str]:
    return [each for each, _ in choices(approval(**changed))]


def test_every_scope_is_offered_for_each_duration_up_to_the_longest() -> None:
    assert words() == [
        "this call, once",
        "the same call again, for 5m",
        "the same call again, for 15m",
        "any call of the tool, for 5m",
        "any call of the tool, for 15m",
    ]


def test_a_dangerous_tool_is_not_offered_as_a_whole() -> None:
    assert not [each for each in words(safety_class="dangerous") if "tool" in each]


def test_where_only_one_call_may_be_approved_nothing_else_is_offered() -> None:
    assert choices(approval(max_grant_sec=0)) == [("this call, once", {"scope": "once"})]


def test_a_choice_is_sent_as_rest_takes_it() -> None:
    assert choices(approval(max_grant_sec=100))[1] == (
        "the same call again, for 1m 40s",
        {"scope": "identical", "duration": "100s"},
    )


@pytest.mark.parametrize(("seconds", "text"), [(1, "1s"), (300, "5m"), (7200, "2h"), (86_400, "1d"), (5401, "5401s")])
def test_a_duration_is_written_in_the_largest_unit_that_fits(seconds: int, text: str) -> None:
    assert sent(seconds) == text
