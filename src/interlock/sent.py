"""A call in the words of its upstream, and what came of it in ours.

The pipeline says when something is sent and recorded; what exactly is sent, and what to call each way in which it can
end, stands here. Nothing here waits, writes or decides.
"""

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence

import msgspec

from interlock import errors
from interlock.core.decide import Entry, Facts
from interlock.core.lifecycle import CallEvent
from interlock.core.mirrors import mirrored
from interlock.core.model import CALL_METHOD, Call, Deny, Micros
from interlock.core.offers import GET_PROMPT, READ, SUBSCRIBE
from interlock.core.poison.signs import SENTENCES, Sign
from interlock.core.toolbook import ListedTool
from interlock.core.words import word_set
from interlock.errors import Code, Reason
from interlock.forward.link import Answer, BadMessage, LinkDown, LinkTimeout, Listener, RpcError, Stopped, TooLong
from interlock.forward.questions import Asker
from interlock.forward.upstream import Ask, tool_call
from interlock.kept import MAX_CONTENT, Origin, Outcome
from interlock.store.protocol import OutOfTouch, StoreUnavailable


class Way(msgspec.Struct, frozen=True):
    """What goes along with a call: where it came from, by which entry, who hears of it on the way, and who asks its
    client for the server."""

    origin: Origin
    entry: Entry | None = None
    listener: Listener | None = None
    log_level: str | None = None
    asker: Asker | None = None

    @property
    def asked(self) -> Mapping[str, int] | None:
        """How often the client was asked something, by kind; it grows. None where nobody may ask it."""
        return None if self.asker is None else self.asker.asked


class Reply(msgspec.Struct, frozen=True):
    """What goes back: the upstream's answer as it came, or the reason of a refusal. `activity` is its record."""

    activity: str
    answer: Answer | None = None
    refusal: Reason | None = None
    approval: str | None = None
    """The approval that a refused call waits for, and until when; the caller is told to come again."""
    expires_at: Micros | None = None
    unsent: bool = False
    """Whether it was let pass and on record, and is certain not to have left."""


FAILURES = (LinkDown, LinkTimeout, TooLong, BadMessage, Stopped, OutOfTouch)
"""What keeps a call from getting its answer."""

_NAMED = {READ: "uri", SUBSCRIBE: "uri", GET_PROMPT: "name"}
"""The param that says what a method is about."""


def ask_of(call: Call, found: ListedTool, way: Way, stopped: Callable[[], str | None]) -> Ask:
    """What an upstream is asked for a call."""
    params, trace = msgspec.json.encode(call.arguments), way.origin.trace
    if call.method == CALL_METHOD:
        repeated = mirrored(found.mirrors, call.arguments) if found.mirrors else ()
        ask = tool_call(call.tool, params, way.log_level, repeated, way.asker, stopped)
    else:
        named = call.arguments.get(_NAMED.get(call.method, ""))
        name = named if isinstance(named, str) else None
        ask = Ask(call.method, params, name, way.log_level, (), way.asker, stopped)
    if trace is not None and trace.goes_on:
        return msgspec.structs.replace(ask, traceparent=trace.traceparent)
    return ask


def failure_of(failed: Exception, server: str, seconds: float) -> tuple[Outcome, Reason]:
    """What goes on record and back when a call did not get its answer."""
    event, reason = _failure(failed, server, seconds)
    # Only what we have stopped ourselves is certain: that a server has not taken a call may be its own word.
    return Outcome(event, error=reason.text, unsent=isinstance(failed, Stopped | OutOfTouch)), reason


def _failure(failed: Exception, server: str, seconds: float) -> tuple[CallEvent, Reason]:
    """What to call it. Once something was sent, nobody knows what it did."""
    match failed:
        case Stopped():
            return CallEvent.FAIL, errors.FROZEN(what=failed)
        case OutOfTouch():
            return CallEvent.FAIL, errors.OUT_OF_TOUCH()
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


def unrecorded(gone: StoreUnavailable) -> Reason:
    """What a caller is told whose call was refused because of the store. Nothing of it was sent."""
    return errors.OUT_OF_TOUCH() if isinstance(gone, OutOfTouch) else errors.AUDIT_UNAVAILABLE()


class _ToolResult(msgspec.Struct):
    """The one field of a result that the record needs."""

    isError: bool = False  # noqa: N815 - the name on the wire


_TOOL_RESULT = msgspec.json.Decoder(_ToolResult)


def outcome_of(answer: Answer) -> Outcome:
    """How a call ended that got its answer."""
    if answer.error is not None:
        said, more = answer.error.message, answer.error.data
        return Outcome(CallEvent.FAIL, len(said) + len(more), error=said, content=_kept(more))
    try:
        failed = _TOOL_RESULT.decode(answer.result).isError
    except msgspec.MsgspecError:
        failed = True
    return Outcome(CallEvent.FAIL if failed else CallEvent.SUCCEED, len(answer.result), content=_kept(answer.result))


def _kept(text: bytes) -> str:
    return text[:MAX_CONTENT].decode("utf-8", "replace")


FINDINGS = "interlock/findings"
"""Our key in the `_meta` of a result that speaks to the model, and in the `data` of an error that does."""
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_PLACES = word_set("content structuredContent contents messages resource text description title name uri message data")
"""The names that a place in an answer has from the protocol."""


def labelled(answer: Answer, signs: Sequence[Sign]) -> Answer:
    """An answer with what was seen in it said in its `_meta`, in our words; every other member as it came. An error has
    no `_meta`, so there it is said in its `data`. Raises MsgspecError or RecursionError for what cannot be taken apart.
    """
    if answer.error is not None:
        return Answer(error=_labelled_error(answer.error, signs))
    members = _MEMBERS.decode(answer.result)
    try:
        meta = _MEMBERS.decode(members.get("_meta", b"{}"))
    except msgspec.ValidationError:  # it says nothing that the protocol knows
        meta = {}
    return Answer(msgspec.json.encode({**members, "_meta": {**meta, FINDINGS: _told(signs)}}))


def _labelled_error(error: RpcError, signs: Sequence[Sign]) -> RpcError:
    try:
        members = _MEMBERS.decode(error.data or b"{}")
    except msgspec.ValidationError:  # a text or a list: it is kept beside what we say
        members = {"data": msgspec.Raw(error.data)}
    return RpcError(error.code, error.message, msgspec.json.encode({**members, FINDINGS: _told(signs)}))


def _told(signs: Sequence[Sign]) -> list[dict[str, str]]:
    return [{"code": each.code, "where": _place(each.where), "message": SENTENCES[each.code]} for each in signs]


def _place(where: str) -> str:
    """A place as far as the protocol names it: the names after that are the server's words, and may be the order."""
    steps = itertools.takewhile(lambda step: step in _PLACES or step.isdecimal(), where.split("/")[1:])
    return "".join(f"/{step}" for step in steps)


def read(answer: Answer, signs: Sequence[Sign], activity: str, call: Call, *, withhold: bool) -> tuple[Outcome, Reply]:
    """What goes on record and back: the answer as it came, unless it speaks to the model."""
    outcome = outcome_of(answer)
    if not signs:
        return outcome, Reply(activity, answer=answer)
    outcome = msgspec.structs.replace(outcome, signs=tuple(signs))
    if not withhold:
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):  # what cannot be labelled is withheld
            return outcome, Reply(activity, answer=labelled(answer, signs))
    return outcome, Reply(activity, refusal=errors.WITHHELD(tool=call.shown, sign=SENTENCES[signs[0].code]))


def told_of(refusal: Deny, facts: Facts) -> Reason:
    """What a caller gets to read of a refusal: a tool out of its scope is, for it, a tool that does not exist."""
    reason = refusal.reasons[0]
    if reason.code is not Code.OUT_OF_SCOPE:
        return reason
    return errors.UNKNOWN_TOOL(tool=facts.call.shown, suggestion=facts.suggestion)
