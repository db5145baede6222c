"""What is put on record when tools change: all that a reader needs, and no more than a server may fill."""

import json

import pytest

from interlock.core.canonical import canonical_text
from interlock.core.drift import Definition, ToolChange, Turn, definition_of
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, Standing
from interlock.core.safety import SafetyClass
from interlock.forward.changes import MAX_VALUE, MOST_TOLD, ROOM, begun, found, overridden, trusted
from interlock.store.protocol import Activity, ActivityType

NOW = 1_700_000_000_000_000


def defined(**fields: Json) -> Definition:
    return definition_of(canonical_text(fields))


def changed(before: Definition | None, after: Definition, turn: Turn = Turn.CHANGED, tool: str = "x") -> ToolChange:
    return ToolChange(turn, tool, Standing.CHANGED, before, after)


def only(change: ToolChange) -> Activity:
    (activity,) = found("github", [change], NOW)
    return activity


def test_a_change_is_told_with_both_fingerprints_and_every_field_that_differs() -> None:
    before, after = defined(name="x", a=True, b=None, d=[1]), defined(name="x", a=False, c={"é": 1}, d=[2])
    activity = only(changed(before, after))

    assert (activity.type, activity.status, activity.at) == (ActivityType.TOOL_CHANGE, CallState.SUCCESS, NOW)
    assert (activity.server, activity.tool, activity.caller) == ("github", "x", None)
    assert activity.body == {
        "change": "changed",
        "standing": "changed",
        "fingerprint": after.fingerprint,
        "reviewed": before.fingerprint,
        "difference": [
            {"path": "/a", "kind": "changed", "before": "true", "after": "false"},
            {"path": "/b", "kind": "removed", "before": "null", "after": None},
            {"path": "/c", "kind": "added", "before": None, "after": '{"\\u00e9":1}'},
            {"path": "/d/0", "kind": "changed", "before": "1", "after": "2"},
        ],
        "by": None,
    }


@pytest.mark.parametrize("before", [None, defined(name="x")])
def test_without_two_definitions_there_is_no_difference_to_tell(before: Definition | None) -> None:
    body = only(changed(before, defined(name="x"), Turn.RESTORED)).body

    assert body["change"] == "restored"
    assert "difference" not in body


def test_no_secret_of_a_definition_is_told_not_even_one_that_is_cut_off() -> None:
    token = "ghp_" + "a1B2" * 9
    after = defined(a="x" * (MAX_VALUE - 10) + f" {token}", b=f"use {token}", **{token: 1})
    told = json.dumps(only(changed(defined(), after)).body)

    assert token not in told
    assert token[:8] not in told
    assert "[redacted github]" in told


def test_long_values_and_long_paths_are_cut() -> None:
    (field,) = _fields(only(changed(defined(), defined(**{"k" * 9_000: "v" * 9_000}))))

    assert (len(field["path"]), len(field["after"])) == (MAX_VALUE, MAX_VALUE)


@pytest.mark.parametrize("count", [1, 3, MOST_TOLD])
def test_the_differences_of_one_listing_stay_within_their_room(count: int) -> None:
    many = changed(defined(v=[0] * 5_000), defined(v=[1] * 5_000))
    activities = found("s", [many] * count, NOW)

    assert all(each.body["more"] is True for each in activities)
    assert sum(len(json.dumps(each.body["difference"])) for each in activities) <= ROOM
    assert len(_fields(activities[0])) > 300 // count


def test_of_very_many_changes_the_gravest_are_told_and_the_rest_is_counted() -> None:
    appeared = [changed(None, defined(), Turn.APPEARED, f"new-{n}") for n in range(MOST_TOLD)]
    changes = [*appeared, changed(defined(), defined(v=1), tool="bad"), changed(defined(), defined(), Turn.RESTORED)]
    activities = found("s", changes, NOW)

    assert len(activities) == MOST_TOLD + 1
    assert [each.body["change"] for each in activities[:3]] == ["changed", "restored", "appeared"]
    assert (activities[-1].tool, activities[-1].body) == (None, {"change": "more", "tools": 2, "by": None})
    assert len({each.id for each in activities}) == len(activities)


def test_every_tool_that_a_person_trusted_is_told_with_who_it_was() -> None:
    changes = [changed(defined(), defined(v=n), Turn.TRUSTED, f"t-{n}") for n in range(3 * MOST_TOLD)]
    activities = trusted("s", changes, "alice", NOW)

    assert [each.tool for each in activities] == [f"t-{n}" for n in range(3 * MOST_TOLD)]
    assert {(each.caller, each.body["by"], each.body["change"]) for each in activities} == {
        ("alice", "alice", "trusted")
    }


def test_a_baseline_is_told_with_the_number_of_its_tools() -> None:
    activity = begun("github", 7, NOW)

    assert (activity.server, activity.tool) == ("github", None)
    assert activity.body == {"change": "baseline", "tools": 7, "by": None}


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (None, SafetyClass.READ_ONLY, "overridden"),
        (SafetyClass.READ_ONLY, SafetyClass.DANGEROUS, "overridden"),
        (SafetyClass.READ_ONLY, None, "override removed"),
    ],
)
def test_an_override_is_told_with_what_was_before(
    before: SafetyClass | None, after: SafetyClass | None, change: str
) -> None:
    activity = overridden("s", "t", before, after, "alice", NOW)

    assert (activity.server, activity.tool, activity.caller) == ("s", "t", "alice")
    assert activity.body == {"change": change, "before": before, "after": after, "by": "alice"}


def _fields(activity: Activity) -> list[dict[str, str]]:
    return json.loads(json.dumps(activity.body["difference"]))
