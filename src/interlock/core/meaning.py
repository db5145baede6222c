"""What a changed definition means: which parameters came, what is no longer checked, which promise was turned around.

A list of fields that differ is exact, and hard to read. This says the same in sentences with a grade, the gravest
first, for what a reviewer has to see: it widens what a tool takes, takes back what it promised, or speaks to the
model now.

It explains and decides nothing: a change without a sentence here is a change all the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct

from interlock.core.canonical import canonical_text
from interlock.core.hidden import visible
from interlock.core.model import Json, JsonObject
from interlock.core.poison.scan import scan
from interlock.core.poison.signs import SENTENCES

MOST = 60
"""How many sentences one difference has."""
_DEEPEST, _NAME = 8, 80
_BOUNDS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern"),
    *("format", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties", "const"),
)
_HINTS = {
    "readOnlyHint": ("it only reads", True),
    "destructiveHint": ("it destroys something", False),
    "idempotentHint": ("calling it again changes nothing more", True),
    "openWorldHint": ("it reaches outside systems", False),
}
"""What each hint says when it is true, and whether taking that back is the grave direction."""


class Grade(StrEnum):
    """How grave a change is, the gravest first."""

    GRAVE = "grave"
    NOTABLE = "notable"
    PLAIN = "plain"


class Meaning(Struct, frozen=True):
    """One sentence about a change. `path` is a JSON pointer to what it is about."""

    grade: Grade
    path: str
    text: str


def meanings(before: JsonObject, after: JsonObject) -> tuple[Meaning, ...]:
    """What changed between two definitions, in sentences, the gravest first."""
    found = [*_signs(before, after), *_hints(before, after), *_input(before, after), *_texts(before, after)]
    grades = list(Grade)
    return tuple(sorted(found, key=lambda each: grades.index(each.grade))[:MOST])


def _signs(before: JsonObject, after: JsonObject) -> Iterator[Meaning]:
    """Signs of poison that were not there before."""
    known = {(each.code, each.where) for each in scan(before)}
    for each in scan(after):
        if (each.code, each.where) not in known:
            grade = Grade.GRAVE if each.hard else Grade.NOTABLE
            yield Meaning(grade, each.where, f"Now {SENTENCES[each.code]}.")


def _hints(before: JsonObject, after: JsonObject) -> Iterator[Meaning]:
    old, new = _object(before.get("annotations")), _object(after.get("annotations"))
    for hint, (says, lowers) in _HINTS.items():
        was, is_now = old.get(hint), new.get(hint)
        if canonical_text(was) == canonical_text(is_now):
            continue
        grave = was is True if lowers else is_now is True
        told = "It says now" if is_now is True else "It does not say"
        values = f"{hint} was {_member(old, hint)} and is {_member(new, hint)}"
        yield Meaning(
            Grade.GRAVE if grave else Grade.NOTABLE,
            f"/annotations/{hint}",
            f"{told} that {says}: {visible(values[:200])}.",
        )


def _member(annotations: JsonObject, hint: str) -> str:
    return canonical_text(annotations[hint]) if hint in annotations else "missing"


def _texts(before: JsonObject, after: JsonObject) -> Iterator[Meaning]:
    for field, what in (
        ("description", "Its description"),
        ("title", "Its title"),
        ("outputSchema", "What it returns"),
    ):
        if canonical_text(before.get(field)) != canonical_text(after.get(field)):
            grade = Grade.NOTABLE if field == "description" else Grade.PLAIN
            yield Meaning(grade, f"/{field}", f"{what} is described in other words.")


def _input(before: JsonObject, after: JsonObject) -> Iterator[Meaning]:
    yield from _schema("/inputSchema", _object(before.get("inputSchema")), _object(after.get("inputSchema")), "", 0)


# Schemas --------------------------------------------------------------------------------------------------------


def _schema(path: str, old: JsonObject, new: JsonObject, name: str, depth: int) -> Iterator[Meaning]:
    """What changed in a schema and below it; `name` is that of the parameter that it describes, empty for the whole."""
    if depth > _DEEPEST:
        return
    if name:
        yield from _value(path, old, new, name)
    if old.get("additionalProperties") is False and new.get("additionalProperties") is not False:
        where = f"Parameter '{name}'" if name else "It"
        yield Meaning(Grade.NOTABLE, f"{path}/additionalProperties", f"{where} takes members that it does not name.")
    yield from _members(path, old, new, name, depth)
    if "items" in old and "items" in new:
        items = f"{name}[]"
        yield from _schema(f"{path}/items", _object(old["items"]), _object(new["items"]), items, depth + 1)


def _members(path: str, old: JsonObject, new: JsonObject, name: str, depth: int) -> Iterator[Meaning]:
    olds, news = _object(old.get("properties")), _object(new.get("properties"))
    were, are = _names(old.get("required")), _names(new.get("required"))
    for key in (*news, *(each for each in olds if each not in news)):
        inner, place = f"{name}.{key}" if name else key, f"{path}/properties/{_escaped(key)}"
        shown = visible(inner[:_NAME])
        if key not in olds:
            needed = ", and requires it" if key in are else ""
            yield Meaning(
                Grade.GRAVE if needed else Grade.NOTABLE, place, f"It takes a new parameter '{shown}'{needed}."
            )
        elif key not in news:
            yield Meaning(Grade.NOTABLE, place, f"It no longer takes the parameter '{shown}'.")
        else:
            if (key in are) != (key in were):
                told = "requires" if key in are else "no longer requires"
                yield Meaning(Grade.NOTABLE, place, f"It {told} the parameter '{shown}'.")
            yield from _schema(place, _object(olds[key]), _object(news[key]), inner, depth + 1)


def _value(path: str, old: JsonObject, new: JsonObject, name: str) -> Iterator[Meaning]:
    """What changed in the values that one parameter takes."""
    shown = f"Parameter '{visible(name[:_NAME])}'"
    were, are = _names(old.get("type")), _names(new.get("type"))
    if were and (not are or were < are):
        yield Meaning(Grade.NOTABLE, f"{path}/type", f"{shown} takes values of more types.")
    elif were != are:
        yield Meaning(Grade.NOTABLE, f"{path}/type", f"{shown} takes values of another type.")
    if "enum" in old:
        yield from _choices(path, old, new, shown)
    gone = [each for each in _BOUNDS if each in old and each not in new]
    if gone:
        yield Meaning(Grade.NOTABLE, path, f"{shown} is no longer bounded by {', '.join(gone)}.")
    if canonical_text(old.get("default")) != canonical_text(new.get("default")):
        yield Meaning(Grade.NOTABLE, f"{path}/default", f"{shown} has another default.")
    if canonical_text(old.get("description")) != canonical_text(new.get("description")):
        yield Meaning(Grade.PLAIN, f"{path}/description", f"{shown} is described in other words.")


def _choices(path: str, old: JsonObject, new: JsonObject, shown: str) -> Iterator[Meaning]:
    if "enum" not in new:
        yield Meaning(Grade.NOTABLE, f"{path}/enum", f"{shown} takes any value, and not only those of a list.")
        return
    were = {canonical_text(each) for each in _list(old["enum"])}
    more = [text for each in _list(new["enum"]) if (text := canonical_text(each)) not in were]
    if more:
        named = visible(", ".join(more)[:_NAME])
        yield Meaning(Grade.NOTABLE, f"{path}/enum", f"{shown} takes more values: {named}.")


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, Mapping) else {}


def _list(value: Json) -> Sequence[Json]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _names(value: Json) -> frozenset[str]:
    """The names in a list, or the one that stands without one."""
    return (
        frozenset({value})
        if isinstance(value, str)
        else frozenset(each for each in _list(value) if isinstance(each, str))
    )


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
