"""Strict decoding of JSON-RPC messages, once, before anything else looks at them.

Two readers that disagree about a message are how a policy is bypassed. So what parsers treat differently is refused:
duplicate keys, NaN, lone surrogates, bytes that are no UTF-8, nesting beyond 64 levels, ids that are neither text nor
whole numbers, members in another case. What passes is decoded here and nowhere else.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import msgspec
from msgspec import Struct

from interlock.core.model import JsonObject

MAX_DEPTH = 64
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
RequestId: TypeAlias = str | int
_MEMBERS = frozenset({"jsonrpc", "id", "method", "params", "result", "error"})


class Undecodable(Exception):
    """A message that is refused; `code` is the JSON-RPC error code, `id` the request it belongs to if that is known."""

    def __init__(self, code: int, why: str, request_id: RequestId | None = None) -> None:
        super().__init__(why)
        self.code = code
        self.why = why
        self.id = request_id


class Request(Struct, frozen=True):
    """A request: it wants an answer."""

    id: RequestId
    method: str
    params: JsonObject


class Notice(Struct, frozen=True):
    """A notification: it wants none."""

    method: str
    params: JsonObject


class Response(Struct, frozen=True):
    """An answer of the client to something it was asked."""

    id: RequestId
    members: JsonObject


Message: TypeAlias = Request | Notice | Response


def decode_json(raw: bytes) -> Any:
    """Decode strictly, or raise Undecodable."""
    try:
        value = msgspec.json.decode(raw)
    except RecursionError:
        raise Undecodable(PARSE_ERROR, f"The JSON is nested deeper than {MAX_DEPTH} levels.") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Undecodable(PARSE_ERROR, f"The body is not valid JSON: {error}") from None
    # What is written again as the very same bytes has lost nothing on the way, so no key stood twice; and with that few
    # brackets nothing is nested too deeply. Most clients write like that, and a closer look costs five times as much.
    if raw.count(b"{") + raw.count(b"[") <= MAX_DEPTH and msgspec.json.encode(value) == raw:
        return value
    keys, colons = _measure(value, 1)
    # Each key has a colon, and so may texts. A colon written as an escape would hide one, so that needs a closer look.
    if b"\\u" in raw or keys + colons != raw.count(b":"):
        _refuse_duplicates(raw)
    return value


def _measure(value: Any, depth: int) -> tuple[int, int]:
    """The number of keys, and of colons in texts, of a decoded value."""
    if isinstance(value, str):
        return 0, value.count(":")
    if not isinstance(value, dict | list):
        return 0, 0
    if depth > MAX_DEPTH:
        raise Undecodable(PARSE_ERROR, f"The JSON is nested deeper than {MAX_DEPTH} levels.")
    keys = colons = 0
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        keys = len(members)
        colons = sum(key.count(":") for key in members)
        inner = list(members.values())
    else:
        inner = cast("list[Any]", value)
    for each in inner:
        if isinstance(each, str):
            colons += each.count(":")
        elif isinstance(each, dict | list):
            more_keys, more_colons = _measure(each, depth + 1)
            keys += more_keys
            colons += more_colons
    return keys, colons


def _refuse_duplicates(raw: bytes) -> None:
    def once(pairs: list[tuple[str, Any]]) -> None:
        if len({key for key, _ in pairs}) < len(pairs):
            raise Undecodable(PARSE_ERROR, "A key stands twice in one object.")

    json.loads(raw.decode("utf-8"), object_pairs_hook=once)


def decode_message(raw: bytes) -> Message:
    """Decode one JSON-RPC message, or raise Undecodable."""
    value = decode_json(raw)
    if not isinstance(value, dict):
        raise Undecodable(INVALID_REQUEST, "The body must be one JSON-RPC object; batches are not served.")
    members = cast("dict[str, Any]", value)
    request_id = _id_of(members)
    for key in members:
        if key not in _MEMBERS and key.casefold() in _MEMBERS:
            raise Undecodable(INVALID_REQUEST, f"Member '{key}' must be written in lower case.", request_id)
    if members.get("jsonrpc") != "2.0":
        raise Undecodable(INVALID_REQUEST, "Member 'jsonrpc' must be \"2.0\".", request_id)
    if "method" not in members:
        return _response(members, request_id)
    method = members["method"]
    if not isinstance(method, str) or not _METHOD.fullmatch(method):
        raise Undecodable(INVALID_REQUEST, "Member 'method' must be the name of a method.", request_id)
    params = members.get("params", {})
    if not isinstance(params, Mapping):
        raise Undecodable(INVALID_REQUEST, "Member 'params' must be an object.", request_id)
    known = cast("JsonObject", params)
    return Notice(method, known) if request_id is None else Request(request_id, method, known)


_METHOD = re.compile(r"[A-Za-z0-9_$./-]{1,200}")


def _id_of(members: dict[str, Any]) -> RequestId | None:
    if "id" not in members:
        return None
    given = members["id"]
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise Undecodable(INVALID_REQUEST, "Member 'id' must be a text or a whole number.")
    return given


def _response(members: dict[str, Any], request_id: RequestId | None) -> Response:
    if request_id is None or ("result" in members) == ("error" in members):
        raise Undecodable(INVALID_REQUEST, "The message is neither a request nor an answer.", request_id)
    return Response(request_id, members)
