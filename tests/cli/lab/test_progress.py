"""Progress is for people at a terminal: everybody else sees nothing of it."""

import io
import sys

import pytest

from interlock.cli.lab.progress import bar, steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_written_where_nobody_sits_at_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with bar() as told:
        told("get_it", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_what_is_done_and_how_far_it_is_with_hidden_characters_made_visible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bar() as told:
        told("get\u202eit[red]", 3, 12)
    assert "get<U+202E>it[red]" in terminal.getvalue()
    assert "3/12" in terminal.getvalue()


def test_steps_are_counted_for_whoever_only_says_what_each_was_about(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with steps(2) as told:
        told("one")
        told("two")
    assert "2/2" in terminal.getvalue()
