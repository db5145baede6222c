"""Numbers inside the bounds of a schema."""

from itertools import islice
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.lab.values.number import exact, numbers, range_of


def first(schema: dict[str, Any], turn: int = 0) -> Any:
    return next(numbers(range_of(schema, whole=schema.get("type") == "integer"), turn), None)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({}, 1),
        ({"minimum": 10}, 10),
        ({"maximum": -3}, -3),
        ({"type": "integer", "exclusiveMinimum": 4}, 5),
        ({"type": "integer", "minimum": 4, "exclusiveMinimum": True}, 5),
        ({"type": "integer", "minimum": 4, "exclusiveMinimum": 2}, 4),
        ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, 0.5),
        ({"multipleOf": 0.1, "minimum": 1.25}, 1.3),
        ({"type": "integer", "multipleOf": 0.75}, 3),
        ({"type": "integer", "minimum": 1.2, "maximum": 1.8}, None),
        ({"minimum": 3, "maximum": 2}, None),
        ({"type": "integer", "multipleOf": 0}, 1),
    ],
)
def test_the_first_number_is_the_usual_one_or_the_nearest_to_it(schema: dict[str, Any], value: Any) -> None:
    assert first(schema) == value


def test_the_next_turn_gives_another_number_and_comes_round_at_the_bound() -> None:
    schema = {"type": "integer", "minimum": 1, "maximum": 3}

    assert [first(schema, turn) for turn in range(4)] == [1, 2, 3, 1]


@given(st.integers(-1000, 1000), st.integers(0, 50), st.sampled_from([None, 0.1, 0.25, 1, 7]), st.integers(0, 999))
def test_whatever_is_given_is_inside_the_bounds(low: int, width: int, step: float | None, turn: int) -> None:
    schema: dict[str, Any] = {"type": "number", "minimum": low, "exclusiveMaximum": low + width + 0.5}
    schema |= {} if step is None else {"multipleOf": step}
    check = jsonschema_rs.validator_for(schema)

    assert all(check.is_valid(each) for each in islice(numbers(range_of(schema, whole=False), turn), 5))


@pytest.mark.parametrize("value", [True, "3", None, float("inf"), 10**400])
def test_what_is_no_number_to_reckon_with_sets_no_bound(value: Any) -> None:
    assert exact(value) is None
