"""Texts of strangers on their way into a report."""

import pytest

from interlock.lab.model import Finding, Severity
from interlock.lab.report.shown import LONGEST, evidence_lines, server_line, shown, shown_value


def test_what_is_hidden_is_made_visible_and_stays_on_one_line() -> None:
    assert shown("a\u202eb\nc") == "a<U+202E>b<U+000A>c"


def test_what_is_long_is_cut_with_a_sign() -> None:
    assert shown("x" * (LONGEST + 1)) == "x" * LONGEST + "…"
    assert shown("x" * LONGEST) == "x" * LONGEST


def test_making_hidden_characters_visible_does_not_make_a_text_long() -> None:
    assert len(shown("\u202e" * LONGEST)) == 2 * LONGEST + 1


def test_evidence_that_is_no_text_is_told_as_json() -> None:
    finding = Finding("x", Severity.LOW, "", evidence={"path": "a.b", "seen": {"b": [1, None]}, "half": ["\ud800"]})

    assert evidence_lines(finding) == ["path: a.b", 'seen: {"b": [1, null]}', 'half: ["<U+D800>"]']


@pytest.mark.parametrize("value", [object(), b"\xff"])
def test_evidence_that_has_no_json_is_told_all_the_same(value: object) -> None:
    assert shown_value(value)


@pytest.mark.parametrize(
    ("server", "line"),
    [
        ({}, ""),
        ({"name": "a"}, "a"),
        ({"name": "a", "version": "1", "protocol": "p"}, "a 1, protocol p"),
        ({"name": None, "protocol": "p"}, "protocol p"),
    ],
)
def test_a_server_is_told_by_what_it_said_of_itself(server: dict[str, str], line: str) -> None:
    assert server_line(server) == line
