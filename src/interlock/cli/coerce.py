"""Turning the texts of `--arg key=value` into what a tool's input schema asks for.

A text becomes a number, a boolean, null, a list or an object only where the schema asks for that and for no text, and
only if it is exactly that in JSON. Everything else stays a text, so that the schema check on the path says what is
wrong; nothing is refused or repaired here.
"""

from collections.abc import Iterator, Mapping

from interlock.cli.inputs import parse_json
from interlock.core.model import Json, JsonObject
from interlock.errors import InterlockError

MAX_STEPS = 50
"""How many schemas are looked at for one argument: a schema comes from outside and may refer to itself."""

_NESTING = ("anyOf", "oneOf", "allOf")


def coerced(texts: Mapping[str, Json], schema: JsonObject) -> dict[str, Json]:
    """The arguments with every text turned into the type that its schema asks for."""
    return {key: _coerced(value, _wanted(schema, key), schema) for key, value in texts.items()}


def _wanted(schema: JsonObject, key: str) -> Json:
    """The schema of one argument."""
    properties = schema.get("properties")
    others = schema.get("additionalProperties")
    return properties.get(key, others) if isinstance(properties, Mapping) else others


def _coerced(value: Json, wanted: Json, root: JsonObject) -> Json:
    types = _types(wanted, root)
    if not isinstance(value, str) or not types or "string" in types:
        return value
    try:
        parsed = parse_json(value, "")
    except InterlockError:
        return value
    return parsed if types & _types_of_value(parsed) else value


def _types_of_value(value: Json) -> frozenset[str]:
    match value:
        case None:
            return frozenset({"null"})
        case bool():
            return frozenset({"boolean"})
        case int():
            return frozenset({"integer", "number"})
        case float():
            return frozenset({"number"})
        case Mapping():
            return frozenset({"object"})
        case str():
            return frozenset()
        case _:
            return frozenset({"array"})


def _types(wanted: Json, root: JsonObject) -> frozenset[str]:
    """The JSON types that a schema names, in itself or in what it is put together from."""
    found: set[str] = set()
    left = [wanted]
    for _ in range(MAX_STEPS):
        if not left:
            break
        schema = left.pop()
        if isinstance(schema, Mapping):
            found.update(_named(schema.get("type")))
            left.extend(_parts(schema, root))
    return frozenset(found)


def _named(type_of: Json) -> Iterator[str]:
    listed = type_of if isinstance(type_of, list) else [type_of]
    yield from (each for each in listed if isinstance(each, str))


def _parts(schema: JsonObject, root: JsonObject) -> Iterator[Json]:
    for word in _NESTING:
        parts = schema.get(word)
        if isinstance(parts, list):
            yield from parts
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        yield _at(root, reference[2:].split("/"))


def _at(value: Json, steps: list[str]) -> Json:
    for step in steps:
        value = value.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(value, Mapping) else None
    return value
