"""An agent's client over stdin and stdout, bridged to the HTTP face of a gateway.

There is one door to the tools, and that is `/mcp`. So a line from stdin becomes a POST, decoded strictly before, and
what comes back, at once or as events, becomes lines on stdout. What HTTP has and stdio has not is added here: the
headers that repeat a part of the body (2026-07-28), the session and its event stream (earlier revisions), and leaving
a request as the way to cancel it. The gateway may go away and another one take its place; the client does not notice,
except that requests that were under way are answered with an error.

This module refuses to send a request a second time when the first may have arrived, to decide anything about a call,
and to know who the client is: that is said in the headers it is given.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import msgspec

from interlock import errors
from interlock.receive import replies, translate
from interlock.receive.decode import (
    INVALID_REQUEST,
    Message,
    Notice,
    Request,
    RequestId,
    Undecodable,
    decode_message,
)
from interlock.receive.lines import Outlet, lines, pieces
from interlock.receive.questions import Questions
from interlock.receive.reach import Ask, NotSent, Reach, Unreachable
from interlock.receive.translate import SESSION, VERSION

IN_FLIGHT = 200
"""Requests that the gateway is asked at once; others wait, and can be cancelled while they do."""
MAX_OPEN = 1000
MAX_OPEN_BYTES = 64 * 1024 * 1024
"""Requests that may be open, and their length together; beyond that nothing more is read."""
ATTEMPTS = 3
"""How often a request is tried that has not left."""
GOODBYE_SECONDS = 1.0
"""How long the last lines, and the end of the session, may take; a client waits about two seconds for our exit."""
LOST, NOT_SENT = -32002, -32003
INTERNAL = -32603

_PATH = "/mcp"
_ACCEPT = {"accept": "application/json, text/event-stream"}
_POST = {**_ACCEPT, "content-type": "application/json"}

Renew: TypeAlias = Callable[[], Awaitable[Reach]]
"""Finds a gateway after one went away; raises Unreachable."""
Say: TypeAlias = Callable[[bytes], Awaitable[None]]
Hear: TypeAlias = Callable[[bytes], Awaitable[None]]


async def serve_stdio(
    reach: Reach, renew: Renew, *, headers: Mapping[str, str], limit: int, stdin: int, stdout: int
) -> None:
    """Serve the client behind two descriptors until it closes one of them."""
    outlet = Outlet(stdout)
    bridge = Bridge(reach, renew, headers=headers, limit=limit, say=outlet.say)
    async with asyncio.TaskGroup() as group:
        writing = group.create_task(outlet.run())
        reading = group.create_task(bridge.run(lines(pieces(stdin), limit)))
        await asyncio.wait({writing, reading}, return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await outlet.said()
        reading.cancel()
        writing.cancel()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where requests go: a gateway, and the headers of our session there if there is one."""

    reach: Reach
    session: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class _Head:
    """How an HTTP request ended; the body only if it was refused."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request under way."""

    task: asyncio.Task[None]
    modern: bool


class Bridge:
    """One client, and the gateway that serves it now."""

    def __init__(self, reach: Reach, renew: Renew, *, headers: Mapping[str, str], limit: int, say: Say) -> None:
        self._place = _Place(reach)
        self._renew = renew
        self._headers = headers
        self._limit = limit
        self._say = say
        self._group = asyncio.TaskGroup()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pending: dict[RequestId, _Pending] = {}
        self._room = _Room()
        self._slots = asyncio.Semaphore(IN_FLIGHT)
        self._questions = Questions()
        self._opening: bytes | None = None
        """The client's own `initialize`, once it was answered."""
        self._initialized: bytes | None = None
        self._stream: asyncio.Task[None] | None = None
        self._moving: asyncio.Task[str] | None = None

    async def run(self, arriving: AsyncIterator[bytes | None]) -> None:
        """Serve the lines until they end; then everything that is under way ends too, and so does the session."""
        try:
            async with asyncio.TaskGroup() as self._group:
                async for line in arriving:
                    await self._take(line)
                for task in list(self._tasks):
                    task.cancel()
        finally:
            await self._end_session()

    def _start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _take(self, line: bytes | None) -> None:
        if line is None:
            why = translate.sentence(errors.LINE_TOO_LONG(limit=self._limit))
            await self._say(replies.error_response(None, INVALID_REQUEST, why))
        elif line.strip():
            try:
                await self._dispatch(line, decode_message(line))
            except Undecodable as bad:
                await self._say(replies.error_response(bad.id, bad.code, bad.why))

    async def _dispatch(self, line: bytes, message: Message) -> None:
        if isinstance(message, Request):
            await self._request(line, message)
        elif isinstance(message, Notice):
            await self._notice(line, message)
        else:
            answer = self._questions.answered(line, message.id)
            if answer is not None:
                await self._tell(answer)

    # Requests ---------------------------------------------------------------------------------------------------

    async def _request(self, line: bytes, request: Request) -> None:
        if request.id in self._pending:
            # Without its id, because that would be taken for the answer to the other one.
            raise Undecodable(INVALID_REQUEST, translate.sentence(errors.ID_IN_USE(id=request.id)))
        modern = translate.is_modern(request.params)
        if request.method == "initialize" and not modern:
            # Nothing else is read meanwhile: what follows belongs to the session that this opens.
            await self._initialize(line, request)
            return
        mirrored = translate.mirrored(request) if modern else None
        await self._room.take(len(line))
        task = self._start(self._serve(line, request, mirrored))
        self._pending[request.id] = pending = _Pending(task, modern)
        # Not at the end of the task: one that is cancelled before its first step has none.
        task.add_done_callback(lambda _: self._done(request.id, pending, len(line)))

    def _done(self, request_id: RequestId, pending: _Pending, size: int) -> None:
        if self._pending.get(request_id) is pending:
            del self._pending[request_id]
        self._room.give(size)

    async def _serve(self, line: bytes, request: Request, mirrored: Mapping[str, str] | None) -> None:
        async def send(place: _Place, hear: Hear) -> _Head:
            return await self._post(place.reach, place.session if mirrored is None else mirrored, line, hear)

        async with self._slots:
            failure = await self._asked(request, send, in_session=mirrored is None)
        if failure is not None:
            self._pending.pop(request.id, None)
            await self._say(failure)

    async def _asked(
        self, request: Request, send: Callable[[_Place, Hear], Awaitable[_Head]], *, in_session: bool
    ) -> bytes | None:
        """Ask the gateway and pass on what it says; the error to answer with, if it gave no answer."""
        answers = 0

        async def hear(message: bytes) -> None:
            nonlocal answers
            answers += await self._pass_on(message, request.id)

        problem = ""
        for _ in range(ATTEMPTS):
            place = await self._settled()
            try:
                head = await send(place, hear)
            except NotSent as gone:
                problem = await self._moved(place, renew=True)
                if problem:
                    break
                problem = str(gone)
            except Unreachable:
                self._move_soon(place, renew=True)
                return None if answers else translate.error(request.id, LOST, errors.GATEWAY_LOST())
            else:
                if head.status == 404 and in_session and place.session:
                    # The session has ended, and the request with it before anybody looked at it.
                    problem = await self._moved(place, renew=False) or "the session has ended"
                elif head.status >= 400:
                    return translate.refusal(request.id, head.status, head.body)
                else:
                    return None if answers else replies.error_response(request.id, INTERNAL, "No answer was given.")
        return translate.error(request.id, NOT_SENT, errors.GATEWAY_NOT_REACHED(problem=problem))

    async def _post(self, reach: Reach, headers: Mapping[str, str], line: bytes, hear: Hear) -> _Head:
        """Send a message, and hear what is said in answer to it."""
        async with reach.ask(Ask("POST", _PATH, {**_POST, **self._headers, **headers}, line)) as response:
            if response.status >= 400:
                return _Head(response.status, response.headers, await response.whole())
            if response.headers.get("content-type", "").startswith("text/event-stream"):
                async for message in response.events():
                    await hear(message)
            elif message := await response.whole():
                await hear(message)
            return _Head(response.status, response.headers)

    async def _pass_on(self, message: bytes, request_id: RequestId | None = None) -> bool:
        """Pass a message of the gateway on to the client; whether it was an answer."""
        try:
            shown, is_answer = self._questions.shown(message)
        except msgspec.MsgspecError:
            return False
        if is_answer and request_id is not None:
            # Before the client can know: some use the same id for the next request.
            self._pending.pop(request_id, None)
        await self._say(shown)
        return is_answer

    # Notifications ----------------------------------------------------------------------------------------------

    async def _notice(self, line: bytes, notice: Notice) -> None:
        if notice.method == "notifications/cancelled":
            await self._cancelled(line, notice.params.get("requestId"))
        elif notice.method == "notifications/initialized" and self._place.session:
            self._initialized = line
            await self._tell(line)
            self._listen()
        elif not translate.is_modern(notice.params):  # over HTTP that revision has none that anybody hears
            await self._tell(line)

    async def _cancelled(self, line: bytes, wanted: object) -> None:
        known = isinstance(wanted, str | int) and not isinstance(wanted, bool)
        pending = self._pending.get(cast("RequestId", wanted)) if known else None
        if pending is None:
            return
        if not pending.modern:
            await self._tell(line)
        # Leaving the request is what cancels it in the modern protocol. In the legacy one it is for the case that the
        # notification overtook it; and a request that was cancelled is not answered.
        pending.task.cancel()

    async def _tell(self, line: bytes) -> None:
        """Send something that has no answer, in order, if there is a session that it could belong to."""
        place = await self._settled()
        if not place.session:
            return
        try:
            head = await self._post(place.reach, place.session, line, _ignore)
        except Unreachable:
            await self._moved(place, renew=True)
        else:
            if head.status == 404:
                await self._moved(place, renew=False)

    # The session of a legacy client -----------------------------------------------------------------------------

    async def _initialize(self, line: bytes, request: Request) -> None:
        await self._end_session()

        async def send(place: _Place, hear: Hear) -> _Head:
            head, session = await self._open(place.reach, line, hear)
            self._place = _Place(place.reach, session)
            self._opening = line if session else None
            return head

        failure = await self._asked(request, send, in_session=False)
        if failure is not None:
            await self._say(failure)

    async def _open(self, reach: Reach, line: bytes, hear: Hear) -> tuple[_Head, dict[str, str]]:
        """Send an `initialize`; the headers of the session that it opened, if it did."""
        version = ""

        async def note(message: bytes) -> None:
            nonlocal version
            version = translate.version_in(message) or version
            await hear(message)

        head = await self._post(reach, {}, line, note)
        if head.status >= 400 or SESSION not in head.headers or not version:
            return head, {}
        return head, {SESSION: head.headers[SESSION], VERSION: version}

    def _listen(self) -> None:
        """Open the stream of what the gateway says of its own accord."""
        if self._place.session and self._initialized is not None and self._stream is None:
            self._stream = self._start(self._listening(self._place))

    async def _listening(self, place: _Place) -> None:
        headers = {**_ACCEPT, **self._headers, **place.session}
        try:
            async with place.reach.ask(Ask("GET", _PATH, headers)) as response:
                if response.status == 200:
                    async for message in response.events():
                        await self._pass_on(message)
        except Unreachable:
            self._move_soon(place, renew=True)

    async def _end_session(self) -> None:
        place, self._place = self._place, _Place(self._place.reach)
        self._opening = self._initialized = None
        self._questions.void()
        self._stop_listening()
        if place.session:
            ask = Ask("DELETE", _PATH, {**_ACCEPT, **self._headers, **place.session})
            with contextlib.suppress(Unreachable, TimeoutError):
                async with asyncio.timeout(GOODBYE_SECONDS), place.reach.ask(ask) as response:
                    await response.whole()

    def _stop_listening(self) -> None:
        if self._stream is not None:
            self._stream.cancel()
            self._stream = None

    # Another gateway, or another session ------------------------------------------------------------------------

    async def _settled(self) -> _Place:
        """Where requests go, once that is known."""
        if self._moving is not None:
            await asyncio.shield(self._moving)
        if self._opening is not None and not self._place.session:
            # The last gateway would not open one; it may have been short of something.
            await self._moved(self._place, renew=False)
        return self._place

    def _move_soon(self, place: _Place, *, renew: bool) -> asyncio.Task[str] | None:
        """Begin to leave a place that does not serve us any more, unless that was done already."""
        if self._place is not place:
            return None
        if self._moving is None or self._moving.done():
            # At once: from now on an answer to one of them has nobody to go to.
            withdrawals = self._questions.void()
            # A task of its own: whoever waits for it may be cancelled, and the others still want it.
            self._moving = self._start(self._move(place, withdrawals, renew=renew))
        return self._moving

    async def _moved(self, place: _Place, *, renew: bool) -> str:
        """Leave a place; what went wrong with that."""
        moving = self._move_soon(place, renew=renew)
        return "" if moving is None else await asyncio.shield(moving)

    async def _move(self, place: _Place, withdrawals: list[bytes], *, renew: bool) -> str:
        self._stop_listening()
        for withdrawal in withdrawals:
            await self._say(withdrawal)
        try:
            reach = await self._renew() if renew else place.reach
            self._place = _Place(reach, await self._session_at(reach))
        except Unreachable as gone:
            return str(gone)
        self._listen()
        return ""

    async def _session_at(self, reach: Reach) -> Mapping[str, str]:
        """A session like the one we had, opened with the client's own words and without its notice."""
        if self._opening is None:
            return {}
        _, session = await self._open(reach, self._opening, _ignore)
        if session and self._initialized is not None:
            await self._post(reach, session, self._initialized, _ignore)
        return session


class _Room:
    """Room for open requests. Only the reader takes any, so at most one waits."""

    def __init__(self) -> None:
        self._count = 0
        self._bytes = 0
        self._freed = asyncio.Event()

    async def take(self, size: int) -> None:
        while self._count and (self._count >= MAX_OPEN or self._bytes + size > MAX_OPEN_BYTES):
            self._freed.clear()
            await self._freed.wait()
        self._count += 1
        self._bytes += size

    def give(self, size: int) -> None:
        self._count -= 1
        self._bytes -= size
        self._freed.set()


async def _ignore(message: bytes) -> None:
    """Hears what is not for the client."""
