"""The MCP server that everything is measured in front of, as small as it can be, so that it is not what is measured.

`python upstream.py PORT [TOOLS]` serves over HTTP, `python upstream.py stdio CORE [TOOLS]` over stdio on that core.
Either knows two tools that give back the text they got, and as many others as it takes to have TOOLS. Over HTTP it
counts the calls it answered, and at `/sse` answers as a stream of events. It trusts its clients, and is not meant to
be served to anyone else.
"""

import asyncio
import contextlib
import os
import sys
from typing import Any, cast

import msgspec
import uvloop

MODERN = "2026-07-28"
READ_TOOL, WRITE_TOOL = "get_echo", "update_echo"
_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_TOOLS = [
    {"name": READ_TOOL, "description": "Give the text back.", "inputSchema": _SCHEMA,
     "annotations": {"readOnlyHint": True}},
    {"name": WRITE_TOOL, "description": "Store the text and give it back.", "inputSchema": _SCHEMA,
     "annotations": {"readOnlyHint": False, "destructiveHint": False}},
]  # fmt: skip
_VERBS = ("get", "list", "create", "update", "delete", "run", "search", "frob")
_NAMED = {"name": "bench-upstream", "version": "1"}
_FRESH = {"ttlMs": 0, "cacheScope": "private"}


class _Arguments(msgspec.Struct):
    text: str


class _Params(msgspec.Struct):
    arguments: _Arguments | None = None
    protocolVersion: str = ""  # noqa: N815 - the name on the wire


class _Request(msgspec.Struct):
    method: str = ""
    id: msgspec.Raw = msgspec.Raw(b"")
    params: _Params = msgspec.field(default_factory=_Params)


_REQUEST = msgspec.json.Decoder(_Request)


class Tools:
    """What the server has, and how many calls it answered."""

    def __init__(self, wanted: int = len(_TOOLS)) -> None:
        others = range(len(_TOOLS), wanted)
        self.calls = 0
        self._listed = _TOOLS + [
            {"name": f"{_VERBS[number % len(_VERBS)]}_thing_{number}", "description": f"Thing number {number}.",
             "inputSchema": _SCHEMA} for number in others
        ]  # fmt: skip

    def answer(self, request: _Request, *, modern: bool) -> bytes:
        """The message that answers it; nothing to a notification."""
        if not bytes(request.id) or not request.method:
            return b""
        members = self._result(request)
        if modern:
            members |= {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": _NAMED}}
        return b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (request.id, msgspec.json.encode(members))

    def _result(self, request: _Request) -> dict[str, Any]:
        if request.method == "tools/call" and request.params.arguments is not None:
            self.calls += 1
            return {"content": [{"type": "text", "text": request.params.arguments.text}], "isError": False}
        if request.method == "tools/list":
            return {"tools": self._listed, **_FRESH}
        if request.method == "server/discover":
            return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": _NAMED, **_FRESH}
        if request.method == "initialize":
            version = request.params.protocolVersion
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": _NAMED}
        return {}


class Upstream(asyncio.Protocol):
    """One connection to the upstream; one request at a time."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._received = bytearray()
        self._needed = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) < self._needed:
            return
        head, blank, body = bytes(self._received).partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
        if not blank or len(body) < length:
            self._needed = len(head) + 4 + length if blank else 0
            return
        self._received.clear()
        self._needed = 0
        self._serve(head, body)

    def _serve(self, head: bytes, body: bytes) -> None:
        if head.startswith(b"GET /count "):
            self._send(b"200 OK", b"%d" % self._tools.calls)
        elif not head.startswith(b"POST "):
            self._send(b"405 Method Not Allowed", b"")
        elif not (answer := self._tools.answer(_REQUEST.decode(body), modern=MODERN.encode() in head)):
            self._send(b"202 Accepted", b"")
        elif head.startswith(b"POST /sse "):
            self._stream(b"event: message\ndata: %s\n\n" % answer)
        else:
            self._send(b"200 OK", answer)

    def _send(self, status: bytes, body: bytes) -> None:
        fields = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self._transport.write(b"HTTP/1.1 " + status + b"\r\n" + fields + body)

    def _stream(self, event: bytes) -> None:
        fields = b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._transport.write(b"HTTP/1.1 200 OK\r\n%s%x\r\n%s\r\n0\r\n\r\n" % (fields, len(event), event))


async def over_http(port: int, tools: Tools) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: Upstream(tools), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


def over_stdio(tools: Tools) -> None:
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        if answer := tools.answer(_REQUEST.decode(line), modern=MODERN.encode() in line):
            out.write(answer + b"\n")
            out.flush()


def main(first: str, *rest: str) -> None:
    if first == "stdio":
        os.sched_setaffinity(0, {int(rest[0])})
        over_stdio(Tools(*map(int, rest[1:])))
    else:
        uvloop.run(over_http(int(first), Tools(*map(int, rest))))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main(*sys.argv[1:])
