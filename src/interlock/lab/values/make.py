"""One value for a schema: tried, checked, and the next one tried, until one fits or nothing is left to try.

Values that the schema itself names come first: const, default, examples, enum. What is invented after that is small
and harmless. Everything is counted against an effort, so that no schema can keep the lab busy.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any, Final, cast

import msgspec
from msgspec import Struct

from interlock.lab.values.check import Check, Effort
from interlock.lab.values.merge import Merger, Plain, listed, mapped, types_of
from interlock.lab.values.number import numbers, range_of
from interlock.lab.values.pattern import NotUnderstood, matching
from interlock.lab.values.text import fitted, texts

MAX_TEXT = 64 * 1024
MAX_ITEMS = 1_000
MAX_OPTIONAL = 300
_MAX_CANDIDATES = 300
_MAX_RETRIES = 3
_PATTERN_CHANCES = 4
_TYPES = ("string", "object", "array", "integer", "number", "boolean", "null")


class Nothing:
    """No value was found."""


NOTHING: Final = Nothing()


class Place(Struct, frozen=True):
    """Where a value is made, and how: `full` levels get their optional properties too, `left` levels may follow."""

    left: int
    full: int
    turn: int
    name: str = ""
    nth: int = 0
    """Which of several that should differ, as the items of an array do."""

    def below(self, name: str) -> "Place":
        return Place(self.left - 1, max(self.full - 1, 0), self.turn, name, self.nth)

    def item(self, nth: int) -> "Place":
        return Place(self.left - 1, self.full, self.turn, self.name, self.nth + nth)


class Maker:
    """Makes values for one schema and its parts."""

    def __init__(self, check: Check, merger: Merger, effort: Effort) -> None:
        self._check = check
        self._merger = merger
        self._effort = effort
        self._failed: set[tuple[int, Place]] = set()
        self._kept: list[Any] = []

    def make(self, schema: Any, place: Place) -> Any:
        """A value that fits the schema, or NOTHING. Raises Spent."""
        self._effort.spend()
        if place.left < 0 or (id(schema), place) in self._failed:
            return NOTHING
        for plain in self._merger.plain(schema):
            for value in islice(self._candidates(plain, place), _MAX_CANDIDATES):
                if value is not NOTHING and self._check.part(schema, value):
                    return value
        self._kept.append(schema)
        self._failed.add((id(schema), place))
        return NOTHING

    def _candidates(self, plain: Plain, place: Place) -> Iterator[Any]:
        if "const" in plain:
            yield plain["const"]
            return
        if place.nth == 0:
            yield from [plain["default"]] if "default" in plain else []
            yield from listed(plain.get("examples"))[:1]
        if "enum" in plain:
            named = listed(plain["enum"])
            begin = place.nth % len(named) if named else 0
            yield from named[begin:] + named[:begin]
            return
        for kind in likely_types(plain):
            yield from self._of_type(kind, plain, place)

    def _of_type(self, kind: str, plain: Plain, place: Place) -> Iterator[Any]:
        turn = place.turn + place.nth
        if kind == "string":
            yield from self._strings(plain, place.name, turn)
        elif kind == "object":
            yield from self._objects(plain, place)
        elif kind == "array":
            yield from self._arrays(plain, place)
        elif kind in ("integer", "number"):
            yield from numbers(range_of(plain, whole=kind == "integer"), turn)
        elif kind == "boolean":
            # Off first, whatever the seed: flags such as `force` turn things on.
            yield from (place.nth % 2 == 1, place.nth % 2 == 0)
        elif kind == "null":
            yield None

    def _strings(self, plain: Plain, name: str, turn: int) -> Iterator[str]:
        shortest, longest = count_of(plain, "minLength") or 0, count_of(plain, "maxLength")
        if shortest > MAX_TEXT:
            return
        self._effort.spend(shortest // 64)
        for text in texts(name, plain.get("format"), turn):
            yield text
            yield fitted(text, shortest, longest)
        pattern = plain.get("pattern")
        if not isinstance(pattern, str):
            return
        for chance in range(_PATTERN_CHANCES):
            # Chance here has to be repeatable, not secret.
            seeded = Random(turn * _PATTERN_CHANCES + chance)  # noqa: S311
            try:
                for text in matching(pattern, seeded, length=longest or shortest, limit=4096):
                    self._effort.spend(1 + len(text) // 64)
                    yield text
            except NotUnderstood:
                continue

    def _arrays(self, plain: Plain, place: Place) -> Iterator[list[Any]]:
        least, most = count_of(plain, "minItems") or 0, count_of(plain, "maxItems")
        if least > MAX_ITEMS:
            return
        prefix, rest = tuple_parts(plain)
        needed = count_of(plain, "minContains") if "contains" in plain else 0
        needed = 1 if needed is None else needed
        wanted = max(least, len(prefix), min(needed, MAX_ITEMS), 0 if rest is False else 1)
        wanted = wanted if most is None else min(wanted, most)
        for count in dict.fromkeys((wanted, least)):
            for behind in (True, False):
                yield self._items(plain, place, count, contained_last=behind)

    def _items(self, plain: Plain, place: Place, count: int, *, contained_last: bool) -> list[Any]:
        """As many items as can be made, up to the count; those that `contains` asks for stand at one end."""
        prefix, rest = tuple_parts(plain)
        contained = count_of(plain, "minContains") or 1 if "contains" in plain else 0
        items: list[Any] = []
        seen: set[bytes] = set()
        for index in range(count):
            schema = prefix[index] if index < len(prefix) else rest
            if contained and (index >= count - contained if contained_last else index < contained):
                schema = self._keep({"allOf": [plain["contains"], schema]})
            made = self._unlike(schema, place.item(index), seen if plain.get("uniqueItems") is True else set())
            if made is NOTHING:
                break
            items.append(made)
        return items

    def _unlike(self, schema: Any, place: Place, seen: set[bytes]) -> Any:
        """A value that is not among those seen."""
        for more in range(_MAX_RETRIES):
            made = self.make(schema, place.item(more) if more else place)
            if made is NOTHING:
                return NOTHING
            key = msgspec.json.encode(made)
            if key not in seen:
                seen.add(key)
                return made
        return NOTHING

    def _objects(self, plain: Plain, place: Place) -> Iterator[Any]:
        for more in range(_MAX_RETRIES):
            shifted = place if more == 0 else Place(place.left, place.full, place.turn + more, place.name, place.nth)
            least = self._with(plain, shifted, {}, listed(plain.get("required")))
            if least is NOTHING:
                return
            least = self._widened(plain, shifted, least)
            if place.full:
                yield from self._filled(plain, shifted, least)
            yield least

    def _filled(self, plain: Plain, place: Place, least: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The object with its optional properties: with all of them, else with as many as fit together."""
        full = dict(least)
        for name in islice(mapped(plain.get("properties")), MAX_OPTIONAL):
            wider = self._with(plain, place, full, [name])
            full = full if wider is NOTHING else wider
        yield full
        some = dict(least)
        for name in full:
            wider = self._with(plain, place, some, [name])
            if wider is not NOTHING and self._check.part(plain, wider):
                some = wider
        yield some

    def _with(self, plain: Plain, place: Place, have: dict[str, Any], names: list[Any]) -> Any:
        """The object with these properties, and with what they ask to have beside them."""
        grown, waiting = dict(have), list(names)
        while waiting:
            name = waiting.pop(0)
            if not isinstance(name, str) or name in grown:
                continue
            made = self.make(self._property(plain, name), place.below(name))
            if made is NOTHING:
                return NOTHING
            grown[name] = made
            for keyword in ("dependentRequired", "dependencies"):
                waiting.extend(listed(mapped(plain.get(keyword)).get(name)))
        return grown

    def _widened(self, plain: Plain, place: Place, least: dict[str, Any]) -> dict[str, Any]:
        """The object with as many more properties as `minProperties` asks for."""
        wanted = count_of(plain, "minProperties") or 0
        if wanted > MAX_ITEMS or len(least) >= wanted:
            return least
        for name in [*mapped(plain.get("properties")), *self._names(plain, place, wanted)]:
            wider = self._with(plain, place, least, [name])
            least = least if wider is NOTHING else wider
            if len(least) >= wanted:
                break
        return least

    def _names(self, plain: Plain, place: Place, count: int) -> Iterator[str]:
        """Names for further properties."""
        asked: list[Any] = [plain["propertyNames"]] if "propertyNames" in plain else []
        asked += [{"pattern": pattern} for pattern in mapped(plain.get("patternProperties"))]
        for schema in [self._keep({"allOf": [each, {"type": "string"}]}) for each in asked]:
            yield from (name for nth in range(count) if isinstance(name := self.make(schema, place.item(nth)), str))
        yield from (f"interlock{nth}" for nth in range(count))

    def _property(self, plain: Plain, name: str) -> Any:
        """The schema of a property: its own and that of every pattern its name matches, or else the one for others."""
        asked = [each for key, each in mapped(plain.get("properties")).items() if key == name]
        for pattern, schema in mapped(plain.get("patternProperties")).items():
            if self._check.part(self._keep({"pattern": pattern}), name):
                asked.append(schema)
        if not asked:
            return plain.get("additionalProperties", True)
        return asked[0] if len(asked) == 1 else self._keep({"allOf": asked})

    def _keep(self, schema: Any) -> Any:
        """A schema made up here lives as long as what is remembered about its id."""
        self._kept.append(schema)
        return schema


def count_of(plain: Mapping[str, Any], keyword: str) -> int | None:
    """A keyword that counts; None when it is absent or no count. Schemas may write 2.0."""
    value = plain.get(keyword)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 10**12:
        return None if not isinstance(value, int) or isinstance(value, bool) or value < 0 else 10**12
    return int(value)


def tuple_parts(plain: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """The schemas of the first items, one by one, and the schema of the rest; in the newer or the older words."""
    items = plain.get("items", True)
    if isinstance(items, list):
        return listed(cast(Any, items)), plain.get("additionalItems", True)
    return listed(plain.get("prefixItems")), items


_TELLING = (
    ("object", ("properties", "required", "additionalProperties", "patternProperties", "minProperties")),
    ("array", ("items", "prefixItems", "contains", "minItems", "uniqueItems")),
    ("string", ("pattern", "minLength", "maxLength", "format")),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
)
"""Keywords that tell which type is meant where none is named."""


def likely_types(plain: Mapping[str, Any]) -> list[str]:
    """The types to try, the likeliest first; null comes last, for it says least."""
    named = types_of(plain.get("type")) if "type" in plain else []
    if not named:
        told = [kind for kind, keywords in _TELLING if any(each in plain for each in keywords)]
        named = [*told, *(kind for kind in _TYPES if kind not in told)]
    return sorted(named, key=lambda kind: kind == "null")
