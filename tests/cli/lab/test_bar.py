"""A bar is for a terminal; elsewhere nothing is written."""

import io
import sys

import pytest

from interlock.cli.lab.bar import bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_there_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with bar("Testing", 2) as told:
        told("one")

    assert capsys.readouterr() == ("", "")


def test_on_a_terminal_it_goes_on_with_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with bar("Testing", 1) as told:
        told("one")

    assert "Testing" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
