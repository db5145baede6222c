"""Definitions that leave out what an agent needs are told of, and whole ones are not."""

from typing import Any

import pytest
from msgspec.structs import replace

from interlock.lab.model import Severity
from interlock.lab.probing.lints import lints
from tests.lab.bench import lab_tools

WHOLE: dict[str, Any] = {
    "name": "get_note",
    "description": "Gives back the text of one note by its name.",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string", "description": "which note"}}},
}


def codes(*tools: dict[str, Any]) -> list[str]:
    return [each.code for each in lints(lab_tools(*tools))]


def test_a_whole_definition_is_left_alone() -> None:
    assert codes(WHOLE) == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"annotations": None}, "unannotated"),
        ({"annotations": {"title": "Note"}}, "unannotated"),
        ({"annotations": {"readOnlyHint": "yes"}}, "unannotated"),
        ({"description": None}, "description-missing"),
        ({"description": "   "}, "description-missing"),
        ({"description": ["x"]}, "description-missing"),
        ({"description": "Gets a note."}, "description-short"),
        ({"inputSchema": {"type": "object", "properties": {"name": {}, "x": True}}}, "parameters-undescribed"),
    ],
)
def test_what_is_left_out_is_told(changed: dict[str, Any], code: str) -> None:
    assert codes({**WHOLE, **changed}) == [code]


def test_two_tools_with_one_description_are_both_told_of() -> None:
    assert codes(WHOLE, {**WHOLE, "name": "get_other"}) == ["description-shared", "description-shared"]


@pytest.mark.parametrize("nonsense", [None, 5, "x", [], {"properties": []}, {"properties": {"x": None}}])
def test_nonsense_in_the_place_of_a_schema_harms_nobody(nonsense: object) -> None:
    assert set(codes({**WHOLE, "inputSchema": nonsense})) <= {"parameters-undescribed"}


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("delete_note", Severity.MEDIUM),
        ("run_note", Severity.LOW),
        ("write_note", Severity.INFO),
        ("get_note", Severity.INFO),
    ],
)
def test_the_more_a_name_promises_the_graver_it_is_to_say_nothing(name: str, severity: Severity) -> None:
    (found,) = lints(lab_tools({**WHOLE, "name": name, "annotations": None}))
    assert (found.code, found.severity) == ("unannotated", severity)


def test_a_name_that_is_listed_twice_is_told() -> None:
    (tool,) = lab_tools(WHOLE)
    (found,) = lints([replace(tool, others=(WHOLE,))])
    assert (found.code, found.tool, found.evidence) == ("name-listed-twice", "get_note", {"times": "2"})
