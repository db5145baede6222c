"""Who hears of changes: lists that changed, and resources that somebody watches.

A client of the legacy protocol hears on the stream of its session, a modern one on the stream of its listening. Both
are a `Hearer` here. Nobody hears of a server that is out of its scope, not even that something changed, and an updated
resource is told to those who watch it, under the name that they used.

What is told is only "look again", so nothing is kept for a client that does not listen, and the same thing is told once
however often it happened meanwhile.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from mcp.server.session import ServerSession
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)

from interlock.core.decide import in_scope
from interlock.core.model import Caller
from interlock.core.offers import Kind, OfferChange
from interlock.core.toolbook import reaches

MAX_WATCHED = 1_000
"""How many resources one client may watch."""


@dataclass(eq=False, slots=True)
class Hearer:
    """One client that can be told something. `watched` maps a server and a URI of it to the name that the client used.

    `end` lets go of it at once.
    """

    caller: Caller
    deliver: Callable[[ServerEvent], None] = lambda event: None
    end: Callable[[], None] = lambda: None
    watched: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


class Earshot:
    """All hearers."""

    def __init__(self, *, tools: bool) -> None:
        """Without `tools` nobody is told of tools: where agents search for them, the list that they see is ours."""
        self._tools = tools
        self._hearers: set[Hearer] = set()

    def __len__(self) -> int:
        return len(self._hearers)

    def add(self, hearer: Hearer) -> None:
        self._hearers.add(hearer)

    def remove(self, hearer: Hearer) -> None:
        self._hearers.discard(hearer)

    def end(self) -> None:
        """Let go of everybody, because the gateway is about to stop."""
        for hearer in list(self._hearers):
            hearer.end()

    def tools_changed(self, server: str) -> None:
        if self._tools:
            self._tell(ToolsListChanged(), lambda caller: reaches(caller, server))

    def offer_changed(self, change: OfferChange) -> None:
        for kinds, event in _EVENTS:
            if change.kinds & kinds:
                method = next(iter(kinds)).used_by
                self._tell(event, lambda caller, method=method: in_scope(caller, change.server, method))

    def updated(self, server: str, uri: str) -> None:
        """A resource changed."""
        for hearer in list(self._hearers):
            if (server, uri) in hearer.watched:
                hearer.deliver(ResourceUpdated(hearer.watched[server, uri]))

    def _tell(self, event: ServerEvent, may_hear: Callable[[Caller], bool]) -> None:
        for hearer in list(self._hearers):
            if may_hear(hearer.caller):
                hearer.deliver(event)


_EVENTS: tuple[tuple[frozenset[Kind], ServerEvent], ...] = (
    (frozenset({Kind.RESOURCES, Kind.TEMPLATES}), ResourcesListChanged()),
    (frozenset({Kind.PROMPTS}), PromptsListChanged()),
)


@dataclass(slots=True)
class Opening:
    """A session that is being opened: the SDK's side of it is there once its client was answered."""

    session: ServerSession | None = None


class Voice:
    """Tells a legacy session of changes, one after the other, as fast as its client reads."""

    def __init__(self, opening: Opening, side: asyncio.TaskGroup) -> None:
        self._opening = opening
        self._side = side
        self._untold: dict[ServerEvent, None] = {}
        self._speaker: asyncio.Task[None] | None = None

    def deliver(self, event: ServerEvent) -> None:
        self._untold[event] = None
        if self._speaker is None or self._speaker.done():
            self._speaker = self._side.create_task(self._speak())

    def end(self) -> None:
        self._untold.clear()
        if self._speaker is not None:
            self._speaker.cancel()

    async def _speak(self) -> None:
        while self._untold:
            event = next(iter(self._untold))
            del self._untold[event]
            if self._opening.session is not None:
                await self._opening.session.send_notification(event_to_notification(event, {}))
