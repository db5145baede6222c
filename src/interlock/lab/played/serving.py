"""A played server on the wire: lines over stdin and stdout, or HTTP on loopback.

Requests are answered as they are done, so that one that hangs stops no other. Over HTTP there is one path, and every
answer is one JSON body; there are no sessions, because a script has no need of them. What comes in is bounded in
length and number, and HTTP is for clients of this machine only: a page in a browser is not one.

This module refuses to know what is said, and to open anything but the socket that it is given.
"""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from interlock.lab.played.answering import (
    INVALID_REQUEST,
    Answerer,
    Crashed,
    Garbled,
    Message,
    RequestId,
    RpcError,
    error_line,
    message_of,
    version_problem,
)

MAX_MESSAGE = 4 * 1024 * 1024
MAX_OPEN = 1000
"""How many requests may be open at once; a mock may hang, but not hoard."""
GRACE_SECONDS = 0.5
"""How long answers may take that are still to come when the client has left."""
CRASH_EXIT = 3
GARBAGE = b"}this is no JSON{"
TOO_LONG = RpcError(INVALID_REQUEST, f"A message is longer than {MAX_MESSAGE} bytes.")
TOO_MANY = RpcError(INVALID_REQUEST, f"More than {MAX_OPEN} requests are open.")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

Say: TypeAlias = Callable[[bytes], Awaitable[None]]
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Scope]]
Send: TypeAlias = Callable[[Scope], Awaitable[None]]


def crash() -> None:
    """End the process at once, as a crash does: nothing is written or closed."""
    os._exit(CRASH_EXIT)


# Lines ------------------------------------------------------------------------------------------------------------


async def serve_lines(answerer: Answerer, arriving: AsyncIterator[bytes | None], say: Say) -> None:
    """Answer lines until there are no more; None is a line that was too long."""
    talk = _Talk(answerer, say)
    async with asyncio.TaskGroup() as group:
        async for line in arriving:
            await talk.hear(line, group)
        await talk.leave()


class _Talk:
    """The requests of one client that are open."""

    def __init__(self, answerer: Answerer, say: Say) -> None:
        self._answerer, self._say = answerer, say
        self._open: dict[RequestId, asyncio.Task[None]] = {}

    async def hear(self, line: bytes | None, group: asyncio.TaskGroup) -> None:
        try:
            message = _message(line)
        except RpcError as refused:
            await self._say(error_line(None, refused))
            return
        if message is None:
            return
        if message.id is None:
            self._notice(message)
        elif len(self._open) >= MAX_OPEN:
            await self._say(error_line(message.id, TOO_MANY))
        else:
            self._open[message.id] = group.create_task(self._answer(message, message.id))

    def _notice(self, message: Message) -> None:
        named = message.params.get("requestId")
        if message.method == "notifications/cancelled" and isinstance(named, str | int) and named in self._open:
            self._open.pop(named).cancel()

    async def _answer(self, message: Message, named: RequestId) -> None:
        try:
            await self._say(await self._answerer.answer(message))
        except Garbled:
            await self._say(GARBAGE)
        except Crashed:
            crash()
        finally:
            if self._open.get(named) is asyncio.current_task():
                del self._open[named]

    async def leave(self) -> None:
        """Let what is about to be answered be answered; what hangs is given up."""
        if self._open:
            await asyncio.wait(set(self._open.values()), timeout=GRACE_SECONDS)
        for task in self._open.values():
            task.cancel()


def _message(line: bytes | None) -> Message | None:
    if line is None:
        raise TOO_LONG
    if not line.strip():
        return None
    return message_of(line)


# HTTP -------------------------------------------------------------------------------------------------------------


async def serve_http(answerer: Answerer, listener: socket.socket) -> None:
    """Serve a socket until a signal comes."""
    import uvicorn

    config = uvicorn.Config(
        http_app(answerer),
        lifespan="off",
        ws="none",
        access_log=False,
        proxy_headers=False,
        log_level="warning",
        server_header=False,
        date_header=False,
        limit_concurrency=MAX_OPEN,
        timeout_graceful_shutdown=1,
    )
    await uvicorn.Server(config).serve(sockets=[listener])


def http_app(answerer: Answerer) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """The ASGI application of a played server."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        refused = _refusal(scope)
        if refused is not None:
            await _send(send, refused, b"")
            return
        body = await _body(receive)
        if body is None:
            await _send(send, 413, error_line(None, TOO_LONG))
            return
        try:
            message = message_of(body)
        except RpcError as unfit:
            await _send(send, 400, error_line(None, unfit))
            return
        if message is None or message.id is None:
            await _send(send, 202, b"")
            return
        unsupported = version_problem(message.params)
        if unsupported is not None:
            await _send(send, 400, error_line(message.id, unsupported))
            return
        await _answer_while_heard(answerer, message, receive, send)

    return serve


async def _answer_while_heard(answerer: Answerer, message: Message, receive: Receive, send: Send) -> None:
    """Answer a request, unless the client goes away before."""
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(_answered(answerer, message))
        leaving = group.create_task(_left(receive))
        await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if answering.done():
            await _send(send, 200, answering.result())
        else:
            answering.cancel()


async def _answered(answerer: Answerer, message: Message) -> bytes:
    try:
        return await answerer.answer(message)
    except Garbled:
        return GARBAGE
    except Crashed:
        crash()
        raise


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _refusal(scope: Scope) -> int | None:
    """The status of a request that is not even read."""
    headers = dict(scope["headers"])
    origin = headers.get(b"origin")
    if not _is_loopback(b"//" + headers.get(b"host", b"")) or (origin is not None and not _is_loopback(origin)):
        return 403
    if scope["path"] != "/mcp":
        return 404
    return None if scope["method"] == "POST" else 405


def _is_loopback(address: bytes) -> bool:
    with contextlib.suppress(ValueError):
        return urlsplit(address.decode("latin-1")).hostname in _LOOPBACK
    return False


async def _body(receive: Receive) -> bytes | None:
    """The body of a request; None when it is too long."""
    body = bytearray()
    while True:
        piece = await receive()
        body += piece.get("body", b"")
        if len(body) > MAX_MESSAGE:
            return None
        if not piece.get("more_body", False):
            return bytes(body)


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-length", str(len(body)).encode("ascii"))]
    if body:
        headers.append((b"content-type", b"application/json"))
    if status == 405:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
