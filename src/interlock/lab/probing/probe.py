"""A probe: every tool of a server is called as far as the plan allows, and what comes back is judged.

Tools that say of themselves that they only read come first, then those that are presumed to, then those that are called
once, so that whatever the last ones change disturbs nobody's answers. One tool is tried at a time: a server that goes
away takes only calls of that tool with it, and the blame stays where it belongs. Within a tool, the many small calls at
the edges of its schema go side by side, as many as the knobs allow.

Where the budget is too small for all of that, every tool gets a call before one gets a second; looking for changes is
what is left out first, because it costs calls and tells nothing about a tool that was not tried.

A probe may be ended at any point; what it has by then is a report. It never calls a tool again after a call of it that
brought the server down or got no answer.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from interlock import errors
from interlock.core.safety import ExecClass
from interlock.errors import BudgetExhausted, Code, InterlockError, Reason
from interlock.lab.model import Finding, LabTool, Observed, Workbench
from interlock.lab.plan import Decision, Planned
from interlock.lab.probing import findings as kinds
from interlock.lab.probing.judge import FATAL, Tried, judged, nothing_works
from interlock.lab.probing.lints import lints
from interlock.lab.probing.share import share_of_first
from interlock.lab.probing.watch import Watch, most_looks
from interlock.lab.run import Called, called, outcome_of
from interlock.lab.values.examples import Example, Examples, examples
from interlock.lab.worker import Worker

MOST_EDGES = 16
"""How many calls at the edge of its schema, and how many beyond it, a tool gets at most."""
MOST_TOLD = 20
"""How many tools that were cut short are named."""
_ORDER = (ExecClass.READ_ONLY, ExecClass.READ_ONLY_PRESUMED, ExecClass.MUTATING, ExecClass.DESTRUCTIVE)

Progress = Callable[[str, int, int], None]
"""Is told which tool is being tried, how many calls were made, and how many there will be about."""


class MendedBench(Workbench, Protocol):
    """A bench whose server comes back after it went away, and is overheard."""

    async def recovered(self, *, hung: bool = False) -> bool:
        """Wait until the server is there again; whether it is."""
        ...

    async def stray(self) -> int:
        """How many lines that are no messages the server has written so far."""
        ...


class Attempt(Struct, frozen=True):
    """A call that is to be made."""

    kind: str
    example: Example


def attempts_for(planned: Planned, made: Examples) -> list[Attempt]:
    """The calls that a tool gets: all kinds where it may be called freely, one where it is called once."""
    if not made.valid or not planned.decision.calls:
        return []
    first = Attempt("valid", made.valid[0])
    if planned.decision is Decision.EXECUTE_ONCE:
        return [first]
    return [
        first,
        Attempt("again", made.valid[0]),
        *(Attempt("valid", each) for each in made.valid[1:]),
        *(Attempt("boundary", each) for each in _spread(made.boundary)),
        *(Attempt("invalid", each) for each in _spread(made.invalid)),
    ]


def _spread(given: Sequence[Example]) -> Iterator[Example]:
    """Some of many, from all over them: they are listed property by property, and each should get its turn."""
    step = max(len(given) / MOST_EDGES, 1.0)
    return (given[int(at * step)] for at in range(min(len(given), MOST_EDGES)))


class Probe:
    """One probe of one server. Everything that it has found so far can be read at any time."""

    def __init__(self, worker: Worker, bench: MendedBench, *, seed: int = 0, concurrency: int = 2) -> None:
        self.calls: list[Called] = []
        self.notes: list[str] = []
        self.ended = "interrupted"
        self.stopped: Reason | None = None
        """Why the run could not go on, if it could not."""
        self.on_progress: Progress = lambda tool, made, total: None
        self._worker = worker
        self._bench = bench
        self._concurrency = concurrency
        self._watch = Watch(self._looked)
        self._findings: list[Finding] = lints([each.tool for each in worker.plan.values()])
        self._tried: dict[str, list[Tried]] = {}
        self._struck: set[str] = set()
        """The tools that are not called again."""
        self._stray = 0
        """How many lines that are no messages were counted last."""
        self._seed = seed
        self._examples: dict[str, Examples] = {}
        self._wanted: dict[str, int] = {}
        """How many calls each tool would get that has still to be tried."""
        self._cut: list[str] = []
        """The tools that got fewer calls than they would have, in words."""
        self._total = 0

    @property
    def findings(self) -> list[Finding]:
        """What is known by now, in the order of the listing."""
        tools = {name: each.tool for name, each in self._worker.plan.items()}
        seen = [finding for name, tried in self._tried.items() for finding in judged(tools[name], tried)]
        order = list(tools)
        stray = [kinds.STRAY_OUTPUT.found(None, lines=str(self._stray))] if self._stray else []
        # What was only looked at counts as well: one good answer is enough.
        works = any(each.outcome == "ok" for each in self.calls)
        found = [*(() if works else nothing_works(self._tried)), *stray, *self._findings, *seen]
        return sorted(found, key=lambda each: order.index(each.tool) if each.tool in order else -1)

    async def run(self) -> None:
        """Try every tool. Being cancelled leaves what was found so far."""
        try:
            await self._run()
        except BudgetExhausted as exhausted:  # somebody else used the budget too
            self.ended = "budget"
            self.notes.append(exhausted.reason.text)
        except InterlockError as stopped:
            self.stopped = stopped.reason
            self.notes.append(stopped.reason.text)
        else:
            self.ended = "complete"
            if self._cut:
                self.ended = "budget"
                self.notes.append(_cut_short(self._cut, self._worker.budget.limit))
        with contextlib.suppress(InterlockError):  # whatever ended the run, what was found by then is a report
            self._stray = await self._bench.stray()

    async def _run(self) -> None:
        planned = sorted(self._worker.plan.values(), key=lambda each: _ORDER.index(each.tool.exec_class))
        await self._prepare(planned)
        self._stray = await self._bench.stray()
        await self._begin_watch(planned)
        for each in planned:
            if each.decision.calls:
                await self._try(each)

    async def _prepare(self, plan: Sequence[Planned]) -> None:
        """Make arguments for every tool that is called. Beside the event loop: a schema may be made to take long."""
        for each in plan:
            if each.decision.calls:
                made = await asyncio.to_thread(examples, each.tool.input_schema, seed=self._seed)
                self._examples[each.tool.name] = made
                self._wanted[each.tool.name] = len(attempts_for(each, made))
        self._total = sum(self._wanted.values())

    async def _begin_watch(self, planned: Sequence[Planned]) -> None:
        """Look at what the server holds before anything is tried, unless the budget is needed for the tools."""
        left, looks = self._worker.budget.left, most_looks(planned, self._examples)
        if left is None or left >= self._total + looks:
            await self._watch.begin(planned, self._examples)
        elif looks:
            self.notes.append("The budget was too small to see whether tools that only read change anything.")

    async def _try(self, planned: Planned) -> None:
        tool, made = planned.tool, self._examples[planned.tool.name]
        share = share_of_first(list(self._wanted.values()), self._worker.budget.left)
        wanted = self._wanted.pop(tool.name)
        if tool.name in self._struck:
            return
        if made.problem is not None:
            self._findings.append(kinds.NO_ARGUMENTS.found(tool.name, problem=made.problem))
            return
        self._stray = await self._bench.stray()
        attempts = attempts_for(planned, made)[:share]
        alone = [each for each in attempts if each.kind in ("valid", "again")]
        await self._made(tool, iter(alone), at_once=1)
        await self._made(tool, iter(attempts[len(alone) :]), at_once=self._concurrency)
        if share < wanted and tool.name not in self._struck:
            self._cut.append(f"{tool.name} ({share} of {wanted})")
        if tool.name in self._struck:
            await self._mend(tool)
        elif tool.exec_class is ExecClass.READ_ONLY:
            self._findings += [
                kinds.ANNOTATION_LIE.found(tool.name, seen_in=each.tool, before=each.before, after=each.after)
                for each in await self._watch.changed()
            ]

    async def _made(self, tool: LabTool, attempts: Iterator[Attempt], *, at_once: int) -> None:
        """Make calls of a tool, some at once, until one of them is a reason to stop."""
        stopped: list[InterlockError] = []

        async def make() -> None:
            for each in attempts:
                if stopped or tool.name in self._struck:
                    return
                try:
                    await self._attempt(tool, each)
                except InterlockError as stop:
                    stopped.append(stop)  # carried past the task group, which would wrap it

        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(make())
        if stopped:
            raise stopped[0]

    async def _attempt(self, tool: LabTool, attempt: Attempt) -> None:
        self.on_progress(tool.name, sum(map(len, self._tried.values())), self._total)
        unchecked = attempt.kind == "invalid"
        try:
            observed = await self._worker.call(tool.name, attempt.example.arguments, unchecked=unchecked)
        except asyncio.CancelledError:
            # It may have been sent, and for a tool that writes that is what one needs to know.
            self.calls.append(Called(tool.name, attempt.kind, "interrupted", 0.0, arguments=attempt.example.arguments))
            raise
        self._keep(observed, attempt.kind)
        tried = await self._learned(tool.name, Tried(attempt.kind, observed, attempt.example.about))
        if tried.outcome in FATAL:
            self._struck.add(tool.name)
        elif observed.refusal is not None and tool.name not in self._struck:
            # The gateway said no, or the server was not there: asking on would bring the same.
            self._struck.add(tool.name)
            self.notes.append(f"{tool.name} was not tried further: {observed.refusal.text}")

    async def _learned(self, tool: str, tried: Tried) -> Tried:
        """Take in what came of a call. A server that hangs may have answered with something that is no message."""
        if tried.outcome == "hang":
            before, self._stray = self._stray, await self._bench.stray()
            tried = replace(tried, stray=self._stray - before)
        self._tried.setdefault(tool, []).append(tried)
        return tried

    def _keep(self, observed: Observed, kind: str) -> None:
        self.calls.append(called(observed, kind))
        if observed.refusal is not None and observed.refusal.code is Code.FROZEN:
            raise InterlockError(observed.refusal)

    async def _looked(self, tool: str, arguments: dict[str, Any]) -> Observed:
        """A call that is made to see what another one changed."""
        observed = await self._worker.call(tool, arguments)
        self._keep(observed, "state")
        if outcome_of(observed) in FATAL:
            await self._learned(tool, Tried("valid", observed))
            self._struck.add(tool)
            self._watch.doubt()
            await self._recover(tool)
        return observed

    async def _mend(self, tool: LabTool) -> None:
        """Wait for a server that a tool may have brought down, and look anew at what it holds."""
        if await self._recover(tool.name):
            self._watch.doubt()
            await self._watch.changed()

    async def _recover(self, tool: str) -> bool:
        """See that the server is there again if calls of a tool may have brought it down; whether they may have."""
        outcomes = {each.outcome for each in self._tried.get(tool, ())}
        if not outcomes & FATAL.keys():
            return False
        if not await self._bench.recovered(hung="hang" in outcomes):
            raise InterlockError(errors.NOT_BACK(server=self._bench.server, tool=tool))
        return True


def _cut_short(tools: Sequence[str], limit: int | None) -> str:
    told = f"{', '.join(tools[:MOST_TOLD])}{f' and {len(tools) - MOST_TOLD} more' if len(tools) > MOST_TOLD else ''}"
    return (
        f"The budget of {limit} calls was too small for all of them. Calls made for tools that were cut short: {told}."
    )
