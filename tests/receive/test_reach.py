"""Both ways to a gateway behave alike: over a socket, and without one."""

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from interlock.cli.gateway import bind
from interlock.receive.reach import MAX_UNREAD, Ask, NotSent, OwnReach, Reach, RemoteReach, Response, Unreachable

SECONDS = 10
START: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": [(b"X-Mark", b"yes")]}


@dataclass
class App:
    """Something to reach, and what became of it."""

    seen: list[str] = field(default_factory=list[str])
    sent: int = 0
    under_way: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    finished: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.seen.append(scope["path"])
        work: Callable[[Scope, Receive, Send], Awaitable[None]] = getattr(self, scope["path"].strip("/"), self.echo)
        await work(scope, receive, send)

    async def echo(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        told = {"method": scope["method"], "path": scope["path"], "query": scope["query_string"].decode()}
        text = json.dumps({**told, "headers": headers, "body": body.decode()}).encode()
        await send({**START, "status": 201})
        await send({"type": "http.response.body", "body": text})

    async def events(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        for piece in (b": hello\r\nevent: mess", b"age\r\ndata: {}\r", b"\n\r\nid: 5\ndata:\n\ndata: a\ndata: b\n\nda"):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"ta: half"})

    async def waits(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.under_way.set()
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self.gone.set()

    async def begins(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await self.waits(scope, receive, send)

    async def floods(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
                self.sent += 1
                await asyncio.sleep(0)
        finally:
            self.gone.set()

    async def breaks(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        raise RuntimeError("in the middle")

    async def fails(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("at once")

    async def lingers(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"done"})
        await asyncio.sleep(0.01)
        self.finished.set()


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture(params=["own", "remote"])
async def reach(request: pytest.FixtureRequest, app: App) -> AsyncGenerator[Reach]:
    if request.param == "own":
        yield OwnReach(app, "127.0.0.1:1")
        return
    async with listening(app) as port:
        yield RemoteReach("127.0.0.1", port)


@contextlib.asynccontextmanager
async def listening(app: App) -> AsyncGenerator[int]:
    config = uvicorn.Config(app, lifespan="off", log_level=logging.CRITICAL + 1, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets=[listener]))
            while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0)
            yield listener.getsockname()[1]
            server.should_exit = True


@contextlib.asynccontextmanager
async def raw_server(answer: bytes) -> AsyncGenerator[int]:
    """Gives these bytes to whoever connects, then closes."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def answer_of(reach: Reach, ask: Ask) -> tuple[Response, bytes]:
    async with asyncio.timeout(SECONDS), reach.ask(ask) as response:
        return response, await response.whole()


async def test_a_request_arrives_as_it_was_meant_and_so_does_the_answer(reach: Reach) -> None:
    ask = Ask("POST", "/a%20b/c?x=1&y=%2F", {"X-One": "1", "content-type": "text/plain"}, "ä".encode())
    response, body = await answer_of(reach, ask)
    seen = json.loads(body)

    assert (response.status, response.headers["x-mark"]) == (201, "yes")
    assert (seen["method"], seen["path"], seen["query"], seen["body"]) == ("POST", "/a b/c", "x=1&y=%2F", "ä")
    assert seen["headers"]["x-one"] == "1"
    assert seen["headers"]["content-length"] == "2"
    assert seen["headers"]["host"].startswith("127.0.0.1:")


async def test_a_long_body_arrives_whole(reach: Reach) -> None:
    _, body = await answer_of(reach, Ask("POST", "/", {}, b"x" * 4_000_000))

    assert len(json.loads(body)["body"]) == 4_000_000


async def test_events_come_one_by_one_whatever_the_pieces_are(reach: Reach) -> None:
    async with asyncio.timeout(SECONDS), reach.ask(Ask("GET", "/events", {})) as response:
        heard = [event async for event in response.events()]

    assert heard == [b"{}", b"a\nb"]


async def test_leaving_before_the_answer_is_going_away(reach: Reach, app: App) -> None:
    async def ask() -> None:
        async with reach.ask(Ask("GET", "/waits", {})):
            pass

    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        task = group.create_task(ask())
        await app.under_way.wait()
        task.cancel()
    async with asyncio.timeout(SECONDS):
        await app.gone.wait()


async def test_an_error_of_whoever_reads_is_theirs_and_ends_the_request(reach: Reach, app: App) -> None:
    async def read() -> None:
        async with asyncio.timeout(SECONDS), reach.ask(Ask("GET", "/begins", {})) as response:
            async for _ in response.pieces:
                raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        await read()
    async with asyncio.timeout(SECONDS):
        await app.gone.wait()


async def test_an_answer_comes_no_faster_than_it_is_read(app: App) -> None:
    reach = OwnReach(app, "127.0.0.1:1")
    async with asyncio.timeout(SECONDS), reach.ask(Ask("GET", "/floods", {})) as response:
        await anext(response.pieces)
        for _ in range(1000):
            await asyncio.sleep(0)
        unread = app.sent

    assert unread <= MAX_UNREAD + 1


async def test_a_block_that_is_left_early_frees_an_app_that_waits_to_be_read(app: App) -> None:
    reach = OwnReach(app, "127.0.0.1:1")
    async with asyncio.timeout(SECONDS), reach.ask(Ask("GET", "/floods", {})) as response:
        await anext(response.pieces)

    assert app.gone.is_set()


async def test_an_app_that_talks_on_when_it_is_left_is_not_waited_for() -> None:
    async def stubborn(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
        finally:
            for _ in range(3):
                await send({"type": "http.response.body", "body": b"more", "more_body": True})

    reach = OwnReach(stubborn, "127.0.0.1:1")
    async with asyncio.timeout(SECONDS), reach.ask(Ask("GET", "/", {})) as response:
        first = await anext(response.pieces)
        for _ in range(100):  # until it waits to be read
            await asyncio.sleep(0)

    assert first == b"x"


async def test_what_the_app_still_has_to_do_after_its_answer_is_done(app: App) -> None:
    _, body = await answer_of(OwnReach(app, "127.0.0.1:1"), Ask("POST", "/lingers", {}))

    assert body == b"done"
    assert app.finished.is_set()


async def test_an_answer_that_breaks_off_is_told(reach: Reach) -> None:
    with pytest.raises(Unreachable) as gone:
        await answer_of(reach, Ask("GET", "/breaks", {}))

    assert not isinstance(gone.value, NotSent)


async def test_an_app_that_fails_answers_with_a_status_and_serves_on(reach: Reach) -> None:
    failed, _ = await answer_of(reach, Ask("GET", "/fails", {}))
    after, _ = await answer_of(reach, Ask("GET", "/echo", {}))

    assert (failed.status, after.status) == (500, 201)


async def test_an_app_that_says_nothing_is_unreachable() -> None:
    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        pass

    with pytest.raises(Unreachable):
        await answer_of(OwnReach(silent, "127.0.0.1:1"), Ask("GET", "/", {}))


async def test_where_nobody_listens_nothing_was_sent() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    with pytest.raises(NotSent):
        await answer_of(RemoteReach("127.0.0.1", port), Ask("POST", "/mcp", {}, b"{}"))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"this is no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-le",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
    ],
)
async def test_what_is_no_whole_answer_may_have_been_sent(answer: bytes) -> None:
    async with raw_server(answer) as port:
        with pytest.raises(Unreachable) as gone:
            await answer_of(RemoteReach("127.0.0.1", port), Ask("POST", "/mcp", {}))

    assert not isinstance(gone.value, NotSent)


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/mcp", {"a": "b\r\nx-injected: 1"}),
        ("/mcp", {"a": "b\n"}),
        ("/mcp", {"a: b\r\nc": "d"}),
        ("/mcp", {"a": "ä"}),
        ("/mcp", {"a": "\x00"}),
        ("/mcp HTTP/1.1\r\nx: y", {}),
        ("mcp", {}),
    ],
)
def test_nothing_can_be_slipped_into_a_request(target: str, headers: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot stand there"):
        Ask("GET", target, headers)


@pytest.mark.parametrize(("host", "address"), [("127.0.0.1", "127.0.0.1:7"), ("::1", "[::1]:7")])
def test_the_address_is_written_as_in_a_url(host: str, address: str) -> None:
    assert RemoteReach(host, 7).address == address


async def test_nothing_is_sent_to_the_address_of_a_gateway_that_has_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        reach = RemoteReach("127.0.0.1", stranger.getsockname()[1], lambda: False)
        with pytest.raises(NotSent, match="has ended"):
            async with reach.ask(Ask("GET", "/livez", {"authorization": "Bearer secret"})):
                pass
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.accept()
