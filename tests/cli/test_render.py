"""What is printed, where it is printed, and what is made visible on the way."""

import json
import os
import re
import subprocess

import pytest

from interlock.cli.render import (
    counted,
    print_error,
    print_json,
    print_lines,
    print_problems,
    print_table,
    print_text,
    reason_as_json,
    short_time,
    span,
)
from interlock.errors import BLOCKED_UNKNOWN, DENIED, SELF_APPROVAL, ConfigError, Exit, Reason
from tests.cli.running import COMMAND, environment

TRICKS = "a\x1b[31mb\u202ec\u200bd\x07e\r\nf\u2028g\x9bh\ue000i\udcffj\tk\x7f\ufeffl\u2066\U000e0041"
TRICKS_SHOWN = (
    "a<U+001B>[31mb<U+202E>c<U+200B>d<U+0007>e<U+000D><U+000A>f<U+2028>g<U+009B>h<U+E000>i<U+DCFF>j<U+0009>k<U+007F>"
    "<U+FEFF>l<U+2066><U+E0041>"
)


# Printing -------------------------------------------------------------------------------------------------------


def test_lines_go_to_stdout_each_made_safe(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(["one", TRICKS])
    assert capsys.readouterr() == (f"one\n{TRICKS_SHOWN}\n", "")


def test_json_is_ascii_and_says_exactly_what_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": TRICKS, "list": [1, None, True]})
    out = capsys.readouterr().out
    assert re.fullmatch(r"[\n -~]+", out)
    assert json.loads(out) == {"name": TRICKS, "list": [1, None, True]}
    assert out.endswith("}\n")


def test_a_table_lines_up_and_its_cells_are_made_safe(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "CLASS"), [("a\x1bb", "read-only"), ("long_name", "dangerous")])
    assert capsys.readouterr().out.splitlines() == [
        "NAME        CLASS",
        "a<U+001B>b  read-only",
        "long_name   dangerous",
    ]


def test_no_line_of_a_table_ends_in_blanks(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "TEXT", "AT"), [("a", "b", ""), ("", "", ""), ("long name", "long text", "here")])
    assert [line for line in capsys.readouterr().out.splitlines() if line != line.rstrip()] == []


def test_a_table_is_never_cut_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "TEXT"), [("x" * 300, "y" * 900)])
    assert capsys.readouterr().out.splitlines()[1] == f"{'x' * 300}  {'y' * 900}"


def test_a_narrow_terminal_folds_prose_and_leaves_every_name_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["ap_" + "0" * 30, "files__move_file", "operator-agent", "write-capable"]
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    prose = "1m 58s left, 1 of 2 votes, and for a reason in many words"
    print_table(("ID", "TOOL", "REQUESTER", "CLASS", "ANSWER"), [(*names, prose)])
    _, first, *rest = capsys.readouterr().out.splitlines()

    assert all(name in first for name in names)
    assert len(rest) > 1, "what is prose is folded"
    assert [*first.split()[len(names) :], *" ".join(rest).split()] == prose.split(), "and none of it is lost"


def test_markup_in_a_cell_is_only_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME",), [("[red]x[/red] :smile: http://x 42",)])
    assert capsys.readouterr().out.splitlines()[1] == "[red]x[/red] :smile: http://x 42"


def test_a_table_without_rows_is_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "CLASS"), [])
    assert capsys.readouterr().out == "NAME  CLASS\n"


# Errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "exit_code"),
    [
        (BLOCKED_UNKNOWN(tool="x"), Exit.UNKNOWN_CLASS),
        (DENIED(resolution="no"), Exit.DENIED),
        (SELF_APPROVAL(), Exit.NOT_AUTHORISED),
        (Reason("no code"), Exit.INTERNAL),
    ],
)
def test_an_error_gives_the_exit_code_of_its_code(reason: Reason, exit_code: Exit) -> None:
    assert print_error(reason, as_json=False) is exit_code


def test_an_error_is_printed_on_stderr_with_its_fix_below(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(SELF_APPROVAL(), as_json=False)
    assert capsys.readouterr() == (
        "",
        "You cannot approve your own tool call request.\n  Another principal with the approver role has to answer.\n",
    )


def test_an_error_without_a_fix_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(Reason("it broke"), as_json=False)
    assert capsys.readouterr() == ("", "it broke\n")


def test_an_error_as_json_is_on_stdout_and_still_told_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    reason = BLOCKED_UNKNOWN(tool="x")
    print_error(reason, as_json=True)
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "error": {
            "code": "UNKNOWN_CLASS",
            "message": "Blocked: tool 'x' has unknown safety class.",
            "fix": reason.fix,
        }
    }
    assert err == f"{reason.text}\n  {reason.fix}\n"


def test_hidden_characters_in_an_error_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(BLOCKED_UNKNOWN(tool="a\x1b[31mb\u202ec\u200b\x07"), as_json=False)
    assert capsys.readouterr().err.splitlines()[0] == (
        "Blocked: tool 'a<U+001B>[31mb<U+202E>c<U+200B><U+0007>' has unknown safety class."
    )


def test_a_line_break_in_an_error_makes_no_second_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_error(Reason("one\ntwo\r\n", None, "three\nfour\u2028"), as_json=False)
    assert capsys.readouterr().err == "one<U+000A>two<U+000D><U+000A>\n  three<U+000A>four<U+2028>\n"


def test_problems_of_the_configuration_are_a_line_each_and_one_way_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_problems(ConfigError(("a:1:1: one\x1b\ntwo", "a:2:2: three")), as_json=False) is Exit.USAGE
    assert capsys.readouterr() == (
        "",
        "a:1:1: one<U+001B><U+000A>two\n"
        "a:2:2: three\n"
        "  Mend the configuration; `interlock config validate` checks it again. Nothing was started.\n",
    )


def test_problems_of_the_configuration_as_json_are_a_list_beside_the_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_problems(ConfigError(("a:1:1: one\x1b", "a:2:2: two")), as_json=True)
    assert json.loads(capsys.readouterr().out) == {
        "error": {
            "code": "BAD_REQUEST",
            "message": "a:1:1: one\x1b\na:2:2: two",
            "fix": "Mend the configuration; `interlock config validate` checks it again. Nothing was started.",
            "problems": ["a:1:1: one\x1b", "a:2:2: two"],
        }
    }


@pytest.mark.parametrize(("number", "text"), [(0, "0 rules"), (1, "1 rule"), (2, "2 rules")])
def test_one_thing_is_counted_in_the_singular(number: int, text: str) -> None:
    assert counted(number, "rule") == text


def test_an_explanation_has_neither_code_nor_fix_in_json() -> None:
    assert reason_as_json(Reason("because")) == {"code": None, "message": "because", "fix": ""}


# Texts and times ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("a", "a\n"),
        ("a\n", "a\n"),
        ("a\n\n", "a\n\n"),
        ("", "\n"),
        ("a\tb\r\nc", "a\tb\nc\n"),
        ("a\rb", "a<U+000D>b\n"),
        ("a\x0bb\u2028c", "a<U+000B>b<U+2028>c\n"),
        ("\x1b[31mred\u202e", "<U+001B>[31mred<U+202E>\n"),
    ],
)
def test_a_text_keeps_its_line_breaks_and_tabs_and_nothing_else_that_is_hidden(
    capsys: pytest.CaptureFixture[str], text: str, out: str
) -> None:
    print_text(text)
    assert capsys.readouterr().out == out


@pytest.mark.parametrize(("at", "shown"), [("2026-11-15T09:30:00.123456Z", "2026-11-15 09:30:00Z"), (None, "-")])
def test_a_time_is_shown_to_the_second(at: str | None, shown: str) -> None:
    assert short_time(at) == shown


# Colours --------------------------------------------------------------------------------------------------------

_COLOUR = re.compile(r"\x1b\[(?:\d+;)*3[0-7]m")


def on_a_terminal(**changed: str) -> str:
    """What `tool classify delete_file` writes on a terminal."""
    reader, terminal = os.openpty()
    try:
        done = subprocess.run(
            [*COMMAND, "tool", "classify", "delete_file"],
            stdout=terminal,
            stderr=subprocess.DEVNULL,
            env=environment(TERM="xterm-256color", **changed),
            check=True,
            timeout=60,
        )
        assert done.returncode == 0
        return os.read(reader, 100_000).decode()
    finally:
        os.close(terminal)
        os.close(reader)


def test_classes_are_coloured_on_a_terminal() -> None:
    assert _COLOUR.search(on_a_terminal())


def test_no_colour_is_used_when_the_user_asked_for_none() -> None:
    assert not _COLOUR.search(on_a_terminal(NO_COLOR="1"))


@pytest.mark.parametrize("variable", ["NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"])
def test_no_variable_brings_an_escape_sequence_to_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "1")
    print_table(("CLASS",), [("dangerous",)])
    assert capsys.readouterr().out == "CLASS\ndangerous\n"


def test_no_escape_sequence_is_written_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("CLASS",), [("dangerous",), ("read-only",)])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "0s"),
        (0.9, "0s"),
        (42, "42s"),
        (60, "1m"),
        (252.7, "4m 12s"),
        (3605, "1h"),
        (11_100, "3h 5m"),
        (187_200, "2d 4h"),
    ],
)
def test_how_long_is_told_in_two_units_at_most(seconds: float, told: str) -> None:
    assert span(seconds) == told
