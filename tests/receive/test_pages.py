"""Long lists: nothing is missing, and a cursor is good for one list as it is."""

import pytest

from interlock.receive.pages import PAGE, Page, Pages, StaleCursor

NAMES = [f"n{number}" for number in range(2 * PAGE + 500)]


def test_a_list_that_fits_is_one_page() -> None:
    pages = Pages()

    assert pages.cut("tools", NAMES[:PAGE], None) == Page(0, PAGE)
    assert pages.cut("tools", [], None) == Page(0, 0)


def test_pages_follow_each_other_to_the_end() -> None:
    pages = Pages()
    first = pages.cut("tools", NAMES, None)
    second = pages.cut("tools", NAMES, first.cursor)
    third = pages.cut("tools", NAMES, second.cursor)

    assert [(each.begin, each.end) for each in (first, second, third)] == [(0, 1_000), (1_000, 2_000), (2_000, 2_500)]
    assert third.cursor is None


def test_a_cursor_is_refused_for_another_list_and_by_another_gateway() -> None:
    pages = Pages()
    cursor = pages.cut("tools of a", NAMES, None).cursor

    for cut in (pages.cut, Pages().cut):
        with pytest.raises(StaleCursor):
            cut("tools of b", NAMES, cursor)
    with pytest.raises(StaleCursor):
        Pages().cut("tools of a", NAMES, cursor)


def test_a_cursor_is_refused_when_the_list_has_changed() -> None:
    pages = Pages()
    cursor = pages.cut("tools", NAMES, None).cursor

    with pytest.raises(StaleCursor):
        pages.cut("tools", [*NAMES, "one more"], cursor)
    with pytest.raises(StaleCursor):
        pages.cut("tools", [NAMES[0] + NAMES[1], *NAMES[2:]], cursor)


@pytest.mark.parametrize("cursor", ["", "x", "1000", "AAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "é", "A" * 10_000])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(StaleCursor):
        Pages().cut("tools", NAMES, cursor)
