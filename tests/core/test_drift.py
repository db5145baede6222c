"""Fingerprints notice every change and no rearrangement; tools stand against what was reviewed."""

import copy
import json
from dataclasses import replace
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.core.canonical import canonical_text
from interlock.core.drift import (
    MOST_FIELDS,
    Change,
    ChangeKind,
    Definition,
    Reviewed,
    ToolChange,
    Turn,
    definition_of,
    definitions,
    difference,
    differences,
    fingerprint,
    judge,
)
from interlock.core.model import Json, Standing
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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (0.0, -0.0),
        (1, 1.0),
        (True, 1),
        (None, False),
        ("1", 1),
        ([], {}),
        ({}, ""),
        ([0.0], [-0.0]),
        (2**70, 2**70 + 1),
    ],
)
def test_values_that_are_nearly_the_same_are_not(before: Json, after: Json) -> None:
    assert len(differences({"x": before}, {"x": after})) == 1
    assert differences({"x": before}, {"x": before}) == ()


# Against what was reviewed --------------------------------------------------------------------------------------


def defined(**fields: Json) -> Definition:
    return definition_of(canonical_text(fields))


OLD, OTHER, THIRD = defined(name="x", v=1), defined(name="x", v=2), defined(name="x", v=3)
NEW, KNOWN, CHANGED = Standing.NEW, Standing.KNOWN, Standing.CHANGED


TWICE = replace(definition_of('{"definitions":[{"name":"x","v":1},{"name":"x","v":2}]}'), is_one=False)


def test_a_listing_is_read_by_name_and_all_that_is_listed_under_a_name_counts() -> None:
    tools: list[dict[str, Json]] = [{"name": "x", "v": 2}, {"name": "x", "v": 1}, {"name": 5}, {"v": 1}, {"name": ""}]

    assert definitions(tools) == {"x": TWICE, "": defined(name="")}
    assert definitions([{"name": "x", "v": 1}, {"v": 1, "name": "x"}]) == {"x": OLD}


@given(descriptors())
def test_a_definition_has_the_fingerprint_of_its_descriptor(tool: dict[str, Json]) -> None:
    assert definition_of(canonical_text(tool)).fingerprint == fingerprint(tool)


JUDGEMENTS: list[tuple[Reviewed | None, Definition, bool, Standing, Turn | None, Reviewed]] = [
    # What is remembered, what is listed, is the server trusted; how it stands, what is told, what is remembered now.
    (Reviewed(OLD), OLD, False, KNOWN, None, Reviewed(OLD)),
    (Reviewed(OLD), OTHER, False, CHANGED, Turn.CHANGED, Reviewed(OLD, OTHER.fingerprint)),
    (Reviewed(OLD), OTHER, True, CHANGED, Turn.CHANGED, Reviewed(OLD, OTHER.fingerprint)),
    (Reviewed(OLD, OTHER.fingerprint), OTHER, False, CHANGED, None, Reviewed(OLD, OTHER.fingerprint)),
    (Reviewed(OLD, OTHER.fingerprint), THIRD, False, CHANGED, Turn.CHANGED, Reviewed(OLD, THIRD.fingerprint)),
    (Reviewed(OLD, OTHER.fingerprint), OLD, False, KNOWN, Turn.RESTORED, Reviewed(OLD)),
    (None, OLD, False, NEW, Turn.APPEARED, Reviewed(None, OLD.fingerprint)),
    (None, OLD, True, KNOWN, Turn.APPEARED, Reviewed(OLD)),
    (Reviewed(None, OLD.fingerprint), OLD, False, NEW, None, Reviewed(None, OLD.fingerprint)),
    (Reviewed(None, OLD.fingerprint), OTHER, False, NEW, Turn.APPEARED, Reviewed(None, OTHER.fingerprint)),
    (Reviewed(None, OLD.fingerprint), OLD, True, KNOWN, Turn.APPEARED, Reviewed(OLD)),
    (None, TWICE, True, Standing.TWICE, Turn.APPEARED, Reviewed(None, TWICE.fingerprint)),
    (Reviewed(OLD), TWICE, True, Standing.TWICE, Turn.CHANGED, Reviewed(OLD, TWICE.fingerprint)),
    (Reviewed(OLD, TWICE.fingerprint), TWICE, False, Standing.TWICE, None, Reviewed(OLD, TWICE.fingerprint)),
    (Reviewed(OLD, TWICE.fingerprint), OLD, False, KNOWN, Turn.RESTORED, Reviewed(OLD)),
]


@pytest.mark.parametrize(("before", "listed", "trusted", "standing", "turn", "after"), JUDGEMENTS)
def test_a_tool_is_held_against_what_was_reviewed(
    before: Reviewed | None, listed: Definition, trusted: bool, standing: Standing, turn: Turn | None, after: Reviewed
) -> None:
    reviewed = {} if before is None else {"x": before}

    judged = judge({"x": listed}, reviewed, trusted=trusted)
    told = ToolChange(turn, "x", standing, before.definition if before else None, listed) if turn else None

    assert judged.standings == {"x": standing}
    assert judged.changes == ((told,) if told else ())
    assert judged.reviewed == ({"x": after} if told else {})


@pytest.mark.parametrize("trusted", [False, True])
def test_a_reviewed_tool_that_vanished_is_remembered_and_one_that_nobody_reviewed_is_forgotten(trusted: bool) -> None:
    reviewed = {"old": Reviewed(OLD), "bad": Reviewed(OLD, "f"), "late": Reviewed(None, "f")}

    judged = judge({}, reviewed, trusted=trusted)

    assert (judged.standings, judged.changes, judged.reviewed) == ({}, (), {"late": None})


MEMORIES = st.one_of(
    st.none(),
    st.builds(
        Reviewed,
        st.sampled_from([None, OLD, OTHER, THIRD]),
        st.sampled_from([None, OLD.fingerprint, OTHER.fingerprint, THIRD.fingerprint]),
    ),
)


@given(MEMORIES, st.lists(st.sampled_from([OLD, OTHER, THIRD, None]), max_size=6))
def test_on_an_untrusted_server_only_what_was_reviewed_is_ever_known(
    before: Reviewed | None, listings: list[Definition | None]
) -> None:
    reviewed = {} if before is None else {"x": before}
    for listed in listings:
        judged = judge({} if listed is None else {"x": listed}, reviewed, trusted=False)
        kept: dict[str, Reviewed | None] = {**reviewed, **judged.reviewed}
        reviewed = {tool: each for tool, each in kept.items() if each is not None}

        known = before is not None and before.definition is not None and before.definition == listed
        assert (judged.standings.get("x") is KNOWN) == known


@given(MEMORIES, st.sampled_from([OLD, OTHER, THIRD]), st.booleans())
def test_a_listing_that_was_told_is_not_told_again(before: Reviewed | None, listed: Definition, trusted: bool) -> None:
    reviewed = {} if before is None else {"x": before}
    first = judge({"x": listed}, reviewed, trusted=trusted)
    after = {tool: each for tool, each in {**reviewed, **first.reviewed}.items() if each is not None}
    again = judge({"x": listed}, after, trusted=trusted)

    assert again.standings == first.standings
    assert (again.changes, again.reviewed) == ((), {})


def test_a_difference_names_the_fields_and_both_fingerprints() -> None:
    found = difference(OLD, OTHER)

    assert found.changes == (Change("/v", ChangeKind.CHANGED, 1, 2),)
    assert (found.standing, found.complete) == (CHANGED, True)
    assert (found.reviewed, found.listed) == (OLD.fingerprint, OTHER.fingerprint)


def test_a_tool_that_nobody_reviewed_differs_from_nothing() -> None:
    found = difference(None, OLD)

    assert (found.standing, found.reviewed) == (NEW, None)
    assert found.changes == (Change("/name", ChangeKind.ADDED, after="x"), Change("/v", ChangeKind.ADDED, after=1))


def test_a_tool_as_it_was_reviewed_does_not_differ() -> None:
    assert (difference(OLD, OLD).standing, difference(OLD, OLD).changes) == (KNOWN, ())


@pytest.mark.parametrize(("fields", "complete"), [(MOST_FIELDS, True), (MOST_FIELDS + 1, False), (100_000, False)])
def test_a_difference_of_very_many_fields_says_that_there_are_more(fields: int, complete: bool) -> None:
    found = difference(defined(v=[0] * fields), defined(v=[1] * fields))

    assert (len(found.changes), found.complete) == (MOST_FIELDS, complete)


@pytest.mark.parametrize("trusted", [True, False])
def test_a_poisoned_tool_is_known_only_as_it_was_reviewed(trusted: bool) -> None:
    listed = definitions([{"name": "x"}, {"name": "y"}])
    reviewed = {"y": Reviewed(listed["y"])}

    assert judge(listed, reviewed, trusted=trusted, poisoned={"x", "y"}).standings == {
        "x": Standing.POISONED,
        "y": Standing.KNOWN,
    }
