"""`GET /rules/suggestions`: rules worth writing, from approvals that repeat. Nothing here puts a rule in force."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Query, Response
from pydantic import BaseModel, ConfigDict, Field

from interlock.core.approvals import Approval
from interlock.core.decide import Facts, decide
from interlock.core.model import Call, Caller
from interlock.core.safety import Effect, SafetyClass
from interlock.core.suggest import Suggestion, suggestions
from interlock.store.approvals import ApprovalFilter
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.filters import since_of
from interlock.web.parts import Here, Parts
from interlock.web.past import recorded_tool

MOST_APPROVALS = 1_000
"""Of the newest so many approvals those that were asked for since then are looked at."""


@dataclass(frozen=True, slots=True)
class ShownSuggestion:
    """A rule as `route_rules` would have it, also as text, and what speaks for it."""

    rule: dict[str, Any]
    yaml: str
    approved: int
    approvers: list[str]
    last: str


@dataclass(frozen=True, slots=True)
class SuggestionList:
    """Rules worth writing, those for what was most often approved first. Not `complete` when only the newest
    approvals were looked at."""

    since: str
    complete: bool
    items: list[ShownSuggestion]


class SuggestionQuery(BaseModel):
    """Of which time approvals count."""

    model_config = ConfigDict(extra="forbid")

    since: str = Field(default="30d", description="ISO 8601, or how long ago: 15m, 2h, 7d.")


async def suggest_rules(query: Annotated[SuggestionQuery, Query()], here: Here) -> Response:
    """Suggest rules for what is approved again and again; never for tools that are dangerous or unknown."""
    since = since_of(query.since, here.clock.now())
    page = await here.store.approvals.list_approvals(ApprovalFilter(limit=MOST_APPROVALS))
    recent = [each for each in page.items if each.created_at >= since]
    priorities = {each.rule.id: each.rule.priority for each in here.pipeline.policy.rules.rules}
    found = suggestions(recent, priorities, lambda each: _is_held(each, here), priorities.get)
    complete = len(page.items) == page.total or len(recent) < len(page.items)
    return json_answer(SuggestionList(times.iso(since), complete, [_shown(each) for each in found]))


def _is_held(approval: Approval, here: Parts) -> bool:
    """Whether such a call would still wait."""
    key, policy = approval.key, here.pipeline.policy
    arguments = approval.asked.get("arguments")
    known = arguments if isinstance(arguments, dict) else {}
    call = Call(Caller(key.caller, key.workspace), key.server, key.tool, known, key.digest)
    namespace = approval.tool_name.removesuffix(f"__{key.tool}")
    found = recorded_tool(key.server, namespace, key.tool, SafetyClass(key.safety_class))
    return decide(Facts(call, found, policy.rules, 0, policy.entry_for(call), policy.hold)).effect is Effect.HOLD


def _shown(each: Suggestion) -> ShownSuggestion:
    return ShownSuggestion(dict(each.rule), each.yaml, each.approved, list(each.approvers), times.iso(each.last))
