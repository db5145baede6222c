"""`GET /rules`: the rules in the order in which they decide, how often each did, and what is wrong with them.

What is shown is what is in force, with the words of the operator. Nothing here changes a rule: they stand in the
configuration file.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.core.lint import lint
from interlock.core.model import HoldTerms
from interlock.core.rules import CompiledRule, Rule, RuleBook
from interlock.core.safety import Effect
from interlock.store.protocol import Tally, TallyBy
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.filters import since_of
from interlock.web.parts import Here, Parts

_POSTURE = "posture:"
_NEVER = Tally(0, None)


@dataclass(frozen=True, slots=True)
class ShownTerms:
    """The terms under which a held call may be approved. Times are in seconds."""

    approval_timeout: int
    approvals_needed: int
    approvers: list[str]
    four_eyes: bool
    max_grant: int


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that is wrong with a rule, as `interlock rule lint` says it."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownRule:
    """A rule. `conditions` has those that are written, and none means always; `approval` is null unless it holds.

    `hits` counts since `since`; `last_hit` is when it last decided, whenever that was.
    """

    id: str
    effect: str | None
    priority: int
    conditions: dict[str, Any]
    auth_scope_id: str | None
    approval: ShownTerms | None
    hits: int
    last_hit: str | None
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Decider:
    """Something that decided calls and is no rule of now."""

    id: str
    hits: int
    last_hit: str | None


@dataclass(frozen=True, slots=True)
class RuleList:
    """The rules in deciding order. `posture` decides where none does.

    `postures` are those that decided; `others` are gates that refused, and rules that are gone.
    """

    items: list[ShownRule]
    posture: str
    postures: list[Decider]
    others: list[Decider]
    since: str


class RuleQuery(BaseModel):
    """Of which time hits are counted."""

    model_config = ConfigDict(extra="forbid")

    since: str = Field(default="7d", description="ISO 8601, or how long ago: 15m, 2h, 7d.")


async def list_rules(query: Annotated[RuleQuery, Query()], here: Here) -> Response:
    """List the rules in the order in which they decide, with how often each did and what is wrong with it."""
    since = since_of(query.since, here.clock.now())
    tallies = await here.store.tallies(TallyBy.RULE, since)
    policy = here.pipeline.policy
    marks = await asyncio.to_thread(_marks, policy.rules, tuple(namespaces(here).items()), _reachable(here))
    known = {each.rule.id for each in policy.rules.rules}
    apart = [Decider(name, each.calls, _when(each)) for name, each in tallies.items() if name not in known]
    return json_answer(
        RuleList(
            items=[_shown(each, tallies, marks) for each in policy.rules.rules],
            posture=policy.entry.posture,
            postures=[each for each in apart if each.id.startswith(_POSTURE)],
            others=[each for each in apart if not each.id.startswith(_POSTURE)],
            since=times.iso(since),
        )
    )


def namespaces(here: Parts) -> dict[str, str]:
    """The namespace of each server; of the bundled sample too, which is on no list."""
    listed = {each.id: each.namespace for each in here.roster.entries()}
    return listed or {each.id: each.namespace for each in here.upstreams.states()}


def shown_terms(terms: HoldTerms) -> ShownTerms:
    return ShownTerms(
        terms.approval_timeout, terms.approvals_needed, list(terms.approvers), terms.four_eyes, terms.max_grant
    )


def _reachable(here: Parts) -> tuple[str, ...]:
    """The workspaces that a caller can be in without a token that names one."""
    workspaces = here.workspaces
    return (*workspaces.by_folder.values(), *(() if workspaces.default is None else (workspaces.default,)))


@lru_cache(maxsize=1)
def _marks(
    rules: RuleBook, namespaces: tuple[tuple[str, str], ...], reachable: tuple[str, ...]
) -> Mapping[str, list[Mark]]:
    """What is wrong with rules, by their ids. Each is held against every other, so it is not done again and again."""
    found: dict[str, list[Mark]] = {}
    for each in lint(rules, dict(namespaces), reachable):
        found.setdefault(each.rule_id, []).append(Mark(each.finding.code, each.finding.text))
    return found


def _shown(compiled: CompiledRule, tallies: Mapping[str, Tally], marks: Mapping[str, list[Mark]]) -> ShownRule:
    rule = compiled.rule
    tally = tallies.get(rule.id, _NEVER)
    return ShownRule(
        id=rule.id,
        effect=rule.effect,
        priority=rule.priority,
        conditions=conditions(rule),
        auth_scope_id=rule.auth_scope_id,
        approval=shown_terms(rule.terms) if rule.effect is Effect.HOLD else None,
        hits=tally.calls,
        last_hit=_when(tally),
        marks=marks.get(rule.id, []),
    )


def conditions(rule: Rule) -> dict[str, Any]:
    """What a rule asks of a call, by the names that the configuration has for it."""
    asked = {
        "workspace_id": rule.workspace_id,
        "server_id": rule.server_id,
        "tool_pattern": list(rule.tool_pattern),
        "safety_class": sorted(rule.safety_class),
        "operation_type": sorted(rule.operation_type),
        "caller": rule.caller,
        "args": dict(rule.args),
    }
    return {name: value for name, value in asked.items() if value}


def _when(tally: Tally) -> str | None:
    return times.iso_or_none(tally.last)
