"""Two answers are the same but for what changes by itself."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.lab.probing.stability import LONGEST, Sameness, compared, masked

SAME, VOLATILE, DIFFERENT = Sameness


@pytest.mark.parametrize(
    ("first", "second", "sameness"),
    [
        ("one", "one", SAME),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, SAME),
        ("at 2026-11-16T10:00:00Z", "at 2026-11-16T10:00:01.5Z", VOLATILE),
        ("on 2026-11-16", "on 2026-11-17", VOLATILE),
        ("it is 10:00:01", "it is 10:00:02", VOLATILE),
        ("it is Monday, November 16", "it is Tuesday, November 17", VOLATILE),
        ("id 9f1b1f6a-5d0c-4f5e-9d9e-000000000001", "id 9f1b1f6a-5d0c-4f5e-9d9e-000000000002", VOLATILE),
        ({"calls": 1}, {"calls": 2}, VOLATILE),
        ({"took": 1.5, "calls": 9}, {"took": 1.75, "calls": 10}, VOLATILE),
        ({"left": 5}, {"left": 4}, DIFFERENT),
        ("apple pear", "pear apple", DIFFERENT),
        ([1, 2], [1, 2, 3], DIFFERENT),
        ("at 10:00:01 apple", "at 10:00:02 pear", DIFFERENT),
    ],
)
def test_answers_are_compared_without_what_changes_by_itself(first: Any, second: Any, sameness: Sameness) -> None:
    assert compared(first, second) is sameness


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_an_answer_is_always_the_same_as_itself(answer: Any) -> None:
    assert compared(answer, answer) is SAME


def test_half_a_character_is_no_reason_to_fail() -> None:
    assert compared("\ud800", "\ud801") is DIFFERENT


def test_what_is_too_long_is_compared_by_its_beginning_and_its_length() -> None:
    long = "x" * LONGEST
    assert compared(long + "1", long + "23") is not SAME
    assert len(masked(long * 3)) < 2 * LONGEST


def test_a_long_text_of_digits_is_compared_in_a_moment() -> None:
    assert compared("1" * 200_000 + "a", "1" * 200_000 + "b") is DIFFERENT
