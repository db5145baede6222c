"""The suite that is proposed from observations."""

from typing import Any

import pytest
from msgspec.structs import replace

from interlock.config.source import parse
from interlock.core.safety import LabPolicy
from interlock.errors import Reason
from interlock.lab.model import Observed
from interlock.lab.plan import plan
from interlock.lab.suites.drafts import Draft
from interlock.lab.suites.matchers import verify
from interlock.lab.suites.propose import flow, is_usable, proposal
from interlock.lab.suites.suite import Case, Place, Suite, read_suite
from tests.lab.bench import named

PLACE = Place(command="serve", args=["--all", "it's: \u202e"])
HOSTILE = 'get"\n  - name: x\r\u202e\U0001f600\x7f\\ #'


def answered(tool: str, *results: dict[str, Any], arguments: dict[str, Any] | None = None) -> Draft:
    (planned,) = plan(named(tool), LabPolicy(execute_destructive=True), live=True)
    return Draft(planned, arguments or {}, tuple(Observed(tool, {}, 1.0, result=each) for each in results))


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def suite_from(text: str) -> Suite:
    document = parse(text, "proposed.yaml")
    assert document.problems == []
    return read_suite(document.value)


def case_from(draft: Draft) -> tuple[Case, str]:
    text = proposal([draft], "up", PLACE, "2026-11-16")
    return suite_from(text).tests[0], text


def holds(case: Case, result: dict[str, Any]) -> bool:
    return all(verify(Observed("t", {}, 1.0, result=result), each) is None for each in case.expect)


def test_a_proposal_is_a_suite_that_says_what_it_rests_on() -> None:
    text = proposal([answered("get_it", said("a"), said("a"), said("a"))], "up", PLACE, "2026-11-16")
    suite = suite_from(text)

    assert text.splitlines()[0].endswith("review it before you rely on it.")
    assert "  # 3 observations.\n" in text
    assert suite.servers == {"up": PLACE}
    assert suite.tests[0].tool == "get_it"


def test_what_stayed_the_same_is_expected() -> None:
    case, _ = case_from(answered("get_it", *[said("a", structuredContent={"n": 5, "w": "x"})] * 2))

    assert holds(case, said("a", structuredContent={"n": 5, "w": "x"}))
    assert not holds(case, said("b", structuredContent={"n": 5, "w": "x"}))
    assert not holds(case, said("a", structuredContent={"n": 5, "w": "y"}))
    assert not holds(case, said("a", structuredContent={"n": 5}))
    assert not holds(case, {**said("a", structuredContent={"n": 5, "w": "x"}), "isError": True})


def test_what_changed_is_left_out_and_told() -> None:
    first = said("at 2026-11-16T10:00:00Z", structuredContent={"at": "2026-11-16T10:00:00Z", "w": "x"})
    again = said("at 2026-11-16T10:00:01Z", structuredContent={"at": "2026-11-16T10:00:01Z", "w": "x"})
    later = said("at 2027-01-01T00:00:00Z", structuredContent={"at": "2027-01-01T00:00:00Z", "w": "x"})
    case, text = case_from(answered("get_it", first, again))

    assert "# Left out because it changes: structured/at\n" in text
    assert "# The text is left out" in text
    assert holds(case, later)
    assert not holds(case, said("at", structuredContent={"at": "2027-01-01T00:00:00Z", "w": "y"}))


def test_a_time_is_left_out_although_it_did_not_change() -> None:
    case, _ = case_from(answered("get_it", *[said("It is 2026-11-16T10:00:00Z.")] * 3))

    assert holds(case, said("It is 2027-01-01T00:00:00Z."))


def test_the_name_of_a_day_is_left_out_although_it_did_not_change() -> None:
    case, _ = case_from(answered("get_it", *[said("a", structuredContent={"day": "Monday"})] * 3))

    assert holds(case, said("a", structuredContent={"day": "Tuesday"}))
    assert not holds(case, said("a", structuredContent={"day": 2}))


def test_one_observation_says_nothing_about_words() -> None:
    case, text = case_from(answered("set_it", said("made number 1")))

    assert "  # 1 observation.\n  # That says too little" in text
    assert case.serial
    assert holds(case, said("made number 2"))
    assert holds(case, said("it is there already", isError=True))


def test_an_error_is_expected_where_there_was_always_one() -> None:
    case, _ = case_from(answered("get_it", *[said("not found", isError=True)] * 2))

    assert holds(case, said("not found", isError=True))
    assert not holds(case, said("not found"))


def test_an_error_of_the_protocol_is_expected_where_there_was_always_one() -> None:
    (planned,) = plan(named("get_it"), LabPolicy(), live=True)
    error = Observed("get_it", {}, 1.0, error={"code": -32602, "message": "no"})
    case, _ = case_from(Draft(planned, {}, (error, error)))

    assert verify(error, case.expect[0]) is None
    assert not holds(case, said("a"))


def test_a_number_that_varied_may_vary_further_and_a_list_may_be_longer() -> None:
    first, again = (said("a", structuredContent={"n": n, "all": [1]}) for n in (5, 6))
    case, _ = case_from(answered("get_it", again, first))

    assert holds(case, said("a", structuredContent={"n": 16, "all": []}))
    assert not holds(case, said("a", structuredContent={"n": 17, "all": [1]}))
    assert not holds(case, said("a", structuredContent={"n": -1, "all": [1]}))


def test_a_secret_does_not_get_into_the_suite() -> None:
    secret = {"password": "hunter2-hunter2", "n": 1}
    _, text = case_from(answered("get_it", *[said("password=hunter2-hunter2", structuredContent=secret)] * 2))

    assert "hunter2" not in text
    assert "looks like a secret" in text


def test_a_long_text_is_described_and_not_repeated() -> None:
    _, text = case_from(answered("get_it", *[said("word " * 100)] * 2))

    assert "word" not in text


@pytest.mark.parametrize("problem", [Reason("It hangs.", None, "Wait."), None])
def test_a_tool_without_an_answer_has_no_test_and_the_reason_instead(problem: Reason | None) -> None:
    (planned,) = plan(named("get_it"), LabPolicy(), live=True)
    draft = Draft(planned, {}, problem=problem)
    text = proposal([draft, answered("get_on", said("a"))], "up", PLACE, "2026-11-16")

    assert not is_usable(draft)
    assert f"  # get_it: no test. {'It hangs. Wait.' if problem else 'It was not called.'}\n" in text
    assert len(suite_from(text).tests) == 1


def test_of_a_tool_that_succeeded_and_failed_in_turn_nothing_is_said_about_that() -> None:
    case, text = case_from(answered("get_it", said("a"), said("b", isError=True)))

    assert "succeeded and failed in turn" in text
    assert holds(case, said("c"))
    assert holds(case, said("c", isError=True))


def test_what_was_not_observed_to_the_end_says_so() -> None:
    draft = replace(answered("get_it", said("a")), problem=Reason("It hangs.", None, "Wait."))

    assert "  # It was not observed to the end: It hangs.\n" in case_from(draft)[1]


def test_no_text_of_a_stranger_becomes_anything_else() -> None:
    draft = answered(HOSTILE, *[said(HOSTILE, structuredContent={HOSTILE: HOSTILE})] * 2, arguments={HOSTILE: HOSTILE})
    text = proposal([draft], HOSTILE, PLACE, "2026-11-16")
    (case,) = suite_from(text).tests

    assert text.isascii()
    assert (case.tool, case.args) == (HOSTILE, {HOSTILE: HOSTILE})
    assert holds(case, said(HOSTILE, structuredContent={HOSTILE: HOSTILE}))


@pytest.mark.parametrize(
    "value", [{"a": [1, -2.5, 1e-07, 1e300, True, None, ""]}, "yes", "12", "~", "\u00e9\u2028\ufeff", 2**63 - 1]
)
def test_a_value_is_read_as_it_was_written(value: Any) -> None:
    document = parse(flow({"value": value}), "x")

    assert document.problems == []
    assert document.value == {"value": value}


def test_a_number_that_yaml_would_not_take_is_written_as_a_long_one() -> None:
    assert parse(flow(2**70), "x").value == float(2**70)
