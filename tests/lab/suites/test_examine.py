"""What becomes of the tests of a suite when they are run."""

from typing import Any

import pytest

from interlock import errors
from interlock.errors import Code
from interlock.lab.model import Observed
from interlock.lab.plan import plan
from interlock.lab.run import Knobs
from interlock.lab.suites.examine import Examination, Outcome, Shapes, Tried, written
from interlock.lab.suites.matchers import Expectation, Matcher
from interlock.lab.suites.suite import Case
from interlock.lab.worker import Worker
from tests.lab.bench import TestBench, named

TOOLS = named("get_it", "set_it", "drop_it")
GONE = errors.UPSTREAM_LOST(server="bench", problem="it ended")
FROZEN = errors.Reason("Everything is frozen.", Code.FROZEN)


def said(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{tool} says {arguments}"}], "isError": "bad" in arguments}


class Answering(TestBench):
    """A bench whose answers are none of the server's, or take their time."""

    def __init__(self, observed: Observed) -> None:
        super().__init__()
        self._observed = observed

    async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
        return self._observed


async def run(
    *cases: Case,
    bench: TestBench | None = None,
    knobs: Knobs | None = None,
    kept: dict[str, Shapes] | None = None,
    update: bool = False,
) -> list[Tried]:
    bench, knobs = bench or TestBench(answering=said), knobs or Knobs()
    worker = Worker(bench, written(plan(TOOLS, knobs.policy, live=True)), knobs)
    return await Examination(worker, kept or {}, update=update).run(cases)


async def test_a_test_without_expectations_passes_when_the_call_succeeds() -> None:
    (tried,) = await run(Case("a", "get_it"))

    assert (tried.outcome, tried.tool, tried.server, tried.milliseconds) == (Outcome.PASSED, "get_it", "bench", 1.0)


async def test_a_tool_that_answers_with_an_error_fails_a_test_that_does_not_speak_of_it() -> None:
    (tried,) = await run(Case("a", "get_it", args={"bad": 1}))

    assert tried.outcome is Outcome.FAILED
    assert tried.mismatches[0].target == "isError"


async def test_an_error_that_is_expected_is_no_failure() -> None:
    (tried,) = await run(Case("a", "get_it", args={"bad": 1}, expect=[Expectation("isError", Matcher.EXACT, True)]))

    assert tried.outcome is Outcome.PASSED


async def test_an_error_of_the_protocol_fails_a_test_unless_it_is_expected() -> None:
    bench = Answering(Observed("get_it", {}, 1.0, error={"code": -32602, "message": "no"}))
    expected = Expectation("/nothing", Matcher.EXACT, 1), Expectation("error", Matcher.CONTAINS, {"code": -32602})
    plain, looking = await run(Case("a", "get_it"), Case("b", "get_it", expect=[expected[1]]), bench=bench)

    assert (plain.outcome, looking.outcome) == (Outcome.FAILED, Outcome.PASSED)
    assert "-32602" in plain.mismatches[0].seen


async def test_every_expectation_that_does_not_hold_is_told() -> None:
    expect = [
        Expectation("text", Matcher.CONTAINS, "no such word"),
        Expectation("text", Matcher.CONTAINS, "says"),
        Expectation("/x", Matcher.EXACT, 1),
    ]
    (tried,) = await run(Case("a", "get_it", expect=expect))

    assert [each.target for each in tried.mismatches] == ["text", "/x"]


async def test_a_call_that_takes_too_long_fails_although_it_answered() -> None:
    bench = Answering(Observed("get_it", {}, 51.0, result={"content": []}))
    slow, well = await run(
        Case("a", "get_it", max_duration_ms=50), Case("b", "get_it", max_duration_ms=60), bench=bench
    )

    assert (slow.outcome, well.outcome) == (Outcome.FAILED, Outcome.PASSED)
    assert slow.mismatches[0].seen == "51 ms"


async def test_a_skipped_test_is_not_called_and_keeps_its_reason() -> None:
    bench = TestBench()
    (tried,) = await run(Case("a", "get_it", skip="not today"), bench=bench)

    assert (tried.outcome, tried.reason and tried.reason.text, bench.received) == (Outcome.SKIPPED, "not today", [])


async def test_a_destructive_tool_is_refused_with_the_reason_and_not_called() -> None:
    bench = TestBench()
    (tried,) = await run(Case("a", "drop_it"), bench=bench)

    assert (tried.outcome, bench.received) == (Outcome.REFUSED, [])
    assert tried.reason is not None
    assert "--execute-destructive" in tried.reason.fix


async def test_with_the_word_that_allows_it_a_destructive_tool_is_called_once_whatever_is_written() -> None:
    bench = TestBench()
    tried = await run(Case("a", "drop_it"), Case("b", "drop_it"), bench=bench, knobs=Knobs(execute_destructive=True))

    assert [each.outcome for each in tried] == [Outcome.PASSED, Outcome.REFUSED]
    assert len(bench.received) == 1


async def test_after_the_budget_tests_are_refused() -> None:
    bench = TestBench()
    tried = await run(*(Case(str(number), "get_it") for number in range(5)), bench=bench, knobs=Knobs(max_calls=2))

    assert [each.outcome for each in tried].count(Outcome.REFUSED) == 3
    assert len(bench.received) == 2


@pytest.mark.parametrize(("refusal", "outcome"), [(GONE, Outcome.FAILED), (FROZEN, Outcome.REFUSED)])
async def test_a_server_that_is_lost_fails_a_test_and_a_gateway_that_refuses_does_not(
    refusal: errors.Reason, outcome: Outcome
) -> None:
    (tried,) = await run(Case("a", "get_it"), bench=Answering(Observed("get_it", {}, 1.0, refusal=refusal)))

    assert (tried.outcome, tried.reason) == (outcome, refusal)


async def test_a_tool_that_the_server_does_not_have_is_a_failure() -> None:
    (tried,) = await run(Case("a", "get_them"))

    assert tried.outcome is Outcome.FAILED
    assert tried.reason is not None
    assert tried.reason.code is Code.UNKNOWN_TOOL


# Order ----------------------------------------------------------------------------------------------------------


async def test_tests_run_side_by_side_and_are_told_in_the_order_of_the_file() -> None:
    bench = TestBench()
    tried = await run(*(Case(str(number), "get_it") for number in range(6)), bench=bench, knobs=Knobs(concurrency=3))

    assert bench.most_under_way == 3
    assert [each.name for each in tried] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.parametrize("alone", [Case("m", "get_it", serial=True), Case("m", "set_it")])
async def test_a_serial_test_and_one_of_a_tool_that_changes_something_runs_alone_at_its_place(alone: Case) -> None:
    bench = Watching()
    before, after = [[Case(f"{when}{each}", "get_it") for each in range(3)] for when in ("b", "a")]
    await run(*before, alone, *after, bench=bench, knobs=Knobs(concurrency=8))

    assert bench.beside[3] == 1
    assert max(bench.beside) == 3


class Watching(TestBench):
    """Writes down for each call how many were under way when it ended."""

    def __init__(self) -> None:
        super().__init__()
        self.beside: list[int] = []

    async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
        observed = await super().call(tool, arguments, unchecked=unchecked)
        self.beside.append(self.under_way + 1)
        return observed


# Snapshots ------------------------------------------------------------------------------------------------------


SNAPSHOT = Case("a", "get_it", expect=[Expectation("/content/0", Matcher.SNAPSHOT)])


async def test_a_snapshot_is_taken_when_it_is_asked_for_and_holds_afterwards() -> None:
    (taken,) = await run(SNAPSHOT, update=True)
    (again,) = await run(SNAPSHOT, kept={"a": taken.shapes})

    assert (taken.outcome, again.outcome) == (Outcome.PASSED, Outcome.PASSED)
    assert list(taken.shapes) == ["/content/0"]


async def test_a_snapshot_that_is_not_kept_or_does_not_fit_is_a_failure() -> None:
    (missing,) = await run(SNAPSHOT)
    (other,) = await run(SNAPSHOT, kept={"a": {"/content/0": {"type": "number"}}})

    assert (missing.outcome, other.outcome) == (Outcome.FAILED, Outcome.FAILED)


async def test_what_is_done_is_told_at_once() -> None:
    told: list[str] = []
    worker = Worker(TestBench(), plan(TOOLS, Knobs().policy, live=True), Knobs())
    await Examination(worker, {}).run([Case("a", "get_it")], lambda tried: told.append(tried.name))

    assert told == ["a"]
