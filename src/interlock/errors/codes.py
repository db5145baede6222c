"""The stable codes, and how each is told to HTTP clients and to the shell.

Scripts and agents act on these words and numbers, so nothing here is ever renamed; tests hold them to the contract.
"""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Exit(IntEnum):
    """The exit codes of the command line."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    NOT_AUTHORISED = 3
    UNREACHABLE = 4
    TOOL_ERROR = 5
    BLOCKED = 10
    DENIED = 11
    TIMED_OUT = 12
    PENDING = 13
    INTENT_MISMATCH = 14
    UNKNOWN_CLASS = 15
    FINDINGS = 20
    CHAIN_BROKEN = 21
    INTERRUPTED = 130


class Code(StrEnum):
    """The stable codes in structuredContent, problem+json and `--json` errors."""

    MISSING_INTENT = "MISSING_INTENT"
    MISSING_OPERATION_TYPE = "MISSING_OPERATION_TYPE"
    INVALID_OPERATION_TYPE = "INVALID_OPERATION_TYPE"
    INTENT_MISMATCH = "INTENT_MISMATCH"
    SERVER_MISMATCH = "SERVER_MISMATCH"
    INVALID_SENSITIVITY = "INVALID_SENSITIVITY"
    REASON_TOO_LONG = "REASON_TOO_LONG"
    UNKNOWN_TOOL = "UNKNOWN_TOOL"
    OUT_OF_SCOPE = "OUT_OF_SCOPE"
    CEILING = "CEILING"
    FROZEN = "FROZEN"
    QUARANTINED = "QUARANTINED"
    NEW_TOOL = "NEW_TOOL"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    DENIED_BY_RULE = "DENIED_BY_RULE"
    UNKNOWN_CLASS = "UNKNOWN_CLASS"
    JUSTIFICATION_REQUIRED = "JUSTIFICATION_REQUIRED"
    PENDING = "PENDING"
    DENIED = "DENIED"
    TIMEOUT = "TIMEOUT"
    CANCELLED = "CANCELLED"
    STALE_APPROVAL = "STALE_APPROVAL"
    SELF_APPROVAL = "SELF_APPROVAL"
    ALREADY_RESOLVED = "ALREADY_RESOLVED"
    QUOTA = "QUOTA"
    RATE_LIMITED = "RATE_LIMITED"
    UPSTREAM_DOWN = "UPSTREAM_DOWN"
    UPSTREAM_TIMEOUT = "UPSTREAM_TIMEOUT"
    AUDIT_UNAVAILABLE = "AUDIT_UNAVAILABLE"
    INDETERMINATE = "INDETERMINATE"
    BAD_REQUEST = "BAD_REQUEST"
    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    BUDGET_EXHAUSTED = "BUDGET_EXHAUSTED"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a code is told to HTTP clients and to the shell."""

    http: int
    exit: Exit


ANSWERS: dict[Code, Answer] = {
    Code.MISSING_INTENT: Answer(400, Exit.INTENT_MISMATCH),
    Code.MISSING_OPERATION_TYPE: Answer(400, Exit.INTENT_MISMATCH),
    Code.INVALID_OPERATION_TYPE: Answer(400, Exit.INTENT_MISMATCH),
    Code.INTENT_MISMATCH: Answer(400, Exit.INTENT_MISMATCH),
    Code.SERVER_MISMATCH: Answer(400, Exit.INTENT_MISMATCH),
    Code.INVALID_SENSITIVITY: Answer(400, Exit.USAGE),
    Code.REASON_TOO_LONG: Answer(400, Exit.USAGE),
    Code.UNKNOWN_TOOL: Answer(404, Exit.USAGE),
    Code.OUT_OF_SCOPE: Answer(404, Exit.NOT_AUTHORISED),
    Code.CEILING: Answer(403, Exit.NOT_AUTHORISED),
    Code.FROZEN: Answer(423, Exit.BLOCKED),
    Code.QUARANTINED: Answer(403, Exit.BLOCKED),
    Code.NEW_TOOL: Answer(403, Exit.BLOCKED),
    Code.INVALID_ARGUMENTS: Answer(422, Exit.USAGE),
    Code.DENIED_BY_RULE: Answer(403, Exit.BLOCKED),
    Code.UNKNOWN_CLASS: Answer(403, Exit.UNKNOWN_CLASS),
    Code.JUSTIFICATION_REQUIRED: Answer(400, Exit.USAGE),
    Code.PENDING: Answer(202, Exit.PENDING),
    Code.DENIED: Answer(403, Exit.DENIED),
    Code.TIMEOUT: Answer(403, Exit.TIMED_OUT),
    Code.CANCELLED: Answer(409, Exit.DENIED),
    Code.STALE_APPROVAL: Answer(409, Exit.BLOCKED),
    Code.SELF_APPROVAL: Answer(403, Exit.NOT_AUTHORISED),
    Code.ALREADY_RESOLVED: Answer(409, Exit.DENIED),
    Code.QUOTA: Answer(429, Exit.BLOCKED),
    Code.RATE_LIMITED: Answer(429, Exit.BLOCKED),
    Code.UPSTREAM_DOWN: Answer(502, Exit.UNREACHABLE),
    Code.UPSTREAM_TIMEOUT: Answer(504, Exit.UNREACHABLE),
    Code.AUDIT_UNAVAILABLE: Answer(503, Exit.UNREACHABLE),
    Code.INDETERMINATE: Answer(409, Exit.TOOL_ERROR),
    Code.BAD_REQUEST: Answer(400, Exit.USAGE),
    Code.UNAUTHENTICATED: Answer(401, Exit.NOT_AUTHORISED),
    Code.FORBIDDEN: Answer(403, Exit.NOT_AUTHORISED),
    Code.NOT_FOUND: Answer(404, Exit.USAGE),
    Code.BUDGET_EXHAUSTED: Answer(429, Exit.BLOCKED),
}
