"""Rules from approvals that repeat: narrow, plain, and never for what can do harm."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.core.approvals import Approval, Vote
from interlock.core.canonical import argument_digest
from interlock.core.grants import GrantKey
from interlock.core.lifecycle import ApprovalState
from interlock.core.model import HoldTerms, Json
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect
from interlock.core.suggest import LEAST_APPROVED, MOST_SUGGESTED, Suggestion, suggestions


def approval(number: int, arguments: dict[str, Json] | None = None, **columns: Any) -> Approval:
    """An approval that `boss` gave."""
    said = {"n": number, "repo": "acme"} if arguments is None else arguments
    key: dict[str, Any] = {"caller": "ci", "server": "up", "tool": "run_it", "safety_class": "subprocess"}
    key |= {name: columns.pop(name) for name in (*key, "workspace", "digest") if name in columns}
    known: dict[str, Any] = {
        "id": f"ap_{number}",
        "key": GrantKey(**{"fingerprint": "f", "digest": argument_digest(said), "rule_hash": "r", **key}),
        "tool_name": f"upper__{key['tool']}",
        "rule_id": "posture:guarded",
        "terms": HoldTerms(),
        "created_at": number,
        "expires_at": number + 300,
        "gateway": "gw",
        "asked": {"arguments": said},
        "status": ApprovalState.APPROVED,
        "votes": (Vote("boss", number),),
        "decided_at": number + 1,
    }
    return Approval(**(known | columns))


def thrice(**columns: Any) -> list[Approval]:
    return [approval(number, **columns) for number in range(1, LEAST_APPROVED + 1)]


def suggested(approvals: list[Approval], taken: tuple[str, ...] = (), priority: int | None = None) -> list[Suggestion]:
    return suggestions(approvals, taken, lambda each: True, lambda rule: priority)


def test_what_was_approved_again_and_again_could_be_allowed() -> None:
    (found,) = suggested(thrice(workspace="ws"))

    assert found.rule == {
        "id": "allow-ci-run_it",
        "workspace_id": "ws",
        "server_id": "up",
        "tool_pattern": "upper__run_it",
        "caller": "ci",
        "args": {"repo": {"equals": "acme"}},
        "effect": "allow",
    }
    assert (found.approved, found.approvers, found.last) == (3, ("boss",), 4)


def test_it_is_written_as_an_entry_of_the_configuration() -> None:
    (found,) = suggested(thrice())
    lines = found.yaml.splitlines()

    assert lines[0] == '- id: "allow-ci-run_it"'
    assert all(line.startswith(("- ", "  ")) for line in lines)
    assert {
        name.strip("- "): json.loads(value) for name, value in (each.split(": ", 1) for each in lines)
    } == found.rule


def test_a_rule_that_holds_such_calls_comes_after_it() -> None:
    (found,) = suggested(thrice(), priority=4)

    assert found.rule["priority"] == 5
    book = RuleBook([Rule("holds", Effect.HOLD, priority=4), Rule("allows", Effect.ALLOW, priority=5)])
    assert [each.rule.id for each in book.rules] == ["allows", "holds"]


@pytest.mark.parametrize(
    "approvals",
    [
        thrice()[1:],
        thrice(safety_class="dangerous"),
        thrice(safety_class="unknown"),
        thrice(digest="of something else"),
        thrice(tool="run_*"),
        thrice(caller="ci?"),
        thrice(status=ApprovalState.TIMEOUT),
        [*thrice(), approval(9, status=ApprovalState.DENIED)],
        [*thrice()[1:], approval(9, caller="another")],
    ],
    ids=["too few", "dangerous", "unknown", "hidden", "odd tool", "odd caller", "not approved", "denied", "others"],
)
def test_nothing_is_suggested_where_a_person_should_look_each_time(approvals: list[Approval]) -> None:
    assert suggested(approvals) == []


def test_what_would_not_wait_any_more_needs_no_rule() -> None:
    assert suggestions(thrice(), (), lambda each: False, lambda rule: None) == []


def test_only_arguments_that_were_always_the_same_are_asked_for() -> None:
    varied: list[dict[str, Json]] = [
        {"a": 1, "b": [1], "c": 1, "d.e": 1, "gone": 1},
        {"a": 1, "b": [1], "c": 2, "d.e": 1},
        {"a": 1, "b": [1], "c": 3, "d.e": 1},
    ]
    (found,) = suggested([approval(number, said) for number, said in enumerate(varied, start=1)])

    assert found.rule["args"] == {"a": {"equals": 1}, "b": {"equals": [1]}}


def test_without_such_arguments_none_is_asked_for() -> None:
    odd = [replace(each, asked={}) for each in thrice(digest=argument_digest({}))]
    (found,) = suggested(odd)

    assert "args" not in found.rule


def test_no_id_is_given_twice() -> None:
    found = suggested([*thrice(), *thrice(workspace="ws")], taken=("allow-ci-run_it",))

    assert [each.rule["id"] for each in found] == ["allow-ci-run_it-2", "allow-ci-run_it-3"]


def test_an_id_has_only_the_letters_that_ids_have() -> None:
    (found,) = suggested(thrice(tool="run it/now!"))

    assert found.rule["id"] == "allow-ci-run-it-now-"


def test_what_was_approved_most_often_comes_first_and_there_are_never_too_many() -> None:
    many = [each for number in range(MOST_SUGGESTED + 5) for each in thrice(tool=f"run_{number}")]
    found = suggested([*many, *thrice(tool="often"), approval(9, tool="often")])

    assert len(found) == MOST_SUGGESTED
    assert found[0].rule["tool_pattern"] == "upper__often"
