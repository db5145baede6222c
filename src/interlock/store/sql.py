"""What a store in a database with SQL does, whichever it is: which statement is run for what, and what its rows mean.

Reading and writing themselves are left to the database at hand. It is told of reads by `_rows` and of writes by the one
queue, from which its ledger takes everything that has gathered into one transaction.

This module refuses to open anything, and to know how a statement gets to its database.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from interlock.clock import Clock
from interlock.core.canonical import canonical_text
from interlock.core.drift import Reviewed
from interlock.core.lifecycle import CALL, CallState
from interlock.core.model import Micros
from interlock.core.redact import NOTHING_KNOWN, KnownSecrets
from interlock.core.safety import SafetyClass
from interlock.store import queries
from interlock.store.approvals import Approvals
from interlock.store.audit.seals import Seals
from interlock.store.protocol import (
    Activity,
    ActivityFilter,
    ActivityPage,
    ActivityStats,
    KeptServer,
    LogEntry,
    StoreUnavailable,
    Tally,
    TallyBy,
    Token,
)
from interlock.store.rows import (
    Record,
    Row,
    activity_of,
    count_of,
    cursor_of,
    entry_of,
    nearest_integer,
    record_of,
    reviewed_of,
    reviewed_row,
    server_of,
    server_row,
    storable,
    token_of,
    token_row,
)
from interlock.store.shared import Shared
from interlock.store.sql_approvals import SqlApprovals
from interlock.store.sql_seals import SqlSeals
from interlock.store.story import OneLog, Story
from interlock.store.writer import GroupWriter, Guard, Job, Ledger, Limits, Rows

MAX_PAGE = 500
"""The most activities that one page of a list holds."""

MAX_COUNTED = 200_000
"""The most activities that are counted at once: a fraction of a second, in which nothing else is read."""

MOST_TALLIED = 10_000
"""The most rules or callers that calls are counted of."""

OPEN_STATES = canonical_text([state for state in CallState if CALL[state]])
_NOT_OPEN = "The store is not open."


class LogLedger(Ledger, Protocol):
    """A ledger that knows how far it has written the log."""

    @property
    def end(self) -> int:
        """The number of the last entry, as of the last commit of this process; 0 before the first."""
        ...


class SqlStore(ABC):
    """The store of one gateway, in a database."""

    def __init__(self, clock: Clock, limits: Limits | None) -> None:
        self._clock = clock
        self._limits = limits or Limits()
        self._chain = ""
        self._ledger: LogLedger | None = None
        self._writer: GroupWriter | None = None
        self.before_write: Callable[[], None] = lambda: None
        """Told when something that is waited for is about to be queued: what happened earlier can be queued first."""
        self.secrets: Callable[[], KnownSecrets] = lambda: NOTHING_KNOWN
        """Tells the values that must not be stored."""
        self._news = asyncio.Event()
        """Set at the next commit, and replaced by a new one."""
        self._approvals = SqlApprovals(self._write, self._rows)
        self._seals = SqlSeals(self._write, self._rows, lambda: self._chain, self._grown)

    @property
    @abstractmethod
    def place(self) -> str: ...

    @abstractmethod
    async def start(self) -> None: ...

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def _rows(self, sql: str, values: Row, *, timed: bool = False) -> list[Any]:
        """What a statement finds. One that is `timed` is given the time of the store as its last value."""
        ...

    async def _heard(self, news: asyncio.Event) -> None:
        """Wait until there may be news. To come back too often is no harm."""
        await news.wait()

    @staticmethod
    def _listing(wanted: ActivityFilter, limit: int) -> tuple[str, Row]:
        return queries.listing(wanted, limit)

    @staticmethod
    def _counting(wanted: ActivityFilter, width: Micros, limit: int) -> tuple[str, Row]:
        return queries.counting(wanted, width, limit)

    @property
    def approvals(self) -> Approvals:
        return self._approvals

    @property
    def seals(self) -> Seals:
        return self._seals

    @property
    def story(self) -> Story:
        return OneLog(lambda: self._chain, self.log_end, self.log_entries, self.next_entries)

    @property
    def shared(self) -> Shared | None:
        return None

    @property
    def clock(self) -> Clock:
        return self._clock

    @property
    def ailing(self) -> bool:
        return self._writer is None or self._writer.ailing

    def _begin(self, chain: str, ledger: LogLedger) -> None:
        """Take up a chain, and write what is queued from now on."""
        self._chain, self._ledger = chain, ledger
        self._writer = GroupWriter(ledger, self._clock, self._limits, on_commit=self._committed)

    def _end(self) -> GroupWriter | None:
        """Take nothing more; what comes back is to be closed, if there is anything."""
        writer, self._writer = self._writer, None
        self._committed()  # whoever waits for the next entry hears that there will be none
        return writer

    def write(self, activities: Sequence[Activity]) -> asyncio.Future[bool]:
        return self._put(activities)

    def write_soon(self, activities: Sequence[Activity]) -> None:
        self._open_writer().put(Job(self._records(activities)))

    async def list_activities(self, wanted: ActivityFilter) -> ActivityPage:
        limit = max(1, min(wanted.limit, MAX_PAGE))
        # One row more than the page holds tells whether there is a next one.
        rows = await self._rows(*self._listing(wanted, limit + 1))
        items = tuple(map(activity_of, rows[:limit]))
        return ActivityPage(items, cursor_of(items[-1]) if len(rows) > limit else None)

    async def get_activity(self, activity_id: str) -> Activity | None:
        rows = await self._rows(queries.GET_ACTIVITY, (activity_id,))
        return activity_of(rows[0]) if rows else None

    async def open_activities(self) -> Sequence[Activity]:
        return [activity_of(row) for row in await self._rows(queries.OPEN_CALLS, (OPEN_STATES,))]

    async def log_entries(self, after: int, limit: int) -> Sequence[LogEntry]:
        bounds = self._chain, nearest_integer(after), nearest_integer(max(0, limit))
        return [entry_of(row) for row in await self._rows(queries.ENTRIES, bounds)]

    async def next_entries(self, after: int, limit: int) -> Sequence[LogEntry]:
        while True:
            news = self._news  # looked at first: what is committed while we read is news
            if found := await self.log_entries(after, limit):
                return found
            await self._heard(news)

    async def _grown(self, to: int) -> None:
        end = await self.log_end()
        while max(end, self._ledger.end if self._ledger else 0) < to:
            news = self._news
            self._open_writer()
            await self._heard(news)

    def _committed(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def log_end(self) -> int:
        ((end,),) = await self._rows(queries.LOG_END, (self._chain,))
        return end

    async def activity_stats(self, wanted: ActivityFilter, width: Micros) -> ActivityStats:
        # One more than is counted tells whether there are more.
        rows = await self._rows(*self._counting(replace(wanted, cursor=None), width, MAX_COUNTED + 1))
        counts = tuple(count_of(row, width) for row in rows)
        return ActivityStats(counts, sum(each.count for each in counts) <= MAX_COUNTED)

    async def tallies(self, by: TallyBy, since: Micros) -> Mapping[str, Tally]:
        begin = nearest_integer(since)
        if by is TallyBy.RULE:
            rows = await self._rows(queries.CALLS_BY_RULE, (MOST_TALLIED, begin))
            return {name: Tally(calls, last) for name, calls, last in rows}
        rows = await self._rows(queries.DONE_BY_CALLER, (MOST_TALLIED, begin))
        otherwise = dict(await self._rows(queries.OTHERWISE_DONE, (begin,)))
        return {name: Tally(max(0, done - otherwise.get(name, 0)), last) for name, done, last in rows}

    async def add_token(self, token: Token, why: Activity) -> bool:
        row = token_row(token)
        if await self._write((why,), Guard(queries.ADD_TOKEN, (*row, token.principal, token.kind))):
            return True
        if any(each.id == token.id for each in await self.list_tokens()):
            raise ValueError(f"There is a token with the id '{token.id}' already.")
        return False

    async def list_tokens(self) -> Sequence[Token]:
        return [token_of(row) for row in await self._rows(queries.TOKENS, ())]

    async def revoke_token(self, token_id: str, at: Micros, why: Activity) -> bool:
        return await self._write((why,), Guard(queries.REVOKE_TOKEN, storable((at, token_id))))

    async def baselines(self) -> Mapping[str, Mapping[str, Reviewed]]:
        found: dict[str, dict[str, Reviewed]] = {}
        for server, tool, definition, told in await self._rows(queries.BASELINES, ()):
            tools = found.setdefault(server, {})
            if tool is not None:
                tools[tool] = reviewed_of(definition, told)
        return found

    async def baseline_since(self, server: str) -> Micros | None:
        rows = await self._rows(queries.BASELINE_SINCE, storable((server,)))
        return rows[0][0] if rows else None

    async def begin_baseline(self, server: str, tools: Mapping[str, Reviewed], why: Activity) -> bool:
        once = Guard(queries.BEGIN_BASELINE, storable((server, why.at)))
        return await self._write((why,), once, _reviewed_rows(server, tools, self.secrets()))

    async def keep_reviewed(self, server: str, tools: Mapping[str, Reviewed | None], why: Sequence[Activity]) -> None:
        await self._write(why, rows=_reviewed_rows(server, tools, self.secrets()))

    async def overrides(self) -> Mapping[str, Mapping[str, SafetyClass]]:
        found: dict[str, dict[str, SafetyClass]] = {}
        for server, tool, safety_class in await self._rows(queries.OVERRIDES, ()):
            found.setdefault(server, {})[tool] = SafetyClass(safety_class)
        return found

    async def put_override(self, server: str, tool: str, safety_class: SafetyClass | None, why: Activity) -> None:
        if safety_class is None:
            put = Rows(queries.DROP_OVERRIDE, (storable((server, tool)),))
        else:
            put = Rows(queries.PUT_OVERRIDE, (storable((server, tool, safety_class.value)),))
        await self._write((why,), rows=(put,))

    async def kept_servers(self) -> Mapping[str, KeptServer]:
        return {server: server_of(*kept) for server, *kept in await self._rows(queries.KEPT_SERVERS, ())}

    async def add_server(self, server: str, kept: KeptServer, why: Activity) -> bool:
        return await self._write((why,), Guard(queries.ADD_SERVER, server_row(server, kept)))

    async def put_server(self, server: str, kept: KeptServer | None, why: Activity) -> None:
        if kept is None:
            put = Rows(queries.DROP_SERVER, (storable((server,)),))
        else:
            put = Rows(queries.PUT_SERVER, (server_row(server, kept),))
        await self._write((why,), rows=(put,))

    async def _write(
        self, activities: Sequence[Activity], guard: Guard | None = None, rows: tuple[Rows, ...] = ()
    ) -> bool:
        """Whether the guard, if there is one, let it be written; durable when this returns."""
        return await self._put(activities, guard, rows)

    def _put(
        self, activities: Sequence[Activity], guard: Guard | None = None, rows: tuple[Rows, ...] = ()
    ) -> asyncio.Future[bool]:
        records = self._records(activities)
        self.before_write()
        waiter = asyncio.get_running_loop().create_future()
        self._open_writer().put(Job(records, guard, waiter, rows))
        return waiter

    def _records(self, activities: Sequence[Activity]) -> tuple[Record, ...]:
        """The one way by which an activity gets to the writer."""
        known = self.secrets()
        return tuple(record_of(each, known) for each in activities)

    def _open_writer(self) -> GroupWriter:
        if self._writer is None:
            raise StoreUnavailable(_NOT_OPEN)
        return self._writer


def _reviewed_rows(server: str, tools: Mapping[str, Reviewed | None], known: KnownSecrets) -> tuple[Rows, ...]:
    kept = tuple(reviewed_row(server, tool, each, known) for tool, each in tools.items() if each is not None)
    gone = tuple(storable((server, tool)) for tool, each in tools.items() if each is None)
    return Rows(queries.PUT_REVIEWED, kept), Rows(queries.DROP_REVIEWED, gone)
