"""An approval as a reviewer reads it: everything that is known of a held call, a line each.

What the requester says about itself is kept apart from what we know: it is quoted, marked as its word, and cannot put
a line of its own beside ours. Nothing is left out for want of room; what was not kept is said to be missing.

This module refuses to print: `show` and the screen of `watch` each do that in their way, and each makes hidden
characters visible.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.cli.render import short_time, span
from interlock.core.model import Json
from interlock.web.times import time_of

_SECOND = 1_000_000
_QUOTE, _INDENT = "  > ", "  "


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a card. A label stands before what we know; a prefix before each line of what is quoted."""

    label: str
    text: str
    prefix: str = ""
    alarming: bool = False


def is_grave(approval: Mapping[str, Any]) -> bool:
    """Whether the tool is one that asks for a second look: dangerous, or nobody knows what."""
    return approval["safety_class"] in ("dangerous", "unknown")


def seconds_left(approval: Mapping[str, Any], now: int) -> float:
    """For how long an approval can still be answered."""
    return max((time_of(approval["expires_at"]) - now) / _SECOND, 0)


def standing(approval: Mapping[str, Any], now: int) -> str:
    """How an approval stands, in a few words: `4m 12s left, 1 of 2 votes`, or `by alice`."""
    if approval["status"] != "pending":
        return f"by {approval['approver'] or approval['approver_type'] or 'system'}"
    needed = approval["approvals_needed"]
    votes = f", {len(approval['votes'])} of {needed} votes" if needed > 1 else ""
    return f"{span(seconds_left(approval, now))} left{votes}"


def scopes(approval: Mapping[str, Any]) -> list[str]:
    """How widely an approval may be given."""
    if not approval["max_grant_sec"]:
        return ["once"]
    return ["once", "identical"] if is_grave(approval) else ["once", "identical", "tool"]


def card(approval: Mapping[str, Any], now: int) -> list[Line]:
    """Everything that a reviewer needs to know, what matters most first."""
    return [*_known(approval, now), *_said(approval), *_arguments(approval), *_answers(approval), *_marks(approval)]


# What we know ---------------------------------------------------------------------------------------------------


def _known(approval: Mapping[str, Any], now: int) -> Iterator[Line]:
    comma = "," if approval["status"] == "pending" else ""
    yield Line("Approval", f"{approval['id']} {approval['status']}{comma} {standing(approval, now)}")
    yield Line("Tool", f"{approval['tool_name']} of server {approval['downstream_server_id']}")
    source = approval.get("class_source")
    told = f"{approval['safety_class']}{f', by its {source}' if source else ''}"
    yield Line("Class", told, alarming=is_grave(approval))
    owner = approval["owner"]
    yield Line("Requester", f"{approval['requester']}{f', owned by {owner}' if owner else ''}")
    if approval["workspace_id"] is not None:
        name = approval.get("workspace_name")
        yield Line("Workspace", f"{approval['workspace_id']}{f' ({name})' if name else ''}")
    yield Line("Held by", approval["route_rule_id"])
    yield from (Line("Because", each["text"]) for each in approval.get("reasons") or ())


# What the requester says ----------------------------------------------------------------------------------------


def _said(approval: Mapping[str, Any]) -> Iterator[Line]:
    yield Line("", "")
    yield Line("", "The requester says (its own word, which nobody checked):")
    yield from (Line("", each, _QUOTE) for each in (approval.get("justification") or "nothing").split("\n"))
    yield from (Line("", each, _QUOTE) for each in _labels(approval))


def _labels(approval: Mapping[str, Any]) -> Iterator[str]:
    intent: Mapping[str, Any] = approval.get("intent") or {}
    named = {
        "operation": intent.get("operation_type"),
        "sensitivity": intent.get("data_sensitivity"),
        "client": approval.get("request_client_type"),
        "model": approval.get("request_model"),
        "session": approval.get("request_session_id"),
    }
    told = [f"{name} {value}" for name, value in named.items() if value]
    if told:
        yield f"({', '.join(told)})"


def _arguments(approval: Mapping[str, Any]) -> Iterator[Line]:
    arguments: Json = approval.get("arguments")
    yield Line("", "")
    if approval.get("arguments_kept") is False:
        yield Line(
            "", "The arguments are too long to be kept, so you cannot see what you would approve.", alarming=True
        )
    else:
        yield Line("", "Arguments, in full except for secrets:")
    text = json.dumps(arguments, indent=2, ensure_ascii=False)
    yield from (Line("", each, _INDENT) for each in text.split("\n"))


# How it is answered ---------------------------------------------------------------------------------------------


def _answers(approval: Mapping[str, Any]) -> Iterator[Line]:
    """Who may answer, who did, and until when."""
    yield Line("", "")
    asked = f"{short_time(approval['created_at'])}, until {short_time(approval['expires_at'])}"
    yield Line("Asked", asked)
    who = ", ".join(approval["approvers"]) or "anyone with the role of an approver"
    yield Line("Answers", f"{who}{', but not the owner' if approval['four_eyes'] else ''}")
    if approval["approvals_needed"] > 1:
        yield Line("Needed", f"{approval['approvals_needed']} votes")
    for each in approval["votes"]:
        yield Line("Vote", f"{each['approver']} at {short_time(each['at'])} ({each['scope']})")
    if approval["status"] == "pending":
        yield Line("Scope", _widest(approval))
    if approval["auth_scope_id"]:
        yield Line("Runs with", approval["auth_scope_id"])
    if approval["decided_at"] is not None:
        yield Line("Decided", f"{approval['status']} {standing(approval, 0)} at {short_time(approval['decided_at'])}")
        yield Line("Reason", approval["resolution"] or "none given")


def _widest(approval: Mapping[str, Any]) -> str:
    wider = scopes(approval)[1:]
    return f"once, or {' or '.join(wider)} for up to {span(approval['max_grant_sec'])}" if wider else "once only"


def _marks(approval: Mapping[str, Any]) -> Iterator[Line]:
    yield Line("Digest", approval["digest"])
    yield Line("Definition", approval["tool_fingerprint"])
