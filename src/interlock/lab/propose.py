"""A suite proposed from what was observed: the same call several times, and what stayed the same.

What is proposed rests on a few observations of one call with made-up arguments, and the file says so: it is for a
person to review. What may be different next time (times, ids, counters) is left out, with a comment that says where it
stands; so is whatever looks like a secret, because a suite is a file that people share.

Everything that a server wrote stands in the suite as quoted ASCII, so that it can neither end a text nor look like
something else.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from interlock.core.model import Json
from interlock.core.redact import redact
from interlock.lab.drafts import Draft, results_of
from interlock.lab.matchers import text_of
from interlock.lab.shape import Seen, observe
from interlock.lab.suite import Place

LONGEST_TEXT = 200
"""A text that is longer is described by its form and not by its words."""
_WHOLE = 2**63


def proposal(drafts: Sequence[Draft], server: str, place: Place, made: str) -> str:
    """The suite as YAML."""
    lines = (
        "# Proposed by `interlock propose` from observations; review it before you rely on it.",
        "# The arguments are made up. What changed from one observation to the next is left out.",
        f"# Made on {made}. Run it with `interlock test`.",
        "servers:",
        f"  {scalar(server)}: {flow(_members(place))}",
        "tests:",
        *(line for draft in drafts for line in _test(draft)),
    )
    return "\n".join(lines) + "\n"


def is_usable(draft: Draft) -> bool:
    """Whether enough was seen for a test."""
    return bool(draft.seen) and draft.arguments is not None and draft.is_error is not None


def _members(place: Place) -> dict[str, Any]:
    return {key: value for key, value in msgspec.structs.asdict(place).items() if value}


# Tests ----------------------------------------------------------------------------------------------------------


def _test(draft: Draft) -> Iterator[str]:
    tool = draft.tool
    if not is_usable(draft):
        yield f"  # {comment(tool)}: no test. {comment(_why(draft))}"
        return
    count = len(draft.seen)
    expected = list(_expected(draft))
    yield f"  # {count} observation{'' if count == 1 else 's'}."
    yield from (f"  # {comment(each)}" for each in _left_out(draft))
    yield f"  - name: {scalar(f'{tool} answers as observed')}"
    yield f"    tool: {scalar(tool)}"
    yield f"    args: {flow(draft.arguments)}"
    if count == 1:
        yield "    serial: true"
    yield "    expect:"
    yield from (f"      - {flow(each)}" for each in expected)


def _why(draft: Draft) -> str:
    if draft.problem is not None:
        return f"{draft.problem.text} {draft.problem.fix}".rstrip()
    return "It answered with a result and with an error in turn." if draft.seen else "It was not called."


def _expected(draft: Draft) -> Iterator[dict[str, Any]]:
    results = results_of(draft)
    if not results:
        yield {"target": "error", "matcher": "schema", "value": {"type": "object"}}
        return
    yield {"target": "isError", "matcher": "exact", "value": draft.is_error}
    text = _constant_text(results)
    if text:
        yield {"target": "text", "matcher": "exact", "value": text}
    yield {"target": "/content", "matcher": "schema", "value": _contents(results)}
    structured = _structured(results)
    if structured:
        described = observe(structured).schema(strict=not _is_secret(structured))
        yield {"target": "structured", "matcher": "schema", "value": described}


def _structured(results: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The structured contents of all answers; none unless each has one."""
    found = [each["structuredContent"] for each in results if "structuredContent" in each]
    return found if len(found) == len(results) else []


def _contents(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The kinds of the contents; what they say is dealt with by itself."""
    lists = [cast("list[Any]", each.get("content")) for each in results if isinstance(each.get("content"), list)]
    kinds = {str(cast("dict[str, Any]", part).get("type")) for each in lists for part in each if isinstance(part, dict)}
    if not kinds:
        return {"type": "array"}
    kind = {"type": "object", "required": ["type"], "properties": {"type": {"enum": sorted(kinds)}}}
    return {"type": "array", "minItems": min(1, *map(len, lists)), "items": kind}


def _is_secret(value: object) -> bool:
    return redact(cast("Json", value)) != value


def _constant_text(results: Sequence[Mapping[str, Any]]) -> str | None:
    """The text of all answers, if it is one that will be the same next time as far as can be told."""
    texts = {text_of(each) for each in results}
    seen = observe(cast("list[Json]", sorted(texts)))
    text = texts.pop()
    usable = not texts and len(results) > 1 and not seen.volatile and len(text) <= LONGEST_TEXT
    return text if usable and not _is_secret(text) else None


def _left_out(draft: Draft) -> Iterator[str]:
    results = results_of(draft)
    if results and _constant_text(results) is None and any(map(text_of, results)):
        yield "The text is left out: it is long, it changes, or one observation says too little about it."
    structured = _structured(results)
    if not structured:
        return
    if _is_secret(structured):
        yield "Values of the structured content are left out: something in them looks like a secret."
    for pointer in volatile_in(observe(structured)):
        yield f"Left out because it changes: structured{pointer}"


def volatile_in(seen: Seen, at: str = "") -> Iterator[str]:
    """Where the values stand that change, as pointers."""
    if seen.volatile:
        yield at
    for key, each in seen.keys.items():
        yield from volatile_in(each, f"{at}/{key}")
    if seen.items is not None:
        yield from volatile_in(seen.items, f"{at}/*")


# YAML -----------------------------------------------------------------------------------------------------------


def comment(text: str) -> str:
    """A text for a comment: one line of ASCII."""
    return ascii(text)[1:-1]


def scalar(text: str) -> str:
    """A text in double quotes, ASCII only. YAML knows no pairs of escapes, so one escape stands for each character."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isascii() and each != "\x7f" else _escaped(each) for each in quoted)


def _escaped(char: str) -> str:
    return f"\\U{ord(char):08X}" if ord(char) > 0xFFFF else f"\\u{ord(char):04X}"


def flow(value: Any) -> str:
    """A JSON value on one line."""
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return "{" + ", ".join(f"{scalar(key)}: {flow(each)}" for key, each in members.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, cast("list[Any]", value))) + "]"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _WHOLE:
        return json.dumps(float(value))
    return json.dumps(value)
