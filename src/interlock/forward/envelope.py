"""JSON-RPC 2.0 on the wire: messages written by joining bytes, and read strictly.

What goes out is joined, not encoded, so that params leave exactly as they were digested. What comes in is untrusted: it
must be UTF-8, JSON and one of the three kinds of message, or it is refused as a whole; params and results stay the
bytes that they were. Batches are refused. Ids are compared as text: an upstream that answers 7 with 7.0 or "7" answers
nothing.
"""

from typing import Literal, TypeAlias

import msgspec
from msgspec import Raw, Struct

from interlock.forward.link import Answer, BadMessage, Notification, RpcError

PROGRESS = "notifications/progress"
CANCELLED = "notifications/cancelled"
_METHOD_NOT_FOUND = -32601
_NOTHING = Raw(b"")
"""The mark of an absent member. `Raw | None` would not do: msgspec takes it for "null only"."""


class Reply(Struct, frozen=True):
    """The answer to a request; `id` is its JSON text."""

    id: bytes
    answer: Answer


class Question(Struct, frozen=True):
    """A request of the upstream; `id` is its JSON text, and `params` is the one of its params, or empty."""

    id: bytes
    method: str
    params: bytes = b""


Message: TypeAlias = Reply | Question | Notification


# Out ------------------------------------------------------------------------------------------------------------


def request_text(number: int, method: str, params: bytes) -> bytes:
    """The text of a request; `params` goes in unchanged."""
    return b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}' % (number, msgspec.json.encode(method), params)


def notification_text(method: str, params: bytes) -> bytes:
    """The text of a notification; `params` goes in unchanged."""
    return b'{"jsonrpc":"2.0","method":%s,"params":%s}' % (msgspec.json.encode(method), params)


def cancelled_text(number: int) -> bytes:
    """The text that tells an upstream that nobody waits for this request any more."""
    return notification_text(CANCELLED, b'{"requestId":%d}' % number)


def reply_text(question: Question) -> bytes:
    """Our reply to a request of an upstream: a link can say that it is there, and nothing else."""
    if question.method == "ping":
        return b'{"jsonrpc":"2.0","id":%s,"result":{}}' % question.id
    error = b'{"code":%d,"message":"Method not found"}' % _METHOD_NOT_FOUND
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (question.id, error)


def answer_text(question_id: bytes, answer: Answer) -> bytes:
    """The answer to a request of an upstream."""
    if answer.error is None:
        return b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (question_id, answer.result)
    error = {"code": answer.error.code, "message": answer.error.message}
    return b'{"jsonrpc":"2.0","id":%s,"error":%s}' % (question_id, msgspec.json.encode(error))


def withdrawn(notification: Notification) -> bytes | None:
    """The JSON text of the id of a request that the upstream takes back; None when it is about something else."""
    if notification.method != CANCELLED:
        return None
    try:
        return bytes(_MEMBERS.decode(notification.params).get("requestId", _NOTHING))
    except msgspec.MsgspecError:
        return None


def with_progress_token(params: bytes, token: int) -> bytes:
    """The params with our token in `_meta`; every other member keeps its bytes."""
    members = _MEMBERS.decode(params)
    meta = _MEMBERS.decode(members["_meta"]) if "_meta" in members else {}
    meta["progressToken"] = Raw(b"%d" % token)
    members["_meta"] = Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(members)


# In -------------------------------------------------------------------------------------------------------------


class _Error(msgspec.Struct):
    code: int
    message: str
    data: Raw = _NOTHING


class _Envelope(msgspec.Struct):
    jsonrpc: Literal["2.0"]
    id: Raw = _NOTHING
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: Raw = _NOTHING
    result: Raw = _NOTHING
    error: _Error | None = None


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_MEMBERS = msgspec.json.Decoder(dict[str, Raw])


def read_message(text: bytes) -> Message:
    """The one message in a text; raises BadMessage."""
    try:
        if not text.isascii():
            str(text, "utf-8")  # msgspec checks the grammar of what it skips, but not its encoding
        envelope = _ENVELOPE.decode(text)
    except UnicodeDecodeError:
        raise BadMessage("a message is not UTF-8") from None
    except (msgspec.MsgspecError, RecursionError):
        raise BadMessage("a message is no JSON-RPC 2.0") from None
    if isinstance(envelope.method, str):
        return _asked_or_told(envelope, envelope.method)
    return _replied(envelope)


def _asked_or_told(envelope: _Envelope, method: str) -> Question | Notification:
    number = bytes(envelope.id)
    if not number:
        return Notification(method, bytes(envelope.params))
    if number[0] not in b'"-0123456789':
        raise BadMessage("a request has an id that is neither text nor number")
    return Question(number, method, bytes(envelope.params))


def _replied(envelope: _Envelope) -> Reply:
    number, result, error = bytes(envelope.id), bytes(envelope.result), envelope.error
    if not number or bool(result) == (error is not None):
        raise BadMessage("a message is neither request nor notification nor answer")
    if error is None:
        return Reply(number, Answer(result))
    return Reply(number, Answer(error=RpcError(error.code, error.message, bytes(error.data))))


def own_progress(notification: Notification, token: int) -> Notification | None:
    """The notification without its token when it is progress of the request with this token, else None."""
    if notification.method != PROGRESS:
        return None
    try:
        members = _MEMBERS.decode(notification.params)
    except msgspec.MsgspecError:
        raise BadMessage("a progress notification has no params") from None
    if bytes(members.pop("progressToken", _NOTHING)) != b"%d" % token:
        return None
    return Notification(PROGRESS, msgspec.json.encode(members))
