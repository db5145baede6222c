"""A server made of sockets, for answers that no HTTP library would send.

A script runs once per connection. It reads requests and writes bytes; when it returns, the connection is closed. What
was received is kept for all connections together, so that a test can say what an upstream saw, and how often.
"""

import asyncio
import json
import os
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

SECONDS = 10
"""After which a test that waits for something has failed."""


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    connection: int
    line: str
    fields: list[tuple[str, str]]
    body: bytes

    def field(self, name: str) -> str | None:
        found = [value for key, value in self.fields if key.lower() == name.lower()]
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else None

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def id(self) -> int:
        return self.message["id"]


class Peer:
    """One accepted connection."""

    def __init__(self, number: int, server: "RawServer", reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.number = number
        self._server = server
        self._reader = reader
        self._writer = writer

    async def request(self) -> Received:
        """The next request; raises IncompleteReadError when there is none."""
        line, *lines = (
            (await self._reader.readuntil(b"\r\n\r\n")).decode("ascii").removesuffix("\r\n\r\n").split("\r\n")
        )
        fields = [(name, value) for name, _, value in (each.partition(": ") for each in lines)]
        length = int(next((value for name, value in fields if name == "Content-Length"), "0"))
        received = Received(self.number, line, fields, await self._reader.readexactly(length))
        self._server.received.append(received)
        return received

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            if self._writer.is_closing():
                # uvloop says this with a RuntimeError, asyncio with nothing at all.
                raise ConnectionResetError
            self._writer.write(piece)
            await self._writer.drain()

    async def closed(self) -> None:
        """Wait until the other side is gone."""
        with suppress(ConnectionError):
            while await self._reader.read(65536):
                pass
        self._server.seen_closed.add(self.number)

    async def part(self, length: int) -> bytes:
        """So many bytes of a request, and no more."""
        return await self._reader.readexactly(length)

    async def reset(self) -> None:
        """Close without a word, so that the other side gets an error."""
        with socket.socket(fileno=os.dup(self._writer.get_extra_info("socket").fileno())) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        with suppress(ConnectionError):
            await self._writer.wait_closed()

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


Script = Callable[[Peer], Awaitable[None]]


class RawServer:
    """Listens on a port of its own while it is entered."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.received: list[Received] = []
        self.connections = 0
        self.seen_closed: set[int] = set()
        self.problems: list[Exception] = []
        self._script, self._tls, self._host = script, tls, host
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}/mcp"

    @property
    def messages(self) -> list[dict[str, Any]]:
        return [each.message for each in self.received]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, self._host, 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        if error is None:
            assert self.problems == []

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            await self._script(Peer(self.connections, self, reader, writer))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        except Exception as problem:
            self.problems.append(problem)
        finally:
            writer.transport.abort() if writer.is_closing() else writer.close()
            self._tasks.discard(task)


def each(answer: Callable[[Received], bytes]) -> Script:
    """A script that answers every request of a connection in the same way."""

    async def script(peer: Peer) -> None:
        while True:
            await peer.send(answer(await peer.request()))

    return script


def head(status: str = "200 OK", *fields: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *fields, "", ""]).encode("ascii")


def whole(status: str, kind: str, body: bytes, *fields: str) -> bytes:
    return head(status, f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields) + body


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def result(number: int, value: object = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": value or {}}, separators=(",", ":")).encode()


def error(number: object, code: int = -32603, message: str = "no") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}).encode()


def told(method: str, params: object = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}).encode()


def reply(received: Received, value: object = None, *fields: str) -> bytes:
    """The plain answer: JSON with its length."""
    return whole("200 OK", "application/json", result(received.id, value), *fields)


def events(*texts: bytes) -> bytes:
    return b"".join(b"event: message\ndata: " + text + b"\n\n" for text in texts)


def stream(*texts: bytes) -> bytes:
    """A whole event stream, in one chunk."""
    return head("200 OK", "Content-Type: text/event-stream", "Transfer-Encoding: chunked") + chunked(events(*texts))


ACCEPTED = head("202 Accepted", "Content-Length: 0")
