"""A schema is held against its meta-schema, and nothing is fetched for it."""

from typing import Any

import pytest

from interlock.lab.played.schema import LONGEST, flaw_in


@pytest.mark.parametrize(
    ("schema", "path", "said"),
    [
        ({"type": "objekt"}, ("type",), "'objekt' is no type; there are array, boolean"),
        ({"properties": {"a": {"type": ["strin"]}}}, ("properties", "a", "type"), "no type"),
        ({"required": "a"}, ("required",), "not of type"),
        ({"allOf": [{}, {"minLength": -1}]}, ("allOf", 1, "minLength"), "-1 is less"),
        ({"properties": {"a": {"pattern": "("}}}, ("properties", "a", "pattern"), "regex"),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "type": "objekt"}, ("type",), "no type"),
    ],
)
def test_what_is_no_schema_is_said_with_its_place(
    schema: dict[str, Any], path: tuple[str | int, ...], said: str
) -> None:
    flaw = flaw_in(schema)

    assert flaw is not None
    assert flaw.path == path
    assert said in flaw.text


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "pattern": "^a+$"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True},
        {"$schema": "https://schemas.example.invalid/own", "type": "object"},
        {"$ref": "https://schemas.example.invalid/elsewhere"},
        {"$ref": "https://schemas.example.invalid/elsewhere#/$defs/a"},
    ],
)
def test_what_is_a_schema_is_taken_and_what_it_refers_to_elsewhere_is_not_fetched(schema: dict[str, Any]) -> None:
    assert flaw_in(schema) is None


def test_a_schema_that_is_nested_too_deeply_is_no_schema_and_no_crash() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"not": deep}

    assert flaw_in(deep) is not None


def test_what_is_said_has_an_end() -> None:
    flaw = flaw_in({"required": "a" * 10_000})

    assert flaw is not None
    assert len(flaw.text) == LONGEST + 1
