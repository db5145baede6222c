"""A reader of the event stream, without a socket in between: what it hears, when it stops reading, when it leaves."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from interlock.web import PREFIX
from tests.web.office import HOST, Office

SECONDS = 20
"""After which a test that waits for an event has failed."""


@dataclass(frozen=True)
class Heard:
    """One event: its name, its id, and what it says."""

    name: str
    id: str | None
    data: dict[str, Any]


@dataclass
class Listener:
    """One reader. While `reading` is not set, it takes nothing, as a client whose window is full."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict[str, str])
    text: str = ""
    reading: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.reading.set()

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        await self.reading.wait()
        async with self._news:
            self.text += message.get("body", b"").decode()
            self._news.notify_all()

    async def serve(self, office: Office, scope: dict[str, Any]) -> None:
        await office.app(scope, self.receive, self.send)
        self.ended.set()
        async with self._news:
            self._news.notify_all()

    @property
    def events(self) -> list[Heard]:
        return [_heard(block) for block in self.text.split("\n\n")[:-1] if "data:" in block]

    def named(self, *beginnings: str) -> list[Heard]:
        return [each for each in self.events if each.name.startswith(beginnings)]

    async def hears(self, count: int, *beginnings: str) -> list[Heard]:
        """Wait until so many events of a name were heard, and give them."""
        async with asyncio.timeout(SECONDS), self._news:
            await self._news.wait_for(lambda: len(self.named(*beginnings)) >= count)
        return self.named(*beginnings)

    async def hears_text(self, text: str) -> None:
        async with asyncio.timeout(SECONDS), self._news:
            await self._news.wait_for(lambda: text in self.text)

    async def is_over(self) -> None:
        async with asyncio.timeout(SECONDS):
            await self.ended.wait()


def _heard(block: str) -> Heard:
    fields = dict(line.split(": ", 1) for line in block.split("\n"))
    return Heard(fields["event"], fields.get("id"), json.loads(fields["data"]))


@contextlib.asynccontextmanager
async def listening(
    office: Office,
    query: str = "",
    last: str | None = None,
    role: str = "auditor",
    *,
    token: str | None = None,
    path: str = "/events",
) -> AsyncGenerator[Listener]:
    """Somebody reads the stream until the block ends."""
    listener = Listener()
    given = {"host": HOST, "authorization": f"Bearer {token or await office.token(role)}"}
    given |= {} if last is None else {"last-event-id": last}
    scope: dict[str, Any] = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": f"{PREFIX}{path}",
        "raw_path": f"{PREFIX}{path}".encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    async with asyncio.TaskGroup() as group:
        task = group.create_task(listener.serve(office, scope))
        try:
            await listener.hears_text("\n")
            yield listener
        finally:
            listener.left.set()
            listener.reading.set()
            await asyncio.wait({task}, timeout=SECONDS)
            task.cancel()
