"""Questions on a terminal."""

import io

import pytest

from interlock.cli.ask import agreed, can_ask, chosen
from interlock.cli.command import Values


@pytest.mark.parametrize(
    ("answer", "yes"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_only_yes_is_yes(
    answer: str, yes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))

    assert agreed("Write \x1b[2J?") is yes
    assert capsys.readouterr() == ("", "Write <U+001B>[2J? [y/N] ")


def test_an_answer_that_is_none_of_the_choices_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("f\nx\n"))

    assert (chosen("?", ("f", "e")), chosen("?", ("f", "e"))) == ("f", None)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("streams", "no_input", "possible"),
    [
        ((Terminal, Terminal), False, True),
        ((Terminal, Terminal), True, False),
        ((io.StringIO, Terminal), False, False),
        ((Terminal, io.StringIO), False, False),
    ],
)
def test_a_script_is_never_asked(
    streams: tuple[type[io.StringIO], type[io.StringIO]],
    no_input: bool,
    possible: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", streams[0]())
    monkeypatch.setattr("sys.stderr", streams[1]())

    assert can_ask(Values(no_input=no_input)) is possible
