"""One value for a schema; what examples() promises about all of them is tested there."""

from typing import Any

import pytest

from interlock.lab.values.check import Check, Effort, Spent
from interlock.lab.values.make import NOTHING, Maker, Place, count_of, likely_types
from interlock.lab.values.merge import Merger


def made(schema: Any, *, left: int = 6, full: int = 0, steps: int = 10_000) -> Any:
    effort = Effort(steps)
    check = Check(schema, Effort(10_000))
    check.effort = effort
    return Maker(check, Merger(check, effort), effort).make(schema, Place(left=left, full=full, turn=0))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer", "minimum": 1, "not": {"enum": [1, 2]}}, 3),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": True}, ["a", "b"]),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2, "uniqueItems": True}, [False, True]),
        ({"type": "array", "maxItems": 0}, []),
        ({"type": "array", "items": False}, []),
        ({"type": "array", "prefixItems": [{"const": 1}, {"const": 2}]}, [1, 2]),
        ({"contains": {"const": 5}, "minItems": 2, "items": {"type": "integer"}}, [1, 5]),
        ({"type": "object", "minProperties": 1}, {"interlock0": "interlock probe"}),
        ({"type": "string", "pattern": "^interlock_probe$"}, "interlock_probe"),
        ({"type": "string", "minLength": 17}, "interlock probexx"),
        ({"type": "null"}, None),
        (
            {
                "type": "object",
                "required": ["ab"],
                "patternProperties": {"^a": {"const": 1}, "b$": {"type": "integer"}},
            },
            {"ab": 1},
        ),
    ],
)
def test_a_value_fits_by_trying_the_next_when_one_does_not(schema: Any, value: Any) -> None:
    assert made(schema) == value


def test_optional_properties_that_do_not_fit_together_are_added_as_far_as_they_do() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"const": 1}, "b": {"const": 2}, "c": {"const": 3}},
        "not": {"required": ["a", "b"]},
    }

    assert made(schema, full=1) == {"a": 1, "c": 3}


def test_a_value_that_needs_more_depth_than_is_left_is_not_made() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "required": ["b"]}}, "required": ["a"]}

    assert made(schema, left=2) == {"a": {"b": "interlock probe"}}
    assert made(schema, left=1) is NOTHING


def test_making_ends_when_the_effort_is_spent() -> None:
    with pytest.raises(Spent):
        made({"type": "array", "minItems": 500, "items": {"type": "string"}}, steps=200)


@pytest.mark.parametrize(
    ("value", "count"), [(2, 2), (2.0, 2), (True, None), (-1, None), ("2", None), (10**30, 10**12), (None, None)]
)
def test_a_count_is_a_count(value: Any, count: int | None) -> None:
    assert count_of({"minLength": value}, "minLength") == count


def test_the_likeliest_type_is_the_one_the_keywords_speak_of() -> None:
    assert likely_types({"minimum": 3})[0] == "number"
    assert likely_types({"type": ["null", "array"]}) == ["array", "null"]
