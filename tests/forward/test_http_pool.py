"""Connections: each for one exchange at a time, kept when they are good, never written to when they are not."""

import asyncio
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from interlock.forward import http_pool
from interlock.forward.http1 import MAX_HEAD, Head, parse_address
from interlock.forward.http_pool import Pool
from interlock.forward.link import BadMessage, LinkDown
from tests.forward.raw_server import SECONDS, Peer, RawServer, Received, chunked, each, head


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


class Taking:
    """Takes an answer, all of it or only its first piece."""

    def __init__(self, *, only_first: bool = False) -> None:
        self.sent = False
        self.status = 0
        self.body = b""
        self.ended = False
        self._only_first = only_first

    def head(self, head: Head) -> "Taking":
        self.status = head.status
        return self

    def take(self, piece: bytes) -> bool:
        self.body += piece
        return self._only_first

    def end(self) -> None:
        self.ended = True


REQUEST = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"


@asynccontextmanager
async def pool_to(server: RawServer, *, limit: int = 10) -> AsyncGenerator[Pool]:
    pool = Pool(parse_address(server.url), None, limit=limit)
    try:
        async with asyncio.timeout(SECONDS):
            yield pool
    finally:
        await pool.close()


async def ask(pool: Pool, request: bytes = REQUEST) -> bytes:
    taking = Taking()
    await pool.exchange(request, taking)
    assert (taking.sent, taking.ended) == (True, True)
    return taking.body


def numbered(received: Received) -> bytes:
    """Says over which connection it answers."""
    body = b"%d" % received.connection
    return head("200 OK", f"Content-Length: {len(body)}") + body


# Keeping connections --------------------------------------------------------------------------------------------


async def test_a_connection_is_used_again() -> None:
    async with RawServer(each(numbered)) as server, pool_to(server) as pool:
        assert [await ask(pool) for _ in range(5)] == [b"1"] * 5
        assert server.connections == 1


async def test_a_connection_can_be_opened_ahead() -> None:
    async with RawServer(each(numbered)) as server, pool_to(server) as pool:
        await pool.warm()
        assert await ask(pool) == b"1"
        assert server.connections == 1


async def test_a_connection_is_never_shared() -> None:
    together = asyncio.Barrier(3)

    async def script(peer: Peer) -> None:
        received = await peer.request()
        await together.wait()
        await peer.send(numbered(received))
        await peer.closed()

    async with RawServer(script) as server, pool_to(server) as pool:
        answers = await asyncio.gather(*(ask(pool) for _ in range(3)))
        assert sorted(answers) == [b"1", b"2", b"3"]


async def test_more_exchanges_than_connections_wait_for_their_turn() -> None:
    async with RawServer(each(numbered)) as server, pool_to(server, limit=2) as pool:
        await asyncio.gather(*(ask(pool) for _ in range(50)))
        assert len(server.received) == 50
        assert server.connections == 2


@pytest.mark.parametrize(
    "fields",
    [
        ("Connection: close",),
        ("Keep-Alive: timeout=1",),
        ("Keep-Alive: max=5, Timeout = 0",),
    ],
)
async def test_a_connection_is_let_go_when_the_server_says_so(fields: tuple[str, ...]) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head("200 OK", "Content-Length: 1", *fields) + b"a")
        await peer.closed()

    async with RawServer(script) as server, pool_to(server) as pool:
        assert [await ask(pool), await ask(pool)] == [b"a", b"a"]
        assert server.connections == 2


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("timeout=3", 2),
        ("timeout=3, max=100", 2),
        ("max=1, timeout=2", 1),
        ("timeout=600", http_pool.IDLE_SECONDS),
        ("timeout=soon", http_pool.IDLE_SECONDS),
        ("notimeout=1", http_pool.IDLE_SECONDS),
        ("", http_pool.IDLE_SECONDS),
    ],
)
async def test_how_long_a_connection_is_kept(said: str, seconds: float) -> None:
    answer = head("200 OK", "Content-Length: 1", f"Keep-Alive: {said}") + b"a"
    async with RawServer(each(lambda _: answer)) as server:
        connection = await connected(server)
        await connection.exchange(REQUEST, Taking())
        assert connection.idle_seconds() == seconds
        connection.abort()
        await connection.gone


async def connected(server: RawServer) -> http_pool.Connection:
    _, connection = await asyncio.get_running_loop().create_connection(
        lambda: http_pool.Connection(server.url, lambda _: None), "127.0.0.1", server.port
    )
    return connection


async def test_a_connection_that_is_not_used_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "IDLE_SECONDS", 0.05)
    closed = asyncio.Semaphore(0)

    async def script(peer: Peer) -> None:
        await peer.send(numbered(await peer.request()))
        await peer.closed()
        closed.release()

    async with RawServer(script) as server, pool_to(server) as pool:
        await asyncio.gather(ask(pool), ask(pool))
        await closed.acquire()
        await closed.acquire()
        assert server.seen_closed == {1, 2}


async def test_each_connection_is_closed_in_its_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "IDLE_SECONDS", 0.05)
    first_answered, closed = asyncio.Event(), asyncio.Queue[int]()

    async def script(peer: Peer) -> None:
        received = await peer.request()
        if peer.number == 2:
            await first_answered.wait()
        await peer.send(numbered(received))
        await peer.closed()
        closed.put_nowait(peer.number)

    async with RawServer(script) as server, pool_to(server) as pool:
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(ask(pool)) for _ in range(2)]
            await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
            monkeypatch.setattr(http_pool, "IDLE_SECONDS", 0.2)
            first_answered.set()
        assert [await closed.get(), await closed.get()] == [1, 2]


async def test_a_connection_that_rested_too_long_is_not_used_even_if_it_was_not_closed_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with RawServer(each(numbered)) as server, pool_to(server) as pool:
        assert await ask(pool) == b"1"
        loop = asyncio.get_running_loop()
        later = loop.time() + http_pool.IDLE_SECONDS
        monkeypatch.setattr(loop, "time", lambda: later)
        assert await ask(pool) == b"2"
        monkeypatch.undo()


async def test_closing_closes_every_connection() -> None:
    async with RawServer(each(numbered)) as server, pool_to(server) as pool:
        await asyncio.gather(ask(pool), ask(pool), ask(pool))
        await pool.close()
        assert await ask(pool) == b"4"


# Connections that were closed -----------------------------------------------------------------------------------


async def test_a_connection_that_the_server_closed_is_replaced_and_the_request_arrives_once() -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.send(numbered(await peer.request()))
        if peer.number == 1:
            await peer.close()
            closed.set()
        else:
            await peer.closed()

    async with RawServer(script) as server, pool_to(server) as pool:
        assert await ask(pool) == b"1"
        await closed.wait()
        assert await ask(pool, REQUEST.replace(b"hi", b"ho")) == b"2"
        assert [each.body for each in server.received] == [b"hi", b"ho"]


class Listening:
    """A server without a task of its own: what it does happens exactly when a test says so."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/mcp"
        self.accepted: list[socket.socket] = []

    async def accept(self) -> socket.socket:
        accepted, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        self.accepted.append(accepted)
        return accepted

    async def serve(self, accepted: socket.socket, body: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        received = await loop.sock_recv(accepted, 65536)
        await loop.sock_sendall(accepted, head("200 OK", f"Content-Length: {len(body)}") + body)
        return received

    def close(self) -> None:
        for one in (*self.accepted, self._listener):
            one.close()


@asynccontextmanager
async def listening() -> AsyncGenerator[tuple[Listening, Pool]]:
    server = Listening()
    pool = Pool(parse_address(server.url), None, limit=10)
    try:
        async with asyncio.timeout(SECONDS):
            yield server, pool
    finally:
        await pool.close()
        server.close()


async def opened(server: Listening, pool: Pool, body: bytes) -> socket.socket:
    """Have one exchange over a new connection."""

    async def serve() -> socket.socket:
        accepted = await server.accept()
        await server.serve(accepted, body)
        return accepted

    accepted, _ = await asyncio.gather(serve(), pool.exchange(REQUEST, Taking()))
    return accepted


def close_it(accepted: socket.socket) -> None:
    accepted.close()


def reset_it(accepted: socket.socket) -> None:
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    accepted.close()


def talk_into_it(accepted: socket.socket) -> None:
    accepted.send(head("200 OK", "Content-Length: 4") + b"evil")


def unread(accepted: socket.socket) -> bytes:
    try:
        return accepted.recv(65536)
    except OSError:
        return b""


@pytest.mark.parametrize("spoil", [close_it, reset_it, talk_into_it])
async def test_a_connection_that_went_bad_unnoticed_is_not_written_to(spoil: Callable[[socket.socket], None]) -> None:
    async with listening() as (server, pool):
        first = await opened(server, pool, b"one")

        async def again() -> bytes:
            accepted = await server.accept()
            return await server.serve(accepted, b"two")

        taking = Taking()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(again())
            await asyncio.sleep(0)
            # From here to the write the event loop does not run, so it cannot have noticed.
            spoil(first)
            await pool.exchange(REQUEST, taking)

        assert (taking.body, waiting.result()) == (b"two", REQUEST)
        assert unread(first) == b""


async def test_an_answer_that_nobody_asked_for_ends_the_connection() -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.send(numbered(await peer.request()))
        if peer.number == 1:
            await peer.send(head("200 OK", "Content-Length: 4") + b"evil")
        await peer.closed()
        closed.set()

    async with RawServer(script) as server, pool_to(server) as pool:
        assert await ask(pool) == b"1"
        await closed.wait()
        assert await ask(pool) == b"2"


async def test_two_answers_at_once_end_the_connection() -> None:
    async with RawServer(each(lambda received: numbered(received) * 2)) as server, pool_to(server) as pool:
        assert [await ask(pool), await ask(pool)] == [b"1", b"2"]


def delaying(answer: Callable[..., Awaitable[Any]], ready: asyncio.Event) -> Callable[..., Awaitable[Any]]:
    async def delayed(*args: Any, **kwargs: Any) -> Any:
        connected = await answer(*args, **kwargs)
        await ready.wait()
        ready.clear()
        return connected

    return delayed


async def test_a_new_connection_that_is_closed_before_a_byte_was_written_is_replaced_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    closed = asyncio.Event()
    close_first = 1

    async def script(peer: Peer) -> None:
        if peer.number <= close_first:
            await peer.reset()
        closed.set()
        await peer.send(numbered(await peer.request()))

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "create_connection", delaying(loop.create_connection, closed))
    async with RawServer(script) as server, pool_to(server) as pool:
        assert await ask(pool) == b"2"

    close_first = 2
    async with RawServer(script) as server, pool_to(server) as pool:
        with pytest.raises(LinkDown, match="does not wait for a request") as down:
            await ask(pool)
        assert not down.value.sent
        assert (server.connections, server.received) == (2, [])


# Failures -------------------------------------------------------------------------------------------------------


async def test_a_connection_that_breaks_after_the_request_was_written_is_a_failure_and_not_a_second_try() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()

    async with RawServer(script) as server, pool_to(server) as pool:
        with pytest.raises(LinkDown, match="closed the connection before it answered") as down:
            await ask(pool)
        assert down.value.sent
        assert len(server.received) == 1


async def test_a_kept_connection_that_breaks_on_the_next_request_is_a_failure_too() -> None:
    async def script(peer: Peer) -> None:
        await peer.send(numbered(await peer.request()))
        await peer.request()
        await peer.reset()

    async with RawServer(script) as server, pool_to(server) as pool:
        assert await ask(pool) == b"1"
        with pytest.raises(LinkDown) as down:
            await ask(pool)
        assert down.value.sent
        assert (server.connections, len(server.received)) == (1, 2)


@pytest.mark.parametrize(
    ("sent", "when"),
    [
        (b"", "before it answered"),
        (b"HTTP/1.1 2", "before it answered"),
        (b"HTTP/1.1 200 OK\r\nContent-Le", "before it answered"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "before it answered"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "within its answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", "within its answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n", "within its answer"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n", "within its answer"),
    ],
)
async def test_an_answer_that_breaks_off_is_a_failure(sent: bytes, when: str) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(sent)

    async with RawServer(script) as server, pool_to(server) as pool:
        with pytest.raises(LinkDown, match=when) as down:
            await ask(pool)
        assert down.value.sent
        assert len(server.received) == 1


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
async def test_an_answer_may_end_with_its_connection(version: bytes) -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(version + b" 200 OK\r\n\r\nabc")
        await peer.send(b"def")

    async with RawServer(script) as server, pool_to(server) as pool:
        assert [await ask(pool), await ask(pool)] == [b"abcdef", b"abcdef"]


async def test_a_reset_is_no_end() -> None:
    taken = asyncio.Event()

    class Watching(Taking):
        def take(self, piece: bytes) -> bool:
            taken.set()
            return super().take(piece)

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(b"HTTP/1.1 200 OK\r\n\r\nabc")
        await taken.wait()
        await peer.reset()

    async with RawServer(script) as server, pool_to(server) as pool:
        with pytest.raises(LinkDown, match="within its answer"):
            await pool.exchange(REQUEST, Watching())


async def test_garbage_is_a_bad_message() -> None:
    async with RawServer(each(lambda _: b"220 smtp.example.org ESMTP\r\n")) as server, pool_to(server) as pool:
        with pytest.raises(BadMessage):
            await ask(pool)


async def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    pool = Pool(parse_address(url), None, limit=1)
    with pytest.raises(LinkDown, match="cannot be reached") as down:
        await ask(pool)
    assert not down.value.sent


async def test_a_name_that_cannot_be() -> None:
    pool = Pool(parse_address(f"http://{'a' * 64}.example/"), None, limit=1)
    with pytest.raises(LinkDown, match="no host name") as down:
        await ask(pool)
    assert not down.value.sent


async def test_a_connection_that_does_not_come_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "CONNECT_SECONDS", 0.01)
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "create_connection", delaying(loop.create_connection, asyncio.Event()))
    async with RawServer(each(numbered)) as server, pool_to(server) as pool:
        with pytest.raises(LinkDown, match="in time") as down:
            await ask(pool)
        assert not down.value.sent


async def test_what_the_taker_raises_reaches_who_waits_and_ends_the_connection() -> None:
    class Refusing(Taking):
        def take(self, piece: bytes) -> bool:
            raise ZeroDivisionError

    async with RawServer(each(numbered)) as server, pool_to(server) as pool:
        with pytest.raises(ZeroDivisionError):
            await pool.exchange(REQUEST, Refusing())
        assert await ask(pool) == b"2"


async def test_a_cancelled_exchange_closes_its_connection() -> None:
    arrived, closed = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        arrived.set()
        await peer.closed()
        closed.set()

    async with RawServer(script) as server, pool_to(server) as pool:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(pool.exchange(REQUEST, Taking()))
            await arrived.wait()
            waiting.cancel()
        await closed.wait()


async def test_an_answer_that_comes_in_the_moment_of_cancellation_does_no_harm() -> None:
    async with RawServer(Peer.closed) as server:
        connection = await connected(server)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(connection.exchange(REQUEST, Taking()))
            await asyncio.sleep(0)
            waiting.cancel()
            connection.data_received(head("200 OK", "Content-Length: 0"))
        assert waiting.cancelled()
        assert connection.closing()
        await connection.gone


# The rest of an answer that nobody needs ------------------------------------------------------------------------


async def ready(pool: Pool) -> None:
    """Give the event loop the turns that it needs to read what has been sent already."""
    for _ in range(1000):
        if any(connection.ready for connection in pool.resting):
            return
        await asyncio.sleep(0)
    pytest.fail("no connection became ready")


def stream_head() -> bytes:
    return head("200 OK", "Transfer-Encoding: chunked")


async def test_the_rest_of_an_answer_is_read_and_then_the_connection_is_good_again() -> None:
    taken = asyncio.Event()

    async def script(peer: Peer) -> None:
        while True:
            await peer.request()
            await peer.send(stream_head() + b"3\r\nabc\r\n")
            await taken.wait()
            await peer.send(chunked(b"the rest"))

    async with RawServer(script) as server, pool_to(server) as pool:
        taking = Taking(only_first=True)
        await pool.exchange(REQUEST, taking)
        assert taking.body == b"abc"
        # The answer is not complete, so its connection cannot be used yet.
        await pool.exchange(REQUEST, Taking(only_first=True))
        assert server.connections == 2

        taken.set()
        await ready(pool)
        await pool.exchange(REQUEST, Taking(only_first=True))
        assert server.connections == 2


@pytest.mark.parametrize(
    "rest",
    [b"1\r\na\r\n" * MAX_HEAD, b"not a chunk", chunked() + numbered(Received(0, "", [], b""))],
    ids=["long", "broken", "another answer"],
)
async def test_a_rest_that_is_long_or_broken_ends_the_connection(rest: bytes) -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head() + b"3\r\nabc\r\n")
        with suppress(ConnectionError):
            await peer.send(rest)
        await peer.closed()
        closed.set()

    async with RawServer(script) as server, pool_to(server) as pool:
        await pool.exchange(REQUEST, Taking(only_first=True))
        await closed.wait()


async def test_a_rest_that_does_not_come_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "IDLE_SECONDS", 0.05)
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head() + b"3\r\nabc\r\n")
        await peer.closed()
        closed.set()

    async with RawServer(script) as server, pool_to(server) as pool:
        await pool.exchange(REQUEST, Taking(only_first=True))
        await closed.wait()


async def test_an_answer_before_the_request_was_read_ends_the_connection() -> None:
    async def script(peer: Peer) -> None:
        await peer.part(10)
        await peer.send(head("413 Too Large", "Content-Length: 1") + b"a")
        await asyncio.Event().wait()

    async with RawServer(script) as server, pool_to(server) as pool:
        await asyncio.gather(ask_early(pool), ask_early(pool))
        assert pool.resting == []


async def ask_early(pool: Pool) -> None:
    taking = Taking()
    await pool.exchange(REQUEST + b"x" * 50_000_000, taking)
    assert taking.status == 413


async def test_no_more_connections_are_kept_than_there_may_be_exchanges() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(stream_head() + b"3\r\nabc\r\n")
        await peer.closed()

    async with RawServer(script) as server, pool_to(server, limit=2) as pool:
        for _ in range(5):
            await pool.exchange(REQUEST, Taking(only_first=True))
        assert len(pool.resting) == 2
