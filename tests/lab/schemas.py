"""Schemas for the tests of the lab: strategies over satisfiable ones and nonsense, and some as servers write them."""

from typing import Any

from hypothesis import strategies as st

Schema = dict[str, Any]

PATTERNS = (
    "^[a-z]+$",
    r"^\d{4}-\d{2}$",
    "^[A-Z]{2,5}-[0-9]+$",
    r"^(?:red|green|blue)(?:,(?:red|green|blue))*$",
    r"^[\w.-]+\.(?:png|svg)$",
    "^#[0-9a-fA-F]{6}$",
    r"^v?\d+(\.\d+){0,2}$",
    "^[^/]+$",
)
FORMATS = ("date-time", "date", "time", "duration", "email", "uri", "hostname", "ipv4", "ipv6", "uuid", "regex")
DRAFTS = (None, "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema")
NAMES = ("path", "url", "email", "query", "limit", "id", "tags", "odd name", "startDate")

WRITTEN: dict[str, Schema] = {
    "no arguments": {"type": "object", "properties": {}},
    "a file and two optional counts": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "head": {"type": "number"}, "tail": {"type": "number"}},
        "required": ["path"],
        "additionalProperties": False,
    },
    "a nullable as pydantic writes it": {
        "type": "object",
        "properties": {"day": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}},
    },
    "a tagged union as zod writes it": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "block": {
                "oneOf": [
                    {
                        "type": "object",
                        "properties": {"type": {"const": "text"}, "text": {"type": "string", "minLength": 1}},
                        "required": ["type", "text"],
                        "additionalProperties": False,
                    },
                    {
                        "type": "object",
                        "properties": {"type": {"const": "image"}, "url": {"type": "string", "format": "uri"}},
                        "required": ["type", "url"],
                        "additionalProperties": False,
                    },
                ]
            }
        },
        "required": ["block"],
    },
    "a tree": {
        "$defs": {
            "node": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
                },
                "required": ["name", "children"],
            }
        },
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "required": ["root"],
    },
    "a filter that may nest itself first": {
        "definitions": {
            "filter": {
                "oneOf": [
                    {
                        "type": "object",
                        "required": ["and"],
                        "properties": {
                            "and": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/filter"}}
                        },
                    },
                    {"type": "object", "required": ["field"], "properties": {"field": {"type": "string"}}},
                ]
            }
        },
        "type": "object",
        "required": ["filter"],
        "properties": {"filter": {"$ref": "#/definitions/filter"}},
    },
    "one of two, never both": {
        "type": "object",
        "properties": {"id": {"type": "string"}, "name": {"type": "string"}},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
    },
    "one that brings another along": {
        "type": "object",
        "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}},
        "dependentRequired": {"from": ["to"], "to": ["from"]},
        "minProperties": 1,
    },
    "a condition": {
        "type": "object",
        "properties": {"kind": {"enum": ["plain", "sized"]}, "size": {"type": "integer", "minimum": 10}},
        "required": ["kind"],
        "if": {"properties": {"kind": {"const": "sized"}}},
        "then": {"required": ["size"]},
    },
    "lists of every sort": {
        "type": "object",
        "required": ["pair", "tags", "ids"],
        "properties": {
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 3, "uniqueItems": True},
            "ids": {"type": "array", "contains": {"type": "integer", "minimum": 7}, "minContains": 2},
        },
    },
    "names by pattern": {
        "type": "object",
        "required": ["headers"],
        "properties": {
            "headers": {
                "type": "object",
                "patternProperties": {"^x-[a-z]+$": {"type": "string"}},
                "additionalProperties": False,
                "minProperties": 2,
            }
        },
    },
}


def _bounded(low: int, high: int) -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(low, high), st.integers(low, high)).map(lambda pair: (min(pair), max(pair)))


_texts = st.one_of(
    st.just({"type": "string"}),
    _bounded(0, 40).map(lambda ends: {"type": "string", "minLength": ends[0], "maxLength": ends[1]}),
    st.sampled_from(FORMATS).map(lambda form: {"type": "string", "format": form}),
    st.sampled_from(PATTERNS).map(lambda pattern: {"type": "string", "pattern": pattern}),
)
_numbers = st.one_of(
    st.sampled_from([{"type": "integer"}, {"type": "number"}, {"minimum": 3}]),
    _bounded(-50, 50).map(lambda ends: {"type": "integer", "minimum": ends[0], "maximum": ends[1]}),
    _bounded(-50, 50).map(lambda ends: {"type": "number", "exclusiveMinimum": ends[0], "maximum": ends[1] + 0.5}),
    st.sampled_from([0.1, 0.25, 3, 7]).map(lambda step: {"type": "number", "multipleOf": step, "minimum": 0.3}),
)
_named = st.lists(st.sampled_from(["a", "b", 3, None, True, 2.5]), min_size=1, max_size=4).map(
    lambda each: {"enum": each}
)
_leaves = st.one_of(
    _texts,
    _numbers,
    _named,
    st.sampled_from([{"type": "boolean"}, {"type": ["string", "null"]}, {"const": [1]}, {}, True]),
)


def _object(named: Schema, chosen: list[str], *, closed: bool) -> Schema:
    required = [each for each in chosen if each in named]
    schema: Schema = {"type": "object", "properties": named, "required": required}
    return {**schema, "additionalProperties": False} if closed else schema


def _array(item: Any, least: int) -> Schema:
    return {"type": "array", "items": item, "minItems": least}


def _objects(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    properties = st.dictionaries(st.sampled_from(NAMES), inside, max_size=5)
    chosen = st.lists(st.sampled_from(NAMES), unique=True)
    return st.builds(_object, properties, chosen, closed=st.booleans())


def _composed(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[Schema]:
    return st.one_of(
        _objects(inside),
        st.builds(_array, inside, st.integers(0, 3)),
        st.lists(inside, min_size=1, max_size=3).map(lambda each: {"anyOf": each}),
        inside.map(lambda each: {"allOf": [each, {"description": "what it is"}]}),
        inside.map(lambda each: {"oneOf": [each, {"const": "neither this"}]}),
        inside.map(lambda each: {"if": {"type": "string"}, "then": each, "else": True}),
        inside.map(lambda each: {"not": {"const": "interlock probe"}, "anyOf": [each, {"type": "integer"}]}),
    )


def _whole(schema: Schema, draft: str | None, shared: Any) -> Schema:
    whole = {**schema, "$defs": {"shared": shared}}
    whole["properties"] = {**schema["properties"], "shared": {"$ref": "#/$defs/shared"}}
    return {**whole, "$schema": draft} if draft else whole


_parts = st.recursive(_leaves, _composed, max_leaves=8)

satisfiable: st.SearchStrategy[Schema] = st.builds(_whole, _objects(_parts), st.sampled_from(DRAFTS), _parts)
"""Input schemas that some arguments fit: what is required of a value is never more than its type can give."""

_json = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=8)
    ),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=4), inside, max_size=3),
    max_leaves=6,
)
_KEYWORDS = (
    "type enum const default examples format minimum maximum exclusiveMinimum multipleOf minLength maxLength pattern "
    "items prefixItems contains minItems maxItems uniqueItems properties required additionalProperties "
    "patternProperties minProperties dependentRequired oneOf anyOf allOf not if then else $ref $defs propertyNames"
).split()
_LIKELY_VALUES: list[Any] = [
    0,
    1,
    3,
    10**9,
    True,
    False,
    "string",
    "object",
    "array",
    ["integer", "null"],
    [],
    {},
    "#",
    "#/$defs/a",
    "^a+$",
    ["a"],
]
_LIKELY: st.SearchStrategy[Any] = st.sampled_from(_LIKELY_VALUES)

nonsense: st.SearchStrategy[Any] = st.recursive(
    _json | _LIKELY,
    lambda inside: st.dictionaries(
        st.sampled_from(_KEYWORDS), inside | _LIKELY | st.lists(inside, max_size=2), max_size=6
    ),
    max_leaves=20,
)
"""Anything that may stand where a schema is expected: keywords with any value, likely ones among them."""
