"""One message in the words of both transports: what a line over stdio has to say over HTTP, and the other way round.

Pure. The headers that repeat a part of the body are made from the body, so that the two cannot differ; nothing here
reads a header of a client, because over stdio there is none.
"""

import base64
from typing import cast

import msgspec

from interlock.core.model import JsonObject
from interlock.errors import Reason
from interlock.receive import replies
from interlock.receive.decode import Request, RequestId, Undecodable

SESSION, VERSION = "mcp-session-id", "mcp-protocol-version"
INVALID_PARAMS = -32602
REFUSED = -32001
MAX_NAME = 8000
"""The longest text that is repeated in a header."""
OVER_STDIO = ("interlock-transport", "stdio")
"""The header in which the bridge of a client over stdio says that it is one."""
_UNREPEATED = dict([OVER_STDIO])
"""Which arguments have to be repeated is in the schema of the tool, which is not known here."""
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The parameter that a header repeats, by method."""


def is_modern(params: JsonObject) -> bool:
    """Whether a message says its protocol version itself, as they do since 2026-07-28."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and _VERSION_KEY in meta


def mirrored(request: Request) -> dict[str, str]:
    """The headers in which the modern protocol repeats a part of the body."""
    version = cast("JsonObject", request.params["_meta"])[_VERSION_KEY]
    key = _NAMED.get(request.method)
    name = None if key is None else request.params.get(key)
    for text in (version,) if name is None else (version, name):
        if not isinstance(text, str) or len(text) > MAX_NAME:
            raise Undecodable(INVALID_PARAMS, "The protocol version and the name must be short texts.", request.id)
    headers = {VERSION: version, "mcp-method": request.method, "mcp-name": name}
    return {**{key: _in_header(value) for key, value in headers.items() if isinstance(value, str)}, **_UNREPEATED}


def _in_header(text: str) -> str:
    """A text as a header carries it; what a header cannot hold is wrapped, in the way of the protocol."""
    if text.isascii() and text.isprintable() and text == text.strip() and not text.startswith("=?base64?"):
        return text
    return f"=?base64?{base64.b64encode(text.encode('utf-8')).decode('ascii')}?="


class _Handshake(msgspec.Struct):
    protocolVersion: str  # noqa: N815 - the name on the wire


class _Answer(msgspec.Struct):
    result: _Handshake


def version_in(message: bytes) -> str:
    """The protocol version in the answer to an `initialize`; empty when it is none, or an error."""
    try:
        return msgspec.json.decode(message, type=_Answer).result.protocolVersion
    except msgspec.MsgspecError:
        return ""


def sentence(reason: Reason) -> str:
    """A reason for somebody who sees only one text."""
    return f"{reason.text} {reason.fix}"


def error(request_id: RequestId, code: int, reason: Reason, more: JsonObject | None = None) -> bytes:
    """A reason as the answer to a request, with more data if the code has any of its own."""
    said = msgspec.json.encode({**(more or {}), "code": reason.code, "message": reason.text, "fix": reason.fix})
    return replies.error_response(request_id, code, sentence(reason), said)


def refusal(request_id: RequestId, status: int, body: bytes) -> bytes:
    """An HTTP refusal as the answer to a request: a JSON-RPC error as it is, with the id it lacks, or its words."""
    try:
        members = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
        if "jsonrpc" in members:
            return msgspec.json.encode({**members, "id": request_id})
        said = msgspec.json.decode(members["error"], type=str)
    except (msgspec.MsgspecError, KeyError):
        said = f"The gateway answered with status {status}."
    return replies.error_response(request_id, REFUSED, said)
