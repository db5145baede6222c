"""A run as a text for a person at a terminal: the tools and what their calls came to, the findings, the notes.

The text is plain: it holds no colour, and nothing of a server's that a terminal would act on.
"""

from collections.abc import Iterator, Sequence
from unicodedata import combining, east_asian_width

from interlock.lab.model import Finding
from interlock.lab.report.figures import Entry, ToolFigures, entries, milliseconds, told_severities, tool_figures
from interlock.lab.report.shown import evidence_lines, server_line, shown, title_of, tools_line, when_of
from interlock.lab.run import Run

_COLUMNS = ("TOOL", "DECISION", "CALLS", "OUTCOME", "P50 ms", "P95 ms")
_NAME = 60
"""How many characters of a name the table shows."""


def text_of(run: Run) -> str:
    """The report of a run as text that ends in a line break."""
    tools = tool_figures(run)
    parts = [_head(run), _table(tools), _not_called(tools), _findings(run.findings), _notes(run.notes)]
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part))) + "\n"


def _head(run: Run) -> Iterator[str]:
    yield title_of(run)
    if server := server_line(run.server):
        yield server
    yield when_of(run)


def _table(tools: Sequence[ToolFigures]) -> Iterator[str]:
    if not tools:
        return
    rows = [_COLUMNS, *(_row(each) for each in tools)]
    widths = [max(_width(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        yield "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()


def _row(tool: ToolFigures) -> tuple[str, ...]:
    name = shown(tool.plan.tool, _NAME)
    times = (milliseconds(tool.p50), milliseconds(tool.p95))
    return name, shown(tool.plan.decision) or "-", str(len(tool.calls)), shown(tool.told), *times


def _width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def _not_called(tools: Sequence[ToolFigures]) -> Iterator[str]:
    reasons = [(each.plan.tool, each.plan.reason) for each in tools if each.plan.reason]
    if reasons:
        yield "Not called:"
        yield from (f"  {shown(tool, _NAME)}: {shown(reason)}" for tool, reason in reasons)
    held = [shown(each.plan.tool, _NAME) for each in tools if each.plan.presumed_but_held]
    if held:
        yield "Presumed to read, though the gateway would ask somebody first:"
        yield f"  {', '.join(held)}"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    yield f"Findings: {told_severities(findings)}"
    for each in entries(findings):
        yield from entry_lines(each)


def entry_lines(entry: Entry) -> Iterator[str]:
    """One finding, or many of a kind: what it is, what was seen, what to do. What was seen of many is in the JSON."""
    finding = entry.finding
    about = f"  {tools_line(entry.tools, _NAME)}" if entry.tools else ""
    yield ""
    yield f"{finding.severity.value.upper():<6}  {shown(finding.code)}{about}"
    yield f"  {shown(finding.text)}"
    if not entry.is_group:
        yield from (f"    {line}" for line in evidence_lines(finding))
    if finding.fix:
        yield f"  Fix: {shown(finding.fix)}"


def _notes(notes: Sequence[str]) -> Iterator[str]:
    yield from (f"Note: {shown(note)}" for note in notes)
