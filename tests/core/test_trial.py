"""Trying a call out: the steps say where a verdict fell, in the order in which calls are decided."""

from typing import Any

import pytest
from hypothesis import given
from msgspec.structs import replace

from interlock.core.decide import Facts, LabEntry, RunToolEntry, decide
from interlock.core.model import Caller, HoldTerms, OperationType, Scope, Standing, Variant
from interlock.core.rules import Rule
from interlock.core.safety import Effect
from interlock.core.trial import is_of_rules, steps_of, trial_as_json, try_out
from tests.core.strategies import NOW, facts
from tests.core.test_decide import grant_for, situation, tool


def limited(**limits: Any) -> Facts:
    return situation(tool("delete_x"), caller=Caller("a", scope=Scope(**limits)))


REFUSED: dict[str, Facts] = {
    "two-key": situation(tool("get_x"), variant=Variant.READ, declared="write"),
    "caller": limited(expires_at=1),
    "scope": limited(servers=()),
    "ceiling": limited(ceiling=OperationType.READ),
    "tool": situation(None),
    "freeze": replace(situation(tool("get_x")), frozen="everything"),
    "drift": situation(tool("get_x", Standing.CHANGED)),
    "annotations": situation(tool("get_x", hints={"destructiveHint": True}), variant=Variant.READ, declared="read"),
    "arguments": replace(situation(tool("get_x")), argument_problem="path is missing"),
    "entry": replace(situation(tool("delete_x")), entry=RunToolEntry()),
}
"""For each gate, in their order, a call that it refuses, and no gate before it."""
ORDER = [*REFUSED, "rules", "second key"]


@pytest.mark.parametrize("gate", REFUSED)
def test_a_gate_that_refuses_is_told_and_what_follows_is_not_reached(gate: str) -> None:
    verdict = decide(REFUSED[gate])
    steps = steps_of(verdict)
    at = ORDER.index(gate)

    assert [each.step for each in steps] == ORDER
    assert [each.outcome for each in steps] == ["passed"] * at + ["deny"] + ["not reached"] * (len(ORDER) - at - 1)
    assert steps[at].text == verdict.reasons[0].text
    assert all(bool(each.text) == (number <= at) for number, each in enumerate(steps))


def test_what_comes_after_the_rules_is_told_as_that() -> None:
    steps = steps_of(decide(replace(situation(tool("delete_x")), pending_count=20)))

    assert [(each.step, each.outcome) for each in steps[-2:]] == [("rules", "passed"), ("second key", "deny")]


@pytest.mark.parametrize(
    ("effect", "outcome", "text"),
    [
        (Effect.ALLOW, "passed", "no approval is needed"),
        (Effect.HOLD, "hold", "it waits for 2 by ann, humans, within 60 s"),
        (Effect.DENY, "not reached", ""),
    ],
)
def test_a_rule_is_told_with_what_it_leads_to(effect: Effect, outcome: str, text: str) -> None:
    terms = HoldTerms(60, 2, ("ann", "humans"))
    *_, ruled, after = steps_of(decide(situation(tool("get_x"), Rule("r", effect, terms=terms))))

    assert (ruled.step, ruled.outcome) == ("rules", effect)
    assert (after.step, after.outcome, after.text) == ("second key", outcome, text)


def test_a_grant_is_told() -> None:
    held = situation(tool("delete_x"))
    verdict = decide(replace(held, grants=[grant_for(held)], now=NOW))

    assert steps_of(verdict)[-1].text == "a grant covers it"


@given(facts())
def test_any_verdict_has_all_steps_and_its_effect_among_them(given_facts: Facts) -> None:
    verdict = decide(given_facts)
    steps = steps_of(verdict)

    assert [each.step for each in steps] == ORDER
    assert verdict.effect in {each.outcome for each in steps}


def test_a_trial_says_everything_that_is_asked_about_a_call() -> None:
    found = tool("create_x")
    given = situation(found, Rule("r", Effect.HOLD), Rule("s", auth_scope_id="a"), caller=Caller("ci", "prod"))
    told = trial_as_json(try_out(given, found))

    assert told | {"trace": None} == {
        "tool": "github:create_x",
        "verdict": "hold",
        "rule_id": "r",
        "reasons": [{"code": None, "message": "rule 'r' says hold", "fix": ""}],
        "safety_class": "write-capable",
        "class_source": "name",
        "operation_type": "write",
        "workspace": "prod",
        "caller": "ci",
        "posture": "guarded",
        "matching_rules": ["r", "s"],
        "approval": {
            "approval_timeout": 300,
            "approvals_needed": 1,
            "approvers": [],
            "four_eyes": False,
            "max_grant": 900,
        },
        "trace": None,
    }


def test_what_was_declared_comes_before_what_the_class_amounts_to_and_a_given_source_before_that_of_the_class() -> None:
    found = tool("get_x")
    trial = try_out(situation(found, variant=Variant.DESTRUCTIVE, declared="destructive"), found, "given")

    assert (trial.declared, trial.source) == (OperationType.DESTRUCTIVE, "given")
    assert trial_as_json(trial)["approval"] is None


def test_where_flags_stand_in_its_place_there_is_no_posture() -> None:
    found = tool("get_x")

    assert try_out(replace(situation(found), entry=LabEntry()), found).posture is None


@pytest.mark.parametrize(
    ("effect", "code", "ground", "expected"),
    [
        ("allow", None, "r", True),
        ("hold", "NEW_TOOL", "drift:new", True),
        ("deny", "DENIED_BY_RULE", "r", True),
        ("deny", "UNKNOWN_CLASS", "posture:strict", True),
        ("deny", "UNKNOWN_CLASS", "entry:run-tool", False),
        ("deny", "FROZEN", "freeze", False),
        ("deny", None, "r", False),
        (None, None, "", False),
    ],
)
def test_a_verdict_of_the_rules_can_be_told_from_one_of_a_gate(
    effect: str | None, code: str | None, ground: str, expected: bool
) -> None:
    assert is_of_rules(effect, code, ground) is expected
