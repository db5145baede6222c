"""How we come to hear what an upstream says of its own accord: lists that changed, resources that somebody watches.

A legacy process just says it; a legacy server elsewhere says it on a stream that we open for it; a modern one says it
in answer to a request to listen, which names what is watched. Whatever the way, a resource is watched once for all
clients who want that, and for as long as one of them does. When a stream broke, something may have been missed: then
lists are asked for anew and everything that is watched counts as changed, because "look again" is all that is told.

This module refuses to pass on what nobody watches, and to pass on one resource more often than its clients could look.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator

import msgspec

from interlock.core.offers import SUBSCRIBE
from interlock.forward.link import Answer, BadMessage, LinkDown, LinkTimeout, Notification, RpcError
from interlock.forward.pace import Backoff, Pace
from interlock.forward.upstream import Ask, Upstream

UPDATED = "notifications/resources/updated"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
LISTEN_SECONDS = 24 * 3600.0
"""How long one request to listen may take; then it is made anew."""
_INVALID_PARAMS = -32602
_FAILURES = (LinkDown, LinkTimeout, BadMessage)


class _Updated(msgspec.Struct):
    uri: str


class _Filter(msgspec.Struct):
    resourceSubscriptions: list[str] = []  # noqa: N815 (its name on the wire)


class _Acknowledged(msgspec.Struct):
    notifications: _Filter


_UPDATED, _ACKNOWLEDGED = msgspec.json.Decoder(_Updated), msgspec.json.Decoder(_Acknowledged)


class Hearing:
    """What is heard of one upstream. `run` is begun with every start of it and cancelled at its end."""

    def __init__(self, upstream: Upstream, pace: Pace, *, on_missed: Callable[[], None]) -> None:
        """`on_missed` is told when lists may have changed without our hearing of it."""
        self.on_updated: Callable[[str], None] = lambda uri: None
        self._upstream = upstream
        self._pace = pace
        self._on_missed = on_missed
        self._watchers: dict[str, int] = {}
        self._lock = asyncio.Lock()
        self._news = asyncio.Event()
        """Set whenever something below has changed; whoever waits looks again."""
        self._told_of: frozenset[str] = frozenset()
        """What the upstream was last asked to watch, and what of it it does."""
        self._honoured: frozenset[str] = frozenset()
        self._acknowledged = self._deaf = False
        self._broken = False
        """Whether a stream broke since lists were last asked for, and what of the watched may have changed unheard."""
        self._doubtful: set[str] = set()
        self._resting: dict[str, bool] = {}
        """The resources that were told of a moment ago, and whether they changed again since."""

    # Watching ---------------------------------------------------------------------------------------------------

    async def watch(self, uri: str, seconds: float) -> Answer:
        """Watch a resource for one more client; raises LinkDown, LinkTimeout or BadMessage."""
        async with self._lock:
            if uri in self._watchers:
                self._watchers[uri] += 1
                return Answer(b"{}")
            # It counts from now on, so that nothing is missed that happens before the answer is read.
            self._watchers[uri] = 1
            answer = Answer(error=RpcError(_INVALID_PARAMS, "The server does not watch this resource."))
            try:
                answer = await self._begin(uri, seconds)
            finally:
                if answer.error is not None:
                    self.release(uri)
            return answer

    async def _begin(self, uri: str, seconds: float) -> Answer:
        if not self._upstream.modern:
            self._told_of |= {uri}
            return await self._upstream.call(_about(SUBSCRIBE, uri), seconds)
        self._news.set()
        try:
            async with asyncio.timeout(seconds):
                await self._until(lambda: self._deaf or (self._acknowledged and uri in self._told_of))
        except TimeoutError:
            raise LinkTimeout(f"it has not taken note of a subscription within {seconds:g} s") from None
        if uri in self._honoured and not self._deaf:
            return Answer(b"{}")
        return Answer(error=RpcError(_INVALID_PARAMS, "The server does not watch this resource."))

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            self._news.clear()
            await self._news.wait()

    def release(self, uri: str) -> None:
        """One client less watches a resource."""
        left = self._watchers.pop(uri, 0) - 1
        if left > 0:
            self._watchers[uri] = left
        else:
            self._news.set()

    def take_over(self, other: "Hearing") -> None:
        """Watch what another one watched, which hears nothing any more."""
        for uri, count in other._watchers.items():
            self._watchers[uri] = self._watchers.get(uri, 0) + count
        self._news.set()

    # What is told -----------------------------------------------------------------------------------------------

    def told(self, notification: Notification) -> None:
        """Take in what the upstream said."""
        with contextlib.suppress(msgspec.MsgspecError, RecursionError):
            if notification.method == UPDATED:
                for uri in list(self._watched_at(_UPDATED.decode(notification.params).uri)):
                    self._tell(uri)
            elif notification.method == ACKNOWLEDGED:
                heard = _ACKNOWLEDGED.decode(notification.params).notifications
                self._honoured, self._acknowledged = frozenset(heard.resourceSubscriptions), True
                self._news.set()

    def _watched_at(self, uri: str) -> Iterator[str]:
        """What is watched there: the resource itself, and those that it is a part of."""
        return (each for each in self._watchers if uri == each or uri.startswith(each.rstrip("/") + "/"))

    def _tell(self, uri: str) -> None:
        if uri in self._resting:
            self._resting[uri] = True
            return
        self._resting[uri] = False
        asyncio.get_running_loop().call_later(self._pace.updates_apart, self._rested, uri)
        self.on_updated(uri)

    def _rested(self, uri: str) -> None:
        if self._resting.pop(uri) and uri in self._watchers:
            self._tell(uri)

    # Hearing ----------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The upstream has just been started, and knows nothing of what is watched."""
        self._told_of, self._deaf = frozenset(), False
        self._doubtful = set(self._watchers)

    async def run(self) -> None:
        """Hear for as long as the upstream is there."""
        if self._upstream.modern:
            await self._listen()
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear_stream())
            await self._keep_watching()

    async def _break(self, backoff: Backoff) -> None:
        """A stream broke; wait before the next one."""
        self._broken = True
        await asyncio.sleep(backoff.next(self._pace.cap_stdio))
        self._doubtful |= self._watchers.keys()

    def _mend(self) -> None:
        """All is heard again: whoever looks now misses nothing after that."""
        if self._broken:
            self._broken = False
            self._on_missed()
        doubtful, self._doubtful = self._doubtful, set()
        for uri in doubtful & self._watchers.keys():
            self._tell(uri)

    async def _keep_watching(self) -> None:
        """See that a legacy upstream watches what is watched: after its start all of it, later what changes."""
        while True:
            async with self._lock:
                watched = frozenset(self._watchers)
                for uri in watched - self._told_of:
                    await self._ask_legacy(SUBSCRIBE, uri)
                for uri in self._told_of - watched:
                    await self._ask_legacy("resources/unsubscribe", uri)
                self._told_of = watched
            self._mend()
            await self._until(lambda: self._told_of != self._watchers.keys())

    async def _ask_legacy(self, method: str, uri: str) -> None:
        # If it fails, the upstream is in trouble, and its next start brings us here again.
        with contextlib.suppress(*_FAILURES):
            await self._upstream.call(_about(method, uri), self._pace.probe)

    async def _hear_stream(self) -> None:
        """Hear what a legacy server says outside of any request, if it has a stream for that."""
        if not (self._upstream.can.tells or self._upstream.can.subscribe):
            return
        backoff = Backoff(self._pace.first)
        while await self._upstream.hear():
            await self._break(backoff)
            self._mend()

    async def _listen(self) -> None:
        """Listen to a modern upstream, anew whenever something else is watched or the stream has ended."""
        backoff = Backoff(self._pace.first)
        before: asyncio.Task[bool] | None = None
        async with asyncio.TaskGroup() as group:
            while not self._deaf:
                await self._until(lambda: bool(self._watchers or self._upstream.can.tells))
                self._told_of, self._acknowledged = frozenset(self._watchers), False
                listening = group.create_task(self._ask_to_listen())
                listening.add_done_callback(lambda _: self._news.set())
                # The one before goes on until this one hears, so that nothing is missed in between.
                await self._until(lambda now=listening: now.done() or self._acknowledged)
                if before is not None:
                    before.cancel()
                before = listening
                if self._acknowledged:
                    self._mend()
                await self._until(lambda now=listening: now.done() or self._told_of != self._watchers.keys())
                if listening.done():
                    before, self._deaf = None, not listening.result()
                    self._news.set()
                    if not self._deaf:
                        await self._break(backoff)

    async def _ask_to_listen(self) -> bool:
        """One request to listen, for as long as it lasts; whether it is worth to ask again."""
        wanted: dict[str, object] = {f"{each}ListChanged": True for each in self._upstream.can.tells}
        if self._told_of:
            wanted["resourceSubscriptions"] = sorted(self._told_of)
        ask = Ask("subscriptions/listen", msgspec.json.encode({"notifications": wanted}))
        try:
            answer = await self._upstream.call(ask, LISTEN_SECONDS)
        except _FAILURES:
            return True
        return answer.error is None


def _about(method: str, uri: str) -> Ask:
    return Ask(method, msgspec.json.encode({"uri": uri}), uri)
