"""`interlock scan`: what is wrong with tools, from their definitions alone. Nothing is called.

A baseline holds what somebody has looked at: what is in it is left out, and only what is new counts for `--fail-on`.
A server that could not be listed is told and has its own exit code: to have seen less is no good news.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import folder_of
from interlock.cli.inputs import bad
from interlock.cli.lab.listings import Found, from_clients, from_gateway, from_targets, only_saved
from interlock.cli.lab.reports import HTML
from interlock.cli.render import counted, note, visible, write
from interlock.clock import SystemClock
from interlock.core.times import iso
from interlock.errors import Exit
from interlock.lab.model import Finding, Severity
from interlock.lab.report.html import html_of
from interlock.lab.report.json import json_of
from interlock.lab.report.sarif import sarif_of
from interlock.lab.report.text import text_of
from interlock.lab.run import Knobs, Run, RunFolder
from interlock.lab.scan import baseline
from interlock.lab.scan.baseline import Compared
from interlock.lab.scan.scan import scan
from interlock.store.protocol import new_id

_STDOUT = "-"
_MOST_GONE = 20


def _options(parser: Options) -> None:
    parser.add_argument(
        "target",
        nargs="*",
        metavar="TARGET",
        help="a server id, an http(s) URL, a saved tools/list (FILE.json, or - for stdin), or a command line: in "
        "quotes, or after --. Without any: all servers of the configuration",
    )
    parser.add_argument("--all-clients", action="store_true", help="scan the servers of all clients on this machine")
    parser.add_argument("--yes", action="store_true", help="start the servers of clients without asking")
    add_json(parser)
    parser.add_argument(
        "--sarif", metavar="FILE", help="write the findings as SARIF; - is stdout, in place of the text"
    )
    levels = [each.value for each in Severity]
    parser.add_argument("--fail-on", choices=levels, help="exit with 20 if a new finding is at least so grave")
    parser.add_argument("--baseline", metavar="FILE", help="leave out the findings that this file names")
    parser.add_argument("--write-baseline", metavar="FILE", help="write a file that names all findings of now")


def _scan(values: Values) -> Exit:
    _check(values)
    known = [] if values.baseline is None else _read_baseline(Path(values.baseline))
    clock = SystemClock()
    began, ticks = clock.now(), clock.ticks()
    found = _listed(values)
    findings = scan(found.listings)
    compared = baseline.compared(findings, known)
    run = Run(
        id=new_id(began),
        verb="scan",
        target=", ".join(each.server for each in found.listings),
        server=found.servers[0] if len(found.servers) == len(found.listings) == 1 else {},
        began=iso(began),
        seconds=(clock.ticks() - ticks) / 1_000_000,
        ended="complete" if not found.missing else "interrupted",
        knobs=Knobs(),
        plan=[],
        calls=[],
        findings=compared.new,
        notes=list(_notes(found, compared)),
    )
    if values.write_baseline is not None:
        _write(Path(values.write_baseline), baseline.written(findings))
    _hand_out(values, run)
    return _exit(values, found, compared.new)


def _check(values: Values) -> None:
    if values.all_clients and values.target:
        raise bad("--all-clients and TARGET are both given", "Give one of them.")
    if values.json and values.sarif == _STDOUT:
        raise bad("--json and --sarif - both want stdout", "Write SARIF to a file.")


def _listed(values: Values) -> Found:
    if values.all_clients:
        return from_clients(values)
    return asyncio.run(from_targets(values) if values.target else from_gateway(values))


def _read_baseline(file: Path) -> list[baseline.Known]:
    try:
        return baseline.read(file.read_bytes())
    except OSError as failed:
        fix = "Write one with --write-baseline."
        raise bad(f"{file}: cannot be read: {failed.strerror}", fix) from None
    except ValueError as broken:
        raise bad(f"{file}: is no baseline: {broken}", "Write it anew with --write-baseline.") from None


def _notes(found: Found, compared: Compared) -> list[str]:
    tools = sum(len(each.tools) for each in found.listings)
    notes = [f"{counted(tools, 'tool')} of {counted(len(found.listings), 'server')} read. Nothing was called."]
    notes += [f"Not scanned: {each}" for each in found.missing]
    if compared.known:
        notes.append(f"{counted(len(compared.known), 'finding')} of the baseline left out.")
    notes += [f"Gone since the baseline: {each.told}" for each in compared.gone[:_MOST_GONE]]
    if len(compared.gone) > _MOST_GONE:
        notes.append(f"Gone since the baseline: {len(compared.gone) - _MOST_GONE} more.")
    return notes


def _hand_out(values: Values, run: Run) -> None:
    # Of a list that is only read, as a build does it, no trace is left in the folder of the user.
    if not only_saved(values.target):
        folder = RunFolder.make(folder_of(values).path, run.id)
        folder.keep(run)
        folder.write(HTML, html_of(run).encode())
    if values.sarif == _STDOUT:
        write(sarif_of(run))
        return
    if values.sarif is not None:
        _write(Path(values.sarif), sarif_of(run))
    write(json_of(run) if values.json else text_of(run))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as failed:
        raise bad(f"{file}: cannot be written: {failed.strerror}", "Choose another file.") from None
    note(f"Wrote {visible(str(file))}.")


def _exit(values: Values, found: Found, new: Sequence[Finding]) -> Exit:
    if values.fail_on is not None and any(each.severity.rank <= Severity(values.fail_on).rank for each in new):
        return Exit.FINDINGS
    return Exit.UNREACHABLE if found.missing else Exit.OK


VERB = Verb(
    "scan",
    "Say what is wrong with tools, from their definitions alone: hidden text, look-alike names, missing annotations.",
    _options,
    _scan,
    (
        "interlock scan",
        "interlock scan -- npx -y @modelcontextprotocol/server-everything",
        "interlock scan tools.json --fail-on medium --sarif findings.sarif",
        "interlock scan --write-baseline known.json && interlock scan --baseline known.json --fail-on low",
        "interlock scan --all-clients",
    ),
)
