"""What an agent gets to read: results as they came, refusals as something to act on.

A refusal is a tool result with `isError`, a sentence that says what to do next, and the code in structuredContent, so
that a model and a script can both go on. Rule internals never appear here; operators find them in the activity. Results
of upstreams are passed on byte for byte, but for the few members that the other protocol era wants added or taken away.
"""

from typing import Any

import msgspec

from interlock import __version__
from interlock.errors import Reason
from interlock.receive.decode import RequestId

SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
_SERVER_INFO = msgspec.Raw(msgspec.json.encode({"name": "interlock", "version": __version__}))
_STAMP = msgspec.Raw(msgspec.json.encode({SERVER_INFO_KEY: _SERVER_INFO}))
_COMPLETE = msgspec.Raw(b'"complete"')
_MODERN_MEMBERS = ("resultType", "ttlMs", "cacheScope")
_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class ErrorAnswer(bytes):
    """A JSON-RPC error. Over HTTP the status depends on its code in the modern protocol."""

    code: int


def text_result(text: str, structured: dict[str, Any] | None = None, *, is_error: bool = False) -> dict[str, Any]:
    """A tool result with one text, and the same as data where there is any."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if structured is not None:
        result["structuredContent"] = structured
    return {**result, "isError": is_error}


def refusal_result(reason: Reason) -> dict[str, Any]:
    """The tool result of a refusal."""
    said = {"code": reason.code, "message": reason.text, "fix": reason.fix}
    return text_result(f"{reason.text}\n{reason.fix}".strip(), said, is_error=True)


def pending_result(reason: Reason, approval: str, expires_at: str, *, is_error: bool) -> dict[str, Any]:
    """The tool result of a call that waits for an approval. It is no error, unless its shape would be taken for one."""
    waits = {"status": "pending", "approval_id": approval, "expires_at": expires_at, "code": reason.code}
    said = {**waits, "message": reason.text, "fix": reason.fix}
    return text_result(f"{reason.text}\n{reason.fix}", said, is_error=is_error)


def for_era(result: bytes, *, modern: bool, cached: bool = False) -> bytes:
    """A result as the client's era wants it; every other member stays as the upstream wrote it.

    `cached` says that it is one of those that modern clients may keep for a while. Whatever its server thinks, it is
    the answer to this caller and to nobody else.
    """
    members = _MEMBERS.decode(result)
    if modern:
        members.setdefault("resultType", _COMPLETE)
        if cached:
            members.setdefault("ttlMs", msgspec.Raw(b"0"))
            members["cacheScope"] = msgspec.Raw(b'"private"')
        members["_meta"] = _stamped(members.get("_meta"))
        return msgspec.json.encode(members)
    strange = [name for name in _MODERN_MEMBERS[: None if cached else 1] if name in members]
    if not strange:
        return result
    for name in strange:
        del members[name]
    return msgspec.json.encode(members)


def _stamped(meta: msgspec.Raw | None) -> msgspec.Raw:
    if meta is None:
        return _STAMP
    try:
        known = _MEMBERS.decode(meta)
    except msgspec.ValidationError:  # it says nothing that the protocol knows
        return _STAMP
    if SERVER_INFO_KEY in known:
        return meta
    return msgspec.Raw(msgspec.json.encode({**known, SERVER_INFO_KEY: _SERVER_INFO}))


def response(request_id: RequestId, result: bytes) -> bytes:
    """A JSON-RPC answer around the JSON text of a result."""
    return b'{"jsonrpc":"2.0","id":' + msgspec.json.encode(request_id) + b',"result":' + result + b"}"


def error_response(request_id: RequestId | None, code: int, message: str, data: bytes = b"") -> ErrorAnswer:
    """A JSON-RPC error."""
    extra = b',"data":' + data if data else b""
    known = msgspec.json.encode(request_id)
    said = b'"code":' + str(code).encode() + b',"message":' + msgspec.json.encode(message)
    answer = ErrorAnswer(b'{"jsonrpc":"2.0","id":' + known + b',"error":{' + said + extra + b"}}")
    answer.code = code
    return answer


def notification(method: str, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","method":' + msgspec.json.encode(method) + b',"params":' + params + b"}"


def sse_event(message: bytes) -> bytes:
    """One message of an event stream."""
    # In JSON a line break is only white space; in an event stream it would end the message.
    message = message.translate(_ONE_LINE)
    return b"event: message\r\ndata: " + message + b"\r\n\r\n"
