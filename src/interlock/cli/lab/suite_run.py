"""Running suites: each server of each suite on the bench in turn, with one budget for everything.

A server that cannot be had fails its own tests and no others. What was called is kept as a run, like a probe's.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from interlock.cli.command import Values
from interlock.cli.lab.suite_files import SuiteFile, read_snapshots, write_snapshots
from interlock.cli.lab.target import Site, Wanted, at_target, wanted
from interlock.cli.lab.working import LabWorker, kept
from interlock.core.budget import CallBudget
from interlock.core.redact import KnownSecrets
from interlock.errors import Code, InterlockError
from interlock.lab.model import Finding, Severity
from interlock.lab.plan import plan
from interlock.lab.suites.examine import Examination, Outcome, Shapes, Tried, written
from interlock.lab.suites.suite import Case, Place


class Chosen(Struct, frozen=True):
    """The tests of a suite that are to run, and the snapshots beside it."""

    file: SuiteFile
    cases: tuple[Case, ...]
    snapshots: dict[str, Shapes]

    @property
    def name(self) -> str:
        return str(self.file.path)


def chosen(file: SuiteFile, only: str) -> Chosen:
    """The tests of a suite whose name holds a text."""
    cases = tuple(each for each in file.suite.tests if only in each.name)
    return Chosen(file, cases, read_snapshots(file.snapshots))


def target_of(place: Place) -> Wanted:
    """A server of a suite, as a target."""
    if place.id:
        return Wanted(server=place.id)
    if place.url:
        return Wanted(url=place.url, more={"headers": place.headers})
    more = {"env": place.env, **({"cwd": place.cwd} if place.cwd else {})}
    return Wanted(argv=(place.command, *place.args), more=more)


class SuiteRun:
    """All chosen suites of one command."""

    def __init__(self, values: Values, told: Callable[[Tried], None] = lambda _: None) -> None:
        self._values = values
        self._told = told
        self._budget: CallBudget | None = None
        self.kept: list[Path] = []
        """The folders of the runs in which something was called."""

    async def run(self, suite: Chosen) -> list[Tried]:
        """Run one suite; the results are in the order of its tests."""
        found: dict[str, Tried] = {}
        server_of = suite.file.suite.server_of
        for name in dict.fromkeys(map(server_of, suite.cases)):
            cases = [each for each in suite.cases if server_of(each) == name]
            for tried in await self._server(suite, name, cases):
                found[tried.name] = replace(tried, server=name or tried.server)
        results = [found[each.name] for each in suite.cases]
        if self._values.update_snapshots:
            _update(suite, results)
        return results

    async def _server(self, suite: Chosen, name: str, cases: Sequence[Case]) -> list[Tried]:
        given = self._values.target
        target = wanted([given]) if given else target_of(suite.file.suite.servers[name])
        try:
            async with at_target(self._values, target) as site:
                return await self._examined(suite, cases, site)
        except InterlockError as failed:
            outcome = Outcome.REFUSED if failed.reason.code is Code.FROZEN else Outcome.FAILED
            return [Tried(each.name, name, each.tool, outcome, reason=failed.reason) for each in cases]

    async def _examined(self, suite: Chosen, cases: Sequence[Case], site: Site) -> list[Tried]:
        planned = written(plan(await site.bench.tools(), site.knobs.policy, live=True))
        worker = LabWorker(site, planned, self._budget)
        self._budget = worker.budget
        examination = Examination(worker, suite.snapshots, update=self._values.update_snapshots)
        with kept(worker, "test") as findings:
            tried = [_without(each, site.secrets) for each in await examination.run(cases, self._told)]
            findings += [_finding(each) for each in tried if each.outcome is Outcome.FAILED]
        self.kept += [site.run.path] if site.bench.calls else []
        return tried


def _without(tried: Tried, known: KnownSecrets) -> Tried:
    """What became of a test, without the secrets that a server repeated."""
    hide = known.hide
    told = (replace(each, expected=hide(each.expected), seen=hide(each.seen)) for each in tried.mismatches)
    return replace(tried, mismatches=tuple(told))


def _finding(tried: Tried) -> Finding:
    seen = {each.target: f"expected {each.expected}, saw {each.seen}" for each in tried.mismatches}
    why = {} if tried.reason is None else {"reason": tried.reason.text}
    text = f"The test '{tried.name}' failed."
    fix = "See whether the server or the test is wrong."
    return Finding("test-failed", Severity.HIGH, text, tried.tool, fix, {**seen, **why})


def _update(suite: Chosen, results: Sequence[Tried]) -> None:
    """Keep what was seen now, and forget the snapshots of tests that are gone."""
    names = {each.name for each in suite.file.suite.tests}
    before = {name: shapes for name, shapes in suite.snapshots.items() if name in names}
    now = {each.name: {**before.get(each.name, {}), **each.shapes} for each in results if each.shapes}
    if now or before != suite.snapshots:
        write_snapshots(suite.file.snapshots, {**before, **now})
