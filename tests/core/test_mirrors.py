"""Which arguments a tool wants repeated in headers, and what they say."""

from typing import Any

import pytest

from interlock.core.mirrors import MAX_DEPTH, MAX_MIRRORS, MAX_VALUE, Mirror, mirrored, mirrors_of
from interlock.core.model import Json, JsonObject


def tool(**properties: Any) -> JsonObject:
    return {"name": "x", "inputSchema": {"type": "object", "properties": properties}}


def marked(name: Any, kind: Any = "string") -> dict[str, Any]:
    return {"type": kind, "x-mcp-header": name}


def nested(depth: int, inner: dict[str, Any]) -> dict[str, Any]:
    return inner if depth == 0 else {"type": "object", "properties": {"in": nested(depth - 1, inner)}}


def test_a_property_is_found_by_the_names_that_lead_to_it() -> None:
    found = mirrors_of(
        tool(region=marked("Region"), deep=nested(1, marked("Deep", "integer")), other={"type": "string"})
    )

    assert found == (Mirror("Mcp-Param-Region", ("region",)), Mirror("Mcp-Param-Deep", ("deep", "in")))


@pytest.mark.parametrize(
    "descriptor",
    [
        {"name": "x"},
        {"name": "x", "inputSchema": True},
        {"name": "x", "inputSchema": {"properties": ["x-mcp-header"]}},
        tool(a="x-mcp-header", b={"type": "string"}),
        tool(a={"type": "array", "items": marked("A")}),
        tool(a=nested(MAX_DEPTH, marked("A"))),
    ],
)
def test_a_tool_that_names_none_has_none(descriptor: JsonObject) -> None:
    assert mirrors_of(descriptor) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        marked(""),
        marked("a b"),
        marked("a\r\nX-Evil: 1"),
        marked("a:b"),
        marked("ä"),
        marked("a" * 101),
        marked(5),
        marked("GOOD"),
        marked("A", "number"),
        marked("A", "object"),
        marked("A", ["string", "null"]),
        marked("A", None),
    ],
)
def test_one_that_is_wrong_makes_all_of_them_void(wrong: dict[str, Any]) -> None:
    assert mirrors_of(tool(good=marked("Good"), wrong=wrong)) == ()


def test_a_schema_cannot_make_a_call_carry_any_number_of_headers() -> None:
    many = {f"p{n}": marked(f"H{n}") for n in range(MAX_MIRRORS + 1)}

    assert mirrors_of(tool(**many)) == ()
    assert len(mirrors_of(tool(**dict(list(many.items())[:-1])))) == MAX_MIRRORS


@pytest.mark.parametrize(
    ("value", "said"),
    [("eu", "eu"), ("", ""), (True, "true"), (False, "false"), (42, "42"), (42.0, "42.0"), ("ä\n", "ä\n")],
)
def test_a_value_is_repeated_as_a_plain_text(value: Json, said: str) -> None:
    assert mirrored([Mirror("H", ("a", "b"))], {"a": {"b": value}}) == (("H", said),)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"a": None}, {"a": "b"}, {"a": {"b": None}}, {"a": {"b": []}}, {"a": {"b": "x" * (MAX_VALUE + 1)}}],
)
def test_what_is_absent_or_no_simple_value_or_too_long_is_not_repeated(arguments: JsonObject) -> None:
    assert mirrored([Mirror("H", ("a", "b"))], arguments) == ()
