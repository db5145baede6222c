"""What a schema can cost is known before anything is checked against it."""

from typing import Any

import pytest

from interlock.core.model import Json
from interlock.core.weigh import ANY_DEPTH, NEVER, depth_allowed, is_deeper


def laughing(levels: int, keyword: str = "allOf") -> dict[str, Any]:
    """Definitions that each name the next one twice."""
    definitions: dict[str, Any] = {f"d{at}": {keyword: [{"$ref": f"#/$defs/d{at + 1}"}] * 2} for at in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{levels}": {"type": "object"}}}


def nested(levels: int) -> Json:
    value: Json = {}
    for _ in range(levels):
        value = {"a": value}
    return value


TREE: dict[str, Any] = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
DOUBLED: dict[str, Any] = {"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"a": {"enum": ["x"] * 1_000}}},
        {"properties": {"a": {"$ref": "#/$defs/a%20b"}}, "$defs": {"a b": {"type": "string"}}},
        {"properties": {"a": {"$ref": "#/allOf/0"}}, "allOf": [{"type": "object"}]},
        {"$id": "https://example.test/x", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": True}},
        {"items": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"patternProperties": {"^a": {}}}}},
        {"$ref": "#/nowhere/at/all"},
        {"$ref": "#/allOf/99999999", "allOf": []},
        {"$ref": "#/type/x", "type": "object"},
        laughing(5),
        TREE,
    ],
)
def test_an_honest_schema_may_check_values_of_any_depth(schema: dict[str, Any]) -> None:
    assert depth_allowed(schema) == ANY_DEPTH


@pytest.mark.parametrize(
    "schema",
    [
        laughing(40),
        laughing(40, "anyOf"),
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$ref": 5},
        {"$dynamicAnchor": "x", "items": {"$dynamicRef": "#x"}, "allOf": [{"$dynamicRef": "#x"}]},
        {"properties": {"a": {"$id": "elsewhere", "$ref": "#"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"$ref": "#"}}},
        {"$ref": "#/$defs/d0", "$defs": {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(900)}},
        {"properties": {"a": {"enum": [str(number) for number in range(100_000)]}}},
        {"properties": {"a": {"pattern": "x" * 1_000_000}}},
        {"properties": {f"a{number}": {"pattern": "x"} for number in range(500)}},
        {"patternProperties": {f"a{number}": True for number in range(500)}},
    ],
    ids=lambda schema: str(schema)[:40],
)
def test_one_that_could_keep_everybody_waiting_checks_nothing(schema: dict[str, Any]) -> None:
    assert depth_allowed(schema) == NEVER


def test_one_that_names_itself_twice_checks_what_is_not_deep() -> None:
    assert 2 <= depth_allowed(DOUBLED) <= 10


def test_the_references_of_a_part_are_followed_in_the_whole() -> None:
    whole = {
        "$defs": {"d": DOUBLED["properties"]["a"], "n": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/n"}] * 9}}}}
    }

    assert depth_allowed({"$ref": "#/$defs/n"}, within=whole) < depth_allowed({"$ref": "#/$defs/d"}, within=whole)
    assert depth_allowed({"type": "string"}, within=whole) == ANY_DEPTH


def test_what_is_left_over_costs_a_second_look_at_everything_beside_it() -> None:
    again = {"properties": {"a": {"allOf": [{"$ref": "#"}], "unevaluatedProperties": False}}}
    once = {"properties": {"a": {"allOf": [{"$ref": "#"}]}}}

    assert depth_allowed(again) < depth_allowed(once)


def test_weighing_itself_ends_early() -> None:
    names = range(60)
    tangled = {f"d{at}": {"properties": {f"a{to}": {"$ref": f"#/$defs/d{to}"} for to in names}} for at in names}

    assert depth_allowed({"$ref": "#/$defs/d0", "$defs": tangled}) < ANY_DEPTH


@pytest.mark.parametrize(
    ("value", "levels", "deeper"),
    [(5, 0, False), ({}, 0, False), ({"a": 1}, 0, True), ([[1]], 1, True), ([[1]], 2, False), (nested(9), 8, True)],
)
def test_how_deep_a_value_is_can_be_told(value: Json, levels: int, deeper: bool) -> None:
    assert is_deeper(value, levels) is deeper
