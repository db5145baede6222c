"""The list of rules: their order, their words, how often they decided, and what is wrong with them."""

from dataclasses import replace
from typing import Any

import pytest

from interlock.core.model import HoldTerms, OperationType
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect, SafetyClass
from interlock.store.protocol import ActivityType
from tests.web.office import HOUR, NOW, Office, activity


def govern(office: Office, *rules: Rule) -> None:
    """Put these rules in force."""
    pipeline = office.parts.pipeline
    pipeline.policy = replace(pipeline.policy, rules=RuleBook(rules))


async def listed(office: Office, query: str = "") -> dict[str, Any]:
    office.clock.forward(HOUR)
    return await office.get(f"/rules{query}", "auditor")


async def test_rules_are_listed_in_the_order_in_which_they_decide(bare: Office) -> None:
    govern(
        bare,
        Rule("allow", Effect.ALLOW),
        Rule("low", Effect.HOLD, priority=-1),
        Rule("deny", Effect.DENY, priority=-9),
        Rule("hold", Effect.HOLD),
        Rule("high", Effect.ALLOW, priority=3),
    )

    assert [each["id"] for each in (await listed(bare))["items"]] == ["deny", "high", "hold", "allow", "low"]


async def test_a_rule_is_shown_with_the_words_of_its_author(bare: Office) -> None:
    govern(
        bare,
        Rule(
            "prod",
            Effect.HOLD,
            workspace_id="ws-default",
            server_id="up",
            tool_pattern=("upper__a*", "upper:b"),
            safety_class=frozenset({SafetyClass.UNKNOWN, SafetyClass.DANGEROUS}),
            operation_type=frozenset({OperationType.WRITE}),
            caller="ci-*",
            args=(("amount", {"gt": 100}),),
            terms=HoldTerms(60, 2, ("ann",), True, 0),
            priority=7,
            auth_scope_id="prod-key",
        ),
        Rule("plain", Effect.ALLOW),
    )
    prod, plain = (await listed(bare))["items"]

    assert prod == {
        "id": "prod",
        "effect": "hold",
        "priority": 7,
        "conditions": {
            "workspace_id": "ws-default",
            "server_id": "up",
            "tool_pattern": ["upper__a*", "upper:b"],
            "safety_class": ["dangerous", "unknown"],
            "operation_type": ["write"],
            "caller": "ci-*",
            "args": {"amount": {"gt": 100}},
        },
        "auth_scope_id": "prod-key",
        "approval": {
            "approval_timeout": 60,
            "approvals_needed": 2,
            "approvers": ["ann"],
            "four_eyes": True,
            "max_grant": 0,
        },
        "hits": 0,
        "last_hit": None,
        "marks": [],
    }
    assert (plain["conditions"], plain["approval"]) == ({}, None)


async def test_hits_are_counted_since_then_and_the_last_one_is_told_whenever_it_was(bare: Office) -> None:
    govern(bare, Rule("old", Effect.ALLOW, caller="a"), Rule("new", Effect.ALLOW, caller="b"))
    await bare.store.write(
        [
            activity(-9000, rule_id="old"),
            activity(1, rule_id="new"),
            activity(2, rule_id="new", type=ActivityType.POLICY_DECISION),
            activity(3, rule_id="new", type=ActivityType.APPROVAL),
        ]
    )
    told = await listed(bare, "?since=2h")
    hits = {each["id"]: (each["hits"], each["last_hit"]) for each in told["items"]}

    assert hits == {"new": (2, "2026-09-21T14:13:22.000000Z"), "old": (0, "2026-09-21T11:43:20.000000Z")}
    assert told["since"] == "2026-09-21T13:13:20.000000Z"


async def test_what_decided_and_is_no_rule_is_listed_apart(bare: Office) -> None:
    govern(bare, Rule("here", Effect.ALLOW))
    names = ("here", "posture:guarded", "posture:strict", "two-key", "gone")
    await bare.store.write([activity(number, rule_id=name) for number, name in enumerate(names)])
    told = await listed(bare)

    assert told["posture"] == "guarded"
    assert [(each["id"], each["hits"]) for each in told["items"]] == [("here", 1)]
    assert [(each["id"], each["hits"]) for each in told["postures"]] == [("posture:guarded", 1), ("posture:strict", 1)]
    assert [(each["id"], each["hits"]) for each in told["others"]] == [("gone", 1), ("two-key", 1)]


async def test_what_is_wrong_with_a_rule_stands_with_it(live: Office) -> None:
    await live.ask("POST", "/servers", json={"id": "up", "command": "prog", "namespace": "upper"})
    govern(
        live,
        Rule("all", Effect.DENY),
        Rule("late", Effect.ALLOW, caller="a"),
        Rule("lost", Effect.DENY, tool_pattern=("nowhere__*",)),
        Rule("far", Effect.DENY, workspace_id="ws-prod"),
        Rule("near", Effect.DENY, workspace_id="ws-default"),
        Rule("mute"),
    )
    marks = {each["id"]: [mark["code"] for mark in each["marks"]] for each in (await listed(live))["items"]}

    assert marks["all"] == []
    assert marks["late"] == ["shadowed"]
    assert marks["lost"] == ["never-matches", "shadowed"]
    assert marks["far"] == ["unreachable-workspace", "shadowed"]
    assert marks["near"] == ["shadowed"]
    assert marks["mute"] == ["decides-nothing"]


async def test_without_configured_servers_the_names_of_those_that_run_count(live: Office) -> None:
    govern(live, Rule("lost", Effect.DENY, tool_pattern=("nowhere__*",)), Rule("found", Effect.DENY, server_id="up"))
    told = (await listed(live))["items"]

    assert [(each["id"], len(each["marks"])) for each in told] == [("found", 0), ("lost", 1)]


@pytest.mark.parametrize("query", ["since=soon", f"since={NOW}", "since=2099-01-01", "limit=3"])
async def test_a_time_that_makes_no_sense_is_refused(bare: Office, query: str) -> None:
    assert (await bare.ask("GET", f"/rules?{query}")).status_code == 400
