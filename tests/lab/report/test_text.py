"""A run as a text for a person."""

import pytest
from msgspec.structs import replace

from interlock.lab.model import Finding, Severity
from interlock.lab.report.text import text_of
from interlock.lab.run import NOTHING_CLEANED_UP, Run
from tests.browser.hostile import HOSTILE
from tests.lab.runs import PLAN, a_run, a_run_that_says

WHOLE = """probe of notes
notes-server 1.2, protocol 2025-11-25
2026-11-15T09:30:00.000Z, 12.2 s, complete

TOOL         DECISION     CALLS  OUTCOME             P50 ms  P95 ms
echo         Execute      21     20 ok, 1 rpc-error  10      19
frobnicate   Execute      2      1 refused, 1 hang   10000   10000
write_note   ExecuteOnce  1      1 tool-error        12      12
delete_note  Refuse       0      -                   -       -

Not called:
  delete_note: It is destructive. Add --execute-destructive.
Presumed to read, though the gateway would ask somebody first:
  frobnicate

Findings: 1 high, 1 medium, 1 low, 1 info

HIGH    hang  frobnicate
  It gave no answer.
    seconds: 10
  Fix: Answer each request.

MEDIUM  bad-result  write_note
  The result has no content.
    result: {}
  Fix: Send content.

LOW     slow-answer  echo
  It took long.
    milliseconds: 812
  Fix: Answer sooner.

INFO    no-version
  The server does not say its version.

"""


def test_a_run_is_told_from_its_plan_to_its_notes() -> None:
    assert text_of(a_run()) == f"{WHOLE}Note: {NOTHING_CLEANED_UP}\n"


def test_a_run_without_tools_calls_and_findings_says_that_it_found_nothing() -> None:
    empty = replace(a_run(), plan=[], calls=[], findings=[], notes=[], server={})

    assert text_of(empty).splitlines()[1:] == [
        "2026-11-15T09:30:00.000Z, 12.2 s, complete",
        "",
        "Findings: no findings",
    ]


def test_wide_characters_do_not_push_the_columns_apart() -> None:
    plans = [replace(PLAN[0], tool=name) for name in ("漢字", "abcd", "e\u0301bcd")]
    told = text_of(replace(a_run(), plan=plans, calls=[])).splitlines()[5:8]

    rest = "  Execute   0      -        -       -"
    assert told == [f"漢字{rest}", f"abcd{rest}", f"e\u0301bcd{rest}"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_nothing_that_a_terminal_would_act_on_is_in_the_text(text: str) -> None:
    told = text_of(a_run_that_says(text))

    assert all(char == "\n" or char.isprintable() for char in told)


def alike(count: int) -> Run:
    """A run that has one info about each of many tools."""
    text, fix = "It says nothing.", "Say something."
    found = [Finding("no-annotations", Severity.INFO, text, f"t{each}", fix, {"of": each}) for each in range(count)]
    return replace(a_run(), findings=found)


def test_infos_that_say_the_same_of_many_tools_are_told_once() -> None:
    lines = text_of(alike(7)).splitlines()
    at = lines.index("INFO    no-annotations  t0, t1, t2, t3, t4 and 2 more")

    assert "Findings: 7 info" in lines
    assert lines[at + 1 : at + 3] == ["  It says nothing.", "  Fix: Say something."]
    assert sum("no-annotations" in line for line in lines) == 1


def test_up_to_five_tools_are_all_named_and_a_single_one_with_what_was_seen() -> None:
    assert "INFO    no-annotations  t0, t1, t2, t3, t4\n" in text_of(alike(5))
    assert "INFO    no-annotations  t0\n  It says nothing.\n    of: 0\n" in text_of(alike(1))
