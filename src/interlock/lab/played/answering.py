"""The protocol of a server that is only played: one JSON-RPC message in, its answer out, in every era.

What is said comes from a script: a manifest or a cassette. How it is said is decided here: the handshake of the classic
revisions, `server/discover` and the members that every result has since 2026-07-28. An answer of the script is one for
both, so a client of either era can talk with the same mock.

This module refuses batches, to guess what a message that is no JSON-RPC could have meant, and to know how bytes travel.
"""

import json
import math
from collections.abc import Mapping
from typing import Protocol, TypeAlias, cast

from msgspec import Struct

from interlock.core.model import Json, JsonObject

MODERN = "2026-07-28"
CLASSIC = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION = -32022
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"
CACHED = frozenset(
    {"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "resources/read"}
)
"""The methods whose results say since 2026-07-28 how long they hold."""
MODERN_MEMBERS = frozenset({"resultType", "ttlMs", "cacheScope"})

RequestId: TypeAlias = str | int


class RpcError(Exception):
    """An answer that is an error."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Garbled(Exception):
    """In place of an answer something goes out that is no JSON."""


class Crashed(Exception):
    """In place of an answer the process ends."""


class Script(Protocol):
    """What a played server says."""

    name: str
    version: str
    instructions: str
    """What a client is told about the server; empty where that is nothing."""

    @property
    def capabilities(self) -> JsonObject:
        """What is advertised: only what there is."""
        ...

    async def result(self, method: str, params: JsonObject) -> JsonObject:
        """The result of a request other than those of the handshake; raises RpcError, Garbled or Crashed."""
        ...


class Message(Struct, frozen=True):
    """A request, or a notification if it has no id."""

    method: str
    params: JsonObject
    id: RequestId | None = None


def message_of(line: bytes) -> Message | None:
    """The message in a text; None for an answer, which nobody here waits for; raises RpcError."""
    try:
        value = _STRICT.decode(line.decode("utf-8"))
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "This is no JSON.") from None
    if not isinstance(value, dict):
        raise RpcError(INVALID_REQUEST, "A message is one JSON object.")
    members = cast("dict[str, Json]", value)
    if "method" not in members and ("result" in members or "error" in members):
        return None
    method, params, named = members.get("method"), members.get("params", {}), members.get("id")
    fits = isinstance(method, str) and isinstance(params, Mapping) and members.get("jsonrpc") == "2.0"
    if not fits or isinstance(named, bool) or not isinstance(named, str | int | None):
        raise RpcError(INVALID_REQUEST, "This is no JSON-RPC 2.0 request.")
    return Message(cast("str", method), cast("JsonObject", params), named)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


# A number that cannot be written as JSON must not come in: a mock may be told to repeat it.
_STRICT = json.JSONDecoder(parse_constant=_no_number, parse_float=_finite)


class Answerer:
    """Answers messages with what a script says."""

    def __init__(self, script: Script) -> None:
        self._script = script

    async def answer(self, message: Message) -> bytes:
        """The answer to a request, as one line; raises Garbled and Crashed."""
        try:
            return _line({"id": message.id, "result": await self._result(message.method, message.params)})
        except RpcError as refused:
            return error_line(message.id, refused)
        except RecursionError:  # what was just possible to read may be too deep to write, inside an answer
            return error_line(message.id, RpcError(INVALID_PARAMS, "The params are nested too deeply."))

    async def _result(self, method: str, params: JsonObject) -> JsonObject:
        unsupported = version_problem(params)
        if unsupported is not None:
            raise unsupported
        if _version_in(params) is None:
            return await self._classic(method, params)
        result = self._discovered() if method == "server/discover" else await self._script.result(method, params)
        return self._modern(method, result)

    async def _classic(self, method: str, params: JsonObject) -> JsonObject:
        if method == "initialize":
            return self._initialized(params)
        if method == "ping":
            return {}
        return await self._script.result(method, params)

    def _initialized(self, params: JsonObject) -> JsonObject:
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in CLASSIC else CLASSIC[0],
            "capabilities": self._script.capabilities,
            "serverInfo": self._identity(),
            **self._instructed(),
        }

    def _discovered(self) -> JsonObject:
        told = {"supportedVersions": [MODERN, *CLASSIC], "capabilities": self._script.capabilities}
        return {**told, **self._instructed()}

    def _instructed(self) -> JsonObject:
        return {"instructions": self._script.instructions} if self._script.instructions else {}

    def _modern(self, method: str, result: JsonObject) -> JsonObject:
        """A result with what every result has since 2026-07-28."""
        meta = result.get("_meta")
        own: JsonObject = meta if isinstance(meta, Mapping) else {}
        told: dict[str, Json] = {"resultType": "complete"}
        if method in CACHED:
            told |= {"ttlMs": 0, "cacheScope": "private"}
        return {**told, **result, "_meta": {SERVER_KEY: self._identity(), **own}}

    def _identity(self) -> JsonObject:
        return {"name": self._script.name, "version": self._script.version}


def version_problem(params: JsonObject) -> RpcError | None:
    """The error for a message of a version that is not spoken here; over HTTP it has a status of its own."""
    version = _version_in(params)
    if version in (None, MODERN):
        return None
    told: JsonObject = {"supported": [MODERN], "requested": version}
    return RpcError(UNSUPPORTED_VERSION, "This protocol version is not supported.", told)


def error_line(request_id: RequestId | None, refused: RpcError) -> bytes:
    """An error as one line."""
    told: dict[str, Json] = {"code": refused.code, "message": refused.message}
    if refused.data is not None:
        told["data"] = refused.data
    return _line({"id": request_id, "error": told})


def _version_in(params: JsonObject) -> str | None:
    """The protocol version that a message says itself, as they do since 2026-07-28."""
    meta = params.get("_meta")
    version = meta.get(VERSION_KEY) if isinstance(meta, Mapping) else None
    return version if isinstance(version, str) else None


def _line(members: JsonObject) -> bytes:
    # ASCII, because a lone surrogate that was escaped in a request can only be escaped in an answer.
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode("ascii")
