"""What is called to write a suite, and how often."""

from typing import Any

import pytest

from interlock import errors
from interlock.core.safety import LabPolicy
from interlock.lab.model import Observed
from interlock.lab.plan import plan
from interlock.lab.run import Knobs
from interlock.lab.suites.drafts import Draft, drafts, results_of
from interlock.lab.worker import Worker
from tests.lab.bench import TestBench, lab_tools, named

TOOLS = named("get_it", "set_it", "drop_it")


async def drafted(
    bench: TestBench, *, times: int = 2, once: bool = False, knobs: Knobs | None = None, live: bool = False
) -> dict[str, Draft]:
    knobs = knobs or Knobs()
    worker = Worker(bench, plan(await bench.tools(), knobs.policy, live=live), knobs)
    return {each.tool: each for each in await drafts(worker, times=times, once=once, seed=0)}


async def test_what_only_reads_is_called_as_often_as_wanted_and_the_rest_not_at_all() -> None:
    bench = TestBench(*TOOLS)
    made = await drafted(bench, times=3)

    assert [tool for tool, _ in bench.received] == ["get_it"] * 3
    assert {tool: len(each.seen) for tool, each in made.items()} == {"get_it": 3, "set_it": 0, "drop_it": 0}


async def test_what_changes_something_is_called_once_between_the_observations_of_the_others() -> None:
    bench = TestBench(*TOOLS)
    await drafted(bench, once=True)

    assert [tool for tool, _ in bench.received] == ["get_it", "set_it", "get_it"]


@pytest.mark.parametrize("live", [False, True])
async def test_what_the_plan_does_not_call_keeps_its_reason(live: bool) -> None:
    made = await drafted(TestBench(*TOOLS), live=live)

    assert made["drop_it"].problem is not None
    assert "--execute-destructive" in made["drop_it"].problem.fix


async def test_a_tool_for_which_no_arguments_can_be_made_is_not_called() -> None:
    bench = TestBench(*lab_tools({"name": "get_it", "inputSchema": {"type": "object", "not": {}}}))
    made = await drafted(bench)

    assert (bench.received, made["get_it"].arguments) == ([], None)
    assert made["get_it"].problem is not None


async def test_after_the_budget_nothing_more_is_called_and_the_draft_says_so() -> None:
    bench = TestBench(*named("get_a", "get_b"))
    made = await drafted(bench, knobs=Knobs(max_calls=3))

    assert len(bench.received) == 3
    assert (made["get_a"].problem, len(made["get_a"].seen), len(made["get_b"].seen)) == (None, 2, 1)
    assert made["get_b"].problem == errors.BudgetExhausted(3).reason


async def test_a_tool_that_gave_no_answer_is_not_asked_again() -> None:
    lost = errors.UPSTREAM_LOST(server="bench", problem="it ended")

    class Lost(TestBench):
        async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
            await super().call(tool, arguments, unchecked=unchecked)
            return Observed(tool, arguments, 1.0, refusal=lost)

    bench = Lost(*named("get_it"))
    made = await drafted(bench, times=5)

    assert len(bench.received) == 1
    assert made["get_it"].problem == lost


@pytest.mark.parametrize(("flags", "is_error"), [((True, True), True), ((False, False), False), ((True, False), None)])
def test_whether_it_answered_with_an_error_is_known_only_if_it_always_did_the_same(
    flags: tuple[bool, ...], is_error: bool | None
) -> None:
    (planned,) = plan(named("get_it"), LabPolicy(), live=True)
    draft = Draft(planned, {}, tuple(Observed("get_it", {}, 1.0, result={"isError": flag}) for flag in flags))

    assert draft.is_error is is_error
    assert len(results_of(draft)) == 2
