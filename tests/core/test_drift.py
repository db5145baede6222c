"""Fingerprints notice every change and no rearrangement."""

import copy
import json
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.drift import Change, ChangeKind, differences, fingerprint
from interlock.core.model import Json
from tests.core.strategies import descriptors, json_values

Path: TypeAlias = tuple[str | int, ...]
EDITS: list[Json] = ["edited", 12345, [], None]
TOOL: dict[str, Any] = {
    "name": "delete_repo",
    "title": "Delete",
    "description": "Deletes a repository.",
    "inputSchema": {
        "type": "object",
        "properties": {"repo": {"type": "string", "enum": ["a", "b"]}, "force": {"type": "boolean"}},
        "required": ["repo"],
    },
    "outputSchema": {"type": "object"},
    "annotations": {"destructiveHint": True, "idempotentHint": False},
    "icons": [{"src": "x.png"}],
    "_meta": {"version": 3, "ui": {"uri": "ui://x"}},
}


def paths_of(value: Any, path: Path = ()) -> list[Path]:
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(cast("dict[str, Any]", value).items())
    elif isinstance(value, list):
        inner = list(enumerate(cast("list[Any]", value)))
    found = [each for key, child in inner for each in paths_of(child, (*path, key))]
    return [path, *found] if path else found


def edited(path: Path, new: Any) -> dict[str, Any]:
    tool = copy.deepcopy(TOOL)
    holder: Any = tool
    for step in path[:-1]:
        holder = holder[step]
    if new is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return tool


@pytest.mark.parametrize("path", paths_of(TOOL), ids=str)
def test_every_single_field_edit_changes_the_fingerprint_and_is_named(path: Path) -> None:
    for new in EDITS:
        tool = edited(path, new)

        assert fingerprint(tool) != fingerprint(TOOL)
        assert differences(TOOL, tool) != ()


def test_key_order_and_white_space_change_nothing() -> None:
    turned = json.loads(json.dumps(dict(reversed(TOOL.items())), indent=7))

    assert fingerprint(turned) == fingerprint(TOOL)


def test_differences_name_each_field_with_before_and_after() -> None:
    before: dict[str, Json] = {"name": "x", "annotations": {"readOnlyHint": True}, "tags": ["a", "b"], "a/b": 1}
    after: dict[str, Json] = {"name": "x", "annotations": {"readOnlyHint": False, "title": "t"}, "tags": ["c"]}

    assert differences(before, after) == (
        Change("/a~1b", ChangeKind.REMOVED, before=1),
        Change("/annotations/readOnlyHint", ChangeKind.CHANGED, True, False),
        Change("/annotations/title", ChangeKind.ADDED, after="t"),
        Change("/tags/0", ChangeKind.CHANGED, "a", "c"),
        Change("/tags/1", ChangeKind.REMOVED, before="b"),
    )
    assert differences(after, before)[-1] == Change("/tags/1", ChangeKind.ADDED, after="b")


@given(descriptors(), descriptors())
def test_there_are_differences_exactly_when_fingerprints_differ(one: dict[str, Json], other: dict[str, Json]) -> None:
    assert (differences(one, other) == ()) == (fingerprint(one) == fingerprint(other))


@given(descriptors(), st.text(min_size=1, max_size=5), json_values)
def test_a_new_field_anywhere_at_the_top_changes_the_fingerprint(tool: dict[str, Json], key: str, value: Json) -> None:
    changed = {**tool, key: value}

    assert (fingerprint(changed) != fingerprint(tool)) == (differences(tool, changed) != ())
    assert key in tool or fingerprint(changed) != fingerprint(tool)


@given(descriptors())
def test_rearranged_keys_never_change_the_fingerprint(tool: dict[str, Json]) -> None:
    assert fingerprint(dict(reversed(tool.items()))) == fingerprint(tool)
