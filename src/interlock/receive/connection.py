"""One connection of the HTTP face: uvicorn's, with a bound on what it waits for, in either direction.

Uvicorn waits for the head of a request as long as it takes and keeps as much of it as comes, so that whoever can open a
connection could hold it, and the memory behind it, for good. Here the head has to arrive within a time and a size; the
body is bounded further in, by the edge, but not what may follow a body in chunks: header lines again, which nobody here
reads, and which uvicorn would take for part of the head. They are dropped. Requests themselves are left alone.

Requests may follow each other without waiting for answers, and uvicorn would read them faster than it serves them, for
as long as somebody sends. Here nothing more is read while one waits for its turn, and few may.

The other way, an answer stays in memory until it is read, and uvicorn waits for that for good too, even after it has
closed the connection. Whoever reads nothing, or next to nothing, for a while is let go. And uvicorn writes the head of
an answer and its body one after the other, each of them a system call that wakes the reader; here they leave together.

Nearly every call is a request that arrives in one piece and an answer that leaves in one. For these there is a short
way, the `Whole` of a request.
"""

import asyncio
from collections.abc import Sized
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from interlock.alarms import Alarm, Alarms
from interlock.receive.exchange import Whole

HEAD_SECONDS = 30.0
MAX_HEAD = 64 * 1024
MAX_IN_LINE = 64
"""How many requests may wait on one connection until those before them have been answered."""
READ_SECONDS = 30.0
MIN_READ = 64 * 1024
"""How much of what waits for a reader it has to take within that time, unless it takes all of it."""

WHOLE = "interlock.whole"
"""In the scope of a request whose body has arrived, the `Whole` of it: nobody has to look after the time it takes."""

_ALARMS = Alarms()
_STATUS, _HEAD_ENDS = b"HTTP/1.1 ", b"\r\n\r\n"


class _Flow(FlowControl):
    """Reads nothing while a request waits for its turn: whatever it consists of has arrived."""

    def __init__(self, transport: asyncio.Transport, in_line: Sized) -> None:
        super().__init__(transport)
        self._in_line = in_line

    def resume_reading(self) -> None:
        if not self._in_line:
            super().resume_reading()


class _Joining:
    """A transport that keeps the head of an answer until its body is there, or the event loop has gone round once.

    Everything else is left to the transport itself.
    """

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._kept = b""
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        if self._kept:
            data, self._kept = self._kept + data, b""
        elif data.startswith(_STATUS) and data.endswith(_HEAD_ENDS):
            self._kept = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def _flush(self) -> None:
        kept, self._kept = self._kept, b""
        if kept and not self._transport.is_closing():
            self._transport.write(kept)

    def close(self) -> None:
        self._flush()
        self._transport.close()


class Connection(HttpToolsProtocol):
    """Closed when the head of a request takes too long or is too long. The method names are the parser's."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._heads = 0
        """How many heads were awaited so far."""
        self._awaited = 0
        """Which of them is awaited now; 0 when none is."""
        self._late: Alarm | None = None
        """There once a head has not arrived with the data in which it began, as nearly all do."""
        self._head = 0
        """How much has come since the request last got any further."""
        self._further = False
        self._unread: Alarm | None = None
        """There while something waits to be read."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(cast("asyncio.Transport", _Joining(transport, self.loop)))
        self.flow = _Flow(transport, self.pipeline)
        # Tell as soon as anything has to wait: what is less than the usual bound would wait for good.
        transport.set_write_buffer_limits(0)
        self._expect()
        self._set_alarm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        self._taken()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        awaited, self._further = self._awaited, False
        super().data_received(data)
        if not self._awaited and self.cycle.response_complete:
            self._expect()  # uvicorn takes anything for the next request, and lets it take its time
        # A head that begins in here has perhaps a long body of another request before it, and counts from what follows.
        if self._awaited == awaited and not self._further:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self.transport.abort()
        if self._awaited and self._late is None:
            self._set_alarm()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._offer()

    def resume_writing(self) -> None:
        self._taken()
        super().resume_writing()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= MAX_IN_LINE:
            raise ValueError("too many requests wait")  # the parser stops, and uvicorn closes the connection
        super().on_message_begin()
        if not self._awaited:
            self._expect()

    def on_header(self, name: bytes, value: bytes) -> None:
        """As uvicorn has it, for the lines of a head, and without a second call for each of them."""
        if self._awaited:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
            self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._arrived()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._get_further()
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._get_further()
        super().on_message_complete()
        cast("dict[str, Any]", self.scope)[WHOLE] = Whole(self.cycle)

    def _get_further(self) -> None:
        self._head, self._further = 0, True

    def _expect(self) -> None:
        self._heads += 1
        self._head, self._awaited = 0, self._heads

    def _set_alarm(self) -> None:
        self._late = _ALARMS.set(HEAD_SECONDS, self.transport.abort)

    def _arrived(self) -> None:
        self._head = self._awaited = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _offer(self) -> None:
        self._unread = _ALARMS.set(READ_SECONDS, partial(self._look, self.transport.get_write_buffer_size()))

    def _look(self, before: int) -> None:
        """Let go of somebody who does not read."""
        if before - self.transport.get_write_buffer_size() < MIN_READ:
            self.transport.abort()
        else:
            self._offer()

    def _taken(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
