"""Times as text."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.core.times import iso

MOMENTS = st.integers(min_value=0, max_value=4_000_000_000_000_000)


def test_a_time_is_written_in_utc_with_microseconds() -> None:
    assert iso(1_700_000_000_000_001) == "2023-11-14T22:13:20.000001Z"


@given(MOMENTS, MOMENTS)
def test_texts_sort_like_times(one: int, other: int) -> None:
    assert (iso(one) < iso(other)) == (one < other)
