"""The door of a gateway: every HTTP path, and the socket on which they are served.

Signals are for the command line: this module refuses to end the process.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Generator

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from interlock.app.gateway import Gateway
from interlock.receive.connection import Connection
from interlock.receive.edge import Refused, send_refusal
from interlock.store.folder import Hold
from interlock.web.dashboard import Dashboard
from interlock.web.probes import answer_probe, is_probe
from interlock.web.routes import rest_app

GRACE_SECONDS = 5
"""How long requests that are under way may take to end when the gateway stops."""


def asgi(gateway: Gateway) -> ASGIApp:
    """The whole HTTP face: agents under /mcp, scripts under /api/v1, people under /, and plain questions for probes."""
    rest, dashboard = rest_app(gateway.parts), Dashboard()

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == "/mcp":
            await gateway.face(scope, receive, send)
            return
        try:
            headers = gateway.edge.check(scope)
            if path.startswith("/api/v1/"):
                await rest(scope, receive, send)
            elif is_probe(scope):
                await answer_probe(gateway.parts, scope, headers, send)
            elif dashboard.has(scope):
                await dashboard.send(scope, send)
            else:
                await send_refusal(send, Refused(404, "There is nothing here; agents connect to /mcp."))
        except Refused as refused:
            await send_refusal(send, refused)

    return serve


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are for the command line: uvicorn would end the process before the store is closed."""
        yield


@contextlib.asynccontextmanager
async def listening(gateway: Gateway, listener: socket.socket, hold: Hold) -> AsyncGenerator[None]:
    """Serve a gateway on a socket until the block ends, and let other commands know where it is."""
    server = _Server(
        uvicorn.Config(
            asgi(gateway),
            http=Connection,
            lifespan="off",
            ws="none",
            access_log=False,
            log_config=None,  # what it has to say goes where everything goes, and in the same form
            proxy_headers=False,
            log_level="warning",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    host, port = listener.getsockname()[:2]
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0)
        hold.announce(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
        try:
            yield
        finally:
            # First of all: until the last server has ended, others would come to a door that is closed.
            hold.withdraw()
            server.should_exit = True
            # Whoever only listens would keep the server from ending until its patience is over.
            gateway.parts.feed.end()
            await gateway.parts.room.desk.close()
            await gateway.face.end_sessions()
