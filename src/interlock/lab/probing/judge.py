"""What the calls of one tool say about it.

Pure: calls go in, findings come out, so that each kind of finding is tested without a server. Whatever a server wrote
is put into evidence cut short and without secrets, as text of a stranger.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from interlock.core.model import Json
from interlock.core.redact import redact, redact_text
from interlock.core.schemas import Checker, compiled
from interlock.lab.model import Finding, LabTool, Observed, Severity
from interlock.lab.probing import findings as kinds
from interlock.lab.probing.stability import Sameness, compared
from interlock.lab.report.figures import percentile
from interlock.lab.run import outcome_of
from interlock.lab.scan.kinds import Kind

SLOW = 1000.0
LARGE = 1_000_000
SHOWN = 400
"""How many characters of an argument or of an answer are shown."""
MOST_NAMED = 5
FATAL = {"crash": kinds.CRASH, "hang": kinds.HANG, "protocol": kinds.PROTOCOL}
"""The outcomes after which a tool is not called again."""
FEWEST_TOOLS = 3
"""How many tools have to fail before the server as a whole is said to."""
_ERRORS = ("tool-error", "rpc-error")
_ABSENT = (
    "outside",
    "not found",
    "does not exist",
    "no such",
    "not exist",
    "unknown",
    "enoent",
    "cannot find",
    "doesn't exist",
)
"""Words by which a server says that a made-up name or path is not there, or out of its reach, which it has every right
to."""


class Tried(Struct, frozen=True):
    """One call: why it was made, and what came of it. `about` says which keyword is at its edge, or broken, and
    `stray` how many lines that are no messages the server wrote while nothing else was tried."""

    kind: str
    observed: Observed
    about: str = ""
    stray: int = 0

    @property
    def outcome(self) -> str:
        return outcome_of(self.observed)


def judged(tool: LabTool, tried: Sequence[Tried]) -> list[Finding]:
    """The findings about a tool from its calls."""
    return [finding for look in _LOOKS for finding in look(tool, tried)]


def _fatal(tool: LabTool, tried: Sequence[Tried]) -> Iterator[Finding]:
    for outcome, kind in FATAL.items():
        struck = [each for each in tried if each.outcome == outcome]
        if struck:
            yield _about(kind, tool, struck[0])
    malformed = next((each for each in tried if _malformed(each.observed.result)), None)
    if malformed is not None:
        problem = _malformed(malformed.observed.result) or ""
        yield _about(kinds.PROTOCOL, tool, malformed, problem=problem)


def _malformed(result: Mapping[str, Any] | None) -> str | None:
    """What is wrong with the form of a result; None when nothing is."""
    if result is None or result.get("resultType", "complete") != "complete":
        return None
    content: object = result.get("content")
    if not isinstance(content, list):
        return "content is missing or no list"
    for block in cast("list[object]", content):
        if not isinstance(block, Mapping) or not isinstance(cast("Mapping[str, object]", block).get("type"), str):
            return "a member of content has no type"
    return None if isinstance(result.get("isError", False), bool) else "isError is neither true nor false"


def _outputs(tool: LabTool, tried: Sequence[Tried]) -> Iterator[Finding]:
    checker = compiled(tool.descriptor.get("outputSchema"))
    if checker is None:
        return
    for each in tried:
        problem = _unfit(checker, each)
        if problem is not None:
            yield _about(kinds.OUTPUT_SCHEMA, tool, each, problem=problem)
            return


def _unfit(checker: Checker, tried: Tried) -> str | None:
    result = tried.observed.result
    if result is None or tried.outcome != "ok":
        return None
    if "structuredContent" not in result:
        return "structuredContent is missing"
    error = checker.first_error(result["structuredContent"])
    if error is None:
        return None
    place = "".join(f"/{step}" for step in error.instance_path)
    return _cut(redact_text(f"{place or 'structuredContent'}: {error.message}"))


def _errors(tool: LabTool, tried: Sequence[Tried]) -> Iterator[Finding]:
    failed = [each for each in tried if each.kind == "valid" and each.outcome in _ERRORS]
    if failed:
        severity = Severity.INFO if _is_absence(failed[0]) else None
        yield _about(kinds.ERROR_ON_VALID, tool, failed[0], severity=severity)


def _accepted(tool: LabTool, tried: Sequence[Tried]) -> Iterator[Finding]:
    taken = [each for each in tried if each.kind == "invalid" and each.outcome == "ok"]
    if taken:
        broken = [each.about[:SHOWN] for each in taken[:MOST_NAMED]]
        finding = _about(kinds.ACCEPTS_INVALID, tool, taken[0])
        yield kinds.ACCEPTS_INVALID.found(tool.name, **finding.evidence, broken=broken, times=str(len(taken)))


def _stability(tool: LabTool, tried: Sequence[Tried]) -> Iterator[Finding]:
    again = next((each for each in tried if each.kind == "again"), None)
    if again is None:
        return
    first = next(each for each in tried if each.observed.arguments == again.observed.arguments)
    one, other = first.observed, again.observed
    if one.refusal is not None or other.refusal is not None:
        return
    sameness = compared(one.result or one.error, other.result or other.error)
    if sameness is not Sameness.SAME:
        kind = kinds.VOLATILE if sameness is Sameness.VOLATILE else kinds.UNSTABLE
        yield kind.found(tool.name, arguments=shown(one.arguments), first=_said(one), second=_said(other))


def _sizes(tool: LabTool, tried: Sequence[Tried]) -> Iterator[Finding]:
    largest = max(tried, key=lambda each: each.observed.size, default=None)
    if largest is not None and largest.observed.size > LARGE:
        evidence = {"arguments": shown(largest.observed.arguments), "bytes": str(largest.observed.size)}
        yield kinds.OVERSIZE.found(tool.name, **evidence)


def _times(tool: LabTool, tried: Sequence[Tried]) -> Iterator[Finding]:
    times = [each.observed.milliseconds for each in tried if each.outcome in ("ok", "tool-error", "rpc-error")]
    p95 = percentile(times, 95)
    if len(times) > 1 and p95 is not None and p95 > SLOW:
        yield kinds.SLOW.found(tool.name, p95=f"{p95:.0f} ms", calls=str(len(times)))


_LOOKS = (_fatal, _outputs, _errors, _accepted, _stability, _sizes, _times)


def _about(kind: Kind, tool: LabTool, tried: Tried, *, severity: Severity | None = None, problem: str = "") -> Finding:
    """A finding with the call that shows it."""
    evidence = {"arguments": shown(tried.observed.arguments), "kind": tried.kind, "answer": _said(tried.observed)}
    stray = f"{tried.stray} meanwhile, on its stdout" if tried.stray else ""
    activity = tried.observed.activity or ""
    more = {"about": tried.about[:SHOWN], "problem": problem, "stray_lines": stray, "activity": activity}
    return kind.found(tool.name, severity, **evidence, **{name: text for name, text in more.items() if text})


def nothing_works(tried: Mapping[str, Sequence[Tried]]) -> Iterator[Finding]:
    """What is to be said if nothing of several tools works. A call that never reached the server says nothing."""
    answered = {tool: [each for each in calls if each.outcome != "refused"] for tool, calls in tried.items()}
    called = {tool: calls for tool, calls in answered.items() if calls}
    calls = [each for made in called.values() for each in made]
    if len(called) < FEWEST_TOOLS or any(each.outcome == "ok" for each in calls):
        return
    # A server may hold nothing yet, and rightly say so of every made-up name.
    absent = all(any(_is_absence(each) for each in made) for made in called.values())
    answers = [f"{tool}: {_said(made[0].observed)}" for tool, made in list(called.items())[:MOST_NAMED]]
    evidence = {"tools": str(len(called)), "calls": str(len(calls)), "answers": answers}
    yield kinds.NOTHING_WORKS.found(None, Severity.LOW if absent else None, **evidence)


def _is_absence(tried: Tried) -> bool:
    """Whether an error says that something which was made up is not there."""
    said = _said(tried.observed).lower()
    return tried.outcome in _ERRORS and any(word in said for word in _ABSENT)


def shown(value: Any) -> str:
    """A value as evidence shows it: as JSON, without secrets, cut short."""
    return _cut(json.dumps(redact(cast("Json", value)), ensure_ascii=False))


def _cut(text: str) -> str:
    """A text that can be written to a file, and that nobody minds reading."""
    whole = text[:SHOWN].encode("utf-8", "replace").decode()  # half a character becomes a question mark
    return whole if len(text) <= SHOWN else f"{whole}…"


def _said(observed: Observed) -> str:
    """What came back, in a few words."""
    if observed.refusal is not None:
        return _cut(redact_text(observed.refusal.text))
    if observed.error is not None:
        return _cut(redact_text(f"{observed.error.get('message')} ({observed.error.get('code')})"))
    content: object = (observed.result or {}).get("content")
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    texts = [cast("Mapping[str, object]", each).get("text") for each in blocks if isinstance(each, Mapping)]
    said = "\n".join(each for each in texts if isinstance(each, str))
    return _cut(redact_text(said)) if said else shown(observed.result)
