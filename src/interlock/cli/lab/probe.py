"""`interlock probe`: call the tools of a server as far as it is safe, and say what is wrong with it.

`--plan` shows what would be called and calls nothing. Whatever ends a run, a budget, Ctrl-C, a server that does not
come back, what was found by then is reported and kept.
"""

import asyncio

import msgspec

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.lab.options import add_knobs, add_target
from interlock.cli.lab.progress import bar
from interlock.cli.lab.reports import add_reports, hand_out
from interlock.cli.lab.target import Site, at_target
from interlock.cli.render import note, print_json, print_lines, print_table
from interlock.clock import SystemClock
from interlock.core.times import iso
from interlock.errors import Exit, InterlockError
from interlock.lab.model import Severity
from interlock.lab.plan import Planned, plan
from interlock.lab.probing.probe import Probe
from interlock.lab.run import NOTHING_CLEANED_UP, Run, shown, without
from interlock.lab.scan import kinds
from interlock.lab.worker import Worker

_MATTER = (Severity.HIGH, Severity.MEDIUM)
"""The severities that make the exit code one of findings."""


def _options(parser: Options) -> None:
    add_target(parser)
    parser.add_argument("--plan", action="store_true", help="show what would be called, and call nothing")
    add_json(parser)
    add_knobs(parser)
    add_reports(parser)


def _run(values: Values) -> Exit:
    return asyncio.run(_probe(values))


async def _probe(values: Values) -> Exit:
    async with at_target(values) as site:
        planned = plan(await site.bench.tools(), site.knobs.policy, live=True)
        if values.plan:
            return print_plan(planned, as_json=values.json)
        return await _live(site, planned, values)


async def _live(site: Site, planned: tuple[Planned, ...], values: Values) -> Exit:
    clock, knobs = SystemClock(), site.knobs
    began, started = clock.now(), clock.ticks()
    left_out = [kinds.left_out(site.bench.server, each) for each in await site.bench.left_out()]
    worker = Worker(site.bench, planned, knobs)
    probe = Probe(worker, site.bench, seed=knobs.seed, concurrency=knobs.concurrency)
    interrupted = False
    with bar() as progress:
        probe.on_progress = progress
        try:
            await probe.run()
        except asyncio.CancelledError:
            # Ctrl-C: what was found so far is worth a report, and the servers end in order on the way out.
            interrupted = True
            _go_on()
    run = Run(
        id=site.run.id,
        verb="probe",
        target=site.target,
        server=site.server,
        began=iso(began),
        seconds=round((clock.ticks() - started) / 1_000_000, 3),
        ended="interrupted" if interrupted else probe.ended,
        knobs=knobs,
        plan=[shown(each) for each in planned],
        calls=probe.calls,
        findings=[*left_out, *probe.findings],
        notes=[*probe.notes, NOTHING_CLEANED_UP],
    )
    run = without(run, site.secrets)
    hand_out(run, site.run, values)
    note(f"The report is kept in {site.run.path}.")
    if interrupted:
        return Exit.INTERRUPTED
    if probe.stopped is not None:
        raise InterlockError(probe.stopped)
    return Exit.FINDINGS if any(each.severity in _MATTER for each in run.findings) else Exit.OK


def _go_on() -> None:
    """Take back that this task was cancelled, so that what follows is not cut short as well."""
    task = asyncio.current_task()
    while task is not None and task.uncancel():
        pass


def print_plan(planned: tuple[Planned, ...], *, as_json: bool) -> Exit:
    """Show what would be done with each tool."""
    lines = [shown(each) for each in planned]
    if as_json:
        print_json({"items": [msgspec.to_builtins(each) for each in lines], "total": len(lines)})
        return Exit.OK
    rows = [(each.tool, each.exec_class, each.decision, each.reason or "") for each in lines]
    print_table(("TOOL", "CLASS", "DECISION", "WHY NOT"), rows)
    held = [each.tool.name for each in planned if each.presumed_but_held and each.decision.calls]
    if held:
        print_lines(
            [
                "",
                "Presumed read-only, but the gateway would ask somebody before an agent calls them:",
                *(f"  {name}" for name in held),
                "Look at them before you probe, or leave them out with --strict.",
            ]
        )
    return Exit.OK


VERB = Verb(
    "probe",
    "Call the tools of a server with made-up arguments, as far as that is safe, and report what is wrong. Exit 20 when "
    "a finding is medium or high.",
    _options,
    _run,
    (
        "interlock probe files --plan",
        "interlock probe -- npx -y @modelcontextprotocol/server-memory",
        "interlock probe https://host/mcp --max-calls 100 --html report.html",
    ),
)
