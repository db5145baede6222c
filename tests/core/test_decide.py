"""The gates in their order, and the properties that hold for any facts."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.core.classify import classify, read_descriptor
from interlock.core.decide import (
    Facts,
    GatewayEntry,
    KnownTool,
    LabEntry,
    RunToolEntry,
    Waiting,
    decide,
    grant_key,
    query_of,
    run_tool_block,
)
from interlock.core.grants import Grant, GrantKey, GrantScope
from interlock.core.intent import IntentMode, IntentPolicy
from interlock.core.model import (
    Allow,
    Call,
    Caller,
    Declaration,
    Deny,
    Hold,
    HoldTerms,
    Intent,
    Json,
    JsonObject,
    OperationType,
    Scope,
    Standing,
    Tool,
    Variant,
    Verdict,
)
from interlock.core.rules import Rule, RuleBook
from interlock.core.safety import Effect, LabPolicy, Posture, RunToolFlags, SafetyClass
from interlock.errors import Code
from tests.core.strategies import NOW, annotations, facts, rules, tool_names

ALLOW, HOLD, DENY = Effect


def tool(
    name: str, standing: Standing = Standing.KNOWN, *, hints: JsonObject | None = None, trusted: bool = False
) -> KnownTool:
    descriptor = read_descriptor({"name": name, "annotations": hints or {}})
    known = Tool("github", "github", name, "f1", descriptor.hints, standing)
    return KnownTool(known, classify(descriptor, trusted=trusted))


def situation(
    found: KnownTool | None,
    *written: Rule,
    variant: Variant = Variant.DIRECT,
    declared: str | None = None,
    caller: Caller | None = None,
    arguments: dict[str, Json] | None = None,
) -> Facts:
    call = Call(
        caller=caller or Caller("agent"),
        server="github",
        tool="missing" if found is None else found.tool.name,
        arguments=arguments or {},
        digest="d1",
        variant=variant,
        declaration=Declaration(given=declared is not None, operation_type=declared),
    )
    return Facts(call=call, found=found, rules=RuleBook(written), now=NOW)


def code(verdict: Verdict) -> Code | None:
    return verdict.reasons[0].code


# Postures and rules ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "posture", "effect"),
    [
        ("get_x", Posture.GUARDED, ALLOW),
        ("create_x", Posture.GUARDED, ALLOW),
        ("run_x", Posture.GUARDED, HOLD),
        ("delete_x", Posture.GUARDED, HOLD),
        ("frob", Posture.GUARDED, HOLD),
        ("create_x", Posture.STRICT, HOLD),
        ("frob", Posture.STRICT, DENY),
        ("delete_x", Posture.OPEN, ALLOW),
        ("delete_x", Posture.OBSERVE, ALLOW),
    ],
)
def test_without_a_deciding_rule_the_posture_decides(name: str, posture: Posture, effect: Effect) -> None:
    verdict = decide(replace(situation(tool(name)), entry=GatewayEntry(posture)))

    assert (verdict.effect, verdict.ground.id) == (effect, f"posture:{posture.value}")


def test_an_unknown_class_is_denied_by_its_own_code() -> None:
    verdict = decide(replace(situation(tool("frob")), entry=GatewayEntry(Posture.STRICT)))

    assert code(verdict) is Code.UNKNOWN_CLASS


@pytest.mark.parametrize("effect", Effect)
def test_a_deciding_rule_decides_instead_of_the_posture(effect: Effect) -> None:
    verdict = decide(situation(tool("frob"), Rule("r", effect)))

    assert (verdict.effect, verdict.ground.id) == (effect, "r")


def test_a_hold_by_rule_brings_the_terms_of_the_rule_and_a_hold_by_posture_those_of_the_settings() -> None:
    terms, settings = HoldTerms(approvals_needed=2), HoldTerms(approval_timeout=60)
    by_rule = decide(replace(situation(tool("frob"), Rule("r", HOLD, terms=terms)), hold=settings))
    by_posture = decide(replace(situation(tool("frob")), hold=settings))

    assert isinstance(by_rule, Hold)
    assert by_rule.terms == terms
    assert isinstance(by_posture, Hold)
    assert by_posture.terms == settings


def test_a_denied_agent_is_told_no_rule_internals() -> None:
    verdict = decide(situation(tool("get_x"), Rule("secret-name", DENY)))

    assert code(verdict) is Code.DENIED_BY_RULE
    assert "secret-name" not in verdict.reasons[0].text + verdict.reasons[0].fix


def test_observe_turns_a_rule_hold_into_an_allow_and_leaves_a_deny() -> None:
    observing = GatewayEntry(Posture.OBSERVE)
    held = decide(replace(situation(tool("get_x"), Rule("r", HOLD)), entry=observing))
    denied = decide(replace(situation(tool("get_x"), Rule("r", DENY)), entry=observing))

    assert (held.effect, held.ground.id) == (ALLOW, "r")
    assert "would have been held" in held.reasons[-1].text
    assert denied.effect is DENY


def test_rules_see_the_declared_operation_and_the_gateway_class() -> None:
    found = tool("create_x")
    given = situation(found, variant=Variant.DESTRUCTIVE, declared="destructive", caller=Caller("ci", "prod"))
    query = query_of(given, found, Intent(OperationType.DESTRUCTIVE))

    assert (query.tool, query.workspace, query.caller) == ("github__create_x", "prod", "ci")
    only = Rule("r", DENY, operation_type=frozenset({OperationType.DESTRUCTIVE}))
    assert decide(replace(given, rules=RuleBook([only]))).ground.id == "r"


def test_an_auth_scope_of_a_matching_rule_comes_with_the_verdict() -> None:
    chooses = Rule("s", auth_scope_id="gh-prod")
    allowed = decide(situation(tool("get_x"), chooses))
    held = decide(situation(tool("delete_x"), chooses))

    assert isinstance(allowed, Allow)
    assert isinstance(held, Hold)
    assert (allowed.auth_scope, held.auth_scope) == ("gh-prod", "gh-prod")


# Gates ----------------------------------------------------------------------------------------------------------

EVERYTHING_WRONG = replace(
    situation(
        tool("delete_x", Standing.CHANGED, hints={"destructiveHint": True}),
        Rule("r", DENY),
        variant=Variant.READ,
        declared="write",
        caller=Caller("agent", scope=Scope(servers=(), ceiling=OperationType.READ, expires_at=NOW)),
    ),
    frozen="everything",
    argument_problem="path is missing",
    recent_denial="no",
    over_rate="60 a minute",
    pending_count=20,
)


def test_the_first_gate_that_refuses_ends_it_and_the_order_is_the_promised_one() -> None:
    """Mend what each gate complains about, one after the other, and see the next one complain."""
    given = EVERYTHING_WRONG
    changed = given.found
    assert changed is not None
    caller = given.call.caller
    seen: list[Code | None] = []

    def mend(**changes: Any) -> None:
        nonlocal given
        seen.append(code(decide(given)))
        given = replace(given, **changes)

    mend(call=replace(given.call, declaration=Declaration(given=True, operation_type="read")))
    caller = replace(caller, scope=replace(caller.scope, expires_at=None))
    mend(call=replace(given.call, caller=caller))
    caller = replace(caller, scope=replace(caller.scope, servers=None))
    mend(call=replace(given.call, caller=caller))
    caller = replace(caller, scope=Scope())
    mend(call=replace(given.call, caller=caller), found=None)
    mend(found=changed)
    mend(frozen=None)
    mend(found=replace(changed, tool=replace(changed.tool, standing=Standing.KNOWN)))
    mend(entry=GatewayEntry(intent=IntentPolicy(strict_server_validation=False)))
    mend(argument_problem=None)
    mend(rules=RuleBook())
    mend(recent_denial=None)
    mend(pending_count=0)
    mend(over_rate=None)

    assert seen == [
        Code.INTENT_MISMATCH,
        Code.UNAUTHENTICATED,
        Code.OUT_OF_SCOPE,
        Code.CEILING,
        Code.UNKNOWN_TOOL,
        Code.FROZEN,
        Code.QUARANTINED,
        Code.SERVER_MISMATCH,
        Code.INVALID_ARGUMENTS,
        Code.DENIED_BY_RULE,
        Code.DENIED,
        Code.QUOTA,
        Code.RATE_LIMITED,
    ]
    assert decide(given).effect is HOLD


def test_an_unknown_tool_is_told_with_its_suggestion() -> None:
    verdict = decide(replace(situation(None), suggestion=" Did you mean 'github:get_x'?"))

    assert verdict.reasons[0].text == "Tool 'github:missing' not found. Did you mean 'github:get_x'?"


@pytest.mark.parametrize(
    ("scope", "reachable"),
    [
        (Scope(), True),
        (Scope(servers=("git*",)), True),
        (Scope(servers=("db",)), False),
        (Scope(tools=("get_*",)), True),
        (Scope(tools=("github:get_*",)), True),
        (Scope(tools=("db:*", "list_*")), False),
        (Scope(servers=("github",), tools=("list_*",)), False),
    ],
)
def test_scope_limits_servers_and_tools(scope: Scope, reachable: bool) -> None:
    verdict = decide(situation(tool("get_x"), caller=Caller("agent", scope=scope)))

    assert (verdict.effect is ALLOW) is reachable


@pytest.mark.parametrize(
    ("ceiling", "name", "variant", "passes"),
    [
        ("read", "get_x", Variant.READ, True),
        ("read", "get_x", Variant.WRITE, False),
        ("read", "get_x", Variant.DIRECT, True),
        ("read", "create_x", Variant.READ, False),
        ("write", "create_x", Variant.WRITE, True),
        ("write", "create_x", Variant.DESTRUCTIVE, False),
        ("write", "run_x", Variant.WRITE, False),
        ("write", "frob", Variant.DIRECT, False),
        ("destructive", "frob", Variant.DESTRUCTIVE, True),
    ],
)
def test_the_ceiling_is_compared_with_the_class_and_with_the_variant(
    ceiling: str, name: str, variant: Variant, passes: bool
) -> None:
    caller = Caller("agent", scope=Scope(ceiling=OperationType(ceiling)))
    declared = None if variant is Variant.DIRECT else variant.value.removeprefix("call_tool_")
    verdict = decide(situation(tool(name), variant=variant, declared=declared, caller=caller))

    assert (code(verdict) is Code.CEILING) is not passes


def test_a_new_tool_is_held_whatever_would_allow_it() -> None:
    new = tool("get_x", Standing.NEW)
    for entry in (GatewayEntry(Posture.OPEN), GatewayEntry(Posture.OBSERVE), RunToolEntry()):
        verdict = decide(replace(situation(new, Rule("r", ALLOW)), entry=entry))
        assert (verdict.effect, verdict.ground.id, code(verdict)) == (HOLD, "drift:new", Code.NEW_TOOL)


def test_a_new_tool_that_a_rule_holds_keeps_the_terms_of_the_rule_and_a_deny_stays_a_deny() -> None:
    new = tool("get_x", Standing.NEW)
    held = decide(situation(new, Rule("r", HOLD)))

    assert (held.ground.id, code(held)) == ("r", Code.NEW_TOOL)
    assert decide(situation(new, Rule("r", DENY))).effect is DENY


@pytest.mark.parametrize("strict", [True, False])
def test_a_write_to_a_read_only_tool_is_allowed_with_a_warning(strict: bool) -> None:
    given = situation(tool("get_x", hints={"readOnlyHint": True}), variant=Variant.WRITE, declared="write")
    verdict = decide(replace(given, entry=GatewayEntry(intent=IntentPolicy(IntentMode.REQUIRED, strict))))

    assert isinstance(verdict, Allow)
    assert [warning.text for warning in verdict.warnings] == [
        "'github:get_x' is marked read-only by server but was called as a write"
    ]


def test_a_denied_call_remembers_the_resolution() -> None:
    empty = decide(replace(situation(tool("delete_x")), recent_denial=""))
    told = decide(replace(situation(tool("delete_x")), recent_denial="not today"))

    assert empty.reasons[0].text == "Tool call denied. Reason: no reason given"
    assert told.reasons[0].text == "Tool call denied. Reason: not today"


def test_a_repeat_while_pending_attaches_before_denial_memory_and_quota() -> None:
    given = situation(tool("delete_x"))
    assert given.found is not None
    waiting = [Waiting("apr-1", grant_key(given.call, given.found, decide(given).ground, None))]

    crowded = replace(given, waiting=waiting, recent_denial="no", pending_count=20, desk_full=True)
    verdict = decide(crowded)

    assert isinstance(verdict, Hold)
    assert verdict.attach_to == "apr-1"


def test_a_call_does_not_attach_to_one_that_another_rule_held() -> None:
    given = situation(tool("delete_x"))
    assert given.found is not None
    other = dataclasses.replace(grant_key(given.call, given.found, decide(given).ground, None), rule_hash="another")

    verdict = decide(replace(given, waiting=[Waiting("apr-1", other)]))

    assert isinstance(verdict, Hold)
    assert verdict.attach_to is None


def test_when_the_desk_is_full_nobody_is_asked() -> None:
    verdict = decide(replace(situation(tool("delete_x")), desk_full=True))

    assert (verdict.effect, code(verdict)) == (DENY, Code.QUOTA)


def test_a_caller_without_the_role_of_an_agent_calls_nothing() -> None:
    given = situation(tool("get_x"))
    approver = replace(given.call.caller, may_call=False)

    verdict = decide(replace(given, call=replace(given.call, caller=approver)))

    assert (verdict.effect, code(verdict)) == (DENY, Code.FORBIDDEN)


def test_an_allowed_call_is_still_limited_in_rate() -> None:
    verdict = decide(replace(situation(tool("get_x")), over_rate="60 calls a minute"))

    assert (verdict.effect, code(verdict)) == (DENY, Code.RATE_LIMITED)


# Grants ---------------------------------------------------------------------------------------------------------


def grant_for(given: Facts, scope: GrantScope = GrantScope.ONCE) -> Grant:
    assert given.found is not None
    key = grant_key(given.call, given.found, decide(given).ground, None)
    return Grant("g1", key, scope, expires_at=NOW + 10, uses_left=1)


def test_a_grant_turns_a_hold_into_an_allow_that_must_consume_it() -> None:
    given = situation(tool("delete_x"))
    verdict = decide(replace(given, grants=(grant_for(given),)))

    assert isinstance(verdict, Allow)
    assert verdict.grant == "g1"


def test_a_grant_dies_with_the_rule_the_definition_the_arguments_and_the_terms_it_was_given_under() -> None:
    given = situation(tool("delete_x"), Rule("r", HOLD))
    granted = replace(given, grants=(grant_for(given),))
    assert decide(granted).effect is ALLOW
    found = given.found
    assert found is not None
    later = [
        replace(granted, rules=RuleBook([Rule("r", HOLD, priority=1)])),
        replace(granted, rules=RuleBook()),
        replace(granted, found=replace(found, tool=replace(found.tool, fingerprint="f2"))),
        replace(granted, call=replace(given.call, digest="d2")),
        replace(granted, call=replace(given.call, caller=Caller("somebody else"))),
        replace(granted, now=NOW + 10),
    ]

    assert {decide(each).effect for each in later} == {HOLD}


def test_what_was_approved_with_some_credentials_does_not_pass_with_others_that_a_declaration_chooses() -> None:
    admin = Rule("a", operation_type=frozenset({OperationType.DESTRUCTIVE}), auth_scope_id="gh-admin")
    harmless = situation(tool("delete_x"), admin, variant=Variant.WRITE, declared="write")
    granted = (grant_for(harmless),)
    declared = replace(
        situation(tool("delete_x"), admin, variant=Variant.DESTRUCTIVE, declared="destructive"), grants=granted
    )

    assert decide(replace(harmless, grants=granted)).effect is ALLOW
    assert decide(declared).effect is HOLD


@pytest.mark.parametrize(
    ("four_eyes", "owner", "effect"), [(True, "olga", HOLD), (True, "paul", ALLOW), (False, "olga", ALLOW)]
)
def test_where_four_eyes_are_wanted_nobody_gave_the_word_for_a_call_of_its_own_agent(
    four_eyes: bool, owner: str, effect: Effect
) -> None:
    rule = Rule("r", HOLD, terms=HoldTerms(four_eyes=four_eyes))
    given = situation(tool("delete_x"), rule, caller=Caller("agent", owner=owner))
    by_olga = dataclasses.replace(grant_for(given, GrantScope.IDENTICAL), given_by=("paula", "olga"))

    assert decide(replace(given, grants=(by_olga,))).effect is effect


def test_no_grant_beats_a_deny_a_freeze_or_a_quarantine() -> None:
    given = situation(tool("delete_x"))
    granted = replace(given, grants=(grant_for(given),))
    changed = tool("delete_x", Standing.CHANGED)

    assert decide(replace(granted, rules=RuleBook([Rule("r", DENY)]))).effect is DENY
    assert decide(replace(granted, frozen="everything")).effect is DENY
    assert decide(replace(granted, found=changed)).effect is DENY
    assert decide(replace(granted, found=tool("delete_x", Standing.POISONED))).effect is DENY


def test_a_poisoned_tool_is_refused_with_what_is_wrong_with_it() -> None:
    found = tool("get_x", Standing.POISONED)
    poisoned = replace(found, tool=replace(found.tool, poison="it has hidden text"))
    verdict = decide(situation(poisoned))

    assert verdict.effect is DENY
    assert verdict.reasons[0].code is Code.QUARANTINED
    assert "is quarantined: it has hidden text." in verdict.reasons[0].text


def test_changed_hold_settings_end_a_grant_given_by_posture() -> None:
    given = situation(tool("delete_x"))
    granted = replace(given, grants=(grant_for(given),))

    assert decide(replace(granted, hold=HoldTerms(approvals_needed=2))).effect is HOLD


# The other entries ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "flags", "text"),
    [
        ("read_x", RunToolFlags(), None),
        (
            "update_repo_file",
            RunToolFlags(),
            "Blocked: tool 'update_repo_file' is classified write-capable. Add --approve to run it.",
        ),
        ("update_repo_file", RunToolFlags(approve=True), None),
        ("run_x", RunToolFlags(), "Blocked: tool 'run_x' is classified subprocess. Add --approve to run it."),
        (
            "remove_device",
            RunToolFlags(approve=True),
            "Blocked: tool 'remove_device' is classified dangerous. Add --dangerous to run it.",
        ),
        ("remove_device", RunToolFlags(dangerous=True), None),
        (
            "mystery_tool",
            RunToolFlags(approve=True, dangerous=True),
            "Blocked: tool 'mystery_tool' has unknown safety class.",
        ),
    ],
)
def test_run_tool_is_gated_by_the_prefix_view_and_its_flags(name: str, flags: RunToolFlags, text: str | None) -> None:
    found = tool(name)
    blocked = run_tool_block(name, found.classification.prefix, flags)
    verdict = decide(replace(situation(found), entry=RunToolEntry(flags)))

    assert (None if blocked is None else blocked.text) == text
    assert verdict.effect is (ALLOW if text is None else DENY)
    assert text is None or verdict.reasons[0].text == text


def test_rules_still_apply_to_run_tool_and_never_lift_what_a_flag_blocks() -> None:
    entry = RunToolEntry(RunToolFlags())

    assert decide(replace(situation(tool("read_x"), Rule("r", DENY)), entry=entry)).effect is DENY
    assert decide(replace(situation(tool("read_x"), Rule("r", HOLD)), entry=entry)).effect is HOLD
    assert decide(replace(situation(tool("update_x"), Rule("r", ALLOW)), entry=entry)).effect is DENY


@pytest.mark.parametrize(
    ("name", "policy", "effect"),
    [
        ("frobnicate", LabPolicy(), ALLOW),
        ("frobnicate", LabPolicy(strict=True), DENY),
        ("create_x", LabPolicy(), ALLOW),
        ("delete_x", LabPolicy(), DENY),
        ("delete_x", LabPolicy(execute_destructive=True), ALLOW),
    ],
)
def test_the_lab_is_gated_by_the_exec_view_and_its_policy(name: str, policy: LabPolicy, effect: Effect) -> None:
    assert decide(replace(situation(tool(name)), entry=LabEntry(policy))).effect is effect


def test_the_lab_declares_nothing_and_is_not_asked_to() -> None:
    given = situation(tool("get_x", hints={"destructiveHint": False}), variant=Variant.READ)

    assert decide(replace(given, entry=LabEntry())).effect is ALLOW
    assert code(decide(given)) is Code.MISSING_INTENT


def test_only_the_lab_and_only_where_it_says_so_sends_arguments_that_do_not_fit() -> None:
    given = replace(situation(tool("get_x")), argument_problem="name is a number")

    assert decide(replace(given, entry=LabEntry(unchecked=True))).effect is ALLOW
    assert code(decide(replace(given, entry=LabEntry()))) is Code.INVALID_ARGUMENTS
    assert code(decide(replace(given, entry=RunToolEntry()))) is Code.INVALID_ARGUMENTS


@pytest.mark.parametrize("entry", [LabEntry(), LabEntry(unchecked=True)])
def test_rules_freezes_quarantine_and_scope_stop_the_lab_like_anybody(entry: LabEntry) -> None:
    found = tool("get_x")
    narrow = Caller("lab", scope=Scope(servers=("other",)))
    stopped = {
        Code.DENIED_BY_RULE: situation(found, Rule("no", DENY)),
        Code.FROZEN: replace(situation(found), frozen="everything"),
        Code.QUARANTINED: situation(replace(found, tool=replace(found.tool, standing=Standing.CHANGED))),
        Code.OUT_OF_SCOPE: situation(found, caller=narrow),
    }

    assert [code(decide(replace(each, entry=entry))) for each in stopped.values()] == list(stopped)


@pytest.mark.parametrize(
    ("standing", "text"),
    [
        (Standing.CHANGED, "Tool 'github:get_x' changed after it was reviewed and is quarantined."),
        (
            Standing.TWICE,
            "The server lists 'github:get_x' more than once, with definitions that differ, so it is quarantined.",
        ),
    ],
)
def test_a_quarantine_says_what_it_is_for(standing: Standing, text: str) -> None:
    verdict = decide(situation(tool("get_x", standing)))

    assert isinstance(verdict, Deny)
    assert verdict.reasons[0].text == text


# Properties -----------------------------------------------------------------------------------------------------


@given(facts())
def test_any_facts_get_a_verdict_with_reasons(given: Facts) -> None:
    verdict = decide(given)

    assert verdict.reasons
    assert all(reason.text for reason in verdict.reasons)
    assert not isinstance(verdict, Deny) or (verdict.reasons[0].code and verdict.reasons[0].fix)


@given(facts(), rules(st.just(DENY)))
def test_adding_a_deny_never_loosens(given: Facts, deny: Rule) -> None:
    before = decide(given)
    written = [each.rule for each in given.rules.rules]

    assert decide(replace(given, rules=RuleBook([*written, deny]))).effect.rank >= before.effect.rank


@given(facts(), st.data())
def test_losing_a_grant_never_loosens(given: Facts, data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(given.grants), unique=True) if given.grants else st.just([]))

    assert decide(replace(given, grants=kept)).effect.rank >= decide(given).effect.rank


@given(facts(), st.integers(0, 1000))
def test_time_passing_never_loosens(given: Facts, later: int) -> None:
    assert decide(replace(given, now=NOW + later)).effect.rank >= decide(given).effect.rank


@given(facts(), st.data())
def test_the_order_of_rules_and_grants_never_matters(given: Facts, data: st.DataObject) -> None:
    written = data.draw(st.permutations([each.rule for each in given.rules.rules]))
    grants = data.draw(st.permutations(list(given.grants)))

    assert decide(replace(given, rules=RuleBook(written), grants=grants)) == decide(given)


@given(facts(entry=st.builds(GatewayEntry, posture=st.sampled_from(Posture))))
def test_an_allow_that_stands_on_a_grant_would_be_a_hold_without_it(given: Facts) -> None:
    verdict = decide(given)
    if isinstance(verdict, Allow) and verdict.grant is not None:
        without = decide(replace(given, grants=(), recent_denial=None, pending_count=0))

        assert without.effect is HOLD


def postured(found: KnownTool, posture: Posture) -> Effect:
    return decide(replace(situation(found), entry=GatewayEntry(posture))).effect


RAISING: dict[str, dict[str, Json]] = {
    "destructive": {"destructiveHint": True},
    "not read-only": {"readOnlyHint": False},
    "not idempotent": {"idempotentHint": False},
}


@given(tool_names(), annotations(), st.sampled_from(list(RAISING)), st.sampled_from(Posture))
def test_a_raising_hint_of_an_untrusted_server_never_loosens_a_verdict(
    name: str, hints: dict[str, Json], what: str, posture: Posture
) -> None:
    raised = {**RAISING[what], **hints}

    assert postured(tool(name, hints=raised), posture).rank >= postured(tool(name, hints=hints), posture).rank


@given(tool_names(), annotations(), st.sampled_from(Posture))
def test_losing_trust_never_loosens_a_verdict(name: str, hints: dict[str, Json], posture: Posture) -> None:
    trusted = postured(tool(name, hints=hints, trusted=True), posture)

    assert postured(tool(name, hints=hints), posture).rank >= trusted.rank


@given(tool_names(), annotations(), st.sampled_from(SafetyClass), st.sampled_from(Posture))
def test_losing_an_override_that_lowers_never_loosens_a_verdict(
    name: str, hints: dict[str, Json], override: SafetyClass, posture: Posture
) -> None:
    descriptor = read_descriptor({"name": name, "annotations": hints})
    plain = tool(name, hints=hints)
    overridden = replace(plain, classification=classify(descriptor, override=override))

    if override.rank <= plain.classification.gateway.rank:
        assert postured(plain, posture).rank >= postured(overridden, posture).rank


def test_the_grant_key_holds_everything_a_grant_is_bound_to() -> None:
    given = situation(tool("delete_x"))
    assert given.found is not None
    verdict = decide(given)

    assert grant_key(given.call, given.found, verdict.ground, "gh-prod") == GrantKey(
        "agent",
        "github",
        "delete_x",
        "f1",
        "d1",
        verdict.ground.content_hash,
        "dangerous",
        given.call.caller.workspace,
        "gh-prod",
    )
