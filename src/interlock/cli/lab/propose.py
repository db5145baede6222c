"""`interlock propose`: a suite from what a server answers, for a person to review.

Tools that only read are called several times with the same arguments, tools that change something once. What stayed the
same becomes what is expected; `interlock test` runs the suite.
"""

import argparse
import asyncio
from pathlib import Path

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.inputs import bad
from interlock.cli.lab.options import add_knobs, add_target
from interlock.cli.render import counted, note, print_json, write
from interlock.errors import Exit

MOST = 20
"""How often a tool is called at most: what has not changed by then is told by none more."""


def _options(parser: Options) -> None:
    add_target(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="the file to write; otherwise it is printed")
    parser.add_argument("--force", action="store_true", help="write over what is there")
    parser.add_argument("--times", type=_times, default=3, metavar="N", help="observations of each tool that reads (3)")
    parser.add_argument("--plan", action="store_true", help="show what would be called, and call nothing")
    add_json(parser)
    add_knobs(parser)


def _times(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"it must be a whole number from 1 to {MOST}")
    return int(text)


def _run(values: Values) -> Exit:
    from interlock.cli.lab import made
    from interlock.cli.lab.target import target_given
    from interlock.cli.lab.working import show_plan

    if values.plan:
        return asyncio.run(show_plan(values, live=True))
    made.check_shareable(target_given(values))
    if values.output is not None:
        made.free(Path(values.output), force=values.force)
    text, count = asyncio.run(_proposed(values))
    if not count:
        raise bad("no tool gave an answer to propose a test from", "`interlock probe --plan` shows what may be called.")
    if values.output is not None:
        made.write(Path(values.output), text)
        note(
            f"Wrote {counted(count, 'test')} to {values.output}. Review it, then run it: interlock test {values.output}"
        )
    if values.json:
        print_json({"file": values.output, "tests": count, "suite": text})
    elif values.output is None:
        write(text)
    return Exit.OK


async def _proposed(values: Values) -> tuple[str, int]:
    from interlock.cli.lab.progress import steps
    from interlock.cli.lab.target import at_target, target_given
    from interlock.cli.lab.working import LabWorker, kept, place_of, today
    from interlock.lab.plan import plan
    from interlock.lab.suites.drafts import drafts, rounds
    from interlock.lab.suites.propose import is_usable, proposal

    async with at_target(values) as site:
        planned = plan(await site.bench.tools(), site.knobs.policy, live=True)
        worker = LabWorker(site, planned)
        with (
            kept(worker, "propose"),
            steps(len(rounds(planned, times=values.times, once=True))) as told,
        ):
            seen = await drafts(worker, times=values.times, once=True, seed=site.knobs.seed, told=told)
    text = proposal(seen, site.bench.server, place_of(target_given(values)), today())
    return text, sum(map(is_usable, seen))


VERB = Verb(
    "propose",
    "Propose a suite from what a server answers. Review it before you rely on it.",
    _options,
    _run,
    (
        "interlock propose files -o files.yaml",
        "interlock propose --times 5 -o time.yaml -- uvx mcp-server-time",
    ),
)
