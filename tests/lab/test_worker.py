"""The worker holds every call of the lab to the plan, the budget, the pace and the time."""

import asyncio

import pytest

from interlock.core.safety import LabPolicy
from interlock.errors import BudgetExhausted, Code, InterlockError
from interlock.lab.model import Observed
from interlock.lab.plan import plan
from interlock.lab.run import Knobs, outcome_of
from interlock.lab.worker import NotPlanned, Worker
from tests.fakes import FakeClock
from tests.lab.bench import TestBench, named

SECOND = 1_000_000


def worker_on(bench: TestBench, knobs: Knobs, names: str = "get_it set_it drop_it") -> Worker:
    return Worker(bench, plan(named(*names.split()), knobs.policy, live=True), knobs)


async def test_sixty_four_at_once_make_exactly_as_many_calls_as_the_budget_has() -> None:
    bench = TestBench()
    worker = worker_on(bench, Knobs(max_calls=100, concurrency=64))

    async def calls() -> int:
        refused = 0
        for _ in range(5):
            try:
                await worker.call("get_it", {})
            except BudgetExhausted as exhausted:
                refused += exhausted.limit == 100
        return refused

    refused = sum(await asyncio.gather(*(calls() for _ in range(64))))
    assert (len(bench.received), refused, worker.budget.used) == (100, 64 * 5 - 100, 100)


async def test_no_more_calls_are_under_way_than_may_be() -> None:
    bench = TestBench()
    worker = worker_on(bench, Knobs(concurrency=3))
    await asyncio.gather(*(worker.call("get_it", {}) for _ in range(20)))
    assert bench.most_under_way == 3


@pytest.mark.parametrize(("tool", "policy"), [("set_it", LabPolicy()), ("drop_it", LabPolicy(True))])
async def test_a_tool_that_is_called_once_is_called_once_however_many_ask(tool: str, policy: LabPolicy) -> None:
    bench = TestBench()
    worker = worker_on(bench, Knobs(concurrency=8, execute_destructive=policy.execute_destructive))
    outcomes = await asyncio.gather(*(worker.call(tool, {}) for _ in range(32)), return_exceptions=True)
    assert sum(isinstance(each, Observed) for each in outcomes) == 1
    assert sum(isinstance(each, NotPlanned) for each in outcomes) == 31
    assert [name for name, _ in bench.received] == [tool]


async def test_a_second_call_that_is_refused_takes_nothing_from_the_budget() -> None:
    worker = worker_on(TestBench(), Knobs(max_calls=5))
    await worker.call("set_it", {})
    with pytest.raises(NotPlanned) as refused:
        await worker.call("set_it", {})
    assert worker.budget.used == 1
    assert "once" in refused.value.reason.text


async def test_what_the_plan_refuses_is_not_called_and_the_plan_is_in_the_refusal() -> None:
    bench = TestBench()
    with pytest.raises(NotPlanned) as refused:
        await worker_on(bench, Knobs()).call("drop_it", {})
    assert refused.value.planned.tool.name == "drop_it"
    assert bench.received == []


async def test_a_tool_that_is_in_no_plan_is_not_called() -> None:
    bench = TestBench()
    with pytest.raises(InterlockError) as refused:
        await worker_on(bench, Knobs()).call("other", {})
    assert refused.value.reason.code is Code.UNKNOWN_TOOL
    assert bench.received == []


class Pauses:
    """A sleep that turns the clock instead."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.clock.forward(round(seconds * SECOND))


async def three_calls(bench: TestBench, *, between: int = 0) -> list[float]:
    pauses, knobs = Pauses(), Knobs(call_delay=0.1)
    planned = plan(named("get_it"), knobs.policy, live=True)
    worker = Worker(bench, planned, knobs, clock=pauses.clock, sleep=pauses.sleep)
    for _ in range(3):
        await worker.call("get_it", {})
        pauses.clock.forward(between)
    return pauses.slept


async def test_there_is_a_pause_between_consecutive_calls_over_http_and_none_before_the_first() -> None:
    assert await three_calls(TestBench(is_http=True)) == [0.1, 0.1]


async def test_only_what_is_left_of_a_pause_is_waited_for() -> None:
    assert await three_calls(TestBench(is_http=True), between=60_000) == [0.04, 0.04]


async def test_there_is_no_pause_over_stdio() -> None:
    assert await three_calls(TestBench(is_http=False)) == []


async def test_calls_over_http_that_come_together_are_spread_out() -> None:
    pauses, knobs = Pauses(), Knobs(call_delay=0.1, concurrency=4)
    planned = plan(named("get_it"), knobs.policy, live=True)
    worker = Worker(TestBench(is_http=True), planned, knobs, clock=pauses.clock, sleep=pauses.sleep)
    await asyncio.gather(*(worker.call("get_it", {}) for _ in range(4)))
    assert pauses.slept == [0.1, 0.1, 0.1]


class HangingBench(TestBench):
    async def call(self, tool: str, arguments: dict[str, object], *, unchecked: bool = False) -> Observed:
        await asyncio.Event().wait()
        raise AssertionError("nobody ends this wait")


async def test_a_call_that_takes_too_long_is_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.lab.worker.GRACE", 0.0)
    observed = await worker_on(HangingBench(), Knobs(timeout=0.01)).call("get_it", {})
    assert outcome_of(observed) == "hang"
