"""The lives of an approval and of a call, as tables.

Everything about which state may follow which stands in this file, and nothing else does: no clock, no store, no notion
of who may answer. A pair that is not in the table cannot happen. An approval makes exactly one transition, ever.
"""

from collections.abc import Mapping
from enum import StrEnum


class ApprovalState(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class ApprovalEvent(StrEnum):
    APPROVE = "approve"
    DENY = "deny"
    EXPIRE = "expire"
    CANCEL = "cancel"


APPROVAL: Mapping[ApprovalState, Mapping[ApprovalEvent, ApprovalState]] = {
    ApprovalState.PENDING: {
        ApprovalEvent.APPROVE: ApprovalState.APPROVED,
        ApprovalEvent.DENY: ApprovalState.DENIED,
        ApprovalEvent.EXPIRE: ApprovalState.TIMEOUT,
        ApprovalEvent.CANCEL: ApprovalState.CANCELLED,
    },
    ApprovalState.APPROVED: {},
    ApprovalState.DENIED: {},
    ApprovalState.TIMEOUT: {},
    ApprovalState.CANCELLED: {},
}


class CallState(StrEnum):
    """`received`, `held` and `sent` are on the way; the others are the statuses that a record can end with."""

    RECEIVED = "received"
    HELD = "held"
    SENT = "sent"
    SUCCESS = "success"
    ERROR = "error"
    BLOCKED = "blocked"
    DENIED = "denied"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    INDETERMINATE = "indeterminate"


class CallEvent(StrEnum):
    REFUSE = "refuse"
    HOLD = "hold"
    DENY = "deny"
    SEND = "send"
    SUCCEED = "succeed"
    FAIL = "fail"
    EXPIRE = "expire"
    CANCEL = "cancel"
    LOSE = "lose"


CALL: Mapping[CallState, Mapping[CallEvent, CallState]] = {
    CallState.RECEIVED: {
        CallEvent.REFUSE: CallState.BLOCKED,
        CallEvent.HOLD: CallState.HELD,
        CallEvent.DENY: CallState.DENIED,
        CallEvent.SEND: CallState.SENT,
        CallEvent.CANCEL: CallState.CANCELLED,
    },
    CallState.HELD: {
        # A fresh decision may refuse what was approved: a rule changed, the tool drifted, a freeze came.
        CallEvent.REFUSE: CallState.BLOCKED,
        CallEvent.DENY: CallState.DENIED,
        CallEvent.EXPIRE: CallState.TIMEOUT,
        CallEvent.CANCEL: CallState.CANCELLED,
        CallEvent.SEND: CallState.SENT,
    },
    CallState.SENT: {
        CallEvent.SUCCEED: CallState.SUCCESS,
        CallEvent.FAIL: CallState.ERROR,
        CallEvent.EXPIRE: CallState.TIMEOUT,
        CallEvent.CANCEL: CallState.CANCELLED,
        # The outcome will never be known: we crashed, or the upstream did.
        CallEvent.LOSE: CallState.INDETERMINATE,
    },
    CallState.SUCCESS: {},
    CallState.ERROR: {},
    CallState.BLOCKED: {},
    CallState.DENIED: {},
    CallState.TIMEOUT: {},
    CallState.CANCELLED: {},
    CallState.INDETERMINATE: {},
}


def next_approval_state(state: ApprovalState, event: ApprovalEvent) -> ApprovalState | None:
    """The state that follows, or None when the event cannot happen in this state."""
    return APPROVAL[state].get(event)


def next_call_state(state: CallState, event: CallEvent) -> CallState | None:
    """The state that follows, or None when the event cannot happen in this state."""
    return CALL[state].get(event)
