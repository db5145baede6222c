"""Checking the arguments of a call against the input schema of its tool, before the upstream sees them.

Schemas come from upstreams and are hostile until proven otherwise: no reference leaves the schema itself, patterns run
on an engine without backtracking, and a schema that does not compile checks nothing and harms nobody. Compiled schemas
are kept by fingerprint, so that a changed tool never meets an old schema.

What is said about arguments that do not fit is stored and shown, so no value of an argument is ever in it: where it
stands and what the schema asks for is enough to mend it.
"""

from collections import OrderedDict
from typing import Never

import jsonschema_rs

from interlock.core.model import JsonObject
from interlock.core.redact import redact_text
from interlock.core.toolbook import ListedTool

MAX_KEPT = 20_000

MAX_TEXT = 300
"""How much is said of a place, and of a problem, in characters."""

MASK = "the value"
"""What stands for a value of the arguments in what is said about it."""


class Schemas:
    """Compiled input schemas, the least recently used forgotten first."""

    def __init__(self) -> None:
        self._compiled: OrderedDict[str, jsonschema_rs.Validator | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._compiled)

    def problem(self, found: ListedTool, arguments: JsonObject) -> str | None:
        """What is wrong with the arguments, in one sentence; None when they fit."""
        validator = self._validator(found)
        if validator is None:
            return None
        error = next(validator.iter_errors(dict(arguments)), None)
        if error is None:
            return None
        return _told(error)

    def _validator(self, found: ListedTool) -> jsonschema_rs.Validator | None:
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


def compiled(schema: object) -> jsonschema_rs.Validator | None:
    """A schema of an upstream, ready to check values; None when there is none that could."""
    if not isinstance(schema, dict):
        return None
    try:
        return jsonschema_rs.validator_for(
            schema,  # pyright: ignore[reportUnknownArgumentType]
            retriever=_no_reference,
            pattern_options=jsonschema_rs.RegexOptions(),
            mask=MASK,
        )
    except (ValueError, jsonschema_rs.ValidationError, RecursionError):
        return None


def _no_reference(uri: str) -> Never:
    raise ValueError(f"references outside the schema are not followed: {uri}")
