"""The edges of a schema, tried one at a time on arguments that fit: just inside a bound, and just outside of it.

Each edge says on which side it is meant to be. Whoever asks checks that it is, and drops it otherwise, so a guess here
may be wrong but never does harm. One place is changed at a time, so that an answer says which keyword it is about.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, cast

from msgspec import Struct

from interlock.lab.values.check import Check, Effort
from interlock.lab.values.make import count_of, likely_types, tuple_parts
from interlock.lab.values.merge import Merger, Plain, listed, mapped
from interlock.lab.values.number import ends, range_of, shown
from interlock.lab.values.text import PLAIN, fitted

MAX_PLACES = 64
MAX_LONG = 4 * 1024
MAX_ITEMS = 64
MAX_NAMED = 8
_LEVELS = 4
_UNICODE = "Größe 漢字 🙂 e\u0301"
_UNLISTED = "interlock-not-listed"
_OTHER_TYPES: tuple[Any, ...] = (12345, "interlock probe", True, [], {}, None)
_ILL_FORMED: tuple[str, ...] = ("interlock probe", "", "☃")
Path = tuple[str | int, ...]


class Edge(Struct, frozen=True):
    """Arguments that should fit, or should not, and because of what."""

    arguments: dict[str, Any]
    fits: bool
    about: str


class Spot(Struct, frozen=True):
    """A place in the arguments: the plain schema that holds there, and the value that stands there."""

    path: Path
    plain: Plain
    value: Any


Change = tuple[str, bool, Any]
"""A keyword, whether the value is meant to fit, and the value."""


class Edges:
    """Finds the edges of one schema."""

    def __init__(self, check: Check, merger: Merger, effort: Effort) -> None:
        self._check = check
        self._merger = merger
        self._effort = effort

    def of(self, schema: Any, arguments: dict[str, Any]) -> Iterator[Edge]:
        """The edges around these arguments, the ones nearest to the top first."""
        for spot in self._spots(schema, arguments):
            for keyword, fits, value in changes(spot):
                self._effort.spend()
                yield Edge(_replaced(arguments, spot.path, value), fits, f"{keyword} at {pointer(spot.path)}")
            yield from self._without(arguments, spot)

    def _without(self, arguments: dict[str, Any], spot: Spot) -> Iterator[Edge]:
        """The object at a spot with one property less: an optional one may go, a required one may not."""
        members = mapped(spot.value)
        required = listed(spot.plain.get("required"))
        for name in list(members)[:MAX_PLACES]:
            self._effort.spend()
            fewer = {key: value for key, value in members.items() if key != name}
            keyword = "required" if name in required else "absent"
            about = f"{keyword} at {pointer((*spot.path, name))}"
            yield Edge(_replaced(arguments, spot.path, fewer), name not in required, about)

    def _spots(self, schema: Any, arguments: dict[str, Any]) -> Iterator[Spot]:
        waiting: list[tuple[Path, Any, Any]] = [((), schema, arguments)]
        seen = 0
        while waiting and seen < MAX_PLACES:
            path, part, value = waiting.pop(0)
            self._effort.spend()
            plain = next((each for each in self._merger.plain(part) if self._check.part(each, value)), None)
            if plain is None:
                continue
            seen += 1
            yield Spot(path, plain, value)
            if len(path) < _LEVELS:
                waiting.extend(_below(path, plain, value))


def _below(path: Path, plain: Plain, value: Any) -> Iterator[tuple[Path, Any, Any]]:
    """The places inside a value that have a schema of their own; of an array, the first item only."""
    if isinstance(value, dict):
        members = cast(dict[str, Any], value)
        for name, schema in mapped(plain.get("properties")).items():
            if name in members:
                yield (*path, name), schema, members[name]
    elif isinstance(value, list) and value:
        prefix, rest = tuple_parts(plain)
        yield (*path, 0), prefix[0] if prefix else rest, value[0]


def changes(spot: Spot) -> Iterator[Change]:
    """What else could stand at a spot."""
    plain, value = spot.plain, cast(object, spot.value)
    kinds = likely_types(plain) if "type" in plain else [_type_of(value)]
    if "enum" in plain or "const" in plain:
        yield from _named(plain)
    elif "string" in kinds:
        yield from _lengths(plain)
        yield from _forms(plain)
    if "integer" in kinds or "number" in kinds:
        yield from _bounds(plain, whole="number" not in kinds)
    if isinstance(value, bool):
        yield from (("boolean", True, each) for each in (True, False))
    if isinstance(value, list):
        yield from _counts(plain, listed(cast(Any, value)))
    if isinstance(value, dict) and plain.get("additionalProperties") is False:
        yield ("additionalProperties", False, {**mapped(cast(Any, value)), "interlock_extra": PLAIN})
    if spot.path:
        yield ("null", True, None)
        yield from (("type", False, each) for each in _other_types(value, kinds))


def _other_types(value: Any, kinds: list[str]) -> list[Any]:
    """One value of a type that is not asked for; null only when nothing else is left."""
    allowed = {*kinds, _type_of(value)} | ({"integer"} if "number" in kinds else set[str]())
    return [each for each in _OTHER_TYPES if _type_of(each) not in allowed][:1]


def _named(plain: Plain) -> Iterator[Change]:
    yield from (("enum", True, each) for each in listed(plain.get("enum"))[:MAX_NAMED])
    yield ("enum" if "enum" in plain else "const", False, _UNLISTED)


def _lengths(plain: Plain) -> Iterator[Change]:
    shortest, longest = count_of(plain, "minLength") or 0, count_of(plain, "maxLength")
    if shortest <= MAX_LONG:
        yield ("minLength" if shortest else "empty text", True, fitted(PLAIN, shortest, shortest))
    if shortest and shortest <= MAX_LONG:
        yield ("minLength", False, fitted(PLAIN, shortest - 1, shortest - 1))
    if longest is None:
        yield ("long text", True, fitted(PLAIN, MAX_LONG, MAX_LONG))
    elif longest <= MAX_LONG:
        yield ("maxLength", True, fitted(PLAIN, longest, longest))
        yield ("maxLength", False, fitted(PLAIN, longest + 1, longest + 1))
    yield ("unicode text", True, fitted(_UNICODE, shortest if shortest <= MAX_LONG else 0, longest))


def _forms(plain: Plain) -> Iterator[Change]:
    for keyword in ("pattern", "format"):
        if keyword in plain:
            yield from ((keyword, False, each) for each in _ILL_FORMED)


def _bounds(plain: Plain, *, whole: bool) -> Iterator[Change]:
    within = range_of(plain, whole=whole)
    step = within.step or Fraction(1)
    first, last = ends(within, step)
    # A number that need not be whole reaches its bound, wherever the last whole step lies.
    if within.step is None:
        first = first if within.open_least else within.least
        last = last if within.open_most else within.most
    if first is not None:
        yield ("minimum", True, shown(first))
        yield ("minimum", False, shown(first - step))
    if last is not None:
        yield ("maximum", True, shown(last))
        yield ("maximum", False, shown(last + step))
    if "multipleOf" in plain and within.step is not None:
        yield ("multipleOf", False, shown((first or within.step) + within.step / 2))


def _counts(plain: Plain, items: list[Any]) -> Iterator[Change]:
    least, most = count_of(plain, "minItems") or 0, count_of(plain, "maxItems")
    yield ("minItems" if least else "empty array", True, items[:least])
    if least:
        yield ("minItems", False, items[: least - 1])
    if most is not None and most <= MAX_ITEMS and items:
        yield ("maxItems", True, _stretched(items, most))
        yield ("maxItems", False, _stretched(items, most + 1))
    if plain.get("uniqueItems") is True and items:
        yield ("uniqueItems", False, [*items, items[0]])


def _stretched(items: list[Any], count: int) -> list[Any]:
    return (items + [items[-1]] * count)[:count]


def _replaced(whole: Any, path: Path, value: Any) -> Any:
    """A copy with another value at one place."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = list(cast(list[Any], whole))
        items[step] = _replaced(items[step], rest, value)
        return items
    members = cast(Mapping[str, Any], whole)
    return {**members, step: _replaced(members[step], rest, value)}


def pointer(path: Path) -> str:
    """A place as a JSON pointer; the whole is `/`."""
    return "/" + "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _type_of(value: Any) -> str:
    table: tuple[tuple[type, str], ...] = (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    )
    return next((name for kind, name in table if isinstance(value, kind)), "null")
