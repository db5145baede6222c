"""Trying a call out: what would be decided about it, step by step, for people who want to know why.

Nothing is decided here: `decide` does, and this tells where in the order of the gates its verdict fell. The command
line and REST tell it with these words, so that both say the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from interlock.core.decide import Facts, GatewayEntry, KnownTool, decide, query_of
from interlock.core.intent import OPERATION_OF_VARIANT
from interlock.core.model import OPERATION_OF_CLASS, Deny, Hold, HoldTerms, Intent, Json, OperationType, Verdict
from interlock.core.rules import CompiledRule
from interlock.errors import Code, Reason

_OF_RULES = frozenset({Code.DENIED_BY_RULE, Code.UNKNOWN_CLASS})
"""The codes with which a rule or a posture denies. Whatever else denies is a gate."""

_ENTRY = "entry:"

PASSED, NOT_REACHED = "passed", "not reached"
RULES, SECOND_KEY = "rules", "second key"

_GATES: dict[str, str] = {
    "two-key": "what is declared agrees with the way of calling",
    "caller": "the caller may call tools",
    "scope": "the tool is in reach of the caller",
    "ceiling": "the tool is within the ceiling of the caller",
    "tool": "the tool is known",
    "freeze": "nothing of it is frozen",
    "drift": "the definition has not changed since it was reviewed",
    "annotations": "the annotations of the server do not speak against it",
    "arguments": "nothing is known to be wrong with the arguments",
    "entry": "the door it comes through lets it pass",
}
"""Each gate before the rules by the name of its ground, in the order of `decide`, and what it means to have passed."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a decision: passed, not reached, or the effect that it had."""

    step: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A call that was tried out. `source` is where its class came from."""

    facts: Facts
    found: KnownTool
    verdict: Verdict
    source: str

    @property
    def declared(self) -> OperationType:
        """What the call is said to do."""
        by_class = OPERATION_OF_CLASS[self.found.classification.gateway]
        return OPERATION_OF_VARIANT.get(self.facts.call.variant, by_class)

    @property
    def matching(self) -> Sequence[CompiledRule]:
        """Every rule that matches, foremost first."""
        return self.facts.rules.matching(query_of(self.facts, self.found, Intent(self.declared)))

    @property
    def posture(self) -> str | None:
        """The posture that holds for the call; None where flags stand in its place."""
        entry = self.facts.entry
        return entry.posture.value if isinstance(entry, GatewayEntry) else None


def try_out(facts: Facts, found: KnownTool, source: str | None = None) -> Trial:
    """Decide about a call that nobody makes."""
    return Trial(facts, found, decide(facts), source or found.classification.source)


def is_of_rules(effect: str | None, code: str | None, ground: str) -> bool:
    """Whether a verdict with this effect, this code of its first reason and this ground is that of rules or posture."""
    # The tables of run-tool and the lab deny with the same codes; no rule has a colon in its id.
    return effect is not None and (effect != Deny.effect or (code in _OF_RULES and not ground.startswith(_ENTRY)))


def steps_of(verdict: Verdict) -> list[Step]:
    """The whole way of a call, also where it did not get to."""
    text = "; ".join(each.text for each in verdict.reasons)
    if is_of_rules(verdict.effect, verdict.reasons[0].code, verdict.ground.id):
        passed = [Step(gate, PASSED, said) for gate, said in _GATES.items()]
        return [*passed, Step(RULES, verdict.effect, text), _second_key(verdict)]
    said = {**_GATES, RULES: "the rules do not deny it", SECOND_KEY: ""}
    order, gate = list(said), verdict.ground.id.partition(":")[0]
    # What refuses and is no gate before the rules comes after them: memory, quotas and rates.
    at = order.index(gate if gate in _GATES else SECOND_KEY)
    return [
        *(Step(each, PASSED, said[each]) for each in order[:at]),
        Step(order[at], verdict.effect, text),
        *(Step(each, NOT_REACHED, "") for each in order[at + 1 :]),
    ]


def _second_key(verdict: Verdict) -> Step:
    if isinstance(verdict, Hold):
        return Step(SECOND_KEY, verdict.effect, f"it waits for {asked_for(verdict.terms)}")
    if isinstance(verdict, Deny):
        return Step(SECOND_KEY, NOT_REACHED, "")
    return Step(SECOND_KEY, PASSED, "no approval is needed" if verdict.grant is None else "a grant covers it")


def asked_for(terms: HoldTerms) -> str:
    """Whose approval a held call waits for, in words."""
    who = ", ".join(terms.approvers) or "anyone with the approver role"
    return f"{terms.approvals_needed} by {who}, within {terms.approval_timeout} s"


def terms_as_json(terms: HoldTerms) -> dict[str, Json]:
    """The terms of an approval, by the names that the configuration has for them; times are in seconds."""
    return {
        "approval_timeout": terms.approval_timeout,
        "approvals_needed": terms.approvals_needed,
        "approvers": list(terms.approvers),
        "four_eyes": terms.four_eyes,
        "max_grant": terms.max_grant,
    }


def trial_as_json(trial: Trial) -> dict[str, Json]:
    """A trial as scripts and pages are told of it."""
    verdict, call = trial.verdict, trial.facts.call
    return {
        "tool": trial.found.tool.shown,
        "verdict": verdict.effect,
        "rule_id": verdict.ground.id,
        "reasons": [_reason(each) for each in verdict.reasons],
        "safety_class": trial.found.classification.gateway,
        "class_source": trial.source,
        "operation_type": trial.declared,
        "workspace": call.caller.workspace,
        "caller": call.caller.name,
        "posture": trial.posture,
        "matching_rules": [each.rule.id for each in trial.matching],
        "approval": terms_as_json(verdict.terms) if isinstance(verdict, Hold) else None,
        "trace": [{"step": each.step, "outcome": each.outcome, "text": each.text} for each in steps_of(trial.verdict)],
    }


def _reason(reason: Reason) -> dict[str, Json]:
    return {"code": reason.code, "message": reason.text, "fix": reason.fix}
