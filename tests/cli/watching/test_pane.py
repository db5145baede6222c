"""Lines on the screen: folded, whole, and harmless."""

import pytest

from interlock.cli.watching.card import Line
from interlock.cli.watching.pane import cut, folded

HOSTILE = "\x1b[2J\u202eback\n[red]x[/red] [@click=app.quit]y[/]"
SHOWN = "<U+001B>[2J<U+202E>back<U+000A>[red]x[/red] [@click=app.quit]y[/]"


def plain(line: Line, width: int) -> list[str]:
    return [each.plain for each in folded(line, width)]


def test_hidden_characters_are_shown_and_markup_is_none() -> None:
    (text,) = folded(Line("Tool", HOSTILE), 200)

    assert text.plain == f"Tool        {SHOWN}"
    assert {str(span.style) for span in text.spans} <= {"dim", ""}


def test_a_long_line_goes_on_after_a_mark_with_the_same_prefix() -> None:
    assert plain(Line("", "one two three four", "  > "), 20) == ["    > one two three ", "↪   > four"]


def test_a_long_value_goes_on_under_itself() -> None:
    assert plain(Line("Because", "it is held for a reason"), 26) == [
        "Because     it is held ",
        "            for a reason",
    ]


@pytest.mark.parametrize("text", ["x" * 1000, "word " * 300, "漢字" * 500, "a\u0301" * 400, "<U+202E>" * 8_000, ""])
def test_folding_loses_nothing_and_keeps_to_the_width(text: str) -> None:
    lines = folded(Line("", text, "  "), 40)

    assert "".join(each.plain[4:] for each in lines) == text
    assert max(each.cell_len for each in lines) <= 40


@pytest.mark.parametrize(
    ("text", "shown"),
    [("short", "short   "), ("much too long", "much to…"), ("\x1b", "<U+001B>"), ("漢字漢字漢", "漢字漢 …")],
)
def test_a_cell_of_a_table_has_exactly_its_width(text: str, shown: str) -> None:
    assert cut(text, 8) == shown
