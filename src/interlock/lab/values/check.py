"""Whether a value fits a schema or a part of one, and how much work the asking may cost.

The lab invents arguments from schemas that strangers wrote, so everything it invents is checked by the same validator
that checks calls: no reference leaves the schema, patterns run without backtracking, and what one check can cost is
weighed before the schema is compiled. All work is counted, and ends with `Spent` when a schema asks for too much;
nothing here reads a file, a clock or the network.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Never, cast

import jsonschema_rs
import msgspec
from msgspec import Struct

from interlock.core.schemas import PATTERNS
from interlock.core.weigh import ANY_DEPTH, NEVER, depth_allowed, is_deeper

MAX_DEPTH = 100
MAX_NODES = 20_000
_ROOT = "urn:interlock:schema"
_WEIGHING = 100
"""What it costs to weigh a part."""


class Spent(Exception):
    """The schema asks for more work than it is worth."""


class Effort:
    """What may still be spent on a schema: steps of any kind."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise Spent


class _Weighed(Struct, frozen=True):
    """A validator, and how deep a value may be before it would take too long."""

    validator: jsonschema_rs.Validator
    depth: int

    def fits(self, value: Any) -> bool:
        if self.depth < ANY_DEPTH and is_deeper(value, self.depth):
            raise Spent
        return _is_valid(self.validator, value)


class Check:
    """A schema that compiled, and checks against it or against parts that were taken out of it."""

    def __init__(self, schema: Mapping[str, Any] | bool, effort: Effort) -> None:
        """Raises ValueError when the schema does not compile, and Spent when it asks for too much."""
        for _ in nodes(schema):
            effort.spend()
        self.root = schema
        self.effort = effort
        """What the checks are counted against; each search brings its own."""
        self._draft = schema.get("$schema") if isinstance(schema, Mapping) else None
        depth = depth_allowed(schema) if isinstance(schema, Mapping) else ANY_DEPTH
        if depth == NEVER:
            raise Spent
        self._whole = _Weighed(_compiled(schema, None), depth)
        self._registry = jsonschema_rs.Registry([(_ROOT, cast(Any, schema))], retriever=_no_reference)
        # The schema is kept beside its validator: while it lives, its id belongs to no other.
        self._parts: dict[int, tuple[Any, _Weighed | None]] = {}

    def whole(self, value: Any) -> bool:
        """Whether the value fits the whole schema."""
        return self._whole.fits(value)

    def part(self, schema: Any, value: Any) -> bool:
        """Whether the value fits a part. One that does not compile on its own forbids nothing; the whole decides."""
        # Checking takes as long as the value is wide; what lies deeper was counted when it was made.
        self.effort.spend(1 + (len(cast(Any, value)) // 8 if isinstance(value, dict | list) else 0))
        if isinstance(schema, bool):
            return schema
        kept = self._parts.get(id(schema))
        if kept is None:
            kept = self._parts[id(schema)] = (schema, self._compile_part(schema))
        return kept[1] is None or kept[1].fits(value)

    def resolve(self, reference: object) -> Any:
        """What a reference inside the schema points to; True, which forbids nothing, when that is not known."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        found: Any = self.root
        for step in reference[1:].split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            found = _member(found, key)
        return found

    def _compile_part(self, schema: Any) -> _Weighed | None:
        part = self._anchored(schema)
        if not isinstance(part, dict):
            return None
        draft = {"$schema": self._draft} if self._draft else {}
        try:
            validator = _compiled({**cast(dict[str, Any], part), **draft}, self._registry)
        except (ValueError, RecursionError):
            return None
        return _Weighed(validator, self._depth_of(schema))

    def _depth_of(self, part: Mapping[str, Any]) -> int:
        """How deep a value of a part may be. A part never costs more than a whole that may be used at any depth."""
        if self._whole.depth == ANY_DEPTH:
            return ANY_DEPTH
        self.effort.spend(_WEIGHING)
        return depth_allowed(part, within=cast("Mapping[str, Any]", self.root))

    def _anchored(self, schema: Any) -> Any:
        """A copy whose references still point into the whole, although it stands alone."""
        self.effort.spend()
        if isinstance(schema, Mapping):
            members = cast(Mapping[str, Any], schema).items()
            return {key: self._anchored_member(key, value) for key, value in members if key not in ("$id", "$schema")}
        if isinstance(schema, list | tuple):
            return [self._anchored(each) for each in cast(Sequence[Any], schema)]
        return schema

    def _anchored_member(self, key: str, value: Any) -> Any:
        if key == "$ref" and isinstance(value, str) and value.startswith("#"):
            return _ROOT + value
        return self._anchored(value)


def nodes(schema: Any) -> Iterator[Any]:
    """Every value inside a schema, itself first; raises Spent on one that is too deep or too large."""
    waiting: list[tuple[Any, int]] = [(schema, 0)]
    count = 0
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if depth > MAX_DEPTH or count > MAX_NODES:
            raise Spent
        yield node
        if isinstance(node, Mapping):
            waiting.extend((each, depth + 1) for each in cast(Mapping[str, Any], node).values())
        elif isinstance(node, list):
            waiting.extend((each, depth + 1) for each in cast(list[Any], node))


def _member(holder: Any, key: str) -> Any:
    if isinstance(holder, Mapping):
        return cast(Mapping[str, Any], holder).get(key, True)
    if isinstance(holder, list) and key.isascii() and key.isdecimal() and len(key) < 6:
        return next(iter(cast(list[Any], holder)[int(key) :]), True)
    return True


def _compiled(schema: Any, registry: jsonschema_rs.Registry | None) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(schema, retriever=_no_reference, registry=registry, pattern_options=PATTERNS)


def _is_valid(validator: jsonschema_rs.Validator, value: Any) -> bool:
    try:
        msgspec.json.encode(value)
        return validator.is_valid(value)
    except (ValueError, OverflowError, RecursionError):
        # Text that is no Unicode, a number of thousands of digits, or nesting without end: nothing that could be sent.
        return False


def _no_reference(uri: str) -> Never:
    raise ValueError(f"references outside the schema are not followed: {uri}")
