"""From the texts of `--arg` to what a tool's input schema asks for."""

from typing import Any

import pytest

from interlock.cli.coerce import coerced


def one(text: str, schema: Any) -> Any:
    """One text, coerced by the schema of its argument."""
    return coerced({"x": text}, {"type": "object", "properties": {"x": schema}})["x"]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("5", "integer", 5),
        ("-5", "integer", -5),
        ("123456789012345678901234567890", "integer", 123456789012345678901234567890),
        ("5", "number", 5),
        ("2.50", "number", 2.5),
        ("1e3", "number", 1000.0),
        ("true", "boolean", True),
        ("false", "boolean", False),
        ("null", "null", None),
        ('["a", 1]', "array", ["a", 1]),
        ("[]", "array", []),
        ('{"a": {"b": null}}', "object", {"a": {"b": None}}),
        ("5", "string", "5"),
        ("true", "string", "true"),
        ("null", "string", "null"),
        ("", "string", ""),
    ],
)
def test_a_text_becomes_what_the_schema_asks_for(text: str, kind: str, value: object) -> None:
    found = one(text, {"type": kind})

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("five", "integer"),
        ("5.0", "integer"),
        ("007", "integer"),
        ("+5", "integer"),
        ("", "integer"),
        ("true", "integer"),
        ("9" * 2000, "integer"),
        ("NaN", "number"),
        ("Infinity", "number"),
        ("1e999", "number"),
        ("True", "boolean"),
        ("yes", "boolean"),
        ("1", "boolean"),
        ("a, b", "array"),
        ('{"a": 1}', "array"),
        ("[1]", "object"),
        ('{"a": 1, "a": 2}', "object"),
        ("[" * 5000, "array"),
        ('"5"', "integer"),
        ("None", "null"),
    ],
)
def test_a_text_that_does_not_fit_stays_a_text(text: str, kind: str) -> None:
    assert one(text, {"type": kind}) == text


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": ["integer", "null"]}, 5),
        ("null", {"type": ["integer", "null"]}, None),
        ("5", {"type": ["string", "integer"]}, "5"),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ("null", {"oneOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5"),
        ("[1]", {"allOf": [{"type": "array"}, {"minItems": 1}]}, [1]),
        ("5", {"anyOf": [{"anyOf": [{"type": "integer"}]}]}, 5),
        ("5", {}, "5"),
        ("5", True, "5"),
        ("5", None, "5"),
        ("5", {"type": 7}, "5"),
        ("5", {"type": [None, 7]}, "5"),
        ("5", {"anyOf": "x"}, "5"),
        ("5", {"enum": [5]}, "5"),
    ],
)
def test_schemas_that_are_put_together(text: str, schema: Any, value: object) -> None:
    assert one(text, schema) == value


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ("#/$defs/count", 5),
        ("#/$defs/a~1b~0c", 5),
        ("#/$defs/loop", "5"),
        ("#/$defs/missing", "5"),
        ("#/$defs/count/type/deeper", "5"),
        ("https://elsewhere/x", "5"),
    ],
)
def test_references_inside_the_schema_are_followed_and_no_others(reference: str, value: object) -> None:
    schema: dict[str, Any] = {
        "properties": {"x": {"$ref": reference}},
        "$defs": {"count": {"type": "integer"}, "a/b~c": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}},
    }

    assert coerced({"x": "5"}, schema) == {"x": value}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, "5"),
        ({"properties": {"y": {"type": "integer"}}}, "5"),
        ({"properties": {}, "additionalProperties": {"type": "integer"}}, 5),
        ({"additionalProperties": {"type": "integer"}}, 5),
        ({"properties": {}, "additionalProperties": False}, "5"),
        ({"properties": "x"}, "5"),
    ],
)
def test_an_argument_that_the_schema_does_not_name(schema: Any, value: object) -> None:
    assert coerced({"x": "5"}, schema) == {"x": value}
