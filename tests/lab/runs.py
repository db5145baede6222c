"""Runs for the tests of reports: one with a bit of everything, and one in which every text is somebody else's."""

from msgspec.structs import replace

from interlock.lab.model import Finding, Severity
from interlock.lab.run import NOTHING_CLEANED_UP, Called, Knobs, Run, ShownPlan

PLAN = [
    ShownPlan("echo", "ReadOnly", "Execute"),
    ShownPlan("frobnicate", "ReadOnlyPresumed", "Execute", presumed_but_held=True),
    ShownPlan("write_note", "Mutating", "ExecuteOnce"),
    ShownPlan("delete_note", "Destructive", "Refuse", "It is destructive. Add --execute-destructive."),
]
CALLS = [
    *(Called("echo", "valid", "ok", float(each), 40, f"act-{each}", {"text": "a"}) for each in range(1, 21)),
    Called("echo", "invalid", "rpc-error", 2.0),
    Called("frobnicate", "valid", "hang", 10_000.0),
    Called("frobnicate", "valid", "refused", 0.1),
    Called("write_note", "valid", "tool-error", 12.4),
]
FINDINGS = [
    Finding("slow-answer", Severity.LOW, "It took long.", "echo", "Answer sooner.", {"milliseconds": 812}),
    Finding("hang", Severity.HIGH, "It gave no answer.", "frobnicate", "Answer each request.", {"seconds": 10}),
    Finding("no-version", Severity.INFO, "The server does not say its version."),
    Finding("bad-result", Severity.MEDIUM, "The result has no content.", "write_note", "Send content.", {"result": {}}),
]


def a_run() -> Run:
    """A probe that found something of each severity."""
    return Run(
        id="run-1",
        verb="probe",
        target="notes",
        server={"name": "notes-server", "version": "1.2", "protocol": "2025-11-25"},
        began="2026-11-15T09:30:00.000Z",
        seconds=12.25,
        ended="complete",
        knobs=Knobs(),
        plan=list(PLAN),
        calls=list(CALLS),
        findings=list(FINDINGS),
        notes=[NOTHING_CLEANED_UP],
    )


def a_run_that_says(text: str) -> Run:
    """A run in which a stranger's text stands wherever there is room for one."""
    finding = Finding(text, Severity.HIGH, text, text, text, {text: text, "more": {text: [text]}, "server": text})
    call = Called(text, text, text, 1.0, 1, text, {text: text})
    return Run(
        id=text,
        verb=text,
        target=text,
        server={"name": text, "version": text, "protocol": text},
        began=text,
        seconds=0.0,
        ended=text,
        knobs=Knobs(),
        plan=[ShownPlan(text, text, text, text, presumed_but_held=True)],
        calls=[call, replace(call, outcome="ok")],
        findings=[finding, replace(finding, tool=None, severity=Severity.INFO)],
        notes=[text],
    )
