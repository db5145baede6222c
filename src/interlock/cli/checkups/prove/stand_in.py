"""Servers that stand in for the user's: they list the same tools, answer `ok`, and write down what they are sent.

All of them share one socket on loopback, in this process. Nothing of the user's is started or reached, and nothing is
ever done: a call that arrives here is counted, and that is all.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field

import uvicorn

from interlock.cli.openings import bind
from interlock.core.model import Json, JsonObject
from interlock.lab.played.answering import NO_METHOD, Answerer, RpcError
from interlock.lab.played.serving import Receive, Scope, Send, http_app

_ANSWER: JsonObject = {"content": [{"type": "text", "text": "ok"}]}
_ENDPOINT = "/mcp"
_KEEP_SECONDS = 60
"""Longer than all proofs together: no connection ends while one of them waits."""


_NO_DOCUMENTS: Mapping[str, bytes] = {}


def _nobody(tool: str) -> None:
    pass


@dataclass
class StandIn:
    """One server: the script of what it says, and what it was sent."""

    name: str
    tools: Sequence[JsonObject]
    version: str = "1"
    instructions: str = ""
    calls: list[str] = field(default_factory=list[str])
    """The tools that were called, in order."""
    on_call: Callable[[str], None] = _nobody
    """Told of a call when it arrives, before it is answered."""

    @property
    def capabilities(self) -> JsonObject:
        return {"tools": {}}

    async def result(self, method: str, params: JsonObject) -> JsonObject:
        if method == "tools/list":
            return {"tools": list[Json](self.tools)}
        if method != "tools/call":
            raise RpcError(NO_METHOD, f"There is no method '{method}'.")
        tool = str(params.get("name"))
        self.calls.append(tool)
        self.on_call(tool)
        return _ANSWER


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are for the command, which has a folder to remove."""
        yield


def _app(
    stand_ins: Mapping[str, StandIn], documents: Mapping[str, bytes]
) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """All servers behind one door: each under a path of its own, and documents that are only read."""
    apps = {f"/{name}{_ENDPOINT}": http_app(Answerer(each)) for name, each in stand_ins.items()}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        app = apps.get(scope["path"])
        if app is not None:
            await app({**scope, "path": _ENDPOINT}, receive, send)
            return
        body = documents.get(scope["path"].removesuffix(_ENDPOINT).removeprefix("/"))
        length = [(b"content-length", str(len(body or b"")).encode())]
        await send({"type": "http.response.start", "status": 404 if body is None else 200, "headers": length})
        await send({"type": "http.response.body", "body": body or b""})

    return serve


@contextlib.contextmanager
def door() -> Generator[tuple[socket.socket, Callable[[str], str]]]:
    """A socket of this machine's own, and the address of each server behind it."""
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        listener.listen()
        port: int = listener.getsockname()[1]
        yield listener, lambda name: f"http://127.0.0.1:{port}/{name}{_ENDPOINT}"


@contextlib.asynccontextmanager
async def serving(
    stand_ins: Mapping[str, StandIn], listener: socket.socket, documents: Mapping[str, bytes] = _NO_DOCUMENTS
) -> AsyncGenerator[None]:
    """Serve them until the block ends."""
    config = uvicorn.Config(
        _app(stand_ins, documents),
        lifespan="off",
        ws="none",
        access_log=False,
        log_level="critical",
        timeout_keep_alive=_KEEP_SECONDS,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listener]))
        try:
            yield
        finally:
            server.should_exit = True
