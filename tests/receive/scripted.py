"""A gateway for tests of what connects to one: an ASGI app that does as it is told and remembers everything."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.types import Receive, Scope, Send

SSE = [(b"content-type", b"text/event-stream")]
JSON = [(b"content-type", b"application/json")]


@dataclass(frozen=True)
class Seen:
    """One HTTP request."""

    http: str
    headers: dict[str, str]
    message: dict[str, Any]

    @property
    def method(self) -> str:
        """The JSON-RPC method; for an answer of the client `answer`, without a body the one of HTTP."""
        return self.message.get("method", "answer") if self.message else self.http


@dataclass
class Scripted:
    """The app. Its methods are called by JSON-RPC method: `fast`, `slow`, `asks`, `junk`, `mute`."""

    name: str = "first"
    seen: list[Seen] = field(default_factory=list[Seen])
    sessions: set[str] = field(default_factory=set[str])
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    dead: asyncio.Event = field(default_factory=asyncio.Event)
    dead_later: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue[bytes])
    full: bool = False
    """Whether no session can be opened."""
    left: list[Any] = field(default_factory=list[Any])
    """The ids of requests whose asker went away."""

    def methods(self) -> list[str]:
        return [each.method for each in self.seen]

    async def until(self, met: Callable[[], bool]) -> None:
        async with asyncio.timeout(10), self.changed:
            await self.changed.wait_for(met)

    async def saw(self, method: str, times: int = 1) -> Seen:
        """Wait until there were so many requests of a kind; the last of them."""
        await self.until(lambda: self.methods().count(method) >= times)
        return [each for each in self.seen if each.method == method][times - 1]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        seen = Seen(scope["method"], headers, json.loads(body) if body else {})
        if seen.message and "id" not in seen.message:
            for _ in range(10):  # nobody may count on notifications being quick
                await asyncio.sleep(0)
        await self._note(lambda: self.seen.append(seen))
        session = headers.get("mcp-session-id")
        if session is not None and session not in self.sessions:
            await self._reply(send, 404, {"error": "Session not found."})
        elif seen.http == "GET":
            await self._stream(send)
        elif seen.http == "DELETE":
            self.sessions.discard(session or "")
            await self._reply(send, 200, {})
        elif "id" not in seen.message or "method" not in seen.message:
            await self._reply(send, 202, None)
        else:
            await getattr(self, seen.method.replace("/", "_"), self.fast)(seen, receive, send)

    async def _note(self, change: Callable[[], object]) -> None:
        change()
        async with self.changed:
            self.changed.notify_all()

    async def _reply(self, send: Send, status: int, body: Any) -> None:
        text = b"" if body is None else json.dumps(body).encode()
        await send({"type": "http.response.start", "status": status, "headers": JSON})
        await send({"type": "http.response.body", "body": text})

    async def _event(self, send: Send, body: Any, *, last: bool = False) -> None:
        text = b"event: message\r\ndata: " + json.dumps(body).encode() + b"\r\n\r\n"
        await send({"type": "http.response.body", "body": text, "more_body": not last})

    async def _stream(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        async with asyncio.TaskGroup() as group:
            dying = group.create_task(self._die())
            while not dying.done():
                text = await self.news.get()
                await send({"type": "http.response.body", "body": b"data: " + text + b"\n\n", "more_body": True})

    async def _die(self, of: asyncio.Event | None = None) -> None:
        await (of or self.dead).wait()
        raise RuntimeError("the gateway died")

    def _result(self, seen: Seen) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": seen.message["id"], "result": {"by": self.name}}

    async def initialize(self, seen: Seen, receive: Receive, send: Send) -> None:
        if self.full:
            await self._reply(send, 503, {"error": "Too many sessions."})
            return
        session = f"{self.name}-{len(self.sessions) + 1}"
        self.sessions.add(session)
        result = {**self._result(seen), "result": {"protocolVersion": "2025-06-18", "by": self.name}}
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [*SSE, (b"mcp-session-id", session.encode())],
            }
        )
        await self._event(send, result, last=True)

    async def fast(self, seen: Seen, receive: Receive, send: Send) -> None:
        await self._reply(send, 200, self._result(seen))

    async def slow(self, seen: Seen, receive: Receive, send: Send) -> None:
        """Answers when it is released, breaks off when the gateway dies, ends when the asker leaves."""
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        try:
            async with asyncio.TaskGroup() as group:
                dying = group.create_task(self._die())
                await self.release.wait()
                dying.cancel()
        except asyncio.CancelledError:
            await self._note(lambda: self.left.append(seen.message["id"]))
            raise
        await self._event(send, self._result(seen), last=True)

    async def tough(self, seen: Seen, receive: Receive, send: Send) -> None:
        """Breaks off later than the others."""
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await self._die(self.dead_later)

    async def asks(self, seen: Seen, receive: Receive, send: Send) -> None:
        """Asks the client something first, and tells what it answered."""
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await self._event(send, {"jsonrpc": "2.0", "id": 0, "method": "elicitation/create", "params": {}})
        async with asyncio.TaskGroup() as group:
            dying = group.create_task(self._die())
            answer = await self.saw("answer")
            dying.cancel()
        await self._event(send, {**self._result(seen), "result": answer.message}, last=True)

    async def answered(self, seen: Seen, receive: Receive, send: Send) -> None:
        """Answers, and dies before the answer has ended."""
        await send({"type": "http.response.start", "status": 200, "headers": SSE})
        await self._event(send, self._result(seen))
        raise RuntimeError("the gateway died")

    async def junk(self, seen: Seen, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": JSON})
        await send({"type": "http.response.body", "body": b"this is no JSON"})

    async def mute(self, seen: Seen, receive: Receive, send: Send) -> None:
        await self._reply(send, 202, None)

    async def refused(self, seen: Seen, receive: Receive, send: Send) -> None:
        await self._reply(send, 401, {"error": "The token is not valid."})
