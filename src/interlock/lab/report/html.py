"""A run as one page that needs nothing else: no script, no font, no address. It may be mailed and opened years later.

It says the same as the text report and draws what is hard to see in numbers: how long the calls of each tool took and
what came of them. Its content policy forbids scripts and everything from elsewhere, as a second wall behind the
escaping of every text. This module refuses to show more calls than a browser can lay out, and says how many it left.
"""

import math
from collections.abc import Sequence

from interlock.lab.model import Finding
from interlock.lab.report.figures import OUTCOMES, Entry, ToolFigures, entries, milliseconds, severities, tool_figures
from interlock.lab.report.markup import Markup, document, element, style_sheet, together
from interlock.lab.report.shown import evidence_lines, server_line, title_of, tools_line, when_of
from interlock.lab.report.style import STYLE
from interlock.lab.run import Called, Run, ShownPlan

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
MOST_CALLS = 500
_MOST_MARKS = 200
"""How many calls of one tool are drawn."""


def html_of(run: Run) -> str:
    """The report of a run as an HTML document."""
    tools = tool_figures(run)
    head = together(
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"Interlock: {title_of(run)}"),
        style_sheet(STYLE),
    )
    parts = [_top(run), _summary(run, tools), _findings(run.findings), _tools(tools), _calls(run.calls), _notes(run)]
    return document(head, element("main", *parts))


def _top(run: Run) -> Markup:
    server = server_line(run.server)
    return element(
        "header",
        element("p", "Interlock lab", class_="over"),
        element("h1", title_of(run)),
        element("p", f"{server} · {when_of(run)}" if server else when_of(run), class_="quiet"),
    )


def _summary(run: Run, tools: Sequence[ToolFigures]) -> Markup:
    called = sum(bool(each.calls) for each in tools)
    facts = [
        ("Tools", str(len(tools))),
        ("Tools called", str(called)),
        ("Calls", str(len(run.calls))),
        *(
            (f"{severity.value.capitalize()} findings", str(count))
            for severity, count in severities(run.findings).items()
        ),
    ]
    items = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("dl", *items, class_="facts")


# Findings -------------------------------------------------------------------------------------------------------


def _findings(findings: Sequence[Finding]) -> Markup:
    if not findings:
        return element("section", element("h2", "Findings"), element("p", "There are none."))
    return element("section", element("h2", "Findings"), *(_finding(each) for each in entries(findings)))


def _finding(entry: Entry) -> Markup:
    finding, severity = entry.finding, entry.finding.severity.value
    # What was seen of many is in the JSON.
    seen = [] if entry.is_group else [element("li", element("code", line)) for line in evidence_lines(finding)]
    about = "Tools " if entry.is_group else "Tool "
    return element(
        "article",
        element("h3", element("span", severity, class_=f"badge {severity}"), " ", finding.code),
        element("p", about, element("code", tools_line(entry.tools)), class_="quiet") if entry.tools else None,
        element("p", finding.text),
        element("ul", *seen, class_="seen") if seen else None,
        element("p", element("strong", "Fix: "), finding.fix) if finding.fix else None,
        class_="card",
    )


# Tools ----------------------------------------------------------------------------------------------------------


def _tools(tools: Sequence[ToolFigures]) -> Markup | None:
    if not tools:
        return None
    slowest = max((call.milliseconds for each in tools for call in each.calls), default=0.0)
    return element(
        "section",
        element("h2", "Tools"),
        _legend(tools, slowest) if slowest else None,
        *(_tool(each, slowest) for each in tools),
    )


def _legend(tools: Sequence[ToolFigures], slowest: float) -> Markup:
    there = [outcome for outcome in OUTCOMES if any(outcome in each.outcomes for each in tools)]
    keys = [element("li", _key(outcome), " ", outcome) for outcome in there]
    scale = f"Each line is a call; to the right is longer, up to {milliseconds(slowest)} ms, on a logarithmic scale."
    return element("div", element("ul", *keys, class_="legend"), element("p", scale, class_="quiet"))


def _key(outcome: str) -> Markup:
    return element(
        "svg", _block(outcome, width=10, height=10), viewBox="0 0 10 10", width=10, height=10, aria_hidden="true"
    )


def _tool(tool: ToolFigures, slowest: float) -> Markup:
    return element(
        "article",
        element("h3", element("code", tool.plan.tool)),
        _decided(tool.plan),
        element("div", _times(tool, slowest), _shares(tool), class_="plots") if tool.calls else None,
        class_="card",
    )


def _decided(plan: ShownPlan) -> Markup:
    held = "The gateway would ask somebody first." if plan.presumed_but_held else None
    return element(
        "p",
        element("span", plan.decision or "-", class_="badge"),
        f" {plan.exec_class}" if plan.exec_class else None,
        f" · {plan.reason}" if plan.reason else None,
        f" · {held}" if held else None,
    )


def _times(tool: ToolFigures, slowest: float) -> Markup:
    told = f"p50 {milliseconds(tool.p50)} ms, p95 {milliseconds(tool.p95)} ms"
    marks = [
        _block(call.outcome, x=_along(call.milliseconds, slowest), y=2, width=0.7, height=12)
        for call in tool.calls[:_MOST_MARKS]
    ]
    axis = element("line", x1=0, y1=15, x2=100, y2=15, class_="axis")
    return element("figure", _drawing(f"Times of the calls: {told}", axis, *marks), element("figcaption", told))


def _along(value: float, slowest: float) -> float:
    """Where a time stands between 0 and 99: by its logarithm, so that one hang does not hide the rest."""
    return round(99 * math.log1p(max(value, 0)) / math.log1p(slowest), 2) if slowest > 0 else 0


def _shares(tool: ToolFigures) -> Markup:
    number = len(tool.calls)
    told = f"{number} {'call' if number == 1 else 'calls'}: {tool.told}"
    blocks: list[Markup] = []
    at = 0.0
    for outcome, count in tool.outcomes.items():
        width = 100 * count / len(tool.calls)
        blocks.append(_block(outcome, x=round(at, 2), y=3, width=round(width, 2), height=10))
        at += width
    return element("figure", _drawing(f"What came of {told}", *blocks), element("figcaption", told))


def _drawing(label: str, *shapes: Markup) -> Markup:
    return element("svg", *shapes, viewBox="0 0 100 16", preserveAspectRatio="none", role="img", aria_label=label)


def _block(outcome: str, **place: float) -> Markup:
    return element("rect", **place, class_=f"o-{outcome if outcome in OUTCOMES else 'other'}")


# Calls and notes ------------------------------------------------------------------------------------------------


def _calls(calls: Sequence[Called]) -> Markup | None:
    if not calls:
        return None
    heads = element("tr", *(element("th", each, scope="col") for each in ("Tool", "Kind", "Outcome", "ms", "Activity")))
    left = len(calls) - MOST_CALLS
    more = element("p", f"{left} more are in the JSON report.", class_="quiet") if left > 0 else None
    rows = [_call(each) for each in calls[:MOST_CALLS]]
    table = element("table", element("thead", heads), element("tbody", *rows))
    box = element("div", table, class_="table", tabindex="0", role="region", aria_label="Calls")
    return element("section", element("h2", "Calls"), box, more)


def _call(call: Called) -> Markup:
    cells = (call.kind, call.outcome, milliseconds(call.milliseconds), call.activity or "-")
    return element("tr", element("td", element("code", call.tool)), *(element("td", each) for each in cells))


def _notes(run: Run) -> Markup | None:
    if not run.notes:
        return None
    return element("section", element("h2", "Notes"), *(element("p", each) for each in run.notes))
