"""A worker for the verbs that run and write suites: it waits for a server that it lost, and keeps account of the run.

What was called becomes a run in the data folder, like a probe's, so that the dashboard shows it. A run in which nothing
was called leaves nothing.
"""

import contextlib
from collections.abc import Generator, Iterable
from typing import Any

from interlock.cli.command import Values
from interlock.cli.lab.probe import print_plan
from interlock.cli.lab.reports import HTML
from interlock.cli.lab.target import Site, Wanted, at_target
from interlock.clock import SystemClock
from interlock.core.budget import CallBudget
from interlock.core.times import iso
from interlock.errors import BudgetExhausted, Exit
from interlock.lab.model import Finding, Observed
from interlock.lab.plan import Planned, plan
from interlock.lab.report.html import html_of
from interlock.lab.run import NOTHING_CLEANED_UP, Called, Run, called, outcome_of, shown, without
from interlock.lab.suites.suite import Place
from interlock.lab.worker import Worker

_LOST = ("crash", "hang")


class LabWorker(Worker):
    """A worker at a site."""

    def __init__(self, site: Site, planned: Iterable[Planned], budget: CallBudget | None = None) -> None:
        super().__init__(site.bench, planned, site.knobs)
        self.site = site
        self.calls: list[Called] = []
        self.is_spent = False
        """Whether a call was refused because the budget was empty."""
        self.budget = budget or self.budget

    async def call(self, tool: str, arguments: dict[str, Any], unchecked: bool = False) -> Observed:
        try:
            observed = await super().call(tool, arguments, unchecked)
        except BudgetExhausted:
            self.is_spent = True
            raise
        kind = "again" if any(each.tool == tool for each in self.calls) else "valid"
        self.calls.append(called(observed, kind))
        outcome = outcome_of(observed)
        if outcome in _LOST:
            # The next call is for a server that is there again.
            await self.site.bench.recovered(hung=outcome == "hang")
        return observed


@contextlib.contextmanager
def kept(worker: LabWorker, verb: str) -> Generator[list[Finding]]:
    """Keep what is done in the block as a run, with the findings that are put into the list."""
    clock, findings, ended = SystemClock(), list[Finding](), "interrupted"
    began, ticks = clock.now(), clock.ticks()
    try:
        yield findings
        ended = "budget" if worker.is_spent else "complete"
    finally:
        site = worker.site
        # A call that was broken off was made as well.
        if site.bench.calls:
            run = Run(
                id=site.run.id,
                verb=verb,
                target=site.target,
                server=site.server,
                began=iso(began),
                seconds=round((clock.ticks() - ticks) / 1_000_000, 3),
                ended=ended,
                knobs=site.knobs,
                plan=[shown(each) for each in worker.plan.values()],
                calls=worker.calls,
                findings=findings,
                notes=[NOTHING_CLEANED_UP],
            )
            run = without(run, site.secrets)
            site.run.keep(run)
            site.run.write(HTML, html_of(run).encode())


async def show_plan(values: Values, *, live: bool) -> Exit:
    """Show what would be called, and call nothing."""
    async with at_target(values) as site:
        planned = plan(await site.bench.tools(), site.knobs.policy, live=live)
    return print_plan(planned, as_json=values.json)


def place_of(target: Wanted) -> Place:
    """A target, as a suite names it."""
    if target.server is not None:
        return Place(id=target.server)
    if target.url is not None:
        return Place(url=target.url)
    return Place(command=target.argv[0], args=list(target.argv[1:]))


def today() -> str:
    """The day, in UTC."""
    return iso(SystemClock().now())[:10]
