"""Every refusal and error of Interlock: its code, its sentence and its fix, in one place.

An agent, a script and an operator must be able to act on what we say, and to rely on the words. So texts live here
and nowhere else; the rest of the code fills in the blanks. A `Reason` is a value: refusing a call is an answer, not
an exception. The two exceptions below are for what stops the work itself: bad configuration, and an empty budget.

This module refuses to know who is asking: which words an agent may see is decided where the reply is built.
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


@dataclass(frozen=True, slots=True)
class Reason:
    """One sentence of a verdict. Refusals carry a code and a fix; a plain explanation carries neither."""

    text: str
    code: Code | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A code's sentence and fix, with blanks to fill in."""

    code: Code
    text: str
    fix: str

    def __call__(self, **blanks: object) -> Reason:
        return Reason(self.text.format(**blanks), self.code, self.fix.format(**blanks))


# Intent ---------------------------------------------------------------------------------------------------------
MISSING_INTENT = Message(
    Code.MISSING_INTENT,
    "intent parameter is required for {variant}",
    "Add intent: {{operation_type: {expected}, reason: why you need this}}.",
)
MISSING_OPERATION_TYPE = Message(
    Code.MISSING_OPERATION_TYPE,
    "intent.operation_type is required",
    "Set intent.operation_type to {expected}, or call the variant that fits what you are about to do.",
)
INVALID_OPERATION_TYPE = Message(
    Code.INVALID_OPERATION_TYPE,
    "Invalid intent.operation_type '{given}': must be read, write, or destructive",
    "Set intent.operation_type to {expected} for {variant}.",
)
INTENT_MISMATCH = Message(
    Code.INTENT_MISMATCH,
    "Intent mismatch: tool is {variant} but intent declares {declared}",
    "Call call_tool_{declared}, or declare {expected} if that is what you are about to do.",
)
SERVER_MISMATCH = Message(
    Code.SERVER_MISMATCH,
    "Tool '{tool}' is marked destructive by server, use call_tool_destructive",
    "Call call_tool_destructive with intent.operation_type destructive.",
)
INVALID_SENSITIVITY = Message(
    Code.INVALID_SENSITIVITY,
    "Invalid intent.data_sensitivity '{given}': must be public, internal, private, or unknown",
    "Leave intent.data_sensitivity out, or use one of the four words.",
)
REASON_TOO_LONG = Message(
    Code.REASON_TOO_LONG,
    "intent.reason exceeds maximum length of 1000 characters",
    "Shorten the reason to one or two sentences; yours has {length} characters.",
)
REASON_NOT_TEXT = Message(
    Code.BAD_REQUEST,
    "intent.reason must be a string",
    "Write the reason as one or two sentences of text.",
)

# Finding the tool -----------------------------------------------------------------------------------------------
CALL_TOOL_GONE = Message(
    Code.UNKNOWN_TOOL,
    "Tool 'call_tool' not found. Use call_tool_read, call_tool_write, or call_tool_destructive with matching "
    "intent.operation_type. See retrieve_tools for annotations and recommendations.",
    "Call the variant that retrieve_tools gives as call_with.",
)
NOT_EXPOSED = Message(
    Code.UNKNOWN_TOOL,
    "Tool '{tool}' not found. Tools of servers are called through call_tool_read, call_tool_write or "
    "call_tool_destructive.",
    "Use retrieve_tools to find it, then call it with the variant given as call_with.",
)
UNKNOWN_TOOL = Message(
    Code.UNKNOWN_TOOL,
    "Tool '{tool}' not found.{suggestion}",
    "Use retrieve_tools to find the exact name.",
)
OUT_OF_SCOPE = Message(
    Code.OUT_OF_SCOPE,
    "Tool '{tool}' is outside the scope of caller '{caller}'.",
    "Widen the token's servers or tools, or use another token.",
)
CEILING = Message(
    Code.CEILING,
    "Caller '{caller}' may go up to {ceiling}; tool '{tool}' is {what}.",
    "Ask the operator for a token with a higher ceiling.",
)

# Standing orders ------------------------------------------------------------------------------------------------
FROZEN = Message(
    Code.FROZEN,
    "Calls are frozen: {what}.",
    "Wait until an operator thaws it; nothing was sent.",
)
QUARANTINED = Message(
    Code.QUARANTINED,
    "Tool '{tool}' changed after it was reviewed and is quarantined.",
    "An operator must look at `interlock tool diff {tool}` and then run `interlock tool trust {tool}`.",
)
NEW_TOOL = Message(
    Code.NEW_TOOL,
    "Tool '{tool}' appeared after its server was first listed and nobody has trusted it yet.",
    "An approver may let this call pass; `interlock tool trust {tool}` ends the question.",
)
INVALID_ARGUMENTS = Message(
    Code.INVALID_ARGUMENTS,
    "Arguments of '{tool}' do not fit its input schema: {problem}",
    "Correct the arguments and call again; retrieve_tools shows the schema.",
)
DENIED_BY_RULE = Message(
    Code.DENIED_BY_RULE,
    "Tool '{tool}' is not allowed here.",
    "Do not retry. Find another way, or ask the operator to change the rules.",
)
UNKNOWN_CLASS = Message(
    Code.UNKNOWN_CLASS,
    "Tool '{tool}' has unknown safety class and is refused.",
    "An operator can classify it: `interlock tool override {tool} CLASS`.",
)
BLOCKED_BY_FLAG = Message(
    Code.DENIED_BY_RULE,
    "Blocked: tool '{tool}' is classified {safety_class}. Add {flag} to run it.",
    "Look at it first with --dry-run, then add {flag}.",
)
BLOCKED_UNKNOWN = Message(
    Code.UNKNOWN_CLASS,
    "Blocked: tool '{tool}' has unknown safety class.",
    "No flag lifts this. Ask the server's author for safety_class metadata, or use `interlock call`.",
)
BLOCKED_BY_LAB = Message(
    Code.DENIED_BY_RULE,
    "The lab does not call '{tool}': it is {exec_class}.",
    "{flag}",
)

# Approvals ------------------------------------------------------------------------------------------------------
JUSTIFICATION_REQUIRED = Message(
    Code.JUSTIFICATION_REQUIRED,
    "This tool requires approval before execution. Retry your call with an additional `{field}` field explaining "
    "why you need to use this tool.",
    "Add `{field}` with one or two sentences for the reviewer.",
)
PENDING = Message(
    Code.PENDING,
    "The call waits for approval {approval_id} until {expires_at}.",
    "Repeat the same call, or call interlock__await_approval with approval_id {approval_id}.",
)
DENIED = Message(
    Code.DENIED,
    "Tool call denied. Reason: {resolution}",
    "Do not repeat the call unchanged; a person has looked at it and said no.",
)
TIMEOUT = Message(
    Code.TIMEOUT,
    "Tool call denied. Reason: timed out",
    "Nobody answered in time. Ask again when a reviewer is there.",
)
CANCELLED = Message(
    Code.CANCELLED,
    "Tool call cancelled. Reason: {resolution}",
    "Call again if you still need it.",
)
STALE_APPROVAL = Message(
    Code.STALE_APPROVAL,
    "The approval no longer fits the call: {changed} changed. Nothing was sent.",
    "Call again to ask for a new approval.",
)
SELF_APPROVAL = Message(
    Code.SELF_APPROVAL,
    "You cannot approve your own tool call request.",
    "Another principal with the approver role has to answer.",
)
ALREADY_RESOLVED = Message(
    Code.ALREADY_RESOLVED,
    "approval already resolved",
    "It was {status} by {approver}; nothing is left to answer.",
)
NO_DESK = Message(
    Code.DENIED,
    "Tool '{tool}' needs approval, and this gateway has nobody to ask yet.",
    "An operator can allow it with a rule; `interlock rule explain {tool}` says why it is held.",
)
QUOTA = Message(
    Code.QUOTA,
    "Too many calls of yours are waiting for approval ({pending}).",
    "Wait until some are answered before asking for more.",
)
RATE_LIMITED = Message(
    Code.RATE_LIMITED,
    "Too many calls: {limit}.",
    "Slow down and try again later.",
)

# Upstreams and the record ---------------------------------------------------------------------------------------
UPSTREAM_DOWN = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' is not reachable: {problem}",
    "Nothing was sent. `interlock server logs {server}` shows why.",
)
GATEWAY_GONE = Message(
    Code.UPSTREAM_DOWN,
    "The gateway does not answer: {problem}",
    "`interlock status` shows whether it runs; a call that was under way may have had its effect.",
)
FOLDER_BUSY = Message(
    Code.UPSTREAM_DOWN,
    "Another interlock command works in {folder} and does not finish.",
    "Wait for it or end it, or choose another folder with --data-dir.",
)
GATEWAY_RUNS = Message(
    Code.BAD_REQUEST,
    "A gateway works in {folder} already and listens on {address}.",
    "Connect to that one, or choose another folder with --data-dir.",
)
GATEWAY_LOST = Message(
    Code.INDETERMINATE,
    "The gateway went away while the request was under way.",
    "A call may have had its effect: check before repeating it. Interlock never sends it again by itself.",
)
GATEWAY_NOT_REACHED = Message(
    Code.UPSTREAM_DOWN,
    "The gateway cannot be reached: {problem}.",
    "Nothing was sent. `interlock status` shows whether a gateway runs.",
)
NOT_RUNNING = Message(
    Code.UPSTREAM_DOWN,
    "No gateway runs on {folder}.{also}",
    "Start one with `interlock serve`.",
)
NO_CREDENTIAL = Message(
    Code.UNAUTHENTICATED,
    "The operator's credential in {folder} is missing or cannot be read.",
    "End the gateway that runs there and start it again: it makes a new one.",
)
STORE_UNUSABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The database in {folder} cannot be used: {problem}",
    "Nothing was started. Repair or restore it, or choose another folder with --data-dir.",
)
UPSTREAM_TIMEOUT = Message(
    Code.UPSTREAM_TIMEOUT,
    "Server '{server}' did not answer within {seconds} s.",
    "The call may have had its effect: check before repeating it.",
)
AUDIT_UNAVAILABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The activity record cannot be written, so the call was refused.",
    "Nothing was sent. The operator must free or repair the store.",
)
INDETERMINATE = Message(
    Code.INDETERMINATE,
    "The call was sent but its outcome is not known.",
    "Check the effect on the server; Interlock never sends it again by itself.",
)

# Requests -------------------------------------------------------------------------------------------------------
BAD_REQUEST = Message(Code.BAD_REQUEST, "{problem}", "{fix}")
CONFIG_INVALID = Message(
    Code.BAD_REQUEST,
    "{problems}",
    "Mend the configuration; `interlock config validate` checks it again. Nothing was started.",
)
UNAUTHENTICATED = Message(
    Code.UNAUTHENTICATED,
    "{problem}",
    "Send a valid token: `interlock token create` makes one.",
)
FORBIDDEN = Message(
    Code.FORBIDDEN,
    "This needs the role {role}.",
    "Use a token with that role.",
)
LINE_TOO_LONG = Message(
    Code.BAD_REQUEST,
    "A line is longer than {limit} bytes.",
    "Send less at once; nothing of it was looked at.",
)
ID_IN_USE = Message(
    Code.BAD_REQUEST,
    "The id {id} belongs to a request that is still under way.",
    "Give every request an id of its own.",
)
TOKEN_UNUSABLE = Message(
    Code.BAD_REQUEST,
    "INTERLOCK_TOKEN holds something that is no token.",
    "Set it to the text that `interlock token create` printed, or unset it.",
)
NOT_FOUND = Message(Code.NOT_FOUND, "{what} not found.{suggestion}", "List what there is and use its exact name.")

# REST -----------------------------------------------------------------------------------------------------------
REST_NEEDS_TOKEN = Message(
    Code.UNAUTHENTICATED,
    "REST always needs a token, also on this machine.",
    "Send `Authorization: Bearer il_…`; `interlock token create` makes one.",
)
BAD_FIELDS = Message(
    Code.BAD_REQUEST,
    "{problems}",
    "Correct it and ask again; GET /api/v1/openapi.json describes every field.",
)
BODY_NOT_JSON = Message(
    Code.BAD_REQUEST,
    "{problem}",
    "Send one JSON object with `Content-Type: application/json`, each key once.",
)
BODY_REFUSED = Message(Code.BAD_REQUEST, "{problem}", "Send a shorter body, in one go.")
METHOD_NOT_ALLOWED = Message(Code.BAD_REQUEST, "{method} is not possible here.", "Use {allowed}.")
STORE_UNREACHABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The store cannot be read or written now.",
    "Nothing was changed. The operator must free or repair the store.",
)
NAME_RESERVED = Message(
    Code.BAD_REQUEST,
    "The name '{name}' is reserved for Interlock itself.",
    "Choose another name for the token.",
)
OTHER_KIND = Message(
    Code.BAD_REQUEST,
    "'{name}' is known as {known}, so a token of it cannot be {given}.",
    "One principal has one kind: set kind to {known}, or choose another name.",
)
TOKEN_REVOKED_BEFORE = Message(
    Code.NOT_FOUND,
    "Token '{id}' was revoked before, at {at}.",
    "Nothing is left to do.",
)
CHANGED_AGAIN = Message(
    Code.STALE_APPROVAL,
    "Tool '{tool}' is no longer what was looked at, so nothing was trusted.",
    "Look at it again with `interlock tool diff {tool}`.",
)
OVERRIDE_IN_FILE = Message(
    Code.BAD_REQUEST,
    "The class of '{tool}' is set in the configuration file, under `overrides`.",
    "Change it there: what the file says wins.",
)
BUDGET_EXHAUSTED = Message(
    Code.BUDGET_EXHAUSTED,
    "The budget of {limit} calls is used up.",
    "Raise max_calls or probe fewer tools.",
)


SHELL_FIXES: dict[Code, str] = {
    Code.UNKNOWN_TOOL: "`interlock tool list` shows the names.",
    Code.INVALID_ARGUMENTS: "Correct the arguments; `interlock tool show {tool}` shows the schema.",
    Code.SERVER_MISMATCH: "Use `interlock call tool-destructive`.",
    Code.JUSTIFICATION_REQUIRED: "Add --reason with one or two sentences for the reviewer.",
}
"""What to do next at a shell, for the codes of a call whose fix is written for agents."""


class InterlockError(Exception):
    """Something that stops the work; it carries the reason a user needs."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.text)
        self.reason = reason


class BudgetExhausted(InterlockError):
    """Raised by the call budget when all its calls are taken."""

    def __init__(self, limit: int) -> None:
        super().__init__(BUDGET_EXHAUSTED(limit=limit))
        self.limit = limit


class ConfigError(InterlockError):
    """The configuration cannot be used. Each problem says where it stands and what to do."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__(CONFIG_INVALID(problems="\n".join(problems)))
        self.problems = problems
