"""The shape of answers that were seen: what stayed the same, what varied and how, and what changes with every call.

From several observations of one value comes a small JSON Schema that all of them fit: strict, with the constants and
bounds that were seen, or loose, with types and keys only. What looks like a time, an id, a hash or a counter is marked
as volatile, because a test that pins it fails the next day. Nothing is invented: a shape never forbids what was seen,
and it says nothing about what was not. Answers come from strangers, so depth, width and texts are bounded.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, cast

import jsonschema_rs
from msgspec import UNSET, Struct

from interlock.core.words import word_set, words_of

MAX_DEPTH = 12
MAX_KEYS = 100
MAX_TEXT = 1_000
"""Longer texts are not looked into, and never a constant."""

_CLOCK = r"\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?"
_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("date-time", re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}T{_CLOCK}(?:Z|[+-]\d{{2}}:\d{{2}})")),
    ("timestamp", re.compile(rf"\d{{4}}-\d{{2}}-\d{{2}}[T ]{_CLOCK}(?: ?(?:Z|UTC|[+-]\d{{2}}:?\d{{2}}))?")),
    ("date", re.compile(r"\d{4}-\d{2}-\d{2}")),
    ("time", re.compile(rf"{_CLOCK}(?:Z|[+-]\d{{2}}:\d{{2}})")),
    ("clock", re.compile(_CLOCK)),
    ("uuid", re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")),
    ("hash", re.compile(r"(?:sha\d{1,3}[:-])?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})")),
    ("ulid", re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")),
    ("duration", re.compile(r"P(?=[\dT])(?:\d{1,9}[YMWD]){0,4}(?:T(?:\d{1,9}[HMS]){1,3})?")),
    ("elapsed", re.compile(r"\d{1,9}(?:\.\d{1,9})? ?(?:ns|us|µs|ms|s|sec|seconds|min|minutes|h|hours)")),
    ("uri", re.compile(r"https?://[^\s]{1,900}")),
    ("email", re.compile(r"[^@\s]{1,100}@[^@\s]{1,100}\.[A-Za-z]{2,20}")),
)
"""What texts look like. Every pattern is bounded, so no text makes the engine work long."""

_STANDARD = {
    name: jsonschema_rs.validator_for({"format": name}, validate_formats=True)
    for name in ("date-time", "date", "time", "uuid", "duration", "uri", "email")
}
"""Formats that JSON Schema knows; the other names are ours, and are in no schema."""

_VOLATILE = frozenset(
    ("date-time", "timestamp", "date", "time", "clock", "uuid", "hash", "ulid", "duration", "elapsed")
)
_VOLATILE_NAMES = word_set("duration elapsed took latency uptime timestamp ms millis milliseconds nanos pid")
"""Words of a key under which a number changes from call to call."""

_EPOCHS = ((10**9, 4 * 10**9), (10**12, 4 * 10**12))
"""Seconds and milliseconds since 1970, from 2001 to 2096: numbers that are most likely a time."""


class Seen(Struct, frozen=True):
    """What was seen at one place, over all observations."""

    types: tuple[str, ...] = ()
    constant: Any = UNSET
    """The value, if it was the same each time and is no object or array; UNSET otherwise."""
    minimum: int | float | None = None
    maximum: int | float | None = None
    """The smallest and the largest number."""
    shortest: int | None = None
    longest: int | None = None
    """The lengths of texts, or else of arrays."""
    format: str | None = None
    volatile: bool = False
    """Whether the value is of a kind that changes from call to call: a time, an id, a hash, a counter."""
    keys: dict[str, "Seen"] = {}
    required: tuple[str, ...] = ()
    """The keys that every object had."""
    items: "Seen | None" = None

    @property
    def is_constant(self) -> bool:
        return self.constant is not UNSET

    def schema(self, strict: bool) -> dict[str, Any]:
        """A JSON Schema that everything seen fits. Strict: with constants, formats and, for arrays, lengths."""
        if strict and self.is_constant and not self.volatile:
            return {"const": self.constant}
        schema: dict[str, Any] = {}
        if self.types:
            schema["type"] = self.types[0] if len(self.types) == 1 else list(self.types)
        if strict and self.format in _STANDARD and self.types == ("string",):
            schema["format"] = self.format
        if "object" in self.types and self.keys:
            schema["properties"] = {key: seen.schema(strict) for key, seen in self.keys.items()}
            schema["required"] = list(self.required)
        if "array" in self.types and self.items is not None:
            schema["items"] = self.items.schema(strict)
        if strict and not self.volatile:
            schema |= self._bounds()
        return schema

    def _bounds(self) -> dict[str, Any]:
        names = {"minimum": self.minimum, "maximum": self.maximum}
        if self.types == ("array",):
            names |= {"minItems": self.shortest, "maxItems": self.longest}
        return {name: bound for name, bound in names.items() if bound is not None}


def observe(values: Sequence[Any]) -> Seen:
    """What several observations of one value, in the order in which they were made, have in common."""
    return _seen(list(values), _Where())


def shape_of(values: Sequence[Any], *, strict: bool = False) -> dict[str, Any]:
    """A JSON Schema that all of the values fit."""
    return observe(values).schema(strict)


class _Where(Struct, frozen=True):
    """How deep a place is, under which key, and whether its values came one after the other in time."""

    depth: int = 0
    name: str = ""
    in_order: bool = True


def _seen(values: list[Any], where: _Where) -> Seen:
    if not values or where.depth > MAX_DEPTH:
        return Seen()
    texts = [each for each in values if isinstance(each, str)]
    numbers = [each for each in values if isinstance(each, int | float) and not isinstance(each, bool)]
    objects = [cast(Mapping[str, Any], each) for each in values if isinstance(each, Mapping)]
    arrays = [cast(Sequence[Any], each) for each in values if isinstance(each, list | tuple)]
    keys = _keys(objects, where)
    form = _format(texts) if len(texts) == len(values) else None
    return Seen(
        types=_types(values),
        constant=UNSET if objects or arrays else _constant(values),
        minimum=min(numbers, default=None),
        maximum=max(numbers, default=None),
        shortest=min(map(len, arrays or texts), default=None),
        longest=max(map(len, arrays or texts), default=None),
        format=form,
        volatile=form in _VOLATILE or (len(numbers) == len(values) and _is_volatile(numbers, where)),
        keys=keys,
        required=tuple(key for key in keys if all(key in each for each in objects)),
        items=_items(arrays, where),
    )


def _keys(objects: list[Mapping[str, Any]], where: _Where) -> dict[str, Seen]:
    """Each key with what was seen under it, in the order of their first appearance."""
    names = list(dict.fromkeys(key for each in objects for key in each))[:MAX_KEYS]
    return {
        name: _seen([each[name] for each in objects if name in each], _Where(where.depth + 1, name, where.in_order))
        for name in names
    }


def _items(arrays: list[Sequence[Any]], where: _Where) -> Seen | None:
    """What the items of all arrays have in common; None when there was no item."""
    items = [item for each in arrays for item in each]
    # Items follow one another within an answer, so their order says nothing about time.
    return _seen(items, _Where(where.depth + 1, where.name, in_order=False)) if items else None


def _types(values: list[Any]) -> tuple[str, ...]:
    found = list(dict.fromkeys(type_of(each) for each in values))
    if "number" in found:
        found = [each for each in found if each != "integer"]
    return tuple(found)


def type_of(value: Any) -> str:
    """The JSON Schema type of a value."""
    if value is None:
        return "null"
    return next((name for kind, name in _TYPES if isinstance(value, kind)), "object")


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (tuple, "array"),
)


def _constant(values: list[Any]) -> Any:
    first = values[0]
    if isinstance(first, str) and len(first) > MAX_TEXT:
        return UNSET
    # One and True are equal to Python, and different in JSON.
    same = all(type(each) is type(first) and each == first for each in values)
    return first if same else UNSET


def _format(texts: list[str]) -> str | None:
    """The format that all texts have."""
    if any(len(each) > MAX_TEXT for each in texts):
        return None
    return next((name for name, pattern in _PATTERNS if all(_has_format(name, pattern, each) for each in texts)), None)


def _has_format(name: str, pattern: re.Pattern[str], text: str) -> bool:
    """Whether a text looks like a format and, where a schema could say so, a validator would agree."""
    return pattern.fullmatch(text) is not None and (name not in _STANDARD or _STANDARD[name].is_valid(text))


def _is_volatile(numbers: list[int | float], where: _Where) -> bool:
    """Whether numbers are times, stand under a key that says so, or grew from each observation to the next."""
    if not _VOLATILE_NAMES.isdisjoint(words_of(where.name[:MAX_TEXT])):
        return True
    if any(all(low <= each < high for each in numbers) for low, high in _EPOCHS):
        return True
    return where.in_order and len(numbers) > 1 and all(one < following for one, following in pairwise(numbers))
