"""A run as JUnit XML, which nearly every CI reads: one test case per tool, and one for the server as a whole.

A tool fails by a finding of high or medium severity. What matters less is told in the output of its case, because a
build that fails for a remark is soon a build that nobody looks at. What was not called is skipped, with the reason.
"""

from collections.abc import Sequence
from xml.etree import ElementTree

from interlock.lab.model import Finding, Severity
from interlock.lab.report.figures import by_severity, entry_of, tool_figures
from interlock.lab.report.shown import shown, title_of
from interlock.lab.report.text import entry_lines
from interlock.lab.run import Called, Run, ShownPlan

_FAILING = (Severity.HIGH, Severity.MEDIUM)
_SERVER = "(server)"
"""The case of what is about no tool."""


def junit_of(run: Run) -> str:
    """The report of a run as an XML document."""
    suite = ElementTree.Element("testsuite", {"name": f"interlock {title_of(run)}", "timestamp": shown(run.began)})
    for plan, calls, findings in _cases(run):
        _case(suite, run, plan, calls, findings)
    counts = {kind: str(len(suite.findall(f"testcase/{kind}"))) for kind in ("failure", "skipped")}
    totals = {"tests": str(len(suite)), "failures": counts["failure"], "skipped": counts["skipped"], "errors": "0"}
    suite.attrib.update({**totals, "time": f"{run.seconds:.3f}"})
    suites = ElementTree.Element("testsuites", {**totals, "time": f"{run.seconds:.3f}"})
    suites.append(suite)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _cases(run: Run) -> list[tuple[ShownPlan, Sequence[Called], list[Finding]]]:
    """Each tool with its findings; a tool that only a finding names has a case too."""
    about: dict[str, list[Finding]] = {}
    for each in by_severity(run.findings):
        about.setdefault(_SERVER if each.tool is None else each.tool, []).append(each)
    cases = [(each.plan, each.calls, about.pop(each.plan.tool, [])) for each in tool_figures(run)]
    return [*cases, *((ShownPlan(tool, "", ""), (), findings) for tool, findings in about.items())]


def _case(
    suite: ElementTree.Element, run: Run, plan: ShownPlan, calls: Sequence[Called], findings: Sequence[Finding]
) -> None:
    seconds = sum(each.milliseconds for each in calls) / 1000
    named = {"classname": f"interlock.{shown(run.verb)}.{shown(run.target)}", "name": shown(plan.tool)}
    case = ElementTree.SubElement(suite, "testcase", {**named, "time": f"{seconds:.3f}"})
    failing = [each for each in findings if each.severity in _FAILING]
    if failing:
        kinds = {"message": shown(failing[0].text), "type": shown(failing[0].code)}
        ElementTree.SubElement(case, "failure", kinds).text = _told(failing)
    elif plan.reason and not calls:
        ElementTree.SubElement(case, "skipped", {"message": shown(plan.reason)})
    if rest := [each for each in findings if each not in failing]:
        ElementTree.SubElement(case, "system-out").text = _told(rest)


def _told(findings: Sequence[Finding]) -> str:
    return "\n".join(line for each in findings for line in entry_lines(entry_of(each))).strip()
