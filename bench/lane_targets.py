"""What `lane.py` measures against, each in a process of its own: an upstream, a bare pass-through, the SDK's proxy.

`python lane_targets.py upstream`, `... bare PORT` and `... sdk PORT` listen on a free port of loopback, print it, and
serve until they are ended. The upstream knows two tools that give back the text they got, and counts the calls it
answered. It is as small as it can be, so that what stands in front of it is what is measured; it trusts its clients,
and none of this is meant to be served to anyone else.
"""

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator
from typing import Any, cast

import mcp_types as types
import msgspec
import uvicorn
import uvloop
from mcp.client import Client
from mcp.server.lowlevel import Server
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock.forward.http1 import Head, field_line, parse_address
from interlock.forward.http_pool import Pool

MODERN = "2026-07-28"
READ_TOOL, WRITE_TOOL = "get_echo", "update_echo"
_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
_TOOLS = [
    {"name": READ_TOOL, "description": "Give the text back.", "inputSchema": _SCHEMA,
     "annotations": {"readOnlyHint": True}},
    {"name": WRITE_TOOL, "description": "Store the text and give it back.", "inputSchema": _SCHEMA,
     "annotations": {"readOnlyHint": False, "destructiveHint": False}},
]  # fmt: skip


# The upstream ---------------------------------------------------------------------------------------------------


class _Arguments(msgspec.Struct):
    text: str


class _Params(msgspec.Struct):
    arguments: _Arguments | None = None
    protocolVersion: str = ""  # noqa: N815 - the name on the wire


class _Request(msgspec.Struct):
    method: str
    id: msgspec.Raw = msgspec.Raw(b"")
    params: _Params = msgspec.field(default_factory=_Params)


_REQUEST = msgspec.json.Decoder(_Request)


class Upstream(asyncio.Protocol):
    """One connection to the upstream; one request at a time."""

    calls = 0
    """Answered by all connections together."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank or len(body) < int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0):
            return
        self._received = b""
        if head.startswith(b"GET /count "):
            self._answer(b"200 OK", b"%d" % Upstream.calls)
        elif not head.startswith(b"POST "):
            self._answer(b"405 Method Not Allowed", b"")
        else:
            self._serve(_REQUEST.decode(body), modern=MODERN.encode() in head)

    def _serve(self, request: _Request, *, modern: bool) -> None:
        if not bytes(request.id):
            self._answer(b"202 Accepted", b"")
            return
        members = _result(request)
        if modern:
            members |= {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": _NAMED}}
        result = msgspec.json.encode(members)
        self._answer(b"200 OK", b'{"jsonrpc":"2.0","id":%s,"result":%s}' % (request.id, result))

    def _answer(self, status: bytes, body: bytes) -> None:
        fields = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self._transport.write(b"HTTP/1.1 " + status + b"\r\n" + fields + body)


_NAMED = {"name": "bench-upstream", "version": "1"}
_FRESH = {"ttlMs": 0, "cacheScope": "private"}


def _result(request: _Request) -> dict[str, Any]:
    if request.method == "tools/call" and request.params.arguments is not None:
        Upstream.calls += 1
        return {"content": [{"type": "text", "text": request.params.arguments.text}], "isError": False}
    if request.method == "tools/list":
        return {"tools": _TOOLS, **_FRESH}
    if request.method == "server/discover":
        return {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "serverInfo": _NAMED, **_FRESH}
    version = request.params.protocolVersion
    return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": _NAMED}


async def serve_upstream(listener: socket.socket) -> None:
    server = await asyncio.get_running_loop().create_server(Upstream, sock=listener)
    await server.serve_forever()


# The bare pass-through: uvicorn and our connections to upstreams, and nothing in between ------------------------


class _Whole:
    """Takes an answer as it is."""

    def __init__(self) -> None:
        self.sent = False
        self.status = 0
        self.body = b""

    def head(self, head: Head) -> "_Whole":
        self.status = head.status
        return self

    def take(self, piece: bytes) -> bool:
        self.body += piece
        return False

    def end(self) -> None:
        """There is nothing left to do: the body is what was taken."""


_PASSED_ON = (b"content-type", b"accept", b"mcp-protocol-version", b"mcp-session-id", b"mcp-method", b"mcp-name")


def bare_app(upstream: str) -> ASGIApp:
    address = parse_address(upstream)
    start = b"POST %s HTTP/1.1\r\n" % address.target.encode() + field_line("Host", address.authority)
    pool = Pool(address, None, limit=256)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            event = await receive()
            body, more = body + event.get("body", b""), event.get("more_body", False)
        lines = b"".join(b"%s: %s\r\n" % each for each in scope["headers"] if each[0] in _PASSED_ON)
        taken = _Whole()
        await pool.exchange(start + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body, taken)
        fields = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(taken.body))]
        await send({"type": "http.response.start", "status": taken.status, "headers": fields})
        await send({"type": "http.response.body", "body": taken.body})

    return serve


# The proxy of the SDK, as plain as it can be, and with the answers that cost it least ---------------------------


def sdk_app(upstream: str) -> ASGIApp:
    client = Client(upstream, mode=MODERN)

    async def list_tools(context: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return await client.list_tools()

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return await client.call_tool(params.name, params.arguments)

    # Without the last one the SDK lists the tools anew for every modern call.
    server: Server[Any] = Server(
        "bench-sdk", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=lambda name: None
    )
    app = server.streamable_http_app(json_response=True, session_idle_timeout=None)
    inner = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def lifespan(of: Any) -> AsyncGenerator[Any]:
        async with client, inner(of) as state:
            yield state

    app.router.lifespan_context = lifespan
    return app


async def serve_app(app: ASGIApp, listener: socket.socket, *, lifespan: bool) -> None:
    """Serve like `interlock serve` does: the same server with the same settings."""
    settings = uvicorn.Config(
        app, lifespan="on" if lifespan else "off", access_log=False, log_level="warning", server_header=False,
        date_header=False,
    )  # fmt: skip
    await uvicorn.Server(settings).serve(sockets=[listener])


async def serve(kind: str, port: str = "") -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(listener.getsockname()[1], flush=True)
    upstream = f"http://127.0.0.1:{port}/mcp"
    if kind == "upstream":
        await serve_upstream(listener)
    elif kind == "bare":
        await serve_app(bare_app(upstream), listener, lifespan=False)
    else:
        await serve_app(sdk_app(upstream), listener, lifespan=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(serve(*sys.argv[1:]))
