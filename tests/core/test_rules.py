"""Matching, precedence and the index."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from interlock.core.model import HoldTerms, OperationType
from interlock.core.rules import Query, Rule, RuleBook, qualified_pattern
from interlock.core.safety import Effect, SafetyClass
from tests.core.strategies import CALLERS, SERVERS, WORKSPACES, arguments, rule_lists

ALLOW, HOLD, DENY = Effect
CALL = Query(
    server="github",
    tool="github__create_issue",
    safety_class=SafetyClass.WRITE_CAPABLE,
    operation_type=OperationType.WRITE,
    workspace="ws-prod",
    caller="ci-7",
    arguments={"repo": "acme/x", "amount": 150},
)


def deciding(*rules: Rule, query: Query = CALL) -> str | None:
    found = RuleBook(rules).deciding(query)
    return None if found is None else found.rule.id


@pytest.mark.parametrize(
    "rule",
    [
        Rule("r", DENY),
        Rule("r", DENY, workspace_id="ws-prod"),
        Rule("r", DENY, server_id="github"),
        Rule("r", DENY, server_id="g*b"),
        Rule("r", DENY, tool_pattern=("github__create_*",)),
        Rule("r", DENY, tool_pattern=("github:create_*",)),
        Rule("r", DENY, tool_pattern=("nothing", "*issue")),
        Rule("r", DENY, safety_class=frozenset({SafetyClass.WRITE_CAPABLE})),
        Rule("r", DENY, operation_type=frozenset({OperationType.WRITE})),
        Rule("r", DENY, caller="ci-*"),
        Rule("r", DENY, args=(("repo", "acme/*"), ("amount", {"gt": 100}))),
    ],
)
def test_a_rule_matches_when_every_condition_holds(rule: Rule) -> None:
    assert deciding(rule) == "r"


@pytest.mark.parametrize(
    "rule",
    [
        Rule("r", DENY, workspace_id="ws-dev"),
        Rule("r", DENY, server_id="git"),
        Rule("r", DENY, server_id="db*"),
        Rule("r", DENY, tool_pattern=("create_*",)),
        Rule("r", DENY, safety_class=frozenset({SafetyClass.DANGEROUS})),
        Rule("r", DENY, operation_type=frozenset({OperationType.READ})),
        Rule("r", DENY, caller="ci"),
        Rule("r", DENY, args=(("repo", "acme/*"), ("amount", {"lt": 100}))),
        Rule("r", DENY, args=(("missing", "*"),)),
    ],
)
def test_a_rule_does_not_match_when_one_condition_fails(rule: Rule) -> None:
    assert deciding(rule) is None


def test_a_rule_without_effect_decides_nothing() -> None:
    assert deciding(Rule("nothing", priority=9), Rule("r", ALLOW)) == "r"


def test_a_matching_deny_wins_over_any_priority() -> None:
    assert deciding(Rule("allow", ALLOW, priority=100), Rule("deny", DENY, priority=-100)) == "deny"


def test_otherwise_the_highest_priority_decides() -> None:
    assert deciding(Rule("hold", HOLD, priority=1), Rule("allow", ALLOW, priority=2)) == "allow"


def test_a_rule_for_every_tool_is_not_outdone_by_one_that_names_this_tool() -> None:
    named = Rule("named", ALLOW, tool_pattern=("github__create_*",), priority=1)

    assert deciding(Rule("every", HOLD, priority=2), named) == "every"


def test_a_tie_goes_to_the_stricter_effect() -> None:
    assert deciding(Rule("allow", ALLOW), Rule("hold", HOLD)) == "hold"


@pytest.mark.parametrize(
    "stricter",
    [
        HoldTerms(approvals_needed=2),
        HoldTerms(four_eyes=True),
        HoldTerms(approvers=("humans",)),
        HoldTerms(max_grant=0),
        HoldTerms(approval_timeout=10),
    ],
)
def test_a_tie_of_two_holds_goes_to_the_stricter_terms(stricter: HoldTerms) -> None:
    assert deciding(Rule("a", HOLD), Rule("z", HOLD, terms=stricter)) == "z"


def test_a_tie_in_everything_goes_by_id() -> None:
    assert deciding(Rule("b", HOLD), Rule("a", HOLD)) == "a"


def test_the_foremost_rule_with_an_auth_scope_chooses_it() -> None:
    book = RuleBook(
        [
            Rule("low", ALLOW, auth_scope_id="weak", priority=1),
            Rule("high", auth_scope_id="strong", priority=2),
            Rule("other", ALLOW, auth_scope_id="no", priority=9, workspace_id="ws-dev"),
        ]
    )

    assert book.auth_scope(CALL) == "strong"
    assert RuleBook([]).auth_scope(CALL) is None


def test_all_matching_rules_are_listed_in_the_order_of_precedence() -> None:
    rules = [Rule("low", ALLOW), Rule("none"), Rule("deny", DENY), Rule("no", DENY, caller="x")]

    assert [each.rule.id for each in RuleBook(rules).matching(CALL)] == ["deny", "low", "none"]


@pytest.mark.parametrize(
    ("pattern", "qualified"),
    [("github:create_*", "github__create_*"), ("a__b:c", "a__b:c"), ("*", "*"), ("github__x", "github__x")],
)
def test_a_pattern_may_be_written_with_a_colon(pattern: str, qualified: str) -> None:
    assert qualified_pattern(pattern) == qualified


def test_the_content_hash_changes_with_every_field_and_not_with_the_order_of_lists() -> None:
    rule = Rule("r", HOLD, tool_pattern=("a", "b"), args=(("x", "1"), ("y", "2")))
    changed = [
        replace(rule, id="s"),
        replace(rule, effect=ALLOW),
        replace(rule, workspace_id="w"),
        replace(rule, server_id="s"),
        replace(rule, tool_pattern=("a",)),
        replace(rule, safety_class=frozenset({SafetyClass.UNKNOWN})),
        replace(rule, operation_type=frozenset({OperationType.READ})),
        replace(rule, caller="c"),
        replace(rule, args=(("x", "1"),)),
        replace(rule, terms=HoldTerms(approval_timeout=1)),
        replace(rule, terms=HoldTerms(approvals_needed=2)),
        replace(rule, terms=HoldTerms(approvers=("x",))),
        replace(rule, terms=HoldTerms(four_eyes=True)),
        replace(rule, terms=HoldTerms(max_grant=0)),
        replace(rule, priority=1),
        replace(rule, auth_scope_id="a"),
    ]

    assert len({each.content_hash for each in (rule, *changed)}) == len(changed) + 1
    reordered = replace(rule, tool_pattern=("b", "a"), args=(("y", "2"), ("x", "1")))
    assert reordered.content_hash == rule.content_hash


# By position: hypothesis would look up the types of the fields, and cannot.
queries = st.tuples(
    st.sampled_from([*SERVERS, "other"]),
    st.sampled_from(["github__get_x", "github__delete_y", "db__run_it", "db__x", "other__x", ""]),
    st.sampled_from(SafetyClass),
    st.sampled_from(OperationType),
    st.sampled_from([None, *WORKSPACES]),
    st.sampled_from(CALLERS),
    arguments,
).map(lambda fields: Query(*fields))


@given(rule_lists(), queries)
def test_the_index_finds_what_looking_at_every_rule_would_find(rules: list[Rule], query: Query) -> None:
    book = RuleBook(rules)
    foremost = next((each for each in book.matching(query) if each.rule.effect is not None), None)
    choosing = next((each for each in book.matching(query) if each.rule.auth_scope_id is not None), None)

    assert book.deciding(query) == foremost
    assert book.auth_scope(query) == (None if choosing is None else choosing.rule.auth_scope_id)


@given(st.data(), rule_lists(), queries)
def test_the_order_of_rules_never_matters(data: st.DataObject, rules: list[Rule], query: Query) -> None:
    shuffled = data.draw(st.permutations(rules))

    assert deciding(*rules, query=query) == deciding(*shuffled, query=query)


WORDS = ("drop", "alter", "grant")


@pytest.mark.parametrize("word", [*WORDS, "select"])
@pytest.mark.parametrize("operation", [OperationType.READ, OperationType.WRITE])
def test_of_rules_that_look_for_words_the_foremost_whose_word_occurs_decides(
    word: str, operation: OperationType
) -> None:
    rules = [Rule(f"no-{each}", DENY, args=(("sql", {"matches": f"(?i)\\b{each}\\b"}),)) for each in WORDS]
    reading = Rule("reading", HOLD, operation_type=frozenset({OperationType.READ}), priority=2)
    book = RuleBook([*rules, reading, Rule("all", ALLOW), Rule("behind", HOLD, priority=-1)])
    query = structs.replace(CALL, arguments={"sql": f"{word.upper()} it"}, operation_type=operation)
    decided = book.deciding(query)
    otherwise = "reading" if operation is OperationType.READ else "all"

    assert decided is not None
    assert decided.rule.id == (f"no-{word}" if word in WORDS else otherwise)
    assert decided == next(each for each in book.matching(query))


def test_what_is_remembered_of_one_caller_is_not_taken_for_another() -> None:
    book = RuleBook([Rule("ci", DENY, caller="ci-*"), Rule("prod", HOLD, workspace_id="prod")])

    def told(caller: str, workspace: str | None) -> str | None:
        found = book.deciding(structs.replace(CALL, caller=caller, workspace=workspace))
        return None if found is None else found.rule.id

    assert [told("ci-1", "prod"), told("bob", "prod"), told("bob", None), told("ci-1", None)] == [
        "ci",
        "prod",
        None,
        "ci",
    ]
