"""Connections for one exchange at a time, kept for the next one.

Client libraries cost several times as much per call, and they are helpful in ways that a gateway must not be: they
follow redirects, keep cookies, and send a request again when a connection breaks. Here an answer goes piece by piece to
a taker, and that is all.

INVARIANT: a request is written once. The connection is checked before the first byte and exchanged for a new one if it
was closed; after the first byte, a failure is a failure.
"""

import asyncio
import re
import select
import ssl
from collections.abc import Callable
from typing import Protocol, cast

from interlock.forward.http1 import MAX_HEAD, Address, AnswerParser, Head
from interlock.forward.link import BadMessage, LinkDown

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 4.0
"""How long a connection is kept unused. Common servers close after 5 seconds, many without having said so, and a
request that is written just then is lost: it cannot be sent again."""
IDLE_MARGIN = 1.0
"""How much earlier than a server says it closes we let go, in seconds."""

_KEEP_ALIVE = re.compile(r"(?:^|[,;\s])timeout\s*=\s*(\d{1,9})", re.IGNORECASE)


class BodyTaker(Protocol):
    """Who takes the body of an answer, piece by piece; what it raises ends the exchange."""

    def take(self, piece: bytes) -> bool:
        """Take a piece; True means that no more is wanted."""
        ...

    def end(self) -> None:
        """The body is complete."""
        ...


class Taker(Protocol):
    """Who takes an answer; what it raises ends the exchange."""

    sent: bool
    """Set as soon as a byte of the request may have left."""

    def head(self, head: Head) -> BodyTaker | None:
        """Say who takes the body; None when nobody wants it."""
        ...


class Connection(asyncio.Protocol):
    """One connection, for one exchange at a time.

    An exchange can be over before its answer is complete, as with an event stream whose last message has been read. The
    rest is then read and thrown away, a little of it at most, and the connection is `ready` when that is done.
    """

    _transport: asyncio.Transport
    _poll: select.poll

    def __init__(self, origin: str, on_lost: "Callable[[Connection], None]") -> None:
        self._origin = origin
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._answer = AnswerParser()
        self._taker: Taker | None = None
        self._body: BodyTaker | None = None
        self._done: asyncio.Future[None] = self._loop.create_future()
        self._wasted = 0
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.ready = False
        self.rests_until = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._poll = select.poll()
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def usable(self) -> bool:
        """Whether a request may be written: the connection is open and there is nothing to read.

        An upstream that closed, or that speaks without being asked, shows as something to read. The event loop may not
        have seen it yet, so the socket itself is asked. Only a new TLS connection is not: tickets come after the
        handshake.
        """
        if self._transport.is_closing():
            return False
        if not self.ready and self._transport.get_extra_info("ssl_object") is not None:
            return True
        return not self._poll.poll(0)

    async def exchange(self, request: bytes, taker: Taker) -> None:
        """Write a request and hand its answer to the taker; returns when it has enough."""
        self._answer.begin()
        self.ready, self._wasted = False, 0
        self._taker, self._body, self._done = taker, None, self._loop.create_future()
        taker.sent = True
        self._transport.write(request)
        answered = False
        try:
            await self._done
            answered = True
        finally:
            if not answered:  # nobody waits any more: the rest of this answer must not stand before the next one
                self.abort()
            self._taker = self._body = None

    def abort(self) -> None:
        """Close at once."""
        self.ready = False
        self._transport.abort()

    def idle_seconds(self) -> float:
        """For how long this connection may wait for the next request."""
        head = self._answer.head
        if head is None or b"keep-alive" not in head.fields:
            return IDLE_SECONDS
        said = _KEEP_ALIVE.search(head.field(b"keep-alive"))
        return min(IDLE_SECONDS, int(said[1]) - IDLE_MARGIN) if said else IDLE_SECONDS

    def closing(self) -> bool:
        return self._transport.is_closing()

    # What the event loop calls.

    def data_received(self, data: bytes) -> None:
        try:
            if self._taker is None:
                self._waste(data)
            else:
                self._take(data, self._taker)
        except Exception as error:  # not raised into the event loop, but to whoever waits
            self._fail(error)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ready = False
        self.gone.set_result(None)
        self._on_lost(self)
        if self._taker is None:
            return
        try:
            self._end(exc)
        except Exception as error:
            self._fail(error)

    def _end(self, exc: Exception | None) -> None:
        """The connection is over: so is the answer, if it was one that ends that way."""
        if exc is not None or self._body is None or not self._answer.until_close:
            when = "within its answer" if self._answer.head else "before it answered"
            raise LinkDown(f"{self._origin} closed the connection {when}", sent=True)
        self._body.end()
        self._finish()

    def _take(self, data: bytes, taker: Taker) -> None:
        """Hand on what is new of the answer."""
        piece = self._answer.feed(data)
        if self._answer.head is not None:
            self._body = self._body or taker.head(self._answer.head)
            if self._has_enough(piece):
                self._finish()
                self._settle()
                return
        if self._answer.problem:
            raise BadMessage(self._answer.problem)

    def _has_enough(self, piece: bytes) -> bool:
        if self._body is None or (piece and self._body.take(piece)):
            return True
        if self._answer.complete:
            self._body.end()
        return self._answer.complete

    def _waste(self, data: bytes) -> None:
        """Read what belongs to an answer that nobody needs any more; anything else ends the connection."""
        self._wasted += len(data)
        if self.ready or self._wasted > MAX_HEAD:
            self.abort()
            return
        self._answer.feed(data)
        self._settle()

    def _settle(self) -> None:
        """See what becomes of the connection when nobody needs more of the answer."""
        if self._answer.problem:
            self.abort()
        elif self._answer.complete:
            if self._answer.reusable and not self._transport.get_write_buffer_size():
                self.ready = True
            else:
                self.abort()

    def _finish(self) -> None:
        self._taker = None
        if not self._done.done():
            self._done.set_result(None)

    def _fail(self, error: Exception) -> None:
        self._taker = None
        if not self._done.done():
            self._done.set_exception(error)
        self.abort()


class Pool:
    """The connections to one address: at most `limit` exchanges at a time, further ones wait for their turn."""

    def __init__(self, address: Address, tls: ssl.SSLContext | None, *, limit: int) -> None:
        self._address = address
        self._tls = tls if address.tls else None
        self._limit = limit
        self._slots = asyncio.Semaphore(limit)
        self._open: set[Connection] = set()
        self.resting: list[Connection] = []
        """The connections that are kept, ready or about to be, the one that was used last at the end."""
        self._sweeper: asyncio.TimerHandle | None = None

    async def exchange(self, request: bytes, taker: Taker) -> None:
        """Carry one request and its answer. Raises LinkDown, BadMessage, and what the taker raises."""
        await self._slots.acquire()
        try:
            connection = self._rested() or await self._opened()
            try:
                await connection.exchange(request, taker)
            finally:
                self._rest(connection)
        finally:
            self._slots.release()

    async def warm(self) -> None:
        """Open a connection ahead; raises LinkDown when there is none to be had."""
        connection = await self._opened()
        connection.ready = True
        self._rest(connection)

    async def close(self) -> None:
        """Close every connection, and see each of them gone."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        self.resting.clear()
        gone = [connection.gone for connection in self._open]
        for connection in list(self._open):
            connection.abort()
        await asyncio.gather(*gone)

    def _rested(self) -> Connection | None:
        """The connection that was used last, if one is still good."""
        for at in range(len(self.resting) - 1, -1, -1):
            connection = self.resting[at]
            if connection.ready:
                del self.resting[at]
                if connection.usable() and connection.rests_until > asyncio.get_running_loop().time():
                    return connection
                connection.abort()
        return None

    async def _opened(self) -> Connection:
        """A new connection. One that is closed before a byte was written is replaced, once."""
        for _ in range(2):
            connection = await self._connect()
            if connection.usable():
                return connection
            connection.abort()
        raise LinkDown(f"{self._address.origin} does not wait for a request: it closes, or speaks, at once", sent=False)

    async def _connect(self) -> Connection:
        address = self._address
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: Connection(address.origin, self._lost), address.host, address.port, ssl=self._tls
                )
        except (OSError, UnicodeError) as error:
            raise LinkDown(f"{address.origin} cannot be reached: {_why(error)}", sent=False) from None
        if not connection.closing():
            self._open.add(connection)
        return connection

    def _rest(self, connection: Connection) -> None:
        """Keep a connection for the next exchange, if it is worth keeping."""
        if connection.closing():
            return
        seconds = connection.idle_seconds()
        if seconds <= 0 or len(self._open) > self._limit:
            connection.abort()
            return
        connection.rests_until = asyncio.get_running_loop().time() + seconds
        self.resting.append(connection)
        if self._sweeper is None:
            self._sweep_at(connection.rests_until)

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        if connection in self.resting:
            self.resting.remove(connection)

    def _sweep_at(self, when: float) -> None:
        self._sweeper = asyncio.get_running_loop().call_at(when, self._sweep)

    def _sweep(self) -> None:
        """Close what has rested too long, or has still not come to the end of its answer."""
        now = asyncio.get_running_loop().time()
        for connection in [each for each in self.resting if each.rests_until <= now]:
            self.resting.remove(connection)
            connection.abort()
        self._sweeper = None
        if self.resting:
            self._sweep_at(min(each.rests_until for each in self.resting))


def _why(error: Exception) -> str:
    """What went wrong, in the words of the system; none of them come from the upstream."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case TimeoutError():
            return "no connection came about in time"
        case OSError():
            return error.strerror or str(error) or type(error).__name__
        case _:
            return "its name is no host name"
