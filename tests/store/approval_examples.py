"""Approvals and grants for the tests of the store."""

from typing import Any

from msgspec.structs import replace

from interlock.core.approvals import (
    SECOND,
    Answered,
    Approval,
    Approver,
    ApproverType,
    Wish,
    approved,
    denied,
    ended,
)
from interlock.core.freezes import Freeze, FreezeKind, Frozen
from interlock.core.grants import GrantKey, GrantScope
from interlock.core.lifecycle import ApprovalEvent, CallState
from interlock.core.model import HoldTerms
from interlock.store.protocol import Activity, ActivityType
from tests.store.examples import NOW

TERMS = HoldTerms(approval_timeout=300, approvals_needed=1, approvers=("humans", "bob"), max_grant=60)
BOB = Approver("bob", ApproverType.CLI, session_id="s-9", person=True)
CAROL = Approver("carol", ApproverType.DASHBOARD, person=True)
ALL = Frozen(FreezeKind.ALL)


def key(number: int = 1, caller: str = "agent") -> GrantKey:
    return GrantKey(caller, "up", "run_job", "f1", f"d{number}", "h1", "subprocess", "prod")


def approval(number: int = 1, *, caller: str = "agent", **more: Any) -> Approval:
    """A question that was asked `number` seconds after the beginning."""
    known: dict[str, Any] = {
        "id": f"ap_{number:04}",
        "key": key(number, caller),
        "tool_name": "up__run_job",
        "rule_id": "rule-1",
        "terms": TERMS,
        "created_at": NOW + number * SECOND,
        "expires_at": NOW + 300 * SECOND,
        "gateway": "gw_1",
        "owner": "olga",
        "asked": {"justification": "because", "request_session_id": f"s-{number}", "arguments": {"é": ["\ud800", 1]}},
    }
    return Approval(**(known | more))


def why(number: int = 1, change: str = "created") -> Activity:
    """The activity that tells of a change of an approval."""
    identity, at = f"ap_{number:04}", NOW + number
    return Activity(identity, at, ActivityType.APPROVAL, CallState.HELD, {"change": change}, approval_id=identity)


def sent(number: int, digest: str = "d1") -> Activity:
    """The record of a call that uses a grant."""
    body: dict[str, Any] = {"digest": digest}
    return Activity(f"call-{number}", NOW + number, ActivityType.TOOL_CALL, CallState.SENT, body)


def yes(
    asked: Approval, by: Approver = BOB, scope: GrantScope = GrantScope.ONCE, seconds: int | None = None
) -> Answered:
    found = approved(asked, by, Wish(scope, seconds), "fine", NOW + 9)
    assert isinstance(found, Answered)
    return found


def no(asked: Approval, by: Approver = BOB) -> Approval:
    found = denied(asked, by, "no", NOW + 9)
    assert isinstance(found, Answered)
    return found.approval


def timed_out(asked: Approval) -> Approval:
    return ended(asked, ApprovalEvent.EXPIRE, "", NOW + 9)


def cancelled(asked: Approval) -> Approval:
    return ended(asked, ApprovalEvent.CANCEL, "client disconnected", NOW + 9)


def late(number: int = 1) -> Approval:
    """One whose time is over."""
    return replace(approval(number), expires_at=NOW - 1)


def frozen(reason: str = "incident") -> Freeze:
    return Freeze(ALL, NOW, "operator", reason)
