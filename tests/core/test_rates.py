"""Limits per caller: at once, and in a minute."""

import pytest

from interlock.core.rates import MINUTE, Limits, Rates


def test_without_limits_anything_goes() -> None:
    rates = Rates()
    rates.begin("a", Limits(), 0)
    rates.begin("a", Limits(), 0)

    assert rates.over("a", Limits(), 0) is None


def test_a_caller_may_have_so_many_calls_under_way() -> None:
    rates, limits = Rates(), Limits(in_flight=2)
    rates.begin("a", limits, 0)
    rates.begin("a", limits, 0)
    during = rates.over("a", limits, 0)
    other = rates.over("b", limits, 0)
    rates.end("a")
    after = rates.over("a", limits, 0)

    assert (during, other, after) == ("2 are under way already", None, None)


@pytest.mark.parametrize(("now", "over"), [(10, True), (MINUTE - 1, True), (MINUTE, False), (MINUTE + 5, False)])
def test_a_caller_may_begin_so_many_calls_within_any_minute(now: int, over: bool) -> None:
    rates, limits = Rates(), Limits(calls_per_minute=2)
    for begun in (0, 10):
        rates.begin("a", limits, begun)
        rates.end("a")

    assert (rates.over("a", limits, now) is not None) is over
    assert rates.over("b", limits, now) is None


def test_a_call_counts_once_from_when_somebody_was_asked_about_it() -> None:
    rates, limits = Rates(), Limits(calls_per_minute=1, in_flight=1)
    rates.ask("a", limits, 0)

    assert rates.over("a", limits, 5) is not None
    assert rates.over("a", limits, 5, asked=True) is None
    rates.begin("a", limits, 5, asked=True)
    assert rates.over("a", limits, 5, asked=True) == "1 are under way already"
    rates.end("a")
    assert rates.over("a", limits, MINUTE) is None
