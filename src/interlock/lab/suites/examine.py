"""Running the tests of a suite for one server: one call for each, and what became of it.

A suite was written, or at least reviewed, by a person, so what it calls is called, and a tool may stand in several
tests. Two things stay as everywhere in the lab: a destructive tool needs the word that allows it, and no test is ever
repeated. Tests run side by side; one that is marked serial, and every test of a tool that changes something, runs at
its place in the file while no other does.

This module refuses to judge what it did not see: a call that the gateway refused is no failure of the server, and is
told as what it is.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from interlock.core.safety import ExecClass
from interlock.errors import BudgetExhausted, Code, InterlockError, Reason
from interlock.lab.model import Observed
from interlock.lab.plan import Decision, Planned
from interlock.lab.run import outcome_of
from interlock.lab.suites.matchers import ABOUT_SUCCESS, Matcher, Mismatch, brief, look, snapshot_of, text_of, verify
from interlock.lab.suites.suite import Case
from interlock.lab.worker import NotPlanned, Worker

_CHANGING = frozenset({ExecClass.MUTATING, ExecClass.DESTRUCTIVE})
_SERVERS_FAULT = frozenset({Code.UPSTREAM_DOWN, Code.UPSTREAM_TIMEOUT, Code.UNKNOWN_TOOL})
"""What the gateway says for a server that did not answer, or has no such tool."""

Shapes: TypeAlias = Mapping[str, Mapping[str, Any]]
"""The snapshots of one test, by target."""


class Outcome(StrEnum):
    """What became of a test. A refused or skipped one did not run."""

    PASSED = "passed"
    FAILED = "failed"
    REFUSED = "refused"
    SKIPPED = "skipped"


class Tried(Struct, frozen=True):
    """One test and what became of it."""

    name: str
    server: str
    tool: str
    outcome: Outcome
    milliseconds: float = 0.0
    mismatches: tuple[Mismatch, ...] = ()
    reason: Reason | None = None
    """Why it did not run, or why there was no answer."""
    activity: str | None = None
    shapes: dict[str, Any] = field(default_factory=dict[str, Any])
    """New snapshots, where they were asked for."""


def written(plan: Sequence[Planned]) -> tuple[Planned, ...]:
    """The plan for a suite: each call in it is one that a person wrote, so a tool that changes something is not kept to
    one of them. One that destroys is: that promise has no exception."""
    return tuple(
        replace(each, decision=Decision.EXECUTE)
        if each.decision is Decision.EXECUTE_ONCE and each.tool.exec_class is not ExecClass.DESTRUCTIVE
        else each
        for each in plan
    )


class Examination:
    """The tests of one server."""

    def __init__(self, worker: Worker, snapshots: Mapping[str, Shapes], *, update: bool = False) -> None:
        self._worker = worker
        self._snapshots = snapshots
        self._update = update

    async def run(self, cases: Sequence[Case], told: Callable[[Tried], None] = lambda _: None) -> list[Tried]:
        """Run the tests; the results are in the order of the tests. `told` hears of each as it is done."""
        results: dict[str, Tried] = {}

        async def one(case: Case) -> None:
            results[case.name] = await self._tried(case)
            told(results[case.name])

        for batch in self._batches(cases):
            async with asyncio.TaskGroup() as group:
                for case in batch:
                    group.create_task(one(case))
        return [results[case.name] for case in cases]

    def _batches(self, cases: Sequence[Case]) -> list[list[Case]]:
        """The tests in their order, those together that may run side by side."""
        batches: list[list[Case]] = []
        beside = False
        for case in cases:
            alone = self._is_alone(case)
            if beside and not alone:
                batches[-1].append(case)
            else:
                batches.append([case])
            beside = not alone
        return batches

    def _is_alone(self, case: Case) -> bool:
        planned = self._worker.plan.get(case.tool)
        return case.serial or (planned is not None and planned.tool.exec_class in _CHANGING)

    async def _tried(self, case: Case) -> Tried:
        blank = Tried(case.name, self._worker.bench.server, case.tool, Outcome.SKIPPED)
        if case.skip:
            return replace(blank, reason=Reason(case.skip))
        try:
            # Arguments that do not fit the schema are sent as well: how a server takes them is worth a test.
            observed = await self._worker.call(case.tool, dict(case.args), unchecked=True)
        except (NotPlanned, BudgetExhausted) as refused:
            return replace(blank, outcome=Outcome.REFUSED, reason=refused.reason)
        except InterlockError as unknown:
            return replace(blank, outcome=Outcome.FAILED, reason=unknown.reason)
        made = replace(blank, milliseconds=observed.milliseconds, activity=observed.activity)
        if observed.refusal is not None:
            return replace(made, outcome=_without_answer(observed), reason=observed.refusal)
        return self._judged(case, observed, made)

    def _judged(self, case: Case, observed: Observed, made: Tried) -> Tried:
        shapes = _shapes(case, observed) if self._update else {}
        kept: Shapes = {**self._snapshots.get(case.name, {}), **shapes}
        held = (verify(observed, each, kept.get(each.target)) for each in case.expect)
        wrong = [*_unexpected(case, observed), *_too_slow(case, observed), *(each for each in held if each is not None)]
        outcome = Outcome.FAILED if wrong else Outcome.PASSED
        return replace(made, outcome=outcome, mismatches=tuple(wrong), shapes=shapes)


def _without_answer(observed: Observed) -> Outcome:
    code = observed.refusal.code if observed.refusal is not None else None
    refused = outcome_of(observed) == "refused" and code not in _SERVERS_FAULT
    return Outcome.REFUSED if refused else Outcome.FAILED


def _shapes(case: Case, observed: Observed) -> dict[str, Any]:
    wanted = [each.target for each in case.expect if each.matcher is Matcher.SNAPSHOT]
    found = {target: look(observed, target) for target in wanted}
    return {target: snapshot_of(value[0]) for target, value in found.items() if value is not None}


def _unexpected(case: Case, observed: Observed) -> list[Mismatch]:
    """A call that did not succeed, where nobody said that it might not."""
    if any(each.target in ABOUT_SUCCESS for each in case.expect):
        return []
    if observed.result is None:
        return [Mismatch("error", "an answer", brief(observed.error))]
    if observed.result.get("isError") is True:
        return [Mismatch("isError", "an answer that is no error", brief(text_of(observed.result)))]
    return []


def _too_slow(case: Case, observed: Observed) -> list[Mismatch]:
    if not case.max_duration_ms or observed.milliseconds <= case.max_duration_ms:
        return []
    return [Mismatch("duration", f"at most {case.max_duration_ms} ms", f"{observed.milliseconds:.0f} ms")]
