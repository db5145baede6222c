"""`interlock test`: run the suites that a person wrote, or reviewed, against real servers.

Everything is read and checked before anything is called. Calls go through the gateway and are recorded like any other.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.inputs import bad
from interlock.cli.lab.options import add_knobs
from interlock.cli.render import note, print_json
from interlock.errors import Exit

if TYPE_CHECKING:
    from interlock.cli.lab.suite_run import Chosen
    from interlock.lab.suites.examine import Tried


def _options(parser: Options) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="suites, or folders with suites")
    parser.add_argument("--target", metavar="T", help="run them against this server instead of the one they name")
    parser.add_argument("--only", default="", metavar="TEXT", help="only tests whose name holds this text")
    parser.add_argument("--update-snapshots", action="store_true", help="keep the answers of this run as snapshots")
    parser.add_argument("--junit", metavar="FILE", help="write a JUnit report for CI")
    parser.add_argument("--schema", action="store_true", help="print the JSON Schema of suites, and do nothing else")
    add_json(parser)
    add_knobs(parser)


def _run(values: Values) -> Exit:
    from interlock.lab.suites.suite import json_schema

    if values.schema:
        print_json(json_schema())
        return Exit.OK
    selected = _selected(values)
    for each in selected:
        _check_target(values, each)
    results, folders = asyncio.run(_tried(values, selected))
    code = _report(values, results)
    for folder in folders:
        note(f"The report is kept in {folder}.")
    return code


def _selected(values: Values) -> "list[Chosen]":
    from interlock.cli.lab.suite_files import read_suite_file, suite_files
    from interlock.cli.lab.suite_run import chosen

    if not values.paths:
        raise bad("PATH is missing", "Name a suite or a folder: `interlock test suite.yaml`.")
    suites = [chosen(read_suite_file(path), values.only) for path in suite_files(values.paths)]
    selected = [each for each in suites if each.cases]
    if not selected:
        raise bad("no test is selected", "Name a file or folder with suites, and a text that a test has in its name.")
    return selected


def _check_target(values: Values, suite: "Chosen") -> None:
    servers = suite.file.suite.servers
    if values.target and len(servers) > 1:
        raise bad(f"{suite.name} has several servers, and --target is one", "Leave --target out, or split the suite.")
    if not values.target and not servers:
        raise bad(f"{suite.name} names no server", "Add one under `servers`, or give --target.")


async def _tried(values: Values, selected: "Sequence[Chosen]") -> "tuple[list[tuple[str, list[Tried]]], list[Path]]":
    from interlock.cli.lab.progress import steps
    from interlock.cli.lab.suite_run import SuiteRun

    with steps(sum(len(each.cases) for each in selected)) as told:
        run = SuiteRun(values, lambda tried: told(tried.name))
        return [(each.name, await run.run(each)) for each in selected], run.kept


def _report(values: Values, results: "list[tuple[str, list[Tried]]]") -> Exit:
    from interlock.cli.lab.made import write
    from interlock.cli.lab.tried import as_json, exit_of, junit_of, print_tried

    everything = [each for _, tried in results for each in tried]
    if values.junit:
        write(Path(values.junit), junit_of(results))
    if values.json:
        print_json({"suites": [{"suite": name, "tests": [as_json(each) for each in tried]} for name, tried in results]})
    else:
        print_tried(everything)
    return exit_of(everything)


VERB = Verb(
    "test",
    "Run suites of tests against servers. Destructive tools need --execute-destructive; nothing is cleaned up.",
    _options,
    _run,
    (
        "interlock test suites/",
        "interlock test files.yaml --only greeting --junit report.xml",
        "interlock test files.yaml --update-snapshots",
        "interlock test --schema > suite.schema.json",
    ),
)
