"""The plain schemas that a composed one allows: references followed, `allOf` merged, one branch of each choice taken.

A plain schema is a guess at what would do. It may be looser than the schema it came from, so whatever is made from it
is checked against that schema; merging only has to be good enough to make a fitting value likely.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, cast

from interlock.lab.values.check import Check, Effort

MAX_ALTERNATIVES = 32
_MAX_NEST = 40
_COMPOSING = frozenset(("$ref", "allOf", "anyOf", "oneOf", "if", "then", "else"))
Plain = dict[str, Any]


class Contradiction(Exception):
    """Two schemas that no value fits together."""


class Merger:
    """Plain schemas for parts of one schema, remembered by part."""

    def __init__(self, check: Check, effort: Effort) -> None:
        self._check = check
        self._effort = effort
        # The part is kept beside its answer: while it lives, its id belongs to no other.
        self._known: dict[int, tuple[Any, tuple[Plain, ...]]] = {}

    def plain(self, schema: Any) -> tuple[Plain, ...]:
        """The alternatives, in the order in which the schema names them."""
        kept = self._known.get(id(schema))
        if kept is None:
            found = tuple(islice(self._alternatives(schema, (), 0), MAX_ALTERNATIVES))
            kept = self._known[id(schema)] = (schema, found)
        return kept[1]

    def _alternatives(self, schema: Any, followed: tuple[str, ...], nest: int) -> Iterator[Plain]:
        self._effort.spend()
        if nest > _MAX_NEST:
            return
        if schema is True:
            yield {}
        if not isinstance(schema, Mapping):
            return
        members = cast(Mapping[str, Any], schema)
        own = {key: value for key, value in members.items() if key not in _COMPOSING}
        reference = members.get("$ref")
        if isinstance(reference, str):
            if reference in followed:
                return
            followed = (*followed, reference)
        yield from self._combined(own, self._choices(members), followed, nest)

    def _choices(self, members: Mapping[str, Any]) -> list[list[Any]]:
        """What has to be taken along with the schema's own words: one of each list."""
        choices: list[list[Any]] = []
        if "$ref" in members:
            choices.append([self._check.resolve(members["$ref"])])
        choices.extend([each] for each in listed(members.get("allOf")))
        choices.extend(listed(members[key]) for key in ("oneOf", "anyOf") if key in members)
        if "if" in members:
            choices.append([{"allOf": [members["if"], members.get("then", True)]}, members.get("else", True)])
        return choices

    def _combined(
        self, plain: Plain, choices: list[list[Any]], followed: tuple[str, ...], nest: int
    ) -> Iterator[Plain]:
        if not choices:
            yield plain
            return
        for choice in choices[0]:
            for alternative in self._alternatives(choice, followed, nest + 1):
                try:
                    both = merged(plain, alternative)
                except Contradiction:
                    continue
                yield from self._combined(both, choices[1:], followed, nest)


def merged(one: Plain, other: Plain) -> Plain:
    """A plain schema that asks what both ask, as far as that is easily said. Raises Contradiction."""
    both = dict(one)
    for key, value in other.items():
        if key not in both:
            both[key] = value
        elif key in _MEETING:
            both[key] = _MEETING[key](both[key], value)
    return both


def listed(value: object) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return list(cast(Sequence[Any], value)) if isinstance(value, list | tuple) else []


def mapped(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return dict(cast(Mapping[str, Any], value)) if isinstance(value, Mapping) else {}


def types_of(value: object) -> list[str]:
    """The types that a `type` keyword names."""
    return [value] if isinstance(value, str) else [each for each in listed(value) if isinstance(each, str)]


def _both_types(one: object, other: object) -> list[str]:
    left, right = types_of(one), types_of(other)
    shared = [each for each in left if each in right or (each == "integer" and "number" in right)]
    shared += [each for each in right if each == "integer" and "number" in left and each not in shared]
    if not shared:
        raise Contradiction
    return shared


def _both_enums(one: object, other: object) -> list[Any]:
    shared = [each for each in listed(one) if each in listed(other)]
    if not shared:
        raise Contradiction
    return shared


def _all_of(one: Any, other: Any) -> Any:
    return one if one == other else {"allOf": [one, other]}


def _each_property(one: object, other: object) -> dict[str, Any]:
    both = mapped(one)
    for name, schema in mapped(other).items():
        both[name] = _all_of(both[name], schema) if name in both else schema
    return both


def _every_name(one: object, other: object) -> list[Any]:
    names = listed(one)
    return names + [each for each in listed(other) if each not in names]


def _larger(one: Any, other: Any) -> Any:
    return max(one, other) if _is_number(one) and _is_number(other) else one


def _smaller(one: Any, other: Any) -> Any:
    return min(one, other) if _is_number(one) and _is_number(other) else one


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_MEETING: dict[str, Callable[[Any, Any], Any]] = {
    "type": _both_types,
    "enum": _both_enums,
    "properties": _each_property,
    "patternProperties": _each_property,
    "required": _every_name,
    "items": _all_of,
    "contains": _all_of,
    "additionalProperties": _all_of,
    "propertyNames": _all_of,
    **dict.fromkeys(
        ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"),
        _larger,
    ),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _smaller),
}
