"""Plain schemas from composed ones."""

from typing import Any

import pytest

from interlock.lab.values.check import Check, Effort, Spent
from interlock.lab.values.merge import MAX_ALTERNATIVES, Contradiction, Merger, merged


def plain(schema: Any, steps: int = 10_000) -> tuple[dict[str, Any], ...]:
    effort = Effort(steps)
    return Merger(Check(schema, Effort(10_000)), effort).plain(schema)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({"type": "number"}, {"type": ["integer", "string"]}, {"type": ["integer"]}),
        ({"type": "integer"}, {"type": "number"}, {"type": ["integer"]}),
        ({"enum": [1, 2, 3]}, {"enum": [3, 2]}, {"enum": [2, 3]}),
        ({"minimum": 1, "maximum": 9}, {"minimum": 4, "maximum": 12}, {"minimum": 4, "maximum": 9}),
        ({"required": ["a"]}, {"required": ["b", "a"]}, {"required": ["a", "b"]}),
        (
            {"items": {"type": "string"}},
            {"items": {"minLength": 1}},
            {"items": {"allOf": [{"type": "string"}, {"minLength": 1}]}},
        ),
        ({"title": "one"}, {"title": "other"}, {"title": "one"}),
        ({"properties": {"a": True}}, {"properties": {"a": True, "b": {}}}, {"properties": {"a": True, "b": {}}}),
    ],
)
def test_two_schemas_are_merged_into_one_that_asks_for_both(one: Any, other: Any, both: Any) -> None:
    assert merged(one, other) == both


@pytest.mark.parametrize(("one", "other"), [({"type": "string"}, {"type": "integer"}), ({"enum": [1]}, {"enum": [2]})])
def test_two_schemas_that_nothing_fits_together_contradict_each_other(one: Any, other: Any) -> None:
    with pytest.raises(Contradiction):
        merged(one, other)


def test_each_branch_of_a_choice_is_an_alternative_with_the_schemas_own_words() -> None:
    assert plain({"title": "t", "anyOf": [{"type": "string"}, {"type": "null"}]}) == (
        {"title": "t", "type": "string"},
        {"title": "t", "type": "null"},
    )


def test_a_condition_is_taken_both_ways() -> None:
    schema = {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}

    assert plain(schema) == ({"required": ["a", "b"]}, {"required": ["c"]})


def test_a_reference_that_leads_back_to_itself_has_no_alternative() -> None:
    part = {"$ref": "#/$defs/a"}
    circle = {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "properties": {"x": part}}

    assert Merger(Check(circle, Effort(10_000)), Effort(10_000)).plain(part) == ()


def test_choices_that_multiply_are_counted() -> None:
    many = {"allOf": [{"anyOf": [{"title": str(n)} for n in range(9)]} for _ in range(9)]}

    assert len(plain(many)) == MAX_ALTERNATIVES
    with pytest.raises(Spent):
        plain({"allOf": [*many["allOf"], False]}, steps=500)
