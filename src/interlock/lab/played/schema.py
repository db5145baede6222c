"""Whether what a person wrote as a JSON Schema is one: held against its meta-schema before it is served to anybody.

A schema that says `objekt` is taken by most clients without a word, and then checks nothing. This module refuses to
fetch anything: what a schema refers to elsewhere is not looked at.
"""

import jsonschema_rs
from msgspec import Struct

from interlock.core.model import JsonObject

LONGEST = 200
"""How many characters are told of a problem, which may quote the schema."""
TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")


class Flaw(Struct, frozen=True):
    """What is wrong with a schema, and where in it."""

    path: tuple[str | int, ...]
    text: str


def flaw_in(schema: JsonObject) -> Flaw | None:
    """The first thing that is wrong with a schema."""
    try:
        jsonschema_rs.validator_for(
            dict(schema), retriever=_anything, pattern_options=jsonschema_rs.RegexOptions(), validate_formats=False
        )
    except jsonschema_rs.ValidationError as unfit:
        return None if isinstance(unfit.kind, jsonschema_rs.ValidationErrorKind.Referencing) else _flaw(unfit)
    except (ValueError, RecursionError):
        return Flaw((), "it cannot be used as one; it may be nested too deeply")
    return None


def _flaw(unfit: jsonschema_rs.ValidationError) -> Flaw:
    path = tuple(unfit.instance_path)
    text = f"{unfit.instance!r} is no type; there are {', '.join(TYPES)}" if path[-1:] == ("type",) else unfit.message
    return Flaw(path, f"{text[:LONGEST]}…" if len(text) > LONGEST else text)


def _anything(uri: str) -> dict[str, object]:
    """In place of a schema that stands elsewhere: one that allows everything."""
    return {}
