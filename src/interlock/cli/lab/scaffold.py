"""`interlock scaffold`: a pytest suite for the tools of a server, which runs as it is.

Tools that only read are called twice, to see what their answers look like. Tools that change something are not called
at all: their tests will, once, and one effect is enough. Nothing that is there already is written over without a word.
"""

import asyncio
import os
from pathlib import Path

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.inputs import bad
from interlock.cli.lab.options import add_knobs, add_target
from interlock.cli.render import counted, note, print_json
from interlock.errors import Exit

_TIMES = 2


def _options(parser: Options) -> None:
    add_target(parser)
    parser.add_argument("-o", "--output", metavar="DIR", help="the folder to write the suite into")
    parser.add_argument("--plan", action="store_true", help="show what would be called, and call nothing")
    parser.add_argument("--force", action="store_true", help="write over what is there")
    add_json(parser)
    add_knobs(parser)


def _run(values: Values) -> Exit:
    from interlock.cli.lab.made import check_shareable, free, write
    from interlock.cli.lab.target import target_given
    from interlock.cli.lab.working import show_plan

    if values.plan:
        return asyncio.run(show_plan(values, live=False))
    if values.output is None:
        raise bad("-o is missing", "Say where to write the suite: -o DIR.")
    if values.config is not None:
        # The suite is run from anywhere.
        values.config = os.path.abspath(values.config)
    folder = Path(values.output)
    check_shareable(target_given(values))
    free(folder, force=values.force)
    files = asyncio.run(_files(values))
    for path, text in files.items():
        write(folder / path, text)
    if values.json:
        print_json({"folder": str(folder), "files": sorted(files)})
    else:
        note(f"Wrote {counted(len(files), 'file')} to {folder}. Run it with: pytest {folder}")
    return Exit.OK


async def _files(values: Values) -> dict[str, str]:
    from interlock.cli.lab.progress import steps
    from interlock.cli.lab.target import at_target
    from interlock.cli.lab.working import LabWorker, kept, today
    from interlock.lab.plan import plan
    from interlock.lab.suites.drafts import drafts, rounds
    from interlock.lab.suites.scaffold import Opening, suite_of

    async with at_target(values) as site:
        planned = plan(await site.bench.tools(), site.knobs.policy, live=False)
        worker = LabWorker(site, planned)
        with kept(worker, "scaffold"), steps(len(rounds(planned, times=_TIMES, once=False))) as told:
            made = await drafts(worker, times=_TIMES, once=False, seed=site.knobs.seed, told=told)
        opening = Opening(
            target=tuple(values.target),
            server=site.bench.server,
            made=today(),
            execute_destructive=site.knobs.execute_destructive,
            strict=site.knobs.strict,
            config=values.config,
        )
    return suite_of(made, opening)


VERB = Verb(
    "scaffold",
    "Write a pytest suite for the tools of a server. Only tools that read are called for it.",
    _options,
    _run,
    (
        "interlock scaffold files --plan",
        "interlock scaffold files -o tests/files",
        "interlock scaffold -o tests/time -- uvx mcp-server-time",
        "interlock scaffold https://mcp.example.com/mcp -o tests/remote --strict",
    ),
)
