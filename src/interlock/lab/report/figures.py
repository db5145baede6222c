"""What the calls of a run amount to, tool by tool: the figures that every report shows, counted once.

A time that nobody measured is not shown as zero: a tool that was not called has no times. This module refuses to judge;
findings do that.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from interlock.lab.model import Finding, Severity
from interlock.lab.run import Called, Run, ShownPlan

OUTCOMES = ("ok", "tool-error", "rpc-error", "refused", "crash", "hang", "protocol")
"""What may come of a call, in the order in which it is told."""


class ToolFigures(Struct, frozen=True):
    """One tool of a run: what was planned for it and what its calls came to."""

    plan: ShownPlan
    calls: tuple[Called, ...]
    outcomes: dict[str, int]
    p50: float | None
    p95: float | None

    @property
    def told(self) -> str:
        """The outcomes in words: `3 ok, 1 rpc-error`."""
        return ", ".join(f"{number} {outcome}" for outcome, number in self.outcomes.items()) or "-"


def tool_figures(run: Run) -> list[ToolFigures]:
    """The figures of each tool of a run, in the order of its plan."""
    by_tool: dict[str, list[Called]] = {each.tool: [] for each in run.plan}
    for each in run.calls:
        by_tool.setdefault(each.tool, []).append(each)
    plans = {each.tool: each for each in run.plan}
    return [_figures(plans.get(tool, ShownPlan(tool, "", "")), calls) for tool, calls in by_tool.items()]


def _figures(plan: ShownPlan, calls: Sequence[Called]) -> ToolFigures:
    # A refused call never reached the server, so how long that took says nothing about it.
    times = [each.milliseconds for each in calls if each.outcome != "refused"]
    return ToolFigures(plan, tuple(calls), outcomes_of(calls), percentile(times, 50), percentile(times, 95))


def outcomes_of(calls: Iterable[Called]) -> dict[str, int]:
    """How many calls came to which outcome; those that none came to are left out."""
    counts = Counter(each.outcome for each in calls)
    known = [outcome for outcome in OUTCOMES if counts[outcome]]
    return {outcome: counts[outcome] for outcome in (*known, *sorted(set(counts) - set(OUTCOMES)))}


def percentile(values: Sequence[float], percent: int) -> float | None:
    """The value that this many percent of the values do not exceed; None where there are none."""
    if not values:
        return None
    return sorted(values)[max(math.ceil(len(values) * percent / 100) - 1, 0)]


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, the gravest first, otherwise in the order in which they were made."""
    return sorted(findings, key=lambda each: each.severity.rank)


class Entry(Struct, frozen=True):
    """What is told as one: a finding, or all infos of one code, which say the same of many tools."""

    finding: Finding
    tools: tuple[str, ...]

    @property
    def is_group(self) -> bool:
        return len(self.tools) > 1


def entry_of(finding: Finding) -> Entry:
    """A finding that is told by itself."""
    return Entry(finding, () if finding.tool is None else (finding.tool,))


def entries(findings: Iterable[Finding]) -> list[Entry]:
    """The findings as a person reads them, the gravest first: infos that say the same of several tools are one."""
    made: list[Entry] = []
    alike: dict[tuple[str, str, str], int] = {}
    for each in by_severity(findings):
        groups = each.severity is Severity.INFO and each.tool is not None
        at = alike.setdefault((each.code, each.text, each.fix), len(made)) if groups else len(made)
        if at == len(made):
            made.append(entry_of(each))
        else:
            made[at] = Entry(made[at].finding, (*made[at].tools, *entry_of(each).tools))
    return made


def severities(findings: Iterable[Finding]) -> dict[Severity, int]:
    """How many findings there are of each severity, the gravest first; none are left out."""
    counts = Counter(each.severity for each in findings)
    return {each: counts[each] for each in Severity if counts[each]}


def told_severities(findings: Iterable[Finding]) -> str:
    """`1 high, 2 low`, or `no findings`."""
    counts = severities(findings)
    return ", ".join(f"{number} {severity}" for severity, number in counts.items()) or "no findings"


def milliseconds(value: float | None) -> str:
    """A time as reports show it: `0.4`, `12`, `-`."""
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"
