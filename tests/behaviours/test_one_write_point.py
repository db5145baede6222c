"""Nothing gets on record but by one way, on which secrets are hidden: the source has no other."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import interlock

SOURCE = Path(interlock.__file__).parent
CALLS = {"TOOL_CALL", "POLICY_DECISION"}
"""What is looked at where it is made, and not again when it is written."""


@cache
def modules() -> dict[str, ast.Module]:
    """The whole source, by the path of the module."""
    files = sorted(SOURCE.rglob("*.py"))
    return {file.relative_to(SOURCE).as_posix(): ast.parse(file.read_text(encoding="utf-8")) for file in files}


def calls_of(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Where something is called."""
    for where, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
                yield where, node


def types_named(call: ast.Call) -> set[str]:
    """The types of activities that a call names."""
    found = (node for node in ast.walk(call) if isinstance(node, ast.Attribute))
    return {node.attr for node in found if ast.unparse(node.value) == "ActivityType"}


def test_what_is_told_of_a_call_is_made_in_one_place() -> None:
    made = {where: types_named(call) for where, call in calls_of("Activity") if where != "store/rows.py"}

    assert {where for where, types in made.items() if types & CALLS} == {"kept.py"}
    assert all(made.values()), "the type of each activity is written where it is made"


def test_no_activity_becomes_that_of_a_call_later() -> None:
    changed = [call for _, call in calls_of("replace") if {each.arg for each in call.keywords} & {"type", "body"}]

    assert not [ast.unparse(call) for call in changed if types_named(call)]
    assert {where for where, call in calls_of("replace") if any(each.arg == "body" for each in call.keywords)} == {
        "approve/register.py",
        "kept.py",
        "store/rows.py",
    }


def test_an_activity_becomes_a_row_in_one_place_and_only_rows_reach_the_writer() -> None:
    assert [where for where, _ in calls_of("record_of")] == ["store/sql.py", "store/writer.py"]
    assert [where for where, _ in calls_of("Record") if where.startswith("store/")] == ["store/rows.py"]
    assert {where for where, _ in calls_of("Job")} == {"store/sql.py", "store/writer.py"}
