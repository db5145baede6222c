"""How long we wait before we try again."""

import pytest

from interlock.forward.pace import Backoff, Pace


def waits(count: int, cap: float) -> list[float]:
    backoff = Backoff(0.2)
    return [backoff.next(cap) for _ in range(count)]


def test_each_wait_is_about_twice_as_long_as_the_one_before() -> None:
    expected = [0.2, 0.4, 0.8, 1.6, 3.2]

    assert all(0.75 * whole <= wait <= whole for wait, whole in zip(waits(5, 30), expected, strict=True))


@pytest.mark.parametrize("cap", [1.5, 30])
def test_no_wait_is_longer_than_its_cap_however_often(cap: float) -> None:
    assert all(wait <= cap for wait in waits(5_000, cap))
    assert waits(5_000, cap)[-1] >= 0.75 * cap


def test_upstreams_that_failed_together_do_not_wait_equally_long() -> None:
    assert len({Backoff(0.2).next(30) for _ in range(10)}) > 1


def test_after_a_reset_it_begins_anew() -> None:
    backoff = Backoff(0.2)
    for _ in range(10):
        backoff.next(30)
    backoff.reset()

    assert backoff.next(30) <= 0.2


def test_both_first_questions_fit_into_the_time_that_an_upstream_has_to_start() -> None:
    pace = Pace.starting_within(10)

    assert pace.discover + pace.handshake == pytest.approx(10)
    assert min(pace.discover, pace.handshake) >= 1
