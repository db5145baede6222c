"""An approval as a reviewer reads it."""

from typing import Any

import pytest

from interlock.cli.watching.card import Line, card, is_grave, scopes, seconds_left, standing
from interlock.core.times import iso
from tests.cli.approvals import NOW, SECOND, approval, resolved


def told(label: str, **changed: Any) -> list[str]:
    """What stands under a label."""
    return [each.text for each in card(approval(**changed), NOW) if each.label == label]


def quoted(**changed: Any) -> list[str]:
    return [each.text for each in card(approval(**changed), NOW) if each.prefix == "  > "]


def test_what_matters_most_comes_first() -> None:
    labels = [each.label for each in card(approval(), NOW) if each.label]

    assert labels[:4] == ["Approval", "Tool", "Class", "Requester"]
    assert labels[-2:] == ["Digest", "Definition"]


def test_what_is_not_there_is_left_out() -> None:
    assert told("Requester", owner=None) == ["ci"]
    assert told("Workspace") == told("Runs with") == told("Vote") == told("Needed") == told("Decided") == []


def test_what_is_there_is_told() -> None:
    assert told("Workspace", workspace_id="ws-prod", workspace_name="Production") == ["ws-prod (Production)"]
    assert told("Runs with", auth_scope_id="gh-prod") == ["gh-prod"]
    assert told("Answers", approvers=["humans"], four_eyes=True) == ["humans, but not the owner"]
    assert told("Needed", approvals_needed=2) == ["2 votes"]
    assert told("Vote", votes=[{"approver": "alice", "at": iso(NOW), "scope": "once"}]) == [
        "alice at 2027-01-15 08:00:00Z (once)"
    ]


def test_how_widely_it_may_be_given_is_told_also_when_that_is_once() -> None:
    assert told("Scope", max_grant_sec=60) == ["once, or identical or tool for up to 1m"]
    assert told("Scope", max_grant_sec=0) == ["once only"]


def test_what_became_of_it_is_told_with_the_reason() -> None:
    lines = card({**resolved(status="denied"), "resolution": "not today"}, NOW)

    assert Line("Decided", "denied by alice at 2027-01-15 08:00:00Z") in lines
    assert Line("Reason", "not today") in lines
    assert not [each for each in lines if each.label == "Scope"]


def test_every_line_of_the_requesters_word_is_quoted() -> None:
    assert quoted(justification="one\nDigest:  forged") == ["one", "Digest:  forged"]
    assert quoted(justification=None) == ["nothing"]


def test_what_the_client_says_of_itself_is_quoted_too() -> None:
    said = {"request_client_type": "cc", "request_model": "m", "request_session_id": "s"}

    assert quoted(**said, intent={"operation_type": "write"}) == [
        "to tidy up",
        "(operation write, client cc, model m, session s)",
    ]


def test_a_dangerous_class_and_an_unknown_one_stand_out() -> None:
    marked = {each: is_grave(approval(safety_class=each)) for each in ("subprocess", "dangerous", "unknown")}

    assert marked == {"subprocess": False, "dangerous": True, "unknown": True}
    assert [each.alarming for each in card(approval(safety_class="unknown"), NOW) if each.label == "Class"] == [True]


def test_arguments_that_were_not_kept_are_an_alarm() -> None:
    lines = card(approval(arguments={"bytes": 70_000, "keys": ["sql"]}, arguments_kept=False), NOW)

    assert [each.text for each in lines if each.alarming] == [
        "The arguments are too long to be kept, so you cannot see what you would approve."
    ]


def test_arguments_that_look_like_some_that_were_not_kept_are_shown_as_what_they_are() -> None:
    lines = card(approval(arguments={"kept": False, "bytes": 70_000, "path": "/etc"}, arguments_kept=True), NOW)

    assert not [each for each in lines if each.alarming]
    assert any("/etc" in each.text for each in lines)


@pytest.mark.parametrize(
    ("changed", "widths"),
    [
        ({}, ["once", "identical", "tool"]),
        ({"safety_class": "dangerous"}, ["once", "identical"]),
        ({"max_grant_sec": 0}, ["once"]),
    ],
)
def test_how_widely_it_may_be_given_follows_from_class_and_rule(changed: dict[str, Any], widths: list[str]) -> None:
    assert scopes(approval(**changed)) == widths


def test_time_runs_down_to_nothing_and_not_further() -> None:
    later = [NOW, NOW + 299 * SECOND, NOW + 400 * SECOND]

    assert [seconds_left(approval(), at) for at in later] == [300, 1, 0]
    assert [standing(approval(), at) for at in later] == ["5m left", "1s left", "0s left"]


def test_who_ended_it_is_named_also_when_it_was_nobody() -> None:
    ended = approval(status="timeout", approver_type="system", decided_at=iso(NOW))

    assert standing(ended, NOW) == "by system"
    assert standing(resolved(), NOW) == "by alice"
    assert standing(approval(approvals_needed=2), NOW) == "5m left, 0 of 2 votes"
