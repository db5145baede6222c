"""The live side of the event stream: what was just written to the log, and how servers are doing, told to all readers.

There is one follower of the log for all readers, and it only runs while there are any. Each reader has a bounded queue.
A reader is told where the live part begins for it, so that what came before can be read from the store: what happened
is told once, by the one or by the other. A reader that does not keep up is cut off and can resume from the store;
nobody waits for it, and no memory grows with it.

This module refuses to know HTTP and who may read.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import msgspec

from interlock.core.health import UpstreamState
from interlock.core.lifecycle import CALL, ApprovalState, CallState
from interlock.store.protocol import ActivityType, LogEntry, Store, StoreUnavailable
from interlock.store.story import Mark, farther, is_within
from interlock.web import times
from interlock.web.answers import encoded
from interlock.web.shown import shown_server

MAX_WAITING = 1_000
MAX_BYTES = 4 * 1024 * 1024
"""How many events may wait for one reader, and how long they may be together, before it is cut off. An approval tells
the arguments of its call, and agents choose how long those are."""
PAGE = 20
"""How many entries are read at once. An entry may hold a call's arguments, so these are few."""
_TIMES = ("created_at", "decided_at", "expires_at")
_PAUSE = 1.0
"""How many seconds to wait before a store that cannot be read is asked again."""


class Topic(StrEnum):
    """What a reader can ask for."""

    ACTIVITY = "activity"
    APPROVAL = "approval"
    FREEZE = "freeze"
    SERVER = "server"
    TOOL = "tool"


_TOPICS: dict[str, Topic] = {
    ActivityType.TOOL_CALL: Topic.ACTIVITY,
    ActivityType.POLICY_DECISION: Topic.ACTIVITY,
    ActivityType.APPROVAL: Topic.APPROVAL,
    ActivityType.TOOL_CHANGE: Topic.TOOL,
    ActivityType.SERVER_CHANGE: Topic.SERVER,
    ActivityType.SYSTEM: Topic.FREEZE,
}


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell. `entry` is what tells of it in a log; what was never in one has none."""

    topic: Topic
    name: str
    told: bytes
    entry: LogEntry | None = None
    mark: Mark | None = None
    """The place in the story after it."""


class Reader:
    """One reader of the feed: what waits for it, from `live` on. What is before that is in the store."""

    def __init__(self, topics: Collection[Topic], after: Mark, live: Mark, text: Callable[[Mark], str]) -> None:
        """`text` says a place in the story."""
        self.topics = topics
        self.after = after
        self.live = live
        self._text = text
        self._before = farther(after, live)
        """What has been told to it when the live part begins: here, and at other gateways before."""
        self.answers = False
        """Whether whoever reads may answer approvals."""
        self.flooded = asyncio.Event()
        """Set when more waited for this reader than may: it is told so and cut off."""
        self._waiting: deque[Event] = deque()
        self._bytes = 0
        self._news = asyncio.Event()
        self._ended = False

    @property
    def begins(self) -> str:
        """The place after which it hears everything, as the id of an event."""
        return self._text(self.after)

    def wants(self, event: Event) -> bool:
        return event.topic in self.topics

    def put(self, event: Event) -> None:
        """Let an event wait for the reader; never waits itself."""
        if self._has_heard(event.entry) or not self.wants(event) or self.flooded.is_set():
            return
        if len(self._waiting) >= MAX_WAITING or self._bytes + len(event.told) > MAX_BYTES:
            self._waiting.clear()
            self.flooded.set()
        else:
            self._waiting.append(self._placed(event))
            self._bytes += len(event.told)
        self._news.set()

    def _has_heard(self, entry: LogEntry | None) -> bool:
        if entry is None:
            return False
        return entry.seq <= max(self.after.get(entry.chain, 0), self.live.get(entry.chain, 0))

    def _placed(self, event: Event) -> Event:
        """An event of the live part with the place after it and after all that was told before it."""
        if event.mark is None or is_within(self._before, event.mark):
            return event
        return replace(event, mark=farther(self._before, event.mark))

    def text_of(self, event: Event) -> bytes:
        """The event as it stands in the stream. Its id is the place where its reader can go on, at any gateway."""
        name = event.name.encode()
        if event.mark is None:
            return b"event: %s\ndata: %s\n\n" % (name, event.told)
        place = self._text(event.mark).encode()
        number = place if place.isdigit() else b'"%s"' % place
        return b'id: %s\nevent: %s\ndata: {"number":%s,%s\n\n' % (place, name, number, event.told[1:])

    def end(self) -> None:
        self._ended = True
        self._news.set()

    @property
    def over(self) -> bool:
        """Whether nothing more will come for this reader."""
        return self._ended or self.flooded.is_set()

    async def next(self, seconds: float) -> Event | None:
        """The next event; None when there is none within so many seconds, or never again."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not self._waiting and not self.over:
                    self._news.clear()
                    await self._news.wait()
        if self.over or not self._waiting:
            return None
        event = self._waiting.popleft()
        self._bytes -= len(event.told)
        return event


class Feed:
    """Follows the log for all readers. `running` has to be entered before anybody can join."""

    def __init__(self, store: Store) -> None:
        self._story = store.story
        self.readers: set[Reader] = set()
        self._wanted = asyncio.Event()
        self._joining = asyncio.Lock()
        self._position: Mark = {}
        """The place after the last entry that was told."""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        async with asyncio.TaskGroup() as group:
            follower = group.create_task(self._follow())
            try:
                yield
            finally:
                self.end()
                follower.cancel()

    def end(self) -> None:
        """End all readers: whoever only listens would keep the gateway from stopping."""
        for reader in self.readers:
            reader.end()

    async def join(self, topics: Collection[Topic], after: str | None) -> Reader | None:
        """A reader that goes on after an event, or begins now; None when the story has not come that far. Raises
        ValueError when that is no id of an event."""
        async with self._joining:
            place = None if after is None else await self._story.mark(after)
            end = await self._story.end()
            if after is not None and (place is None or not is_within(place, end)):
                return None
            if not self.readers:
                # Nobody was told anything meanwhile, so there is nothing to catch up with.
                self._position = farther(self._position, end)
            reader = Reader(topics, end if place is None else place, self._position, self._story.text)
            self.readers.add(reader)
            self._wanted.set()
        return reader

    def leave(self, reader: Reader) -> None:
        self.readers.discard(reader)
        if not self.readers:
            self._wanted.clear()

    async def replay(self, reader: Reader) -> AsyncGenerator[Event]:
        """What the reader has missed, up to where the live part begins for it."""
        place = reader.after
        while not is_within(reader.live, place):
            entries = await self._story.entries(place, PAGE)
            missed = [each for each in entries if each.seq <= reader.live.get(each.chain, 0)]
            if not missed:
                return
            for entry in missed:
                place = {**place, entry.chain: entry.seq}
                event = event_of(entry, place)
                if event is not None and reader.wants(event):
                    yield event

    def health(self, state: UpstreamState) -> None:
        """Tell how a server is doing now."""
        self._tell(health_event(state))

    def _tell(self, event: Event) -> None:
        for reader in self.readers:
            reader.put(event)

    async def _follow(self) -> None:
        while True:
            await self._wanted.wait()
            try:
                position = self._position
                for entry in await self._story.next_entries(position, PAGE):
                    position = {**position, entry.chain: entry.seq}
                    event = event_of(entry, position)
                    if event is not None:
                        self._tell(event)
                self._position = farther(self._position, position)  # somebody may have joined meanwhile
            except Exception as failed:  # of the store, or a defect of ours: those who listen are no reason to stop
                if not isinstance(failed, StoreUnavailable):
                    context = {"message": "the log could not be followed", "exception": failed}
                    asyncio.get_running_loop().call_exception_handler(context)
                self.end()  # they come again and resume; to wait in silence would look like nothing happens
                await asyncio.sleep(_PAUSE)


def health_event(state: UpstreamState) -> Event:
    """How a server is doing, as an event."""
    name = f"{Topic.SERVER}.{state.health}"
    return Event(Topic.SERVER, name, encoded({"event": name, **msgspec.to_builtins(shown_server(state))}))


# From the log ---------------------------------------------------------------------------------------------------


class _Body(msgspec.Struct):
    """The parts of a body that an event tells."""

    change: str | None = None
    by: str | None = None


class _Told(msgspec.Struct):
    """An activity as it stands in the log. Its body may be long, so it is left as it is."""

    id: str
    at: int
    type: str
    status: str
    body: msgspec.Raw
    server: str | None = None
    tool: str | None = None
    caller: str | None = None
    session_id: str | None = None
    workspace: str | None = None
    intent_type: str | None = None
    safety_class: str | None = None
    verdict: str | None = None
    rule_id: str | None = None
    approval_id: str | None = None


class _Vote(msgspec.Struct):
    """A vote as it stands in the log."""

    approver: str
    at: int
    scope: str


_TOLD, _BODY = msgspec.json.Decoder(_Told), msgspec.json.Decoder(_Body)
_MEMBERS, _VOTES = msgspec.json.Decoder(dict[str, msgspec.Raw]), msgspec.json.Decoder(list[_Vote])
_TIME = msgspec.json.Decoder(int | None)
_APPROVAL_CHANGES = frozenset({"created", "voted", *(each.value for each in ApprovalState)} - {ApprovalState.PENDING})
"""What becomes of an approval; the log has more about it, such as answers that were refused."""


_FREEZE_CHANGES = frozenset({"frozen", "thawed"})
"""The other things that the system did are told to nobody here."""


def event_of(entry: LogEntry, mark: Mark) -> Event | None:
    """The event that an entry of a log is, with the place after it; None when it is not told, as a call that is still
    under way."""
    topic = _TOPICS.get(entry.kind)
    if topic is None:
        return None
    try:
        told = _TOLD.decode(entry.text.encode("utf-8", "surrogateescape"))
        if topic is Topic.APPROVAL:
            return _approval_event(told, entry, mark)
        if topic is Topic.FREEZE and _BODY.decode(told.body).change not in _FREEZE_CHANGES:
            return None
        if topic is not Topic.ACTIVITY:
            name = f"{topic}.changed"
            return Event(topic, name, encoded(_shown(name, told) | _change(told)), entry, mark)
        if CALL[CallState(told.status)]:
            return None
    except (msgspec.MsgspecError, ValueError):
        return None  # it was tampered with: that is for the audit to say
    name = f"{topic}.{told.status}"
    return Event(topic, name, encoded(_shown(name, told)), entry, mark)


def _approval_event(told: _Told, entry: LogEntry, mark: Mark) -> Event | None:
    """What became of an approval, with the approval as it is shown. Most of it is passed on as it stands in the log."""
    change = _BODY.decode(told.body).change
    if change not in _APPROVAL_CHANGES:
        return None
    members = _MEMBERS.decode(told.body)
    times_shown = {each: times.iso_or_none(_TIME.decode(members[each])) for each in _TIMES if each in members}
    votes = [{"approver": each.approver, "at": times.iso(each.at), "scope": each.scope} for each in _votes(members)]
    name = f"{Topic.APPROVAL}.{change}"
    shown = {each: value for each, value in members.items() if each != "change"} | times_shown | {"votes": votes}
    return Event(Topic.APPROVAL, name, encoded({"event": name, **shown}), entry, mark)


def _votes(members: Mapping[str, msgspec.Raw]) -> list[_Vote]:
    return _VOTES.decode(members["votes"]) if "votes" in members else []


def _shown(name: str, told: _Told) -> dict[str, Any]:
    columns = {each: getattr(told, each) for each in told.__struct_fields__ if each not in ("body", "workspace")}
    return {"event": name, **columns, "at": times.iso(told.at), "workspace_id": told.workspace}


def _change(told: _Told) -> dict[str, Any]:
    body = _BODY.decode(told.body)
    return {"change": body.change, "by": body.by}
