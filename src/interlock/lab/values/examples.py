"""Arguments for a tool, from its input schema alone: valid ones, ones at the edge, and ones that must be refused.

Schemas come from strangers. Whatever they hold, `examples` answers with values or with one sentence about why there
are none; it never raises, never hangs, and never calls a value valid that the validator of calls would refuse. The
same schema and seed always give the same values. Nothing here reads a file, a clock or the network.
"""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from interlock.lab.values.check import Check, Effort, Spent
from interlock.lab.values.edges import Edge, Edges
from interlock.lab.values.make import NOTHING, Maker, Place
from interlock.lab.values.merge import Merger

MAX_DEPTH = 12
MAX_SIZE = 64 * 1024
MAX_EXAMPLES = 128
"""How many boundary values, and how many invalid ones, are given at most."""

_DEPTHS = (3, 6, MAX_DEPTH)
"""Shallow values are tried first: recursive schemas allow any depth, and nobody wants to read it."""
_FULL_LEVELS = 4
_EFFORT = 60_000
_TURNS = 1_000
"""Seeds count round: this many give different values."""

NO_SCHEMA = "The input schema is not a JSON Schema: an object is expected."
NOT_COMPILED = (
    "The input schema does not compile: a keyword is malformed, a reference leads outside or nowhere, "
    "or a pattern uses look-around or back-references."
)
TOO_MUCH = "The input schema asks for too much: it is too large, too deep or too intricate to find arguments for."
NO_VALUE = (
    "No arguments were found that fit the input schema: it contradicts itself, uses what is not supported, "
    "or needs arguments that are too large or too deep."
)


class Example(Struct, frozen=True):
    """Arguments, and what they are an example of. `about` names the keyword and the place, if there is one."""

    arguments: dict[str, Any]
    kind: str
    about: str = ""


class Examples(Struct, frozen=True):
    """What a schema gives. The first valid one has the required properties only, the next one all of them."""

    valid: tuple[Example, ...] = ()
    boundary: tuple[Example, ...] = ()
    invalid: tuple[Example, ...] = ()
    problem: str | None = None
    """Why there are no valid arguments, in one sentence; None when there are."""


def examples(schema: Mapping[str, Any] | Any, *, seed: int = 0) -> Examples:
    """Arguments for a tool with this input schema."""
    if not isinstance(schema, Mapping | bool):
        return Examples(problem=NO_SCHEMA)
    try:
        check = Check(cast(Mapping[str, Any] | bool, schema), Effort(_EFFORT))
    except Spent:
        return Examples(problem=TOO_MUCH)
    except (ValueError, RecursionError):
        return Examples(problem=NOT_COMPILED)
    return _Finder(check, seed).found()


class _Finder:
    """The search in one schema."""

    def __init__(self, check: Check, seed: int) -> None:
        self._check = check
        self._turn = seed % _TURNS
        # Arguments are always an object, whether the schema says so or not.
        self._schema = {"allOf": [check.root, {"type": "object"}]}

    def found(self) -> Examples:
        try:
            least = self._made(full=0)
        except Spent:
            return Examples(problem=TOO_MUCH)
        if least is None:
            return Examples(problem=NO_VALUE)
        try:
            full = self._made(full=_FULL_LEVELS) or least
        except Spent:
            full = least
        valid = [Example(each, "valid") for each in ([least] if _same(least, full) else [least, full])]
        return self._with_edges(tuple(valid))

    def _made(self, full: int) -> dict[str, Any] | None:
        effort = Effort(_EFFORT)
        self._check.effort = effort
        maker = Maker(self._check, Merger(self._check, effort), effort)
        for depth in _DEPTHS:
            value = maker.make(self._schema, Place(left=depth, full=full, turn=self._turn))
            if value is NOTHING or not isinstance(value, dict):
                continue
            arguments = cast(dict[str, Any], value)
            if self._check.whole(arguments) and _size(arguments) <= MAX_SIZE:
                return arguments
        return None

    def _with_edges(self, valid: tuple[Example, ...]) -> Examples:
        effort = Effort(_EFFORT)
        self._check.effort = effort
        edges = Edges(self._check, Merger(self._check, effort), effort)
        tried = {_key(each.arguments) for each in valid}
        boundary: list[Example] = []
        invalid: list[Example] = []
        try:
            for edge in edges.of(self._schema, valid[-1].arguments):
                self._sort(edge, tried, boundary, invalid)
        except Spent:
            pass  # What was found so far is as good as it was.
        return Examples(valid, tuple(boundary), tuple(invalid))

    def _sort(self, edge: Edge, tried: set[bytes], boundary: list[Example], invalid: list[Example]) -> None:
        """Keep an edge on the side where the validator sees it, if that is the side it was meant for."""
        kept = boundary if edge.fits else invalid
        if len(kept) >= MAX_EXAMPLES or _size(edge.arguments) > MAX_SIZE:
            return
        key = _key(edge.arguments)
        if key in tried or self._check.whole(edge.arguments) is not edge.fits:
            return
        tried.add(key)
        kept.append(Example(edge.arguments, "boundary" if edge.fits else "invalid", edge.about))


def _key(arguments: dict[str, Any]) -> bytes:
    return msgspec.json.encode(arguments, order="sorted")


def _size(arguments: dict[str, Any]) -> int:
    return len(msgspec.json.encode(arguments))


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return _key(one) == _key(other)
