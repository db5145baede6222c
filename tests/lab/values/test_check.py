"""Checking parts of a schema: references keep their meaning, and work is counted."""

from typing import Any

import pytest

from interlock.lab.values.check import MAX_DEPTH, Check, Effort, Spent

ROOT: dict[str, Any] = {
    "$defs": {"size": {"type": "integer", "minimum": 3}, "list": {"oneOf": [{"const": 1}]}, "odd/~name": {"const": 2}},
    "type": "object",
    "properties": {"size": {"$ref": "#/$defs/size"}},
}


def test_a_part_is_checked_with_what_its_references_mean_in_the_whole() -> None:
    check = Check(ROOT, Effort(1_000))

    assert check.part(ROOT["properties"]["size"], 3)
    assert not check.part(ROOT["properties"]["size"], 2)


def test_a_part_keeps_the_draft_of_the_whole() -> None:
    part = {"format": "date"}
    older = Check({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": part}}, Effort(1_000))

    assert not older.part(part, "no date")
    assert Check({"properties": {"a": part}}, Effort(1_000)).part(part, "no date")


@pytest.mark.parametrize(
    ("reference", "found"),
    [
        ("#", ROOT),
        ("#/$defs/size", ROOT["$defs"]["size"]),
        ("#/$defs/list/oneOf/0", {"const": 1}),
        ("#/$defs/odd~1~0name", {"const": 2}),
        ("#/$defs/list/oneOf/7", True),
        ("#/$defs/list/oneOf/x", True),
        ("#/nowhere/at/all", True),
        ("https://example.invalid/", True),
        (7, True),
    ],
)
def test_a_reference_is_followed_inside_the_schema_only(reference: object, found: Any) -> None:
    assert Check(ROOT, Effort(1_000)).resolve(reference) == found


def test_what_cannot_be_sent_fits_nothing() -> None:
    check = Check({}, Effort(1_000))

    assert [check.whole(each) for each in ("\ud800", {"\ud800": 1}, [10**5000])] == [False, False, False]


def test_work_ends_when_the_effort_is_spent() -> None:
    check = Check({}, Effort(3))
    schema = {"type": "string"}
    # One for the check, and two for reading the schema the first time.
    check.effort = Effort(3)
    assert check.part(schema, "x")

    with pytest.raises(Spent):
        check.part(schema, "x")


CHAIN: dict[str, Any] = {
    "$defs": {"n": {"properties": {"a": {"allOf": [{"$ref": "#/$defs/n"}] * 8}}}},
    "properties": {"first": {"$ref": "#/$defs/n"}},
}
"""Each level of a value costs eight times as much as the one above it."""


def chain(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_value_whose_check_would_cost_too_much_is_not_checked() -> None:
    check, part = Check(CHAIN, Effort(10_000)), CHAIN["properties"]["first"]

    assert check.whole({"first": chain(1)})
    assert check.part(part, chain(1))
    with pytest.raises(Spent):
        check.whole({"first": chain(12)})
    with pytest.raises(Spent):
        check.part(part, chain(12))


def test_a_schema_that_no_value_can_be_checked_against_is_not_compiled() -> None:
    with pytest.raises(Spent):
        Check({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, Effort(1_000))


def test_a_schema_that_is_too_deep_is_not_looked_into() -> None:
    deep: dict[str, Any] = {}
    for _ in range(MAX_DEPTH + 1):
        deep = {"not": deep}

    with pytest.raises(Spent):
        Check(deep, Effort(10**6))
