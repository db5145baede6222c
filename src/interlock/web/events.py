"""`GET /events`: one stream of everything that happens, as server-sent events, resumable where it broke off; and
`GET /approvals/stream`, the same of approvals alone.

Events that come from a log carry as id the place after them; with `Last-Event-ID` a reader goes on from there and
misses nothing, at whichever of the gateways on one store. The head of the answer has such an id too, for a reader whose
stream ends before the first event. How servers are doing is in no log: each reader is told of all of them at the
beginning, and of every change. The credential is looked at again before anything is sent, because a stream may outlive
it.

This module refuses to wait for a reader that does not read: it is told so with `overflow`, if it takes even that, and
cut off.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated

from fastapi import Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from interlock import errors
from interlock.receive.identify import Principal
from interlock.store.protocol import StoreUnavailable
from interlock.web import access
from interlock.web.feed import Event, Reader, Topic, health_event
from interlock.web.filters import words
from interlock.web.parts import Here, Parts, Who
from interlock.web.problems import Refusal

HEARTBEAT_SECONDS = 15.0
LAST_SECONDS = 5.0
"""How long a reader that is cut off may take to hear of it."""
EVENT_STREAM = "text/event-stream"

_OPENING = b"retry: 3000\n: interlock\n\n"
_STILL_HERE = b": still here\n\n"
_OVERFLOW = b'event: overflow\ndata: {"event":"overflow"}\n\n'


class EventQuery(BaseModel):
    """What to hear of."""

    model_config = ConfigDict(extra="forbid")

    types: list[str] = Field(default=[], description=f"Any of {', '.join(Topic)}; all when left out.")


async def stream_events(query: Annotated[EventQuery, Query()], request: Request, here: Here, who: Who) -> Response:
    """Hear of calls that ended, of approvals, of stops, and of servers and tools that changed, as it happens.

    Events: `activity.<status>`, `approval.<change>`, `server.<health>`, `server.changed`, `tool.changed`,
    `freeze.changed`, and `overflow` before a reader that does not keep up is cut off. `Last-Event-ID` resumes; the
    header of that name in the answer is where it begins.
    """
    return await _stream(frozenset(words("types", query.types, Topic)) or frozenset(Topic), request, here, who)


async def stream_approvals(request: Request, here: Here, who: Who) -> Response:
    """Hear of approvals as they are asked for and answered.

    Events: `approval.created`, `approval.voted`, `approval.approved`, `approval.denied`, `approval.timeout`,
    `approval.cancelled`, each with the approval as it is then, and `overflow` before a reader that does not keep up is
    cut off. `Last-Event-ID` resumes; the header of that name in the answer is where it begins.
    """
    return await _stream(frozenset({Topic.APPROVAL}), request, here, who)


async def _stream(topics: frozenset[Topic], request: Request, here: Parts, who: Principal) -> Response:
    try:
        reader = await here.feed.join(topics, request.headers.get("last-event-id") or None)
    except ValueError as bad:
        raise Refusal(errors.BAD_FIELDS(problems=f"Last-Event-ID: {bad}")) from None
    if reader is None:
        raise Refusal(errors.BAD_FIELDS(problems="Last-Event-ID: it is no id of this gateway; leave it out"))
    reader.answers = not access.refusal_of(who, access.APPROVERS)
    return EventStream(here, reader, lambda: access.may_still_read(request))


class EventStream(Response):
    """An answer that goes on until the reader leaves, is cut off or may no longer read, or the gateway stops."""

    media_type = EVENT_STREAM

    def __init__(self, here: Parts, reader: Reader, may_read: Callable[[], Awaitable[bool]]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.headers["last-event-id"] = reader.begins
        self._here = here
        self._reader = reader
        self._may_read = may_read

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with asyncio.TaskGroup() as group:
                talk = group.create_task(self._talk(send))
                others = {group.create_task(_left(receive)), group.create_task(self._flooded())}
                await asyncio.wait({talk, *others}, return_when=asyncio.FIRST_COMPLETED)
                for each in (talk, *others):
                    each.cancel()
        finally:
            self._here.feed.leave(self._reader)

    async def _flooded(self) -> None:
        """Returns when a reader was told of the flood long enough ago, whether it listened or not."""
        await self._reader.flooded.wait()
        await asyncio.sleep(LAST_SECONDS)

    async def _talk(self, send: Send) -> None:
        async def say(text: bytes) -> None:
            await send({"type": "http.response.body", "body": text, "more_body": True})

        with contextlib.suppress(StoreUnavailable):  # it comes again and resumes
            await self._tell_all(say)
        last = _OVERFLOW if self._reader.flooded.is_set() else b""
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _tell_all(self, say: Callable[[bytes], Awaitable[None]]) -> None:
        await say(_OPENING)
        async for event in self._beginning():
            if self._reader.over or not await self._may_read():
                return
            await say(self._reader.text_of(event))
        while not self._reader.over:
            event = await self._reader.next(HEARTBEAT_SECONDS)
            if self._reader.over or not await self._may_read():
                return
            await say(_STILL_HERE if event is None else self._reader.text_of(event))

    async def _beginning(self) -> AsyncGenerator[Event]:
        """How the servers are doing, and what the reader has missed."""
        for state in self._here.upstreams.states():
            event = health_event(state)
            if self._reader.wants(event):
                yield event
        async for event in self._here.feed.replay(self._reader):
            yield event


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
