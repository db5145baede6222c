"""Findings that somebody has looked at."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.lab.model import Finding, Severity
from interlock.lab.scan.baseline import compared, key_of, read, written

SHADOWED = Finding("shadowed-name", Severity.MEDIUM, "x", "echo", evidence={"server": "one", "servers": ["one", "two"]})
HIDDEN = Finding("hidden-text", Severity.HIGH, "x", "echo", evidence={"server": "one", "text": "a<U+202E>"})


def test_a_baseline_knows_the_findings_that_it_was_written_from() -> None:
    result = compared([SHADOWED, HIDDEN], read(written([HIDDEN, SHADOWED]).encode()))

    assert (result.new, result.known, result.gone) == ([], [SHADOWED, HIDDEN], [])


def test_a_finding_is_known_however_it_is_worded_and_weighed() -> None:
    reworded = replace(HIDDEN, text="y", fix="z", severity=Severity.LOW)

    assert compared([reworded], [key_of(HIDDEN)]).new == []


@pytest.mark.parametrize(
    "change",
    [
        {"code": "other"},
        {"tool": "other"},
        {"evidence": {"server": "two", "text": "a<U+202E>"}},
        {"evidence": {"server": "one", "text": "b<U+202E>"}},
    ],
)
def test_a_finding_about_something_else_is_new(change: dict[str, Any]) -> None:
    other = replace(HIDDEN, **change)
    result = compared([other], [key_of(HIDDEN)])

    assert (result.new, result.gone) == ([other], [key_of(HIDDEN)])


def test_what_is_gone_is_named() -> None:
    (gone,) = compared([], [key_of(HIDDEN)]).gone

    assert gone.told == "hidden-text of one:echo"
    assert key_of(Finding("odd", Severity.LOW, "")).told == "odd"


def test_a_baseline_is_the_same_text_in_whatever_order_findings_come() -> None:
    assert written([SHADOWED, HIDDEN, HIDDEN]) == written([HIDDEN, SHADOWED])


def test_a_baseline_plays_no_tricks_on_whoever_reads_it() -> None:
    assert written([replace(HIDDEN, tool="a\u202eb")]).isascii()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "truncated"),
        (b"[" * 100_000, "object"),
        (b'{"version": 1}', "findings"),
        (b'{"version": 2, "findings": []}', "version is 2"),
        (b'{"version": 1, "findings": [{"code": "x"}]}', "server"),
        (b'{"version": 1, "findings": [], "more": 1}', "more"),
        (b"\xff", "malformed"),
    ],
    ids=["empty", "deep", "nothing in it", "of the future", "half a finding", "more than is known", "no text"],
)
def test_what_cannot_be_read_whole_is_no_baseline(content: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        read(content)


def test_a_baseline_that_names_too_many_is_none() -> None:
    key = {"code": "a", "server": "", "tool": "", "digest": ""}

    with pytest.raises(ValueError, match="more than"):
        read(json.dumps({"version": 1, "findings": [key] * 100_001}).encode())
