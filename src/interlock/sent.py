"""A call in the words of its upstream, and what came of it in ours.

The pipeline says when something is sent and recorded; what exactly is sent, and what to call each way in which it can
end, stands here. Nothing here waits, writes or decides.
"""

from collections.abc import Callable

import msgspec

from interlock import errors
from interlock.core.decide import Entry, Facts
from interlock.core.lifecycle import CallEvent
from interlock.core.mirrors import mirrored
from interlock.core.model import CALL_METHOD, Call, Deny, Micros
from interlock.core.offers import GET_PROMPT, READ, SUBSCRIBE
from interlock.core.toolbook import ListedTool
from interlock.errors import Code, Reason
from interlock.forward.link import Answer, BadMessage, LinkDown, LinkTimeout, Listener, Stopped, TooLong
from interlock.forward.questions import Asker
from interlock.forward.upstream import Ask, tool_call
from interlock.kept import MAX_CONTENT, Origin, Outcome


class Way(msgspec.Struct, frozen=True):
    """What goes along with a call: where it came from, by which entry, who hears of it on the way, and who asks its
    client for the server."""

    origin: Origin
    entry: Entry | None = None
    listener: Listener | None = None
    log_level: str | None = None
    asker: Asker | None = None


class Reply(msgspec.Struct, frozen=True):
    """What goes back: the upstream's answer as it came, or the reason of a refusal. `activity` is its record."""

    activity: str
    answer: Answer | None = None
    refusal: Reason | None = None
    approval: str | None = None
    """The approval that a refused call waits for, and until when; the caller is told to come again."""
    expires_at: Micros | None = None


FAILURES = (LinkDown, LinkTimeout, TooLong, BadMessage, Stopped)
"""What keeps a call from getting its answer."""

_NAMED = {READ: "uri", SUBSCRIBE: "uri", GET_PROMPT: "name"}
"""The param that says what a method is about."""


def ask_of(call: Call, found: ListedTool, way: Way, stopped: Callable[[], str | None]) -> Ask:
    """What an upstream is asked for a call."""
    params = msgspec.json.encode(call.arguments)
    if call.method == CALL_METHOD:
        repeated = mirrored(found.mirrors, call.arguments) if found.mirrors else ()
        return tool_call(call.tool, params, way.log_level, repeated, way.asker, stopped)
    named = call.arguments.get(_NAMED.get(call.method, ""))
    name = named if isinstance(named, str) else None
    return Ask(call.method, params, name, way.log_level, (), way.asker, stopped)


def failure_of(failed: Exception, server: str, seconds: float) -> tuple[CallEvent, Reason]:
    """What to call it when a call did not get its answer. Once something was sent, nobody knows what it did."""
    match failed:
        case Stopped():
            return CallEvent.FAIL, errors.FROZEN(what=failed)
        case LinkDown(sent=False):
            return CallEvent.FAIL, errors.UPSTREAM_DOWN(server=server, problem=failed.why)
        case LinkTimeout():
            return CallEvent.EXPIRE, errors.UPSTREAM_TIMEOUT(server=server, seconds=seconds)
        case TooLong():
            return CallEvent.LOSE, errors.ANSWER_TOO_LONG(server=server, problem=str(failed))
        case LinkDown():
            return CallEvent.LOSE, errors.UPSTREAM_LOST(server=server, problem=failed.why)
        case _:
            return CallEvent.LOSE, errors.OUT_OF_PROTOCOL(server=server, problem=str(failed))


class _ToolResult(msgspec.Struct):
    """The one field of a result that the record needs."""

    isError: bool = False  # noqa: N815 - the name on the wire


_TOOL_RESULT = msgspec.json.Decoder(_ToolResult)


def outcome_of(answer: Answer) -> Outcome:
    """How a call ended that got its answer."""
    if answer.error is not None:
        return Outcome(CallEvent.FAIL, len(answer.error.message), error=answer.error.message)
    try:
        failed = _TOOL_RESULT.decode(answer.result).isError
    except msgspec.MsgspecError:
        failed = True
    text = answer.result[:MAX_CONTENT].decode("utf-8", "replace")
    return Outcome(CallEvent.FAIL if failed else CallEvent.SUCCEED, len(answer.result), content=text)


def told_of(refusal: Deny, facts: Facts) -> Reason:
    """What a caller gets to read of a refusal: a tool out of its scope is, for it, a tool that does not exist."""
    reason = refusal.reasons[0]
    if reason.code is not Code.OUT_OF_SCOPE:
        return reason
    return errors.UNKNOWN_TOOL(tool=facts.call.shown, suggestion=facts.suggestion)
