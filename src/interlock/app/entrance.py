"""The way in for agents, opened when the first one comes.

What speaks the protocol takes longer to load than all the rest, and most commands start a gateway that no agent ever
comes to. So the face behind `/mcp` is made when it is first asked for, and from then on it is there until the gateway
stops. A gateway that is meant for agents opens it at once; one that stands for a single server is told so before.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.types import Receive, Scope, Send

from interlock.core.health import Introduction
from interlock.receive.workspaces import Workspaces

if TYPE_CHECKING:
    from interlock.receive.face import Face


class Entrance:
    """The app behind `/mcp`. `running` has to be entered before anybody can come in."""

    def __init__(self, make: "Callable[[Workspaces, Introduction | None], Face]", workspaces: Workspaces) -> None:
        self.in_place_of: Introduction | None = None
        """The server that clients are to see in our place, if it is one: its name, and its tools only."""
        self._make = make
        self._workspaces = workspaces
        self._face: Face | None = None
        self._wanted, self._ready, self._over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @property
    def workspaces(self) -> Workspaces:
        return self._workspaces

    @workspaces.setter
    def workspaces(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        if self._face is not None:
            self._face.workspaces = workspaces

    def __len__(self) -> int:
        """How many sessions there are."""
        return 0 if self._face is None else len(self._face)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._keep())
            try:
                yield
            finally:
                self._over.set()
                if not self._wanted.is_set():
                    keeping.cancel()

    async def _keep(self) -> None:
        """Make the face and keep it. In a task of its own, because it has to be left by whoever entered it."""
        await self._wanted.wait()
        face = self._make(self._workspaces, self.in_place_of)
        async with face.running():
            self._face = face
            self._ready.set()
            await self._over.wait()

    async def open(self) -> "Face":
        """The face, made if it is not there yet."""
        self._wanted.set()
        await self._ready.wait()
        assert self._face is not None  # noqa: S101 - it is made before it is ready
        return self._face

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        face = self._face
        return self._first(scope, receive, send) if face is None else face(scope, receive, send)

    async def _first(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (await self.open())(scope, receive, send)

    async def end_sessions(self) -> None:
        if self._face is not None:
            await self._face.end_sessions()
