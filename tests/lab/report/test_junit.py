"""A run as JUnit XML."""

from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from interlock.lab.model import Finding, Severity
from interlock.lab.report.junit import junit_of
from interlock.lab.run import Run
from tests.browser.hostile import HOSTILE
from tests.lab.runs import FINDINGS, a_run, a_run_that_says


def read(run: Run) -> ElementTree.Element:
    return ElementTree.fromstring(junit_of(run).encode("utf-8"))  # noqa: S314 - we wrote it ourselves


@pytest.fixture
def suite() -> ElementTree.Element:
    found = read(a_run()).find("testsuite")
    assert found is not None
    return found


def test_every_tool_is_a_case_and_what_is_about_no_tool_is_one_more(suite: ElementTree.Element) -> None:
    cases = [(each.get("classname"), each.get("name")) for each in suite.findall("testcase")]

    tools = ("echo", "frobnicate", "write_note", "delete_note", "(server)")
    assert cases == [("interlock.probe.notes", each) for each in tools]


def test_high_and_medium_findings_fail_their_tool(suite: ElementTree.Element) -> None:
    failed = {case.get("name"): each.get("type") for case in suite for each in case.findall("failure")}

    assert failed == {"frobnicate": "hang", "write_note": "bad-result"}


def test_a_failure_tells_what_was_seen_and_what_to_do(suite: ElementTree.Element) -> None:
    failure = suite.find("testcase[@name='write_note']/failure")

    assert failure is not None
    assert failure.text is not None
    assert "result: {}" in failure.text
    assert "Fix: Send content." in failure.text


def test_what_was_not_called_is_skipped_with_its_reason(suite: ElementTree.Element) -> None:
    skipped = {case.get("name"): each.get("message") for case in suite for each in case.findall("skipped")}

    assert skipped == {"delete_note": "It is destructive. Add --execute-destructive."}


def test_what_matters_less_is_told_and_fails_nothing(suite: ElementTree.Element) -> None:
    told = suite.findtext("testcase[@name='echo']/system-out")

    assert told is not None
    assert told.startswith("LOW     slow-answer")
    assert suite.find("testcase[@name='echo']/failure") is None


def test_the_totals_are_those_of_the_cases(suite: ElementTree.Element) -> None:
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped", "errors", "time")} == {
        "tests": "5",
        "failures": "2",
        "skipped": "1",
        "errors": "0",
        "time": "12.250",
    }


def test_a_tool_that_only_a_finding_names_has_a_case() -> None:
    scanned = replace(a_run(), plan=[], calls=[], findings=FINDINGS[:1])

    assert [each.get("name") for each in read(scanned).iter("testcase")] == ["echo"]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_makes_a_document_that_can_be_read(text: str) -> None:
    document = read(a_run_that_says(text))

    assert {each.tag for each in document.iter()} <= {"testsuites", "testsuite", "testcase", "failure", "system-out"}


def test_infos_that_say_the_same_are_each_in_the_case_of_their_tool() -> None:
    found = [Finding("no-annotations", Severity.INFO, "It says nothing.", each) for each in ("echo", "write_note")]

    assert junit_of(replace(a_run(), findings=found)).count("It says nothing.") >= 2
