"""A call that was made, brought back from the record as far as it was kept.

Secrets in its arguments are hidden and arguments that were too long are gone; whether anything is missing is told by
the digest, which was taken over what was really sent. Nothing here sends anything.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from msgspec import Struct

from interlock.core.canonical import argument_digest
from interlock.core.classify import classify, read_descriptor
from interlock.core.decide import KnownTool
from interlock.core.model import (
    CALL_METHOD,
    Call,
    Caller,
    Declaration,
    Json,
    JsonObject,
    Standing,
    Tool,
    Variant,
)
from interlock.core.safety import Effect, SafetyClass
from interlock.core.trial import is_of_rules
from interlock.errors import Code
from interlock.store.protocol import Activity, ActivityType

CALLS = (ActivityType.TOOL_CALL, ActivityType.POLICY_DECISION)
_VARIANTS = {each.value: each for each in Variant}
_CLASSES = {each.value: each for each in SafetyClass}
_OF_AGENTS = frozenset({"mcp", "try-it", "call"})
"""The entries that postures decide about; run-tool and the lab have tables of their own."""


class Past(Struct, frozen=True):
    """A call of the record. `exact` is whether its arguments are those that were sent."""

    call: Call
    safety_class: SafetyClass
    source: str
    is_new: bool
    exact: bool
    kept: bool
    """Whether its arguments were kept at all."""

    def known(self, namespace: str, safety_class: SafetyClass | None = None) -> KnownTool:
        """The tool as it was then, or with another class."""
        call = self.call
        return recorded_tool(call.server, namespace, call.tool, safety_class or self.safety_class, self.is_new)


def past_of(activity: Activity) -> Past | None:
    """The call that an activity tells of; None when it tells of something else, or of no tool that there was."""
    safety_class = _CLASSES.get(activity.safety_class or "")
    if activity.type not in CALLS or safety_class is None or activity.server is None or activity.tool is None:
        return None
    body = activity.body
    arguments, metadata = _object(body.get("arguments")), _object(body.get("metadata"))
    digest = str(body.get("digest"))
    exact = argument_digest(arguments) == digest
    kept = exact or not (arguments.get("kept") is False and "bytes" in arguments)
    variant = _VARIANTS.get(str(metadata.get("tool_variant")), Variant.DIRECT)
    declared = variant is not Variant.DIRECT
    call = Call(
        caller=Caller(activity.caller or "", activity.workspace),
        server=activity.server,
        tool=activity.tool,
        arguments=arguments if kept else {},
        digest=digest,
        variant=variant,
        declaration=Declaration(declared, activity.intent_type if declared else None),
        method=str(metadata.get("method", CALL_METHOD)),
    )
    return Past(call, safety_class, str(body.get("class_source")), _is_new(activity), exact, kept)


def was_ruled(activity: Activity) -> bool:
    """Whether rules or a posture decided, and not a gate before or after them."""
    by_agents = activity.body.get("entry") in _OF_AGENTS
    return by_agents and is_of_rules(activity.verdict, _code(activity), activity.rule_id or "")


def ruled(activity: Activity) -> Effect:
    """What the rules said then. A call that passed by an approval was held by them."""
    passed_by_grant = activity.verdict == Effect.ALLOW and activity.approval_id is not None
    return Effect.HOLD if passed_by_grant else Effect(activity.verdict or Effect.DENY)


def reasons_of(activity: Activity) -> list[str]:
    """Why it was decided so, as the record tells it."""
    return [str(each.get("text")) for each in _reasons(activity)]


def _reasons(activity: Activity) -> list[JsonObject]:
    reasons = activity.body.get("reasons")
    return [_object(each) for each in reasons] if isinstance(reasons, list) else []


def _code(activity: Activity) -> str | None:
    code = next((each.get("code") for each in _reasons(activity)), None)
    return code if isinstance(code, str) else None


def _is_new(activity: Activity) -> bool:
    return any(each.get("code") == Code.NEW_TOOL for each in _reasons(activity))


def _object(value: Json) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}


@lru_cache(maxsize=4096)
def recorded_tool(server: str, namespace: str, name: str, safety_class: SafetyClass, is_new: bool = False) -> KnownTool:
    """A tool as far as the record knows it. Many calls have the same, so it is made once."""
    standing = Standing.NEW if is_new else Standing.KNOWN
    classification = classify(read_descriptor({"name": name}), override=safety_class)
    return KnownTool(Tool(server, namespace, name, standing=standing), classification)
