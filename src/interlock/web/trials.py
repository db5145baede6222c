"""`POST /rules/test`: what would happen to a call now, or to one of the record if it came again. Calls nothing.

A call that is made up is that of an agent without limits of its own; what that leaves open is named. Arguments of the
record are redacted, and a rule may look at just what is hidden: then the answer says that it is not exact, and why.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict, Field

from interlock import errors
from interlock.core.decide import Facts, KnownTool
from interlock.core.intent import OPERATION_OF_VARIANT
from interlock.core.model import CALL_METHOD, Call, Caller, Declaration, Json, JsonObject, OperationType, Variant
from interlock.core.schemas import Schemas
from interlock.core.toolbook import ListedTool, nearest
from interlock.core.trial import trial_as_json, try_out
from interlock.receive.catalog import call_of
from interlock.web import times
from interlock.web.answers import json_answer
from interlock.web.parts import Here, Parts
from interlock.web.past import Past, past_of
from interlock.web.problems import Refusal
from interlock.web.rules import ShownTerms, namespaces
from interlock.web.tools import missing_tool

MAX_NAME = 200
ANYBODY = "agent"
_VARIANTS = {operation: variant for variant, operation in OPERATION_OF_VARIANT.items()}
_NOT_CHECKED = ["the limits of the caller's token", "grants, quotas and rates"]
_HIDDEN = "secrets in its arguments were hidden: a rule that looks at them may decide otherwise"
_TOO_LONG = "its arguments were too long to be kept: a rule that looks at arguments may decide otherwise"


@dataclass(frozen=True, slots=True)
class ShownReason:
    code: str | None
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step: passed, not reached, or the effect that it had."""

    step: str
    outcome: str
    text: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of the call when it was made."""

    id: str
    at: str
    status: str
    verdict: str | None
    rule_id: str | None


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """The verdict, and the whole way to it. `approval` is null unless the call would be held.

    Not `exact` when something of a call of the record is hidden; then `why_not_exact` says what that means.
    """

    tool: str
    verdict: str
    rule_id: str
    reasons: list[ShownReason]
    safety_class: str
    class_source: str
    operation_type: str
    workspace: str | None
    caller: str
    posture: str | None
    matching_rules: list[str]
    approval: ShownTerms | None
    trace: list[ShownStep]
    not_checked: list[str]
    exact: bool
    why_not_exact: str
    recorded: Recorded | None


class WantedTrial(BaseModel):
    """A call to try out: a tool and what goes with it, or the id of a call of the record."""

    model_config = ConfigDict(extra="forbid", strict=True)

    tool: str | None = Field(default=None, min_length=1, max_length=1000, description="server:tool")
    args: dict[str, Any] | None = None
    caller: str | None = Field(default=None, min_length=1, max_length=MAX_NAME)
    workspace_id: str | None = Field(default=None, min_length=1, max_length=MAX_NAME)
    operation_type: OperationType | None = Field(default=None, strict=False)
    activity_id: str | None = Field(default=None, min_length=1, max_length=MAX_NAME)


async def try_rules(wanted: WantedTrial, here: Here) -> Response:
    """Say what would happen to a call, step by step. Calls nothing."""
    if wanted.activity_id is not None:
        if wanted.model_fields_set != {"activity_id"}:
            raise Refusal(errors.BAD_FIELDS(problems="activity_id: give it alone, or a tool and what goes with it"))
        return json_answer(await _of_record(wanted.activity_id, here))
    if wanted.tool is None:
        raise Refusal(errors.BAD_FIELDS(problems="tool: give a tool, or the activity_id of a call of the record"))
    return json_answer(_made_up(wanted, wanted.tool, here))


def _made_up(wanted: WantedTrial, name: str, here: Parts) -> dict[str, Json]:
    book = here.pipeline.book
    server, tool = book.split(name)
    found = book.find(server, tool)
    if found is None:
        raise missing_tool(book, server, tool)
    operation = wanted.operation_type
    variant = Variant.DIRECT if operation is None else _VARIANTS[operation]
    declaration = Declaration(operation is not None, operation)
    caller = Caller(wanted.caller or ANYBODY, _workspace(wanted.workspace_id, here))
    call = call_of(caller, server, tool, wanted.args or {}, variant, declaration)
    facts = replace(_facts(call, found.known, here), argument_problem=Schemas().problem(found, call.arguments))
    return {**trial_as_json(try_out(facts, found.known)), **_told()}


async def _of_record(activity_id: str, here: Parts) -> dict[str, Json]:
    activity = await here.store.get_activity(activity_id)
    past = None if activity is None else past_of(activity)
    if activity is None or past is None:
        raise Refusal(errors.NOT_FOUND(what=f"A call '{activity_id[:100]}' of a tool", suggestion=""))
    listed = _listed(past, here)
    server = past.call.server
    known = past.known(namespaces(here).get(server, server)) if listed is None else listed.known
    facts = _facts(past.call, known, here)
    if listed is not None and past.exact:
        facts = replace(facts, argument_problem=Schemas().problem(listed, past.call.arguments))
    recorded: JsonObject = {
        "id": activity.id,
        "at": times.iso(activity.at),
        "status": activity.status,
        "verdict": activity.verdict,
        "rule_id": activity.rule_id,
    }
    source = past.source if listed is None else None
    return {**trial_as_json(try_out(facts, known, source)), **_told(past, recorded)}


def _listed(past: Past, here: Parts) -> ListedTool | None:
    """The tool as it is listed now, if it still is."""
    call, pipeline = past.call, here.pipeline
    if call.method != CALL_METHOD:
        return pipeline.offers.find(call.server, call.method)
    return pipeline.book.find(call.server, call.tool)


def _told(past: Past | None = None, recorded: JsonObject | None = None) -> Mapping[str, Json]:
    exact = past is None or past.exact
    why = "" if past is None or past.exact else _HIDDEN if past.kept else _TOO_LONG
    return {"not_checked": _NOT_CHECKED, "exact": exact, "why_not_exact": why, "recorded": recorded}


def _facts(call: Call, known: KnownTool, here: Parts) -> Facts:
    policy = here.pipeline.policy
    return Facts(
        call=call,
        found=known,
        rules=policy.rules,
        now=here.clock.now(),
        entry=policy.entry_for(call),
        hold=policy.hold,
        frozen=here.room.freezer.of(call),
    )


def _workspace(given: str | None, here: Parts) -> str | None:
    if given is None:
        return here.workspaces.default
    known = here.workspaces.names
    if given not in known:
        suggestion = nearest(given, sorted(known))
        raise Refusal(errors.BAD_FIELDS(problems=f"workspace_id: there is no such workspace.{suggestion}"))
    return given
