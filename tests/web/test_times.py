"""Times as people write them, there and back."""

import pytest

from interlock.web.times import duration_of, iso, iso_or_none, past_of, time_of

NOW = 1_790_000_000_123_456
TEXT = "2026-09-21T14:13:20.123456Z"


def test_a_time_is_written_to_the_microsecond_in_utc() -> None:
    assert (iso(NOW), iso(0)) == (TEXT, "1970-01-01T00:00:00.000000Z")


def test_no_time_is_no_text() -> None:
    assert (iso_or_none(None), iso_or_none(NOW)) == (None, TEXT)


@pytest.mark.parametrize("at", [0, 1, NOW, 253_402_300_799_999_999])
def test_a_time_that_was_written_is_read_as_the_same(at: int) -> None:
    assert time_of(iso(at)) == at


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-11-15T10:00:00+02:00", "2026-11-15T08:00:00.000000Z"),
        ("2026-11-15T10:00:00", "2026-11-15T10:00:00.000000Z"),
        ("2026-11-15", "2026-11-15T00:00:00.000000Z"),
        ("2026-11-15 10:00:00.5Z", "2026-11-15T10:00:00.500000Z"),
    ],
)
def test_other_ways_to_write_a_time_are_read_too(text: str, written: str) -> None:
    assert iso(time_of(text)) == written


@pytest.mark.parametrize(
    ("text", "seconds"), [("45s", 45), ("15m", 900), ("12h", 43_200), ("30d", 2_592_000), ("0m", 0)]
)
def test_a_duration_has_a_number_and_a_unit(text: str, seconds: int) -> None:
    assert duration_of(text) == seconds * 1_000_000


@pytest.mark.parametrize("text", ["", "15", "m", "-5m", "1.5h", "15 m", "15m ", "٣d", "999999d", "2w"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="a duration such as 15m, 12h or 30d"):
        duration_of(text)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "10:00", "1790000000"])
def test_anything_else_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="an ISO 8601 time such as"):
        time_of(text)


def test_how_long_ago_counts_back_from_now() -> None:
    assert past_of("2h", NOW) == NOW - 7_200_000_000
    assert past_of(TEXT, NOW + 5) == NOW


def test_what_is_neither_says_both_ways() -> None:
    with pytest.raises(ValueError, match="2026-11-15T09:30:00Z, or a duration such as 15m, 12h or 30d ago"):
        past_of("soon", NOW)
