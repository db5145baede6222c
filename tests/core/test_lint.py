"""Rules that are well formed and still wrong."""

import pytest

from interlock.core.lint import lint
from interlock.core.model import OperationType
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect, SafetyClass

ALLOW, HOLD, DENY = Effect
NAMESPACES = {"github-mcp": "github", "db": "db"}


def findings(*rules: Rule, workspaces: tuple[str, ...] = ("prod",)) -> list[tuple[str, str]]:
    return [(each.rule_id, each.finding.code) for each in lint(RuleBook(rules), NAMESPACES, workspaces)]


def test_sound_rules_have_no_findings() -> None:
    rules = (
        Rule("a", DENY, tool_pattern=("github__delete_*",)),
        Rule("b", HOLD, tool_pattern=("github__*", "db__run_*"), workspace_id="prod"),
        Rule("c", ALLOW, caller="ci-*"),
        Rule("scope", auth_scope_id="gh"),
    )

    assert findings(*rules) == []


def test_a_rule_with_neither_effect_nor_auth_scope_decides_nothing() -> None:
    assert findings(Rule("a")) == [("a", "decides-nothing")]


def test_a_workspace_that_no_caller_can_have_is_reported() -> None:
    assert findings(Rule("a", DENY, workspace_id="lost")) == [("a", "unreachable-workspace")]


@pytest.mark.parametrize(
    ("pattern", "server"),
    [("gitlab__*", None), ("create_*", None), ("db__*", "github-mcp"), ("[x]*", "none*"), ("github_x*", None)],
)
def test_a_pattern_that_no_name_can_have_is_reported(pattern: str, server: str | None) -> None:
    assert findings(Rule("a", DENY, tool_pattern=(pattern,), server_id=server)) == [("a", "never-matches")]


@pytest.mark.parametrize("pattern", ["*", "*__create_*", "git*", "github__x", "[gd]*", "?b__x"])
def test_a_pattern_that_some_name_can_have_is_not(pattern: str) -> None:
    assert findings(Rule("a", DENY, tool_pattern=(pattern,))) == []


def test_without_servers_no_pattern_is_judged() -> None:
    assert lint(RuleBook([Rule("a", DENY, tool_pattern=("x__*",))]), {}, ()) == ()


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (Rule("w", DENY), Rule("n", ALLOW, priority=9)),
        (Rule("w", HOLD, priority=1), Rule("n", ALLOW, caller="x")),
        (Rule("w", HOLD, priority=1, tool_pattern=("github__*",)), Rule("n", ALLOW, tool_pattern=("github__get_*",))),
        (Rule("w", HOLD, priority=1, tool_pattern=("*", "db__x")), Rule("n", ALLOW)),
        (Rule("w", HOLD, priority=1, server_id="*"), Rule("n", ALLOW)),
        (Rule("w", HOLD, priority=1, caller="ci-*"), Rule("n", ALLOW, caller="ci-7")),
        (Rule("w", HOLD, priority=1, caller="c?-*"), Rule("n", ALLOW, caller="c?-*")),
        (
            Rule("w", HOLD, priority=1, safety_class=frozenset({SafetyClass.DANGEROUS, SafetyClass.UNKNOWN})),
            Rule("n", ALLOW, safety_class=frozenset({SafetyClass.DANGEROUS})),
        ),
        (
            Rule("w", DENY, args=(("a", "x"),)),
            Rule("n", HOLD, args=(("a", "x"), ("b", "y"))),
        ),
        (Rule("w", DENY, workspace_id="prod"), Rule("n", DENY, workspace_id="prod", caller="x", priority=-1)),
    ],
)
def test_a_rule_that_another_always_precedes_is_shadowed(wide: Rule, narrow: Rule) -> None:
    assert findings(wide, narrow) == [("n", "shadowed")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Rule("w", HOLD, priority=1, caller="ci-*"), Rule("n", ALLOW)),
        (Rule("w", HOLD, priority=1, caller="ci-*"), Rule("n", ALLOW, caller="c*")),
        (Rule("w", HOLD, priority=1, tool_pattern=("github__a*",)), Rule("n", ALLOW)),
        (
            Rule("w", HOLD, priority=1, tool_pattern=("github__a*",)),
            Rule("n", ALLOW, tool_pattern=("github__a*", "github__b*")),
        ),
        (Rule("w", HOLD, priority=1, workspace_id="prod"), Rule("n", ALLOW)),
        (Rule("w", HOLD, priority=1, operation_type=frozenset({OperationType.READ})), Rule("n", ALLOW)),
        (Rule("w", HOLD, priority=1, args=(("a", "x"),)), Rule("n", ALLOW, args=(("a", "x"),))),
        (Rule("w", HOLD, priority=1, args=(("a", "x"),)), Rule("n", HOLD, args=(("a", "y"),))),
        (Rule("w", auth_scope_id="s", priority=1), Rule("n", ALLOW)),
        (Rule("w", HOLD, priority=1, server_id="db"), Rule("n", ALLOW, server_id="github-mcp")),
    ],
)
def test_a_rule_that_can_still_decide_some_call_is_not_shadowed(one: Rule, other: Rule) -> None:
    assert findings(one, other) == []


def test_two_effects_for_the_very_same_calls_contradict_each_other() -> None:
    assert findings(Rule("a", HOLD, caller="x"), Rule("b", ALLOW, caller="x")) == [
        ("a", "contradictory"),
        ("b", "contradictory"),
    ]
