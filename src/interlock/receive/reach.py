"""Reaching a gateway's HTTP face: the one in this process, or the one in another.

The command line and `interlock stdio` ask a gateway over its own HTTP face and nothing else, so that there is one door
and one check of who asks. If a gateway runs on the data folder, they reach it over loopback; if none does, they run one
and reach it without a socket. Both look the same from here: a request, then an answer whose body comes in pieces, no
faster than it is read. Leaving the block before the answer has ended is going away, as closing a connection is.

This module refuses to follow redirects, to keep connections, to send a request a second time, and to put anything into
a header that could begin another one.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

import httptools
from starlette.types import ASGIApp, Scope
from starlette.types import Message as AsgiMessage

CONNECT_SECONDS = 5.0
PIECE = 64 * 1024
MAX_UNREAD = 8
"""How many pieces of an answer the gateway of this process may be ahead of whoever reads it."""
_TARGET = re.compile(r"/[\x21-\x7e]*")
_NAME = re.compile(r"[A-Za-z0-9-]+")
_VALUE = re.compile(r"[\x20-\x7e]*")


class Unreachable(Exception):
    """The gateway is not there, or went away in the middle of an answer."""


class NotSent(Unreachable):
    """The gateway is not there, and no byte of the request has left."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One HTTP request. `target` is the path with its query, already encoded."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    def __post_init__(self) -> None:
        named = all(_NAME.fullmatch(name) and _VALUE.fullmatch(value) for name, value in self.headers.items())
        if not named or not _TARGET.fullmatch(self.target):
            # The text names nothing of it: a header may be a credential.
            raise ValueError("a target or a header has a character that cannot stand there")


@dataclass(frozen=True, slots=True)
class Response:
    """The head of an answer, and its body piece by piece. The names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]

    async def whole(self) -> bytes:
        return b"".join([piece async for piece in self.pieces])

    async def events(self) -> AsyncIterator[bytes]:
        """The data of each event as it arrives, when the answer is an event stream of the gateway's."""
        begun = bytearray()
        data: list[bytes] = []
        async for piece in self.pieces:
            begun += piece
            if b"\n" not in piece:
                continue
            *lines, begun = begun.split(b"\n")
            for line in (bytes(each).removesuffix(b"\r") for each in lines):
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" "))
                elif not line:
                    if event := b"\n".join(data):
                        yield event
                    data = []


class Reach(Protocol):
    """A way to a gateway."""

    def ask(self, ask: Ask) -> contextlib.AbstractAsyncContextManager[Response]:
        """Send a request and hand over the answer; raises Unreachable."""
        ...


# In this process ------------------------------------------------------------------------------------------------


class OwnReach:
    """The gateway of this process, asked without a socket. `host` is one that it serves."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host

    @contextlib.asynccontextmanager
    async def ask(self, ask: Ask) -> AsyncGenerator[Response]:
        talk = _Talk(ask.body)
        failed: Exception | None = None
        async with asyncio.TaskGroup() as group:
            work = group.create_task(self._serve(ask, talk))
            try:
                yield await talk.response()
            except Exception as error:  # only carried past the task group, which would wrap it
                failed = error
            finally:
                talk.leave()
                if not talk.ended:
                    work.cancel()
        if failed is not None:
            raise failed

    async def _serve(self, ask: Ask, talk: "_Talk") -> None:
        try:
            await self._app(self._scope(ask), talk.receive, talk.send)
        except Exception:  # a failure of one request must not end the process, as with any server
            logging.getLogger(__name__).exception("a request to the gateway failed")
            await talk.fail()
        finally:
            talk.over()

    def _scope(self, ask: Ask) -> Scope:
        path, _, query = ask.target.partition("?")
        named = {"host": self._host, "content-length": str(len(ask.body)), **ask.headers}
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": ask.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.lower().encode("ascii"), value.encode("ascii")) for name, value in named.items()],
            "client": ("127.0.0.1", 0),
            "server": None,
        }


class _Talk:
    """One exchange with the app of this process: what it gets to read, and what it said so far."""

    def __init__(self, body: bytes) -> None:
        self.ended = False
        """Whether the whole answer was given; the app may still have something to finish."""
        self._started = False
        self._body: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]
        self._said: asyncio.Queue[AsgiMessage | None] = asyncio.Queue()
        self._room = asyncio.Semaphore(MAX_UNREAD)
        self._left = asyncio.Event()

    # The side of the app ----------------------------------------------------------------------------------------

    async def receive(self) -> AsgiMessage:
        if self._body:
            return self._body.pop()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: AsgiMessage) -> None:
        await self._room.acquire()
        if self._left.is_set():
            self._room.release()  # for the next one who waits in vain
            return
        self._started = True
        self.ended = message["type"] == "http.response.body" and not message.get("more_body", False)
        self._said.put_nowait(message)

    async def fail(self) -> None:
        """Say that it went wrong, if nothing was said yet; else the answer just breaks off."""
        if not self._started:
            await self.send({"type": "http.response.start", "status": 500, "headers": []})
            await self.send({"type": "http.response.body"})

    def over(self) -> None:
        self._said.put_nowait(None)

    # The side of whoever asks -----------------------------------------------------------------------------------

    async def response(self) -> Response:
        start = await self._hear()
        if start is None:
            raise Unreachable("the gateway gave no answer")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
        return Response(start["status"], headers, self._pieces())

    async def _pieces(self) -> AsyncIterator[bytes]:
        while (message := await self._hear()) is not None:
            if message.get("body"):
                yield message["body"]
            if not message.get("more_body", False):
                return
        raise Unreachable("the answer broke off")

    async def _hear(self) -> AsgiMessage | None:
        message = await self._said.get()
        self._room.release()
        return message

    def leave(self) -> None:
        self._left.set()
        self._room.release()


# In another process ---------------------------------------------------------------------------------------------


class RemoteReach:
    """The gateway that listens on an address of this machine; a connection for each request."""

    def __init__(self, host: str, port: int, still_there: Callable[[], bool] = lambda: True) -> None:
        """`still_there` is asked before each request: the port of a gateway that died can be anybody's, and what we
        send is meant for nobody else."""
        self._host = host
        self._port = port
        self._still_there = still_there

    @property
    def address(self) -> str:
        """The host and the port, as they stand in a URL."""
        return f"[{self._host}]:{self._port}" if ":" in self._host else f"{self._host}:{self._port}"

    @contextlib.asynccontextmanager
    async def ask(self, ask: Ask) -> AsyncGenerator[Response]:
        if not self._still_there():
            raise NotSent("the gateway has ended")
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(self._host, self._port)
        except OSError as failed:  # TimeoutError is one too
            raise NotSent(str(failed) or "the gateway did not take the connection in time") from None
        try:
            writer.write(self._head(ask) + ask.body)
            answer = _Answer(reader)
            await answer.read_head()
            yield Response(answer.status, answer.headers, answer.pieces())
        finally:
            # Not closed but cut off: what has not left yet must not leave once nobody waits for the answer.
            writer.transport.abort()

    def _head(self, ask: Ask) -> bytes:
        named = {"host": self.address, "content-length": str(len(ask.body)), "connection": "close", **ask.headers}
        lines = [f"{ask.method} {ask.target} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
        return "\r\n".join(lines).encode("ascii")


class _Answer:
    """Parses an answer as it arrives. The `on_` methods are the parser's."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._parser = httptools.HttpResponseParser(self)
        self._arrived: list[bytes] = []
        self._head_done = False
        self._done = False
        self.status = 0
        self.headers: dict[str, str] = {}

    async def read_head(self) -> None:
        while not self._head_done:
            await self._read()

    async def pieces(self) -> AsyncIterator[bytes]:
        while True:
            arrived, self._arrived = self._arrived, []
            for piece in arrived:
                yield piece
            if self._done:
                return
            await self._read()

    async def _read(self) -> None:
        try:
            piece = await self._reader.read(PIECE)
            if piece:
                self._parser.feed_data(piece)
        except (OSError, httptools.HttpParserError, httptools.HttpParserUpgrade) as failed:
            raise Unreachable(str(failed) or type(failed).__name__) from None
        if not piece:
            raise Unreachable("the gateway closed the connection")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self._head_done = True

    def on_body(self, body: bytes) -> None:
        self._arrived.append(body)

    def on_message_complete(self) -> None:
        self._done = True
