"""What became of the tests of some suites, for people, for scripts and for CI.

Names and answers come from suites and servers: they are made visible before they are shown, and what is left is text
that any terminal and any XML reader takes.
"""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from interlock.cli.render import counted, print_lines, print_table, reason_as_json, visible
from interlock.core.model import Json
from interlock.errors import Code, Exit
from interlock.lab.suites.examine import Outcome, Tried

_NO_SERVER: dict[Code | None, Exit] = {Code.UPSTREAM_DOWN: Exit.UNREACHABLE, Code.NOT_FOUND: Exit.USAGE}
_COLUMNS = ("test", "server", "tool", "outcome", "ms")


def exit_of(tried: Sequence[Tried]) -> Exit:
    """A failure is a finding, unless there was no server to test; where all that ran passed, a test that was refused
    must not look as if it had."""
    outcomes = {each.outcome for each in tried}
    never_called = {each.reason.code for each in tried if each.reason is not None and not each.milliseconds}
    code = next(iter(never_called), None)
    if outcomes == {Outcome.FAILED} and len(never_called) == 1 and code in _NO_SERVER:
        return _NO_SERVER[code]
    if Outcome.FAILED in outcomes:
        return Exit.FINDINGS
    return Exit.BLOCKED if Outcome.REFUSED in outcomes else Exit.OK


def print_tried(tried: Sequence[Tried]) -> None:
    """A table, what was wrong, and one line that sums up."""
    print_table(_COLUMNS, [_row(each) for each in tried])
    print_lines(line for each in tried for line in _details(each))
    print_lines(["", summary(tried)])


def _row(tried: Tried) -> tuple[str, ...]:
    took = f"{tried.milliseconds:.0f}" if tried.milliseconds else "-"
    return tried.name, tried.server, tried.tool, tried.outcome.value, took


def _details(tried: Tried) -> Iterator[str]:
    if tried.outcome is Outcome.PASSED:
        return
    yield ""
    yield f"{tried.name}: {tried.outcome}"
    if tried.reason is not None:
        yield f"  {tried.reason.text} {tried.reason.fix}".rstrip()
    for each in tried.mismatches:
        yield f"  {each.target}: expected {each.expected}"
        yield f"  {' ' * len(each.target)}  saw {each.seen}"
    if tried.activity is not None:
        yield f"  The call is {tried.activity} in the activity log."


def summary(tried: Sequence[Tried]) -> str:
    """`3 tests: 2 passed, 1 failed`."""
    counts = {outcome: sum(each.outcome is outcome for each in tried) for outcome in Outcome}
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items() if count)
    return f"{counted(len(tried), 'test')}: {told}"


def as_json(tried: Tried) -> Json:
    return {
        "name": tried.name,
        "server": tried.server,
        "tool": tried.tool,
        "outcome": tried.outcome,
        "milliseconds": round(tried.milliseconds, 1),
        "mismatches": [
            {"target": each.target, "expected": each.expected, "seen": each.seen} for each in tried.mismatches
        ],
        "reason": None if tried.reason is None else reason_as_json(tried.reason),
        "activity": tried.activity,
    }


def junit_of(suites: Sequence[tuple[str, Sequence[Tried]]]) -> str:
    """The suites as JUnit XML. What did not run is skipped there, with the reason."""
    root = ElementTree.Element("testsuites")
    for name, tried in suites:
        failed = sum(each.outcome is Outcome.FAILED for each in tried)
        skipped = sum(each.outcome in _NOT_RUN for each in tried)
        counts = {"tests": str(len(tried)), "failures": str(failed), "skipped": str(skipped), "errors": "0"}
        seconds = sum(each.milliseconds for each in tried) / 1000
        suite = ElementTree.SubElement(root, "testsuite", {"name": visible(name), **counts, "time": f"{seconds:.3f}"})
        for each in tried:
            _case(suite, name, each)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


_NOT_RUN = (Outcome.REFUSED, Outcome.SKIPPED)


def _case(suite: ElementTree.Element, name: str, tried: Tried) -> None:
    named = {"classname": visible(f"{name}.{tried.server}"), "name": visible(tried.name)}
    case = ElementTree.SubElement(suite, "testcase", {**named, "time": f"{tried.milliseconds / 1000:.3f}"})
    if tried.outcome is Outcome.PASSED:
        return
    kind = "skipped" if tried.outcome in _NOT_RUN else "failure"
    lines = [visible(line) for line in _details(tried)][2:]
    ElementTree.SubElement(case, kind, {"message": lines[0].strip()}).text = "\n".join(lines)
