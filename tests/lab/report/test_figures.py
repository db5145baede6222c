"""What the calls of a run amount to."""

import pytest
from msgspec.structs import replace

from interlock.lab.model import Finding, Severity
from interlock.lab.report.figures import (
    by_severity,
    entries,
    milliseconds,
    outcomes_of,
    percentile,
    severities,
    told_severities,
    tool_figures,
)
from interlock.lab.run import Called
from tests.lab.runs import CALLS, FINDINGS, a_run


def test_each_tool_of_the_plan_has_its_figures_in_the_order_of_the_plan() -> None:
    figures = tool_figures(a_run())

    assert [(each.plan.tool, len(each.calls)) for each in figures] == [
        ("echo", 21),
        ("frobnicate", 2),
        ("write_note", 1),
        ("delete_note", 0),
    ]


def test_half_and_nearly_all_of_the_calls_took_no_longer() -> None:
    echo, *_ = tool_figures(replace(a_run(), calls=CALLS[:20]))

    assert (echo.p50, echo.p95) == (10.0, 19.0)


def test_a_call_that_never_reached_the_server_has_no_part_in_the_times() -> None:
    frobnicate = tool_figures(a_run())[1]

    assert (frobnicate.p50, frobnicate.told) == (10_000.0, "1 refused, 1 hang")


def test_a_tool_that_was_not_called_has_no_times() -> None:
    figures = tool_figures(a_run())[-1]

    assert (figures.p50, figures.p95, figures.told) == (None, None, "-")


def test_a_call_of_a_tool_without_a_plan_is_not_lost() -> None:
    figures = tool_figures(replace(a_run(), plan=[], calls=[Called("stray", "valid", "ok", 1.0)]))

    assert [(each.plan.tool, each.plan.decision, each.told) for each in figures] == [("stray", "", "1 ok")]


def test_outcomes_that_are_not_known_come_last() -> None:
    calls = [Called("a", "valid", word, 1.0) for word in ("zz", "hang", "ok", "aa")]

    assert list(outcomes_of(calls)) == ["ok", "hang", "aa", "zz"]


@pytest.mark.parametrize(
    ("values", "percent", "expected"), [([], 50, None), ([3.0], 95, 3.0), ([2.0, 1.0], 50, 1.0), ([2.0, 1.0], 95, 2.0)]
)
def test_a_percentile_is_one_of_the_values(values: list[float], percent: int, expected: float | None) -> None:
    assert percentile(values, percent) == expected


def test_the_gravest_findings_come_first() -> None:
    assert [each.code for each in by_severity(FINDINGS)] == ["hang", "bad-result", "slow-answer", "no-version"]


def test_findings_are_counted_by_severity() -> None:
    assert severities(FINDINGS[:2]) == {Severity.HIGH: 1, Severity.LOW: 1}
    assert (told_severities(FINDINGS[:2]), told_severities([])) == ("1 high, 1 low", "no findings")


@pytest.mark.parametrize(("value", "told"), [(None, "-"), (0.04, "0.0"), (9.96, "10.0"), (12.4, "12")])
def test_times_are_told_no_finer_than_they_are_worth(value: float | None, told: str) -> None:
    assert milliseconds(value) == told


def info(tool: str | None, text: str = "It says nothing.") -> Finding:
    return Finding("no-annotations", Severity.INFO, text, tool, "Say something.", {"of": tool})


def test_infos_that_say_the_same_are_one_entry_and_everything_else_is_its_own() -> None:
    low = [Finding("slow-answer", Severity.LOW, "It took long.", each) for each in ("a", "b")]
    found = entries([info(None), info("a"), low[0], info("b"), info("c", "Another text."), low[1]])

    assert [(each.finding.code, each.tools) for each in found] == [
        ("slow-answer", ("a",)),
        ("slow-answer", ("b",)),
        ("no-annotations", ()),
        ("no-annotations", ("a", "b")),
        ("no-annotations", ("c",)),
    ]
