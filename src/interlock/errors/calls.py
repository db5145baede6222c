"""The sentences that a call can end with before it reaches a server: intent, scope, standing orders, approvals.

Most of them are read by agents. They say what to do next and nothing about the rules behind it.
"""

from interlock.errors.codes import Code
from interlock.errors.reason import Message

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
CEILING_OF_VARIANT = Message(
    Code.CEILING,
    "Caller '{caller}' may go up to {ceiling}, and {variant} goes further.",
    "Tool '{tool}' itself is within your reach: call it with call_tool_{ceiling} and declare {ceiling}.",
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
LISTED_TWICE = Message(
    Code.QUARANTINED,
    "The server lists '{tool}' more than once, with definitions that differ, so it is quarantined.",
    "Its author must give each tool a name of its own. `interlock tool diff {tool}` shows the definitions.",
)
POISONED = Message(
    Code.QUARANTINED,
    "Tool '{tool}' is quarantined: {sign}.",
    "An operator must look at `interlock tool show {tool}`, and can accept this definition as a person who read it.",
)
NOT_TRUSTED_IN_PASSING = Message(
    Code.QUARANTINED,
    "Tool '{tool}' has signs of poison, and is not trusted in passing.",
    "Read what was found, above. If it is harmless, add --poisoned to trust exactly this definition all the same.",
)
WITHHELD = Message(
    Code.QUARANTINED,
    "The result of '{tool}' is withheld: {sign}. The call itself was carried out, and its effects stand.",
    "Do not repeat the call. An operator can read the result in the activity, or set results.on_injection to label.",
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
NEEDS_TASK = Message(
    Code.DENIED_BY_RULE,
    "The lab does not call '{tool}': it can only be called as a task, and Interlock begins no tasks.",
    "Have the server declare taskSupport as `optional` where a plain call works too.",
)
CALLED_ONCE = Message(
    Code.DENIED_BY_RULE,
    "The lab calls '{tool}' once in a run, and has done so.",
    "Begin another run to call it again: whatever the first call did is still there.",
)
NOT_IN_PLAN = Message(
    Code.UNKNOWN_TOOL,
    "The server has listed no tool '{tool}', so the lab does not call it.",
    "Use the name as the server lists it, or begin another run if the server lists it only now.",
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
NOT_LOOKED_AT = Message(
    Code.STALE_APPROVAL,
    "The arguments that wait are not those that you looked at: the digest differs. Nothing was approved.",
    "Look at the approval again, and answer what you see then.",
)
SELF_APPROVAL = Message(
    Code.SELF_APPROVAL,
    "You cannot approve your own tool call request.",
    "Another principal with the approver role has to answer.",
)
OWN_AGENT = Message(
    Code.SELF_APPROVAL,
    "You cannot approve your own tool call request.",
    "The rule asks for four eyes, and the agent that wants this call is yours, or you are another agent of its owner:"
    " a principal with the approver role who has nothing to do with it has to answer.",
)
ALREADY_RESOLVED = Message(
    Code.ALREADY_RESOLVED,
    "approval already resolved",
    "It was {status} by {approver}; nothing is left to answer.",
)
NO_SUCH_APPROVAL = Message(
    Code.NOT_FOUND,
    "No approval of yours has this id.",
    "Leave the id out to call anew; the id of an approval stands in the answer that told you to come again.",
)
RUNNING = Message(
    Code.PENDING,
    "The call that approval {approval_id} let pass is under way.",
    "Repeat it with `_approval_id` {approval_id} to get its outcome; nothing was sent again.",
)
EXPIRED_APPROVAL = Message(
    Code.STALE_APPROVAL,
    "The approval was good until {at}, or was taken back, and was not used. Nothing was sent.",
    "Call again without `_approval_id` to ask for a new approval.",
)
SPENT_APPROVAL = Message(
    Code.STALE_APPROVAL,
    "Approval {approval_id} has been used already. Nothing was sent.",
    "Call again without `_approval_id` to ask for a new approval.",
)
ALREADY_VOTED = Message(
    Code.ALREADY_RESOLVED,
    "You have approved this call already; {votes} of {needed} approvals are there.",
    "Another approver has to agree.",
)
KIN_VOTED = Message(
    Code.SELF_APPROVAL,
    "Somebody who made you, or whom you made, has approved this call already; {votes} of {needed} approvals are there.",
    "An approver that is independent of both has to agree.",
)
NOT_AMONG_APPROVERS = Message(
    Code.FORBIDDEN,
    "This call may be answered by {approvers} only.",
    "Leave it to one of them.",
)
GRANT_TOO_WIDE = Message(
    Code.BAD_REQUEST,
    "This approval cannot be given that widely: {problem}.",
    "Approve it once, or choose a scope and a duration within these limits.",
)
CANNOT_BE_ASKED = Message(
    Code.BAD_REQUEST,
    "Server '{server}' asked for {kind}, and this client did not say that it can be asked that.",
    "Use a client that supports {kind}, or another tool.",
)
BAD_STATE = Message(
    Code.BAD_REQUEST,
    "No call of '{tool}' with these arguments waits for this requestState: it is not yours, too old, or used.",
    "Nothing was sent. Call the tool again without requestState and inputResponses.",
)
BAD_INPUT = Message(
    Code.BAD_REQUEST,
    "An answer in inputResponses is none: {problem}.",
    "Nothing was sent, and the call goes on waiting: answer again with the same requestState.",
)
TOO_MANY_PARKED = Message(
    Code.QUOTA,
    "{limit} calls of yours wait for an answer already.",
    "Answer some of them, or wait until they end by themselves.",
)
DESK_FULL = Message(
    Code.QUOTA,
    "Too many calls of all callers are waiting for approval.",
    "Try again when reviewers have caught up; nothing was sent.",
)
NOBODY_LISTENS = Message(
    Code.PENDING,
    "Nobody listens for calls that wait for approval.",
    "Run `interlock approval watch`, or name a webhook or a command under notices in the configuration.",
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
