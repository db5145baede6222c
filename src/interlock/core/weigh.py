"""How much work a schema of an upstream can make of one value, before anybody checks a value against it.

A validator follows references each time it meets them. Forty definitions that each name the next one twice ask it for
more steps than a lifetime has, and a definition that names itself twice asks for twice as many with each level of the
value. The time for that is the gateway's own, so it is counted first, from the schema alone: how often one place in a
value can be looked at, by how deep the value is.

Pure, and bounded itself. It refuses to guess: a reference that it cannot follow by sight weighs too much.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast
from urllib.parse import unquote

from interlock.core.model import Json

ANY_DEPTH = 1_000
"""Deeper than any value that comes in."""
NEVER = -1
MAX_LOOKS = 1_000
"""How often one place in a value may be looked at."""
_MAX_SIZE = 20_000
"""How many values, pieces of text and patterns a schema may be made of."""
_PIECE = 16
"""How many characters count as one."""
_PATTERN = 200
"""What a pattern counts, which has to be compiled."""
_MAX_STEPS = 5_000
_DEEPEST = 64

_BESIDE = ("not", "if", "then", "else")
_BESIDE_LISTS = ("allOf", "anyOf", "oneOf")
_BESIDE_MAPS = ("dependentSchemas", "dependencies")
_BELOW = ("additionalProperties", "propertyNames", "items", "additionalItems", "contains")
_LEFT_OVER = ("unevaluatedProperties", "unevaluatedItems")
"""To know what is left over, a validator looks at everything beside them a second time."""
_OUT_OF_SIGHT = ("$dynamicRef", "$recursiveRef")


class _TooMuch(Exception):
    """The schema is not worth the work."""


def depth_allowed(schema: Mapping[str, Json], within: Mapping[str, Json] | None = None) -> int:
    """How deep a value may be that is checked against this schema; NEVER when none should be.

    The references of a part mean what they mean within the whole that it was taken from.
    """
    try:
        refers = _refers(schema)
        return _Weighing(schema if within is None else within).deepest(schema) if refers else ANY_DEPTH
    except (_TooMuch, RecursionError):
        return NEVER


def is_deeper(value: Json, levels: int) -> bool:
    """Whether a value is nested deeper than this."""
    layer: list[Any] = [value]
    for _ in range(levels + 1):
        layer = [inner for each in layer for inner in _inside(each)]
        if not layer:
            return False
    return True


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, list) else ()


def _refers(schema: Mapping[str, Json]) -> bool:
    """Whether anything in a schema refers to something else; raises _TooMuch on one that is too large."""
    waiting: list[Any] = [schema]
    size, refers, rebased = 0, False, False
    while waiting:
        node = waiting.pop()
        size += 1 + (len(node) // _PIECE if isinstance(node, str) else 0)
        if isinstance(node, Mapping):
            members = cast("Mapping[str, Any]", node)
            size += sum(1 + len(key) // _PIECE for key in members) + _PATTERN * _patterns(members)
            refers = refers or "$ref" in members or any(each in members for each in _OUT_OF_SIGHT)
            rebased = rebased or (node is not schema and isinstance(members.get("$id"), str))
        if size > _MAX_SIZE:
            raise _TooMuch
        waiting.extend(_inside(node))
    if refers and (rebased or "draft-04" in str(schema.get("$schema"))):
        raise _TooMuch  # what a reference means depends on where it stands
    return refers


def _patterns(members: Mapping[str, Any]) -> int:
    named = members.get("patternProperties")
    return ("pattern" in members) + (len(cast("Mapping[str, Any]", named)) if isinstance(named, Mapping) else 0)


class _Weighing:
    """The looks that one place can cost, by part of the schema and by how many levels of the value are left."""

    def __init__(self, schema: Mapping[str, Json]) -> None:
        self._schema = schema
        self._known: dict[tuple[int, int], tuple[int, bool] | None] = {}
        """None for what is being counted: whoever meets it again goes in a circle."""
        self._steps = 0
        self._cut = False
        """Whether the value ended before the schema did."""

    def deepest(self, part: Mapping[str, Json]) -> int:
        """Up to which depth it is worth it."""
        for depth in range(_DEEPEST + 1):
            self._cut = False
            try:
                looks = self._looks(part, depth)
            except _TooMuch:
                return depth - 1
            if looks > MAX_LOOKS:
                return depth - 1
            if not self._cut:
                return ANY_DEPTH
        return ANY_DEPTH

    def _looks(self, node: Any, depth: int) -> int:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise _TooMuch
        if not isinstance(node, Mapping):
            return 1
        key = (id(cast("object", node)), depth)
        if key not in self._known:
            self._known[key] = None
            self._known[key] = self._count(cast("Mapping[str, Any]", node), depth)
        known = self._known[key]
        if known is None:
            raise _TooMuch
        looks, cut = known
        self._cut = self._cut or cut
        return looks

    def _count(self, members: Mapping[str, Any], depth: int) -> tuple[int, bool]:
        before, self._cut = self._cut, False
        again = 2 if any(each in members for each in _LEFT_OVER) else 1
        beside = sum(self._looks(each, depth) for each in self._beside(members))
        looks = 1 + again * beside + self._below(members, depth)
        cut, self._cut = self._cut, before
        return min(looks, MAX_LOOKS + 1), cut

    def _beside(self, members: Mapping[str, Any]) -> Iterator[Any]:
        """What looks at the same place."""
        if any(each in members for each in _OUT_OF_SIGHT):
            raise _TooMuch
        if "$ref" in members:
            yield self._target(members["$ref"])
        yield from (members[each] for each in _BESIDE if each in members)
        for each in (*_BESIDE_LISTS, *_BESIDE_MAPS):
            yield from _inside(members.get(each))

    def _below(self, members: Mapping[str, Any], depth: int) -> int:
        """What looks at one place below: at most one of the named ones, and perhaps all of the others."""
        named = [*_inside(members.get("properties")), *_inside(members.get("prefixItems"))]
        others = [members[each] for each in (*_BELOW, *_LEFT_OVER) if each in members]
        others.extend(_inside(members.get("patternProperties")))
        others.extend(_items(members.get("items")))
        if depth == 0:
            self._cut = self._cut or bool(named or others)
            return 0
        largest = max((self._looks(each, depth - 1) for each in named), default=0)
        return largest + sum(self._looks(each, depth - 1) for each in others)

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
            raise _TooMuch
        found: Any = self._schema
        for step in unquote(reference[1:]).split("/")[1:]:
            found = _member(found, step.replace("~1", "/").replace("~0", "~"))
        return found


def _items(items: Any) -> Iterable[Any]:
    """In old drafts there may be a schema for each place in a list."""
    return cast("list[Any]", items) if isinstance(items, list) else ()


def _member(holder: Any, name: str) -> Any:
    if isinstance(holder, Mapping):
        return cast("Mapping[str, Any]", holder).get(name)
    if isinstance(holder, list) and name.isascii() and name.isdecimal() and len(name) < 6:
        return next(iter(cast("list[Any]", holder)[int(name) :]), None)
    return None
