"""Approvals as REST shows them, for tests of what is made of them."""

from typing import Any

from interlock.core.times import iso

SECOND = 1_000_000
NOW = 1_800_000_000 * SECOND


def approval(number: int = 1, **changed: Any) -> dict[str, Any]:
    """The approval that was asked for as the `number`th; it can be answered for five minutes from NOW on."""
    shown: dict[str, Any] = {
        "id": f"ap_{number:04}{number:04x}",
        "status": "pending",
        "requester": "ci",
        "owner": "operator",
        "workspace_id": None,
        "workspace_name": None,
        "tool_name": f"up__tool_{number}",
        "downstream_server_id": "up",
        "tool": f"tool_{number}",
        "safety_class": "subprocess",
        "class_source": "name",
        "tool_fingerprint": "f" * 64,
        "digest": "d" * 64,
        "route_rule_id": "posture:guarded",
        "timeout_sec": 300,
        "approvals_needed": 1,
        "approvers": [],
        "four_eyes": False,
        "max_grant_sec": 900,
        "votes": [],
        "approver": None,
        "approver_session_id": None,
        "approver_type": None,
        "resolution": "",
        "created_at": iso(NOW),
        "decided_at": None,
        "expires_at": iso(NOW + 300 * SECOND),
        "request_session_id": None,
        "request_client_type": None,
        "request_model": None,
        "auth_scope_id": None,
        "justification": "to tidy up",
        "arguments": {"n": number},
        "reasons": [{"code": None, "text": "it is held"}],
        "intent": {},
        "entry": "call",
    }
    return {**shown, **changed}


def resolved(number: int = 1, status: str = "approved", by: str = "alice") -> dict[str, Any]:
    return approval(number, status=status, approver=by, approver_type="cli", decided_at=iso(NOW))
