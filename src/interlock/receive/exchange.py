"""The HTTP side of one call: JSON at the end, or an event stream from the first notification on.

Most calls end within milliseconds and say nothing on the way, so the common case costs no task: the connection is only
watched once a call takes a while, and a speaker is only started by the first thing to say. In the modern protocol
closing the connection is cancelling; in the legacy one nobody is left to read the answer, which comes to the same.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Send

from interlock.alarms import Alarms
from interlock.receive import replies

if TYPE_CHECKING:  # whoever speaks over pipes needs no server
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

WATCH_AFTER = 0.05
MAX_UNREAD, MAX_UNREAD_BYTES = 1000, 1024 * 1024
"""Notifications that may wait for a slow reader; more are dropped, because progress is not worth memory."""

JSON_HEADERS = (b"content-type", b"application/json")
SSE_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]

_ALL_WELL: Mapping[int, int] = {}
_JSON_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%s\r\n"
_CLOSES = b"connection: close\r\n"


async def send_json(send: Send, status: int, body: bytes, more: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """A whole JSON answer."""
    headers = [JSON_HEADERS, (b"content-length", str(len(body)).encode()), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_accepted(send: Send) -> None:
    """The answer to a message that wants none."""
    await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


class Whole:
    """A request that has arrived in one piece, and the short way to an answer that leaves in one: without the messages
    by which an application and its server take turns. Whoever has taken the body does not receive it."""

    __slots__ = ("_cycle",)

    def __init__(self, cycle: "RequestResponseCycle") -> None:
        self._cycle = cycle

    def body(self) -> bytes:
        """All of it."""
        cycle = self._cycle
        body = bytes(cycle.body)
        cycle.body.clear()
        cycle.waiting_for_100_continue = False
        if not cycle.disconnected:
            cycle.message_event.clear()  # what is received next is that the client has gone
            cycle.flow.resume_reading()
        return body

    def answer(self, text: bytes) -> bool:
        """Send a JSON answer with status 200, if that can be done at once; else it is for whoever sends messages."""
        cycle = self._cycle
        if cycle.response_started or cycle.disconnected or cycle.flow.write_paused or cycle.scope["method"] != "POST":
            return False
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(_JSON_HEAD % (len(text), b"" if cycle.keep_alive else _CLOSES) + text)
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
        return True


class HttpExchange:
    """One request under way. `side` is the task group that owns what has to run beside it.

    `statuses` are those of errors, by their code; every other answer goes out with 200, and so does what follows a
    stream that has begun. `whole` is there when there is a short way to the client.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        side: asyncio.TaskGroup,
        alarms: Alarms,
        statuses: Mapping[int, int] = _ALL_WELL,
        whole: Whole | None = None,
    ) -> None:
        self._receive = receive
        self._send = send
        self._side = side
        self._alarms = alarms
        self._statuses = statuses
        self._whole = whole
        self._unread: asyncio.Queue[bytes | None] | None = None
        """There once there was something to say before the answer; so is the speaker."""
        self._unread_bytes = 0
        self._helpers: list[asyncio.Task[None]] = []
        self._speaker: asyncio.Task[None] | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False
        self._gone = False

    def tell(self, message: bytes) -> bool:
        """Say something before the answer; whether there was room for it."""
        if self._unread is None:
            self._unread = asyncio.Queue()
            self._speaker = self._side.create_task(self._speak(self._unread))
        if self._unread.qsize() >= MAX_UNREAD or self._unread_bytes + len(message) > MAX_UNREAD_BYTES:
            return False
        self._unread_bytes += len(message)
        self._unread.put_nowait(message)
        return True

    def cancel(self) -> None:
        """End the call from outside."""
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    async def run(self, work: Awaitable[bytes], on_cancel: Callable[[], bytes]) -> None:
        """Run a call to its end and send its answer, or `on_cancel` when it was cancelled and somebody still reads."""
        try:
            answer = await self._answer(work, on_cancel)
            if not self._gone:
                await self._finish(answer)
        finally:
            if self._speaker is not None:
                self._speaker.cancel()  # it has ended, unless there is nobody to speak to any more

    async def _answer(self, work: Awaitable[bytes], on_cancel: Callable[[], bytes]) -> bytes:
        self._task = asyncio.current_task()
        timer = self._alarms.set(WATCH_AFTER, self._start_watching)
        try:
            return await work
        except asyncio.CancelledError:
            if not self._cancelled or self._task is None:
                raise
            self._task.uncancel()
            return on_cancel()
        finally:
            self._task = None
            timer.cancel()
            for helper in self._helpers:
                helper.cancel()

    def _start_watching(self) -> None:
        self._helpers.append(self._side.create_task(self._watch()))

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self.cancel()

    async def _speak(self, unread: "asyncio.Queue[bytes | None]") -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": SSE_HEADERS})
        while (message := await unread.get()) is not None:
            await self._send({"type": "http.response.body", "body": replies.sse_event(message), "more_body": True})
            self._unread_bytes -= len(message)

    async def _finish(self, answer: bytes) -> None:
        if self._unread is None or self._speaker is None:
            status = self._statuses.get(answer.code, 200) if isinstance(answer, replies.ErrorAnswer) else 200
            if status != 200 or self._whole is None or not self._whole.answer(answer):
                await send_json(self._send, status, answer)
            return
        self._unread.put_nowait(None)
        await self._speaker
        await self._send({"type": "http.response.body", "body": replies.sse_event(answer)})
