"""Checking the arguments of a call against the input schema of its tool, before the upstream sees them.

Schemas come from upstreams and are hostile until proven otherwise: no reference leaves the schema itself, patterns run
on an engine without backtracking, and what a schema can cost is weighed before it is compiled. One that does not
compile, or that could keep everybody waiting, checks nothing and harms nobody but the upstream that wrote it. Compiled
schemas are kept by fingerprint, so that a changed tool never meets an old schema.

What is said about arguments that do not fit is stored and shown, so no value of an argument is ever in it: where it
stands and what the schema asks for is enough to mend it.
"""

from collections import OrderedDict
from typing import Never, cast

import jsonschema_rs

from interlock.core.model import Json, JsonObject
from interlock.core.redact import redact_text
from interlock.core.toolbook import ListedTool
from interlock.core.weigh import ANY_DEPTH, NEVER, depth_allowed, is_deeper

MAX_KEPT = 20_000

PATTERNS = jsonschema_rs.RegexOptions(size_limit=1024 * 1024, dfa_size_limit=1024 * 1024)
"""A pattern that needs more than this takes too long to be compiled."""

MAX_TEXT = 300
"""How much is said of a place, and of a problem, in characters."""

MASK = "the value"
"""What stands for a value of the arguments in what is said about it."""


class Checker:
    """A schema that is ready to check values, if they are not nested so deep that it would take too long."""

    def __init__(self, validator: jsonschema_rs.Validator, depth: int) -> None:
        self._validator = validator
        self._depth = depth

    def first_error(self, value: Json) -> jsonschema_rs.ValidationError | None:
        """What is wrong with a value; None when it fits, or is not looked at."""
        if self._depth < ANY_DEPTH and is_deeper(value, self._depth):
            return None
        return None if self._validator.is_valid(value) else next(self._validator.iter_errors(value), None)


class Schemas:
    """Compiled input schemas, the least recently used forgotten first."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[str, Checker | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._compiled)

    def problem(self, found: ListedTool, arguments: JsonObject) -> str | None:
        """What is wrong with the arguments, in one sentence; None when they fit."""
        checker = self._checker(found)
        error = None if checker is None else checker.first_error(dict(arguments))
        return None if error is None else _told(error)

    def _checker(self, found: ListedTool) -> Checker | None:
        key = found.tool.fingerprint
        if key in self._compiled:
            self._compiled.move_to_end(key)
            return self._compiled[key]
        self._compiled[key] = compiled(found.descriptor.get("inputSchema"))
        if len(self._compiled) > MAX_KEPT:
            self._compiled.popitem(last=False)
        return self._compiled[key]


def _told(error: jsonschema_rs.ValidationError) -> str:
    at = redact_text("".join(f"/{step}" for step in error.instance_path))[:MAX_TEXT]
    # To this keyword the name of a member is a value, and it would be quoted.
    named = "propertyNames" in error.schema_path
    problem = "the name of a member is not allowed here" if named else redact_text(error.message)
    return f"{at or 'arguments'}: {problem[:MAX_TEXT]}"


def compiled(schema: object) -> Checker | None:
    """A schema of an upstream, ready to check values; None when there is none that could."""
    if not isinstance(schema, dict):
        return None
    depth = depth_allowed(cast("JsonObject", schema))
    if depth == NEVER:
        return None
    try:
        validator = jsonschema_rs.validator_for(
            schema,  # pyright: ignore[reportUnknownArgumentType]
            retriever=_no_reference,
            pattern_options=PATTERNS,
            mask=MASK,
        )
    except (ValueError, jsonschema_rs.ValidationError, RecursionError):
        return None
    return Checker(validator, depth)


def _no_reference(uri: str) -> Never:
    raise ValueError(f"references outside the schema are not followed: {uri}")
