"""Edges of a schema, before anyone has judged them."""

from typing import Any

import pytest

from interlock.lab.values.check import Check, Effort, Spent
from interlock.lab.values.edges import MAX_PLACES, Edge, Edges, pointer
from interlock.lab.values.merge import Merger


def edges(schema: dict[str, Any], arguments: dict[str, Any], steps: int = 10_000) -> list[Edge]:
    effort = Effort(steps)
    check = Check(schema, Effort(10_000))
    check.effort = effort
    return list(Edges(check, Merger(check, effort), effort).of(schema, arguments))


def test_one_place_is_changed_at_a_time() -> None:
    schema = {"properties": {"a": {"type": "integer", "maximum": 5}, "b": {"const": 1}}}

    found = [each for each in edges(schema, {"a": 1, "b": 1}) if each.about == "maximum at /a"]

    assert found == [
        Edge({"a": 5, "b": 1}, True, "maximum at /a"),
        Edge({"a": 6, "b": 1}, False, "maximum at /a"),
    ]


def test_places_inside_objects_and_arrays_have_edges_too() -> None:
    schema = {"properties": {"o": {"properties": {"l": {"items": {"type": "integer", "minimum": 3}}}}}}

    assert Edge({"o": {"l": [2]}}, False, "minimum at /o/l/0") in edges(schema, {"o": {"l": [4]}})


def test_the_branch_that_the_value_took_is_the_one_whose_edges_count() -> None:
    schema = {"properties": {"a": {"anyOf": [{"type": "integer", "minimum": 3}, {"type": "string", "maxLength": 2}]}}}

    about = {each.about for each in edges(schema, {"a": "x"})}

    assert "maxLength at /a" in about
    assert "minimum at /a" not in about


def test_the_number_of_places_is_bounded() -> None:
    names = [f"p{n}" for n in range(MAX_PLACES * 2)]
    schema = {"properties": {name: {"type": "integer"} for name in names}}

    types = [each for each in edges(schema, dict.fromkeys(names, 1)) if each.about.startswith("type at")]

    assert len(types) == MAX_PLACES - 1


def test_looking_ends_when_the_effort_is_spent() -> None:
    with pytest.raises(Spent):
        edges({"properties": {"a": {"type": "string"}}}, {"a": "x"}, steps=5)


def test_a_place_is_written_as_a_pointer() -> None:
    assert pointer(("a/b", 0, "~")) == "/a~1b/0/~0"
