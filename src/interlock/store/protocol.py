"""What every store can do, in terms of the product and not of SQL.

The store keeps six kinds of things: the sealed log of entries, which only ever grows; the activities that people list
and filter, one row per call, kept in step with the log in the same transaction; the tokens of callers; the operator's
word about tools, that is, what was reviewed of each and which classes were set; the servers that were added, or
switched off, at run time; and approvals. A write is finished when it is durable: whoever awaits it knows that a crash
cannot undo it. When the store cannot write it raises StoreUnavailable, and whoever called refuses the call.

This module refuses to know a database, a thread or a file.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from interlock.clock import Clock
from interlock.core.drift import Reviewed
from interlock.core.lifecycle import CallState
from interlock.core.model import Json, JsonObject, Micros
from interlock.core.safety import SafetyClass

if TYPE_CHECKING:
    import asyncio

    from interlock.store.approvals import Approvals
    from interlock.store.audit.seals import Seals
    from interlock.store.shared import Shared
    from interlock.store.story import Story


class StoreUnavailable(Exception):
    """The store cannot write. The message says what the database said."""


class Uncertain(StoreUnavailable):
    """Whether it was written is not known: the end of the write was not heard, and the store cannot be asked."""


class OutOfTouch(StoreUnavailable):
    """Too long ago was the last look at a store that others change too: what was stopped or revoked is not known."""


class Damaged(StoreUnavailable):
    """A row is not what the store writes: somebody has changed the file. `what` names the row."""

    def __init__(self, what: str, problem: object) -> None:
        super().__init__(f"{what} cannot be read: {problem}")
        self.what = what
        self.problem = problem


class ActivityType(StrEnum):
    TOOL_CALL = "tool_call"
    POLICY_DECISION = "policy_decision"
    APPROVAL = "approval"
    TOOL_CHANGE = "tool_change"
    SERVER_CHANGE = "server_change"
    CONFIG_CHANGE = "config_change"
    TOKEN_CHANGE = "token_change"  # noqa: S105 - a word, no secret
    SYSTEM = "system"


_random: list[str] = []
"""Random texts for ids, a stock of them: to ask the system for each would hand the interpreter to another thread."""


def new_id(now: Micros) -> str:
    """An id of an activity: it sorts by time and cannot be guessed."""
    try:
        return f"{now:014x}{_random.pop()}"
    except IndexError:
        stock = os.urandom(8 * 512).hex()
        _random.extend(stock[at : at + 16] for at in range(0, len(stock), 16))
        return new_id(now)


class Activity(Struct, frozen=True):
    """The story of one call, or of one other thing that happened, as far as it is known.

    The columns are what can be filtered by; `body` holds everything else and is already redacted. Writing an activity
    with an id that exists replaces the row and appends another entry to the log: the log remembers each version.
    """

    id: str
    at: Micros
    type: ActivityType
    status: CallState
    body: JsonObject
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


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """What to list. None means any; `tool` and `server` are exact; `until` is exclusive."""

    types: tuple[ActivityType, ...] = ()
    statuses: tuple[CallState, ...] = ()
    server: str | None = None
    tool: str | None = None
    caller: str | None = None
    session_id: str | None = None
    intent_type: str | None = None
    safety_class: str | None = None
    verdict: str | None = None
    since: Micros | None = None
    until: Micros | None = None
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class ActivityPage:
    """Activities, newest first, and the cursor of the next page if there is one."""

    items: tuple[Activity, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class ActivityCount:
    """How many activities are alike. `at` is the beginning of the stretch of time that they happened in."""

    at: Micros
    status: CallState
    safety_class: str | None
    server: str | None
    verdict: str | None
    count: int


@dataclass(frozen=True, slots=True)
class ActivityStats:
    """Counts of activities. Not `complete` when there were more than anybody should wait for: then the newest."""

    counts: tuple[ActivityCount, ...]
    complete: bool


class TallyBy(StrEnum):
    """Of what calls are counted."""

    RULE = "rule"
    CALLER = "caller"


class Tally(Struct, frozen=True):
    """How many calls there were, and when something last happened; None when that was no call."""

    calls: int
    last: Micros | None


@dataclass(frozen=True, slots=True)
class KeptServer:
    """What is kept of a server beside the configuration file.

    `definition` are the settings of a server that was added at run time; None for one that stands in the file, of which
    only `enabled` is kept. Secrets are in it by reference only.
    """

    enabled: bool
    definition: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One link of the chain: exactly what is stored, so that anyone can compute the hash again."""

    chain: str
    seq: int
    at: Micros
    kind: str
    subject: str
    text: str
    prev: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Token:
    """A credential: who it speaks for and what it may do. The secret itself is stored nowhere, only its hash."""

    id: str
    principal: str
    kind: str
    roles: tuple[str, ...]
    secret_hash: str
    created_at: Micros
    expires_at: Micros | None = None
    revoked_at: Micros | None = None
    scope: JsonObject = field(default_factory=dict[str, Json])


class Store(Protocol):
    """Every method may raise StoreUnavailable; methods that write return when the write is durable.

    A value that no database can hold (half a character in a column, a time beyond 64 bits, the id of a token that
    exists) raises ValueError for whoever brought it, and nothing of that write is kept.
    """

    @property
    def place(self) -> str:
        """Where the record is kept, for people to read: never with a user or a password."""
        ...

    @property
    def approvals(self) -> "Approvals":
        """What the desk needs, kept by the same writer."""
        ...

    @property
    def seals(self) -> "Seals":
        """What whoever seals the log needs, kept by the same writer."""
        ...

    @property
    def story(self) -> "Story":
        """The logs of all gateways on the same store, for those who follow them."""
        ...

    @property
    def shared(self) -> "Shared | None":
        """What gateways on the same store need to know of each other; None where there is only one."""
        ...

    @property
    def clock(self) -> Clock:
        """The time that deadlines are compared with, as near as it is known without asking."""
        ...

    @property
    def ailing(self) -> bool:
        """Whether the last write failed, or records were lost. Whoever cannot bear a loss waits until it is over."""
        ...

    async def start(self) -> None:
        """Open, migrate, and take the chain up where it ended. Refuses a database of a newer version."""
        ...

    async def close(self) -> None:
        """Write what is queued, then let go."""
        ...

    def write(self, activities: Sequence[Activity]) -> "asyncio.Future[bool]":
        """Queue activities and their log entries, to be written in one transaction, in order with everything else. What
        is returned is done when they are durable; what can be known at once is raised at once."""
        ...

    def write_soon(self, activities: Sequence[Activity]) -> None:
        """Queue the same without waiting, in order with everything else. Raises when the queue is full or broken.

        What could not be written, here or later, is counted, and the count is written as soon as anything can be."""
        ...

    async def list_activities(self, wanted: ActivityFilter) -> ActivityPage:
        """Activities that match, newest first. A cursor that was not ours is refused with ValueError."""
        ...

    async def get_activity(self, activity_id: str) -> Activity | None:
        """One activity, by its id."""
        ...

    async def open_activities(self) -> Sequence[Activity]:
        """Calls that were sent and have no outcome, or were received and never finished: what a crash left behind."""
        ...

    async def log_entries(self, after: int, limit: int) -> Sequence[LogEntry]:
        """Entries of this gateway's chain in order, beginning after a sequence number."""
        ...

    async def next_entries(self, after: int, limit: int) -> Sequence[LogEntry]:
        """The same, but waits until there is at least one. Whoever goes on from the last one misses none."""
        ...

    async def log_end(self) -> int:
        """The number of the last entry of this gateway's chain; 0 when there is none."""
        ...

    async def activity_stats(self, wanted: ActivityFilter, width: Micros) -> ActivityStats:
        """Count the activities that match, by stretches of time of this width; `limit` and `cursor` do not matter."""
        ...

    async def tallies(self, by: TallyBy, since: Micros) -> Mapping[str, Tally]:
        """Count the calls since then, by the rule that decided them or by who made them.

        When each last happened is told whenever it was: of a rule its last call, of a caller anything that it did."""
        ...

    async def add_token(self, token: Token, why: Activity) -> bool:
        """Add a token, and the activity that tells of it, in one transaction; False when its principal has one of
        another kind, and then nothing is written. Raises ValueError for an id that there is already."""
        ...

    async def list_tokens(self) -> Sequence[Token]:
        """All tokens, revoked ones included, oldest first."""
        ...

    async def revoke_token(self, token_id: str, at: Micros, why: Activity) -> bool:
        """Revoke a token once; False when there is none or it was revoked before, and then nothing is written."""
        ...

    async def baselines(self) -> Mapping[str, Mapping[str, Reviewed]]:
        """What was reviewed, by server and tool. A server that has a baseline is there even if no tool is in it."""
        ...

    async def baseline_since(self, server: str) -> Micros | None:
        """When the baseline of a server began; None when it has none."""
        ...

    async def begin_baseline(self, server: str, tools: Mapping[str, Reviewed], why: Activity) -> bool:
        """Begin the baseline of a server once; False when it has one, and then nothing is written."""
        ...

    async def keep_reviewed(self, server: str, tools: Mapping[str, Reviewed | None], why: Sequence[Activity]) -> None:
        """Remember tools of a server that has a baseline, or forget them (None), in one transaction with the story."""
        ...

    async def overrides(self) -> Mapping[str, Mapping[str, SafetyClass]]:
        """The classes that were set, by server and tool."""
        ...

    async def put_override(self, server: str, tool: str, safety_class: SafetyClass | None, why: Activity) -> None:
        """Set the class of a tool, or unset it (None), in one transaction with the activity that tells of it."""
        ...

    async def kept_servers(self) -> Mapping[str, KeptServer]:
        """What is kept of servers, by id, in the order in which they were first kept."""
        ...

    async def add_server(self, server: str, kept: KeptServer, why: Activity) -> bool:
        """Keep a server that was not there, with the activity that tells of it; False when one of that id was added
        before, and then nothing is written."""
        ...

    async def put_server(self, server: str, kept: KeptServer | None, why: Activity) -> None:
        """Keep this of a server, or nothing more (None), in one transaction with the activity that tells of it."""
        ...
