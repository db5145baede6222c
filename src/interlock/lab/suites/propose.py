"""A suite proposed from what was observed: the same call several times, and what stayed the same.

What is proposed rests on a few observations of one call with made-up arguments, and the file says so: it is for a
person to review. What may be different next time (times, ids, counters) is left out, with a comment that says where it
stands; so is whatever looks like a secret, because a suite is a file that people share.

Everything that a server wrote stands in the suite as quoted ASCII, so that it can neither end a text nor look like
something else.
"""

import json
import re
from calendar import day_name, month_name
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from interlock.core.model import Json
from interlock.core.redact import redact
from interlock.lab.suites.drafts import Draft, results_of
from interlock.lab.suites.matchers import text_of
from interlock.lab.suites.shape import Seen, observe
from interlock.lab.suites.suite import Place

LONGEST_TEXT = 200
"""A text that is longer is described by its form and not by its words."""
ROOM = 10
"""How many times the range that was seen a number may be off."""
_WHOLE = 2**63
_CALENDAR = (*day_name, *month_name[1:])
_WORDS = re.compile(r"[^\s\"',;()\[\]{}<>=]+")
_DATES = frozenset({"date", "date-time", "time"})


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
    return bool(draft.seen) and draft.arguments is not None


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
    return "It was not called." if draft.problem is None else f"{draft.problem.text} {draft.problem.fix}".rstrip()


def _expected(draft: Draft) -> Iterator[dict[str, Any]]:
    results = results_of(draft)
    if not results:
        yield {"target": "error", "matcher": "schema", "value": {"type": "object"}}
        return
    if len(results) == 1 or draft.is_error is None:
        # What was done once may be refused the second time, and rightly so: it is done already.
        yield {"target": "isError", "matcher": "schema", "value": {"type": "boolean"}}
        return
    yield {"target": "isError", "matcher": "exact", "value": draft.is_error}
    text = _constant_text(results)
    if text:
        yield {"target": "text", "matcher": "exact", "value": text}
    yield {"target": "/content", "matcher": "schema", "value": _contents(results)}
    structured = _structured(results)
    if structured:
        yield {"target": "structured", "matcher": "schema", "value": _described(structured)}


def _described(values: list[Json]) -> dict[str, Any]:
    return settled(observe(values).schema(strict=not _is_secret(values)))


def settled(schema: dict[str, Any]) -> dict[str, Any]:
    """What a few observations allow to say: a list is as long as there is something to list, a number that varied will
    vary further than it did, and a day has another name tomorrow."""
    if schema.get("const") in _CALENDAR:
        return {"type": "string"}
    made = {key: value for key, value in schema.items() if key not in ("minItems", "maxItems")}
    if "minimum" in made and "maximum" in made:
        low, high = made["minimum"], made["maximum"]
        room = (high - low) * ROOM
        made |= {"minimum": max(low - room, 0) if low >= 0 else low - room, "maximum": high + room}
    if "properties" in made:
        made["properties"] = {key: settled(each) for key, each in made["properties"].items()}
    if "items" in made:
        made["items"] = settled(made["items"])
    return made


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
    text = texts.pop()
    usable = not texts and len(results) > 1 and len(text) <= LONGEST_TEXT
    return text if usable and not _is_secret(text) and not _has_volatile_words(text) else None


def _has_volatile_words(text: str) -> bool:
    """Whether a time, an id or the like stands in a text. In prose a date is most often that of today."""
    words = (observe([word.rstrip(".:")]) for word in _WORDS.findall(text))
    return any(each.volatile or each.format in _DATES for each in words)


def _left_out(draft: Draft) -> Iterator[str]:
    results = results_of(draft)
    if draft.problem is not None:
        yield f"It was not observed to the end: {draft.problem.text}"
    if draft.is_error is None:
        yield "It succeeded and failed in turn, so nothing is said about that."
        return
    if len(results) == 1:
        yield "That says too little about what has to come of it the next time; say it here."
        return
    if results and _constant_text(results) is None and any(map(text_of, results)):
        yield "The text is left out: it is long, or it changes."
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
