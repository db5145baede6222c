"""What is said of tests that ran, for people, scripts and CI."""

from xml.etree import ElementTree

import pytest

from interlock.cli.lab.tried import as_json, exit_of, junit_of, print_tried, summary
from interlock.errors import Exit, Reason
from interlock.lab.suites.examine import Outcome, Tried
from interlock.lab.suites.matchers import Mismatch

PASSED = Tried("a", "up", "t", Outcome.PASSED, 12.34)
FAILED = Tried("b", "up", "t", Outcome.FAILED, 5.0, (Mismatch("text", 'exact "x"', '"y"'),), activity="call-1")
REFUSED = Tried("c", "up", "t", Outcome.REFUSED, reason=Reason("Not allowed.", None, "Allow it."))
SKIPPED = Tried("d", "up", "t", Outcome.SKIPPED, reason=Reason("later"))


@pytest.mark.parametrize(
    ("tried", "code"),
    [
        ([PASSED], Exit.OK),
        ([PASSED, SKIPPED], Exit.OK),
        ([PASSED, REFUSED], Exit.BLOCKED),
        ([FAILED, REFUSED], Exit.FINDINGS),
    ],
)
def test_the_exit_code_says_the_worst_of_it(tried: list[Tried], code: Exit) -> None:
    assert exit_of(tried) is code


def test_the_summary_counts_what_there_is() -> None:
    assert summary([PASSED, FAILED, REFUSED, SKIPPED]) == "4 tests: 1 passed, 1 failed, 1 refused, 1 skipped"


def test_details_are_told_of_what_did_not_pass(capsys: pytest.CaptureFixture[str]) -> None:
    print_tried([PASSED, FAILED, REFUSED])
    out = capsys.readouterr().out

    assert (
        '\nb: failed\n  text: expected exact "x"\n        saw "y"\n  The call is call-1 in the activity log.\n' in out
    )
    assert "\nc: refused\n  Not allowed. Allow it.\n" in out


def test_hidden_characters_are_made_visible_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    sly = Tried("a\u202e\x1b", "up\x00", "t", Outcome.FAILED, mismatches=(Mismatch("text", "x", "\x07\u202e"),))
    print_tried([sly])
    written = capsys.readouterr().out + junit_of([("s\x00", [sly])])

    assert not set(written) & set("\u202e\x1b\x00\x07")
    assert "<U+202E>" in written
    ElementTree.fromstring(junit_of([("s\x00", [sly])]))  # noqa: S314 - we wrote it


def test_junit_has_the_counts_and_the_reasons() -> None:
    root = ElementTree.fromstring(junit_of([("s.yaml", [PASSED, FAILED, REFUSED, SKIPPED])]))  # noqa: S314
    (suite,) = root

    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["skipped"]) == ("4", "1", "2")
    assert [each.attrib["message"] for each in root.iter("skipped")] == ["Not allowed. Allow it.", "later"]
    assert [each.attrib["message"] for each in root.iter("failure")] == ['text: expected exact "x"']


def test_json_has_everything() -> None:
    assert as_json(FAILED) == {
        "name": "b",
        "server": "up",
        "tool": "t",
        "outcome": "failed",
        "milliseconds": 5.0,
        "mismatches": [{"target": "text", "expected": 'exact "x"', "seen": '"y"'}],
        "reason": None,
        "activity": "call-1",
    }
