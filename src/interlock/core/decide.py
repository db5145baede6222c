"""decide(): from facts to a verdict, with reasons.

The gates stand below in the order in which they are passed; the first refusal ends it. Everything that could change
the answer is in `Facts`: no clock is read here, no store asked, nothing is logged and nothing raised. The gateway,
`run-tool` and the lab all come through this function; what differs between them is the `Entry` they bring.

INVARIANT: adding a deny or raising evidence, losing a grant, or time passing never loosens a verdict.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from interlock import errors
from interlock.core.canonical import content_hash
from interlock.core.classify import Classification
from interlock.core.globs import compile_glob
from interlock.core.grants import Grant, GrantKey, covering
from interlock.core.intent import AnnotationCheck, IntentPolicy, check_annotations, check_declaration
from interlock.core.lineage import same_eyes
from interlock.core.model import (
    OPERATION_OF_CLASS,
    Allow,
    Call,
    Caller,
    Deny,
    Ground,
    Hold,
    HoldTerms,
    Intent,
    Micros,
    Standing,
    Tool,
    Variant,
    Verdict,
)
from interlock.core.rules import Query, RuleBook
from interlock.core.safety import (
    POSTURES,
    Effect,
    ExecClass,
    LabPolicy,
    Posture,
    RunToolFlags,
    SafetyClass,
    lab_flag_needed,
    run_tool_flag_needed,
)
from interlock.errors import Reason


@dataclass(frozen=True, slots=True)
class GatewayEntry:
    """A call by an agent: the gateway view, intent, and the posture where no rule decides."""

    posture: Posture = Posture.GUARDED
    intent: IntentPolicy = field(default_factory=IntentPolicy)


@dataclass(frozen=True, slots=True)
class RunToolEntry:
    """A call by `run-tool`: the prefix view and two flags instead of intent and posture."""

    flags: RunToolFlags = field(default_factory=RunToolFlags)


@dataclass(frozen=True, slots=True)
class LabEntry:
    """A call by the lab: the exec view and the lab's policy instead of intent and posture."""

    policy: LabPolicy = field(default_factory=LabPolicy)
    unchecked: bool = False
    """Whether arguments pass that do not fit the input schema: what a server does with them is what is looked for."""


Entry: TypeAlias = GatewayEntry | RunToolEntry | LabEntry


class Waiting(Struct, frozen=True):
    """An approval that waits, and what it is bound to."""

    id: str
    key: GrantKey


class KnownTool(Struct, frozen=True):
    """A tool that was found, with its classification."""

    tool: Tool
    classification: Classification


class Facts(Struct, frozen=True):
    """Everything a decision may depend on. What others found out beforehand comes in as a sentence or None."""

    call: Call
    found: KnownTool | None
    rules: RuleBook
    now: Micros
    entry: Entry = GatewayEntry()
    hold: HoldTerms = HoldTerms()
    grants: Sequence[Grant] = ()
    suggestion: str = ""
    """A did-you-mean for a tool that was not found, among those this caller may see."""
    frozen: str | None = None
    argument_problem: str | None = None
    waiting: Sequence[Waiting] = ()
    """The approvals of this caller for this tool and these arguments that nobody has answered yet."""
    recent_denial: str | None = None
    """The resolution with which this very call was denied within the denial memory."""
    over_rate: str | None = None
    pending_count: int = 0
    max_pending: int = 20
    desk_full: bool = False
    """Whether as many calls wait, of all callers, as may wait at all."""


def decide(facts: Facts) -> Verdict:
    """The verdict on one call. Total: any facts get a verdict, and every verdict has a reason."""
    intent = _two_keys(facts)
    if isinstance(intent, Deny):
        return intent
    for gate in _GATES:
        refusal = gate(facts)
        if refusal is not None:
            return refusal
    found = facts.found
    if found is None:
        return _deny("tool", errors.UNKNOWN_TOOL(tool=facts.call.shown, suggestion=facts.suggestion))
    return _known_gates(facts, found, intent)


def _known_gates(facts: Facts, found: KnownTool, intent: Intent) -> Verdict:
    for gate in _KNOWN_GATES:
        refusal = gate(facts, found)
        if refusal is not None:
            return refusal
    ruling = _ruling(facts, found, intent)
    if ruling.effect is Effect.DENY:
        return Deny(ruling.reasons, ruling.ground)
    return _second_key(facts, found, intent, ruling)


def _deny(gate: str, reason: Reason) -> Deny:
    return Deny((reason,), standing_ground(gate))


@lru_cache(maxsize=1024)
def standing_ground(gate: str, terms: HoldTerms | None = None) -> Ground:
    """The ground of a verdict that no rule gave; its hash covers the terms, so that a grant dies with them."""
    content = (gate,) if terms is None else (gate, *_terms_as_json(terms))
    return Ground(gate, content_hash(content))


def _terms_as_json(terms: HoldTerms) -> tuple[int | bool | tuple[str, ...], ...]:
    return (
        terms.approval_timeout,
        terms.approvals_needed,
        tuple(sorted(terms.approvers)),
        terms.four_eyes,
        terms.max_grant,
    )


# Gate: two keys -------------------------------------------------------------------------------------------------


def _two_keys(facts: Facts) -> Intent | Deny:
    safety_class = SafetyClass.UNKNOWN if facts.found is None else facts.found.classification.gateway
    if not isinstance(facts.entry, GatewayEntry):
        return Intent(OPERATION_OF_CLASS[safety_class])
    call = facts.call
    checked = check_declaration(call.variant, call.declaration, facts.entry.intent.mode, safety_class)
    return checked if isinstance(checked, Intent) else _deny("two-key", checked)


# Gates before the tool is known ---------------------------------------------------------------------------------


def _caller_gate(facts: Facts) -> Deny | None:
    caller = facts.call.caller
    if not caller.may_call:
        return _deny("caller", errors.FORBIDDEN(role="agent"))
    expires_at = caller.scope.expires_at
    if expires_at is not None and facts.now >= expires_at:
        return _deny("caller", errors.UNAUTHENTICATED(problem="The token has expired."))
    return None


def _scope_gate(facts: Facts) -> Deny | None:
    call = facts.call
    if in_scope(call.caller, call.server, call.tool):
        return None
    return _deny("scope", errors.OUT_OF_SCOPE(tool=call.shown, caller=call.caller.name))


def in_scope(caller: Caller, server: str, tool: str) -> bool:
    """Whether a caller's token reaches a tool; its patterns may name the tool with or without its server."""
    scope = caller.scope
    if scope.servers is None and scope.tools is None:
        return True
    return _any_glob(scope.servers, server) and (
        _any_glob(scope.tools, f"{server}:{tool}") or _any_glob(scope.tools, tool)
    )


def _any_glob(patterns: tuple[str, ...] | None, text: str) -> bool:
    return patterns is None or any(compile_glob(pattern).matches(text) for pattern in patterns)


def _ceiling_gate(facts: Facts) -> Deny | None:
    ceiling = facts.call.caller.scope.ceiling
    if ceiling is None or facts.found is None:
        return None
    safety_class = facts.found.classification.gateway
    variant = facts.call.variant
    told = {"caller": facts.call.caller.name, "ceiling": ceiling.value, "tool": facts.call.shown}
    if OPERATION_OF_CLASS[safety_class].rank > ceiling.rank:
        return _deny("ceiling", errors.CEILING(**told, what=safety_class.value))
    if variant is not Variant.DIRECT and _variant_rank(variant) > ceiling.rank:
        return _deny("ceiling", errors.CEILING_OF_VARIANT(**told, variant=variant.value))
    return None


def _variant_rank(variant: Variant) -> int:
    return (Variant.READ, Variant.WRITE, Variant.DESTRUCTIVE).index(variant)


_GATES: tuple[Callable[[Facts], Deny | None], ...] = (_caller_gate, _scope_gate, _ceiling_gate)


# Gates once the tool is known -----------------------------------------------------------------------------------


def _freeze_gate(facts: Facts, found: KnownTool) -> Deny | None:
    return None if facts.frozen is None else _deny("freeze", errors.FROZEN(what=facts.frozen))


def _drift_gate(facts: Facts, found: KnownTool) -> Deny | None:
    tool = found.tool
    if tool.standing is Standing.POISONED:
        return _deny("poison", errors.POISONED(tool=tool.shown, sign=tool.poison))
    reason = _QUARANTINES.get(tool.standing)
    return None if reason is None else _deny("drift", reason(tool=tool.shown))


_QUARANTINES = {Standing.CHANGED: errors.QUARANTINED, Standing.TWICE: errors.LISTED_TWICE}


def _annotation_gate(facts: Facts, found: KnownTool) -> Deny | None:
    refusal = _annotation_check(facts, found).refusal
    return None if refusal is None else _deny("annotations", refusal)


def _annotation_check(facts: Facts, found: KnownTool) -> AnnotationCheck:
    if not isinstance(facts.entry, GatewayEntry):
        return AnnotationCheck()
    strict = facts.entry.intent.strict_server_validation
    return check_annotations(facts.call.variant, found.tool.hints, found.tool.shown, strict=strict)


def _argument_gate(facts: Facts, found: KnownTool) -> Deny | None:
    unchecked = isinstance(facts.entry, LabEntry) and facts.entry.unchecked
    if facts.argument_problem is None or unchecked:
        return None
    return _deny("arguments", errors.INVALID_ARGUMENTS(tool=found.tool.shown, problem=facts.argument_problem))


def _entry_gate(facts: Facts, found: KnownTool) -> Deny | None:
    """The tables of run-tool and the lab stand before the rules: no rule lifts what a missing flag blocks."""
    entry, classification = facts.entry, found.classification
    if isinstance(entry, RunToolEntry):
        reason = run_tool_block(found.tool.name, classification.prefix, entry.flags)
        return None if reason is None else _deny("entry:run-tool", reason)
    if isinstance(entry, LabEntry):
        reason = _lab_block(found.tool.shown, classification.exec, entry.policy)
        return None if reason is None else _deny("entry:lab", reason)
    return None


def _lab_block(tool: str, exec_class: ExecClass, policy: LabPolicy) -> Reason | None:
    flag = lab_flag_needed(exec_class, policy)
    return None if flag is None else errors.BLOCKED_BY_LAB(tool=tool, exec_class=exec_class.value, flag=flag)


def run_tool_block(tool: str, safety_class: SafetyClass, flags: RunToolFlags) -> Reason | None:
    """Why run-tool does not run a tool of this class with these flags; None when it does."""
    flag = run_tool_flag_needed(safety_class, flags)
    if flag is None:
        return None
    if not flag:
        return errors.BLOCKED_UNKNOWN(tool=tool)
    return errors.BLOCKED_BY_FLAG(tool=tool, safety_class=safety_class.value, flag=flag)


_KNOWN_GATES: tuple[Callable[[Facts, KnownTool], Deny | None], ...] = (
    _freeze_gate,
    _drift_gate,
    _annotation_gate,
    _argument_gate,
    _entry_gate,
)


# Rules, else posture --------------------------------------------------------------------------------------------


class _Ruling(Struct, frozen=True):
    """What rules, posture and drift say before grants and quotas are looked at."""

    effect: Effect
    reasons: tuple[Reason, ...]
    ground: Ground
    terms: HoldTerms
    auth_scope: str | None = None


def query_of(facts: Facts, found: KnownTool, intent: Intent) -> Query:
    """What the rules are matched against."""
    return Query(
        server=found.tool.server,
        tool=found.tool.qualified,
        safety_class=found.classification.gateway,
        operation_type=intent.operation_type,
        workspace=facts.call.caller.workspace,
        caller=facts.call.caller.name,
        arguments=facts.call.arguments,
    )


def _ruling(facts: Facts, found: KnownTool, intent: Intent) -> _Ruling:
    query = query_of(facts, found, intent)
    rule = facts.rules.deciding(query)
    if rule is not None and rule.rule.effect is not None:
        ruling = _by_rule(rule.rule.effect, rule.ground, rule.rule.terms, found)
    else:
        ruling = _by_posture(facts, found)
    auth_scope = facts.rules.auth_scope(query)
    if auth_scope is not None:
        ruling = replace(ruling, auth_scope=auth_scope)
    return _hold_new_tool(_observed(ruling, facts.entry), facts, found)


def _by_rule(effect: Effect, ground: Ground, terms: HoldTerms, found: KnownTool) -> _Ruling:
    reason = errors.DENIED_BY_RULE(tool=found.tool.shown) if effect is Effect.DENY else _says(ground.id, effect)
    return _Ruling(effect, (reason,), ground, terms)


@lru_cache(maxsize=4096)
def _says(rule_id: str, effect: Effect) -> Reason:
    return Reason(f"rule '{rule_id}' says {effect.value}")


def _by_posture(facts: Facts, found: KnownTool) -> _Ruling:
    if not isinstance(facts.entry, GatewayEntry):
        return _Ruling(
            Effect.ALLOW, (Reason("the entry allows it and no rule decides"),), standing_ground("entry"), facts.hold
        )
    ruling = _standing_ruling(facts.entry.posture, found.classification.gateway, facts.hold)
    if ruling.effect is Effect.DENY:
        return replace(ruling, reasons=(errors.UNKNOWN_CLASS(tool=found.tool.shown),))
    return ruling


@lru_cache(maxsize=1024)
def _standing_ruling(posture: Posture, safety_class: SafetyClass, terms: HoldTerms) -> _Ruling:
    effect = POSTURES[posture][safety_class]
    reason = Reason(f"no rule decides; posture {posture.value} says {effect.value} for {safety_class.value} tools")
    return _Ruling(effect, (reason,), standing_ground(f"posture:{posture.value}", terms), terms)


def _observed(ruling: _Ruling, entry: Entry) -> _Ruling:
    """In posture `observe` a hold becomes a recorded allow."""
    observing = isinstance(entry, GatewayEntry) and entry.posture is Posture.OBSERVE
    if not observing or ruling.effect is not Effect.HOLD:
        return ruling
    note = Reason("posture observe lets it pass; it would have been held")
    return replace(ruling, effect=Effect.ALLOW, reasons=(*ruling.reasons, note))


def _hold_new_tool(ruling: _Ruling, facts: Facts, found: KnownTool) -> _Ruling:
    """A tool that appeared later on an untrusted server waits for a person, whatever would allow it."""
    if found.tool.standing is not Standing.NEW or ruling.effect is Effect.DENY:
        return ruling
    reasons = (errors.NEW_TOOL(tool=found.tool.shown), *ruling.reasons)
    if ruling.effect is Effect.HOLD:
        return replace(ruling, reasons=reasons)
    return replace(
        ruling,
        effect=Effect.HOLD,
        reasons=reasons,
        ground=standing_ground("drift:new", facts.hold),
        terms=facts.hold,
    )


# Grants, memory, quotas -----------------------------------------------------------------------------------------


def _second_key(facts: Facts, found: KnownTool, intent: Intent, ruling: _Ruling) -> Verdict:
    warning = _annotation_check(facts, found).warning
    warnings = () if warning is None else (warning,)
    grant = None
    if ruling.effect is Effect.HOLD:
        key = grant_key(facts.call, found, ruling.ground, ruling.auth_scope)
        grants = _of_others(facts) if ruling.terms.four_eyes else facts.grants
        grant = covering(grants, key, found.classification.gateway, facts.now)
        if grant is None:
            return _hold(facts, key, intent, ruling, warnings)
    if facts.over_rate is not None:
        return _deny("rate", errors.RATE_LIMITED(limit=facts.over_rate))
    by_grant = () if grant is None else (Reason(f"grant '{grant.id}' covers it"),)
    return Allow(
        reasons=(*by_grant, *ruling.reasons),
        ground=ruling.ground,
        intent=intent,
        grant=None if grant is None else grant.id,
        approval=None if grant is None else grant.approval,
        warnings=warnings,
        auth_scope=ruling.auth_scope,
    )


def _of_others(facts: Facts) -> Sequence[Grant]:
    """The grants that are not the word of whoever owns the caller: tokens of one principal may have several owners, and
    what one of them approved for another's call is not for a call of its own."""
    owner = facts.call.caller.owner
    return [each for each in facts.grants if not any(same_eyes(name, owner) for name in each.given_by)]


def _hold(facts: Facts, key: GrantKey, intent: Intent, ruling: _Ruling, warnings: tuple[Reason, ...]) -> Verdict:
    attached = next((each.id for each in facts.waiting if each.key == key), None)
    refusal = None if attached is not None else _crowd_refusal(facts)
    if refusal is not None:
        return refusal
    if facts.over_rate is not None:
        return _deny("rate", errors.RATE_LIMITED(limit=facts.over_rate))
    return Hold(
        reasons=ruling.reasons,
        ground=ruling.ground,
        intent=intent,
        terms=ruling.terms,
        attach_to=attached,
        warnings=warnings,
        auth_scope=ruling.auth_scope,
    )


def _crowd_refusal(facts: Facts) -> Deny | None:
    """Why nobody is asked about one call more."""
    if facts.recent_denial is not None:
        return _deny("denial-memory", errors.DENIED(resolution=facts.recent_denial or "no reason given"))
    if facts.pending_count >= facts.max_pending:
        return _deny("quota", errors.QUOTA(pending=facts.pending_count))
    return _deny("quota", errors.DESK_FULL()) if facts.desk_full else None


def grant_key(call: Call, found: KnownTool, ground: Ground, auth_scope: str | None) -> GrantKey:
    """What a grant for this call would be bound to."""
    tool = found.tool
    return GrantKey(
        caller=call.caller.name,
        server=tool.server,
        tool=tool.name,
        fingerprint=tool.fingerprint,
        digest=call.digest,
        rule_hash=ground.content_hash,
        safety_class=found.classification.gateway.value,
        workspace=call.caller.workspace,
        auth_scope=auth_scope,
    )
