"""What stands in front of the upstream in `lane.py` and is not ours: a bare pass-through, and the SDK's proxy.

`python lane_targets.py PORT bare UPSTREAM` and `... PORT sdk UPSTREAM` listen on a port of loopback and serve until
they are ended; UPSTREAM is a port too. None of this is meant to be served to anyone else.
"""

import contextlib
import socket
import sys
from collections.abc import AsyncGenerator
from typing import Any

import mcp_types as types
import uvicorn
import uvloop
from mcp.client import Client
from mcp.server.lowlevel import Server
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock.forward.http1 import Head, field_line, parse_address
from interlock.forward.http_pool import Pool
from upstream import MODERN

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


async def serve(port: str, kind: str, upstream: str) -> None:
    """Serve like `interlock serve` does: the same server with the same settings."""
    made = _APPS[kind](f"http://127.0.0.1:{upstream}/mcp")
    listener = socket.create_server(("127.0.0.1", int(port)), backlog=1024)
    settings = uvicorn.Config(
        made, lifespan="on" if kind == "sdk" else "off", access_log=False, log_level="warning", server_header=False,
        date_header=False,
    )  # fmt: skip
    await uvicorn.Server(settings).serve(sockets=[listener])


_APPS = {"bare": bare_app, "sdk": sdk_app}


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(serve(*sys.argv[1:]))
