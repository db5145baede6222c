"""Receivers of webhooks on loopback, and a log that a test can wait for."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from interlock.approve.outbox import Message
from interlock.store.protocol import Activity
from tests.forward.raw_server import Peer, RawServer, head

SECONDS = 20
"""After which a test that waits for something has failed."""
PATH = "/services/T0/B0/swordfish?key=hunter2"
"""A path that is a secret itself."""
MESSAGE = Message("msg_1", "approval.created", "apr-1", "github__delete_repo", b'{"type":"approval.created"}')


def answer(status: str, *fields: str) -> bytes:
    return head(status, "Content-Length: 0", *fields)


OK, BROKEN = answer("204 No Content"), answer("500 Internal Server Error")


@asynccontextmanager
async def receiver(*answers: bytes) -> AsyncGenerator[RawServer]:
    """A receiver that gives these answers, one for each request; the last one for all that follow."""
    left = list(answers)

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(left.pop(0) if len(left) > 1 else left[0])

    async with RawServer(script) as server:
        yield server


@asynccontextmanager
async def silent() -> AsyncGenerator[tuple[RawServer, asyncio.Event]]:
    """A receiver that takes a request and never answers; the event says that it has one."""
    asked = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.request()
        asked.set()
        await peer.closed()

    async with RawServer(script) as server:
        yield server, asked


def url_of(server: RawServer) -> str:
    return f"http://127.0.0.1:{server.port}{PATH}"


def shown(server: RawServer) -> str:
    return f"http://127.0.0.1:{server.port}"


class Log:
    """What was logged, in order."""

    def __init__(self) -> None:
        self.activities: list[Activity] = []
        self._news = asyncio.Event()

    def __call__(self, activity: Activity) -> None:
        self.activities.append(activity)
        self._news.set()

    async def until(self, holds: Callable[[list[Activity]], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not holds(self.activities):
                self._news.clear()
                await self._news.wait()

    async def count(self, number: int) -> list[Activity]:
        """Wait until so many are there."""
        await self.until(lambda activities: len(activities) >= number)
        return self.activities
