"""The store in one SQLite file: one connection that writes, one that reads, each in a thread of its own.

The write-ahead log lets both work at once, and `synchronous = FULL` makes a commit durable, not only atomic. After any
failure the connection is thrown away and a new one is opened for the next try, so that the store works again as soon as
the disk does, and so that nothing which was remembered can be wrong: where the chain stands is read in each
transaction.

INVARIANT: an activity and its entry in the log are written in the same transaction, and whoever waited for them is
answered only after the commit.

This module refuses to create a database that others may read, to create one by accident when a file has gone, and to
touch one that is not ours or of a newer version.
"""

import asyncio
import os
import secrets
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

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
from interlock.store.chain import BEGINNING, entry_hash
from interlock.store.migrate import migrate, migrations
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
from interlock.store.sqlite_approvals import SqliteApprovals
from interlock.store.sqlite_chain import begin_chain
from interlock.store.sqlite_seals import SqliteSeals
from interlock.store.writer import GroupWriter, Guard, Job, Limits, Rows

MAX_PAGE = 500
"""The most activities that one page of a list holds."""

MAX_COUNTED = 200_000
"""The most activities that are counted at once: a fraction of a second, in which nothing else is read."""

MOST_TALLIED = 10_000
"""The most rules or callers that calls are counted of."""

PATIENCE = 2.0
"""How many seconds a write waits for another process that is writing."""

WRITER_PRAGMAS = ("PRAGMA synchronous = FULL", "PRAGMA fullfsync = ON")
"""Sync at every commit, and on macOS, where a plain sync stops at the cache of the drive, make the drive sync too."""

READER_PRAGMAS = ("PRAGMA query_only = ON",)

_WRITE_AHEAD_LOG = "PRAGMA journal_mode = WAL"
_TRIES = 20
_NOT_OPEN = "The store is not open."
_OPEN_STATES = canonical_text([state for state in CallState if CALL[state]])


class SqliteStore:
    """The store of one gateway, in a file."""

    def __init__(self, path: Path, clock: Clock, *, limits: Limits | None = None, patience: float = PATIENCE) -> None:
        self._path = path
        self._clock = clock
        self._limits = limits or Limits()
        self._patience = patience
        self._chain = ""
        self._ledger: SqliteLedger | None = None
        self._writer: GroupWriter | None = None
        self.before_write: Callable[[], None] = lambda: None
        """Told when something that is waited for is about to be queued: what happened earlier can be queued first."""
        self.secrets: Callable[[], KnownSecrets] = lambda: NOTHING_KNOWN
        """Tells the values that must not be stored."""
        self._news = asyncio.Event()
        """Set at the next commit, and replaced by a new one."""
        self._reading = Handle(path, patience, READER_PRAGMAS)
        self._reader = ThreadPoolExecutor(1, "interlock-store-reader")
        self._approvals = SqliteApprovals(self._write, self._rows, clock)
        self._seals = SqliteSeals(self._write, self._rows, lambda: self._chain, self._grown)

    @property
    def approvals(self) -> Approvals:
        return self._approvals

    @property
    def seals(self) -> Seals:
        return self._seals

    @property
    def ailing(self) -> bool:
        return self._writer is None or self._writer.ailing

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            self._chain = await loop.run_in_executor(self._reader, prepare, self._path, self._clock, self._patience)
        except asyncio.CancelledError:
            # The thread goes on all the same, and whoever gave up must not let go of the folder while it works there.
            self._reader.shutdown(cancel_futures=True)
            raise
        self._ledger = ledger = SqliteLedger(self._path, self._clock, self._chain, self._patience)
        self._writer = GroupWriter(ledger, self._clock, self._limits, on_commit=self._committed)

    async def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        self._committed()  # whoever waits for the next entry hears that there will be none
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._reader, writer.close)
        finally:
            await loop.run_in_executor(self._reader, self._reading.close)
            self._reader.shutdown(wait=False)

    def write(self, activities: Sequence[Activity]) -> asyncio.Future[bool]:
        return self._put(activities)

    def write_soon(self, activities: Sequence[Activity]) -> None:
        self._open_writer().put(Job(self._records(activities)))

    async def list_activities(self, wanted: ActivityFilter) -> ActivityPage:
        limit = max(1, min(wanted.limit, MAX_PAGE))
        # One row more than the page holds tells whether there is a next one.
        rows = await self._rows(*queries.listing(wanted, limit + 1))
        items = tuple(map(activity_of, rows[:limit]))
        return ActivityPage(items, cursor_of(items[-1]) if len(rows) > limit else None)

    async def get_activity(self, activity_id: str) -> Activity | None:
        rows = await self._rows(queries.GET_ACTIVITY, (activity_id,))
        return activity_of(rows[0]) if rows else None

    async def open_activities(self) -> Sequence[Activity]:
        return [activity_of(row) for row in await self._rows(queries.OPEN_CALLS, (_OPEN_STATES,))]

    async def log_entries(self, after: int, limit: int) -> Sequence[LogEntry]:
        bounds = self._chain, nearest_integer(after), nearest_integer(max(0, limit))
        return [entry_of(row) for row in await self._rows(queries.ENTRIES, bounds)]

    async def next_entries(self, after: int, limit: int) -> Sequence[LogEntry]:
        while True:
            news = self._news  # looked at first: what is committed while we read is news
            if found := await self.log_entries(after, limit):
                return found
            await news.wait()

    async def _grown(self, to: int) -> None:
        end = await self.log_end()
        while max(end, self._ledger.end if self._ledger else 0) < to:
            news = self._news
            self._open_writer()
            await news.wait()

    def _committed(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def log_end(self) -> int:
        ((end,),) = await self._rows(queries.LOG_END, (self._chain,))
        return end

    async def activity_stats(self, wanted: ActivityFilter, width: Micros) -> ActivityStats:
        # One more than is counted tells whether there are more.
        rows = await self._rows(*queries.counting(replace(wanted, cursor=None), width, MAX_COUNTED + 1))
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

    async def add_token(self, token: Token, why: Activity) -> None:
        if not await self._write((why,), Guard(queries.ADD_TOKEN, token_row(token))):
            raise ValueError(f"There is a token with the id '{token.id}' already.")

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

    async def _rows(self, sql: str, values: Row) -> list[Any]:
        self._open_writer()
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._read, sql, values)

    def _read(self, sql: str, values: Row) -> list[Any]:
        with self._reading.use() as connection:
            return connection.execute(sql, values).fetchall()

    def _open_writer(self) -> GroupWriter:
        if self._writer is None:
            raise StoreUnavailable(_NOT_OPEN)
        return self._writer


class SqliteLedger:
    """The writing end: one transaction per batch. Used by one thread."""

    def __init__(self, path: Path, clock: Clock, chain: str, patience: float) -> None:
        self._handle = Handle(path, patience, WRITER_PRAGMAS)
        self._clock = clock
        self._chain = chain
        self.end = self._tip = 0
        """The number of the last entry, as of the last commit of this process; 0 before the first."""

    def commit(self, jobs: Sequence[Job]) -> Sequence[bool]:
        with self._handle.use() as connection:
            connection.execute(queries.BEGIN)
            written = self._write(connection, jobs)
            connection.execute(queries.COMMIT)
        self.end = self._tip
        return written

    def close(self) -> None:
        self._handle.close()

    def _write(self, connection: sqlite3.Connection, jobs: Sequence[Job]) -> list[bool]:
        now = self._clock.now()
        written = [_lets(connection, job, now) for job in jobs]
        records = [record for job, let in zip(jobs, written, strict=True) if let for record in job.records]
        _put(connection, queries.APPEND, self._links(connection, records))
        # Of several versions in one batch only the last one is ever seen in the list; the log has them all.
        latest = {record.subject: record.row for record in records}
        _put(connection, queries.PUT_ACTIVITY, list(latest.values()))
        return written

    def _links(self, connection: sqlite3.Connection, records: Sequence[Record]) -> list[Row]:
        chain, at = self._chain, self._clock.now()
        seq, prev = connection.execute(queries.TIP, (chain,)).fetchone() or (0, BEGINNING)
        links: list[Row] = []
        for record in records:
            seq += 1
            sealed = entry_hash(chain, seq, at, record.kind, record.subject, record.text, prev)
            links.append((chain, seq, at, record.kind, record.subject, record.text, prev, sealed))
            prev = sealed
        self._tip = seq
        return links


class Handle:
    """A connection that is opened when it is needed and thrown away after any failure. Used by one thread."""

    def __init__(self, path: Path, patience: float, pragmas: Sequence[str]) -> None:
        self._path = path
        self._patience = patience
        self._pragmas = pragmas
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        """Which file it was that was opened first."""
        self._write_ahead: tuple[int, int] | None = None
        """Which file holds what this connection has written and not yet put into that one."""

    @contextmanager
    def use(self) -> Generator[sqlite3.Connection]:
        """The connection; what the database says when it fails is raised as StoreUnavailable."""
        # A connection whose files are gone stays open: what it has written can only come back through it.
        self._same_files()
        with ExitStack() as unless_well:
            unless_well.callback(self.close)  # which also rolls back
            try:
                if self._connection is None:
                    self._connection = connect(self._path, self._patience, self._pragmas)
                yield self._connection
            except sqlite3.Error as problem:
                raise StoreUnavailable(_words(problem)) from problem
            unless_well.pop_all()

    def _same_files(self) -> None:
        """Refuse to go on with files that are gone from the folder: what is written to them goes with them."""
        file = _identity(self._path)
        self._file = self._file or file
        if file is None or file != self._file:
            raise StoreUnavailable(f"{self._path} was removed or replaced while in use: put it back, or restart.")
        if self._connection is None:
            self._write_ahead = None
            return
        ahead = _identity(self._path.with_name(f"{self._path.name}-wal"))
        self._write_ahead = self._write_ahead or ahead
        if ahead != self._write_ahead:
            raise StoreUnavailable(f"{self._path}-wal was removed while in use: restart, which keeps what it held.")

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def prepare(path: Path, clock: Clock, patience: float) -> str:
    """Create or migrate the database, and say which chain it continues. Blocks."""
    try:
        _create(path)
        with closing(connect(path, patience)) as connection:
            migrate(connection, migrations())
            _write_ahead(connection)
            chain = begin_chain(connection, secrets.token_hex(8), clock.now())
    except (OSError, sqlite3.Error) as problem:
        raise StoreUnavailable(f"{path}: {_words(problem)}") from problem
    return chain


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn the write-ahead log on. Two who start at once get into each other's way here, and SQLite does not wait."""
    for _ in range(_TRIES):
        with suppress(sqlite3.OperationalError):
            connection.execute(_WRITE_AHEAD_LOG)
            return
        # For a transaction it does wait.
        connection.execute(queries.BEGIN)
        connection.execute(queries.COMMIT)
    connection.execute(_WRITE_AHEAD_LOG)


def connect(
    path: Path, patience: float, pragmas: Sequence[str] = (), *, one_thread: bool = True, still: bool = False
) -> sqlite3.Connection:
    """Open the database in autocommit mode; a file that is not there is not created.

    Another thread than the one that opened it is refused, unless the caller sees to it that they take turns. With
    `still` nobody can write to the file meanwhile, and nothing is made beside it.
    """
    address = f"{path.absolute().as_uri()}?{'mode=ro&immutable=1' if still else 'mode=rw'}"
    connection = sqlite3.connect(
        address, timeout=patience, uri=True, isolation_level=None, check_same_thread=one_thread
    )
    with ExitStack() as unless_set_up:
        unless_set_up.callback(connection.close)
        # Bytes that are no text are evidence of tampering, and have to be read to be shown.
        connection.text_factory = _text
        for pragma in pragmas:
            connection.execute(pragma)
        unless_set_up.pop_all()
    return connection


def _create(path: Path) -> None:
    """An empty file that only its owner can read; SQLite gives its other files the same mode."""
    path.parent.mkdir(0o700, parents=True, exist_ok=True)
    # Exclusive: opening a file that SQLite has open, and closing it, would take SQLite's locks away.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _lets(connection: sqlite3.Connection, job: Job, now: Micros) -> bool:
    """Whether the guard lets a job be written; if so, its rows are."""
    guard = job.guard
    if guard is not None:
        values = (*guard.values, now) if guard.timed else guard.values
        if connection.execute(guard.sql, values).rowcount != 1:
            return False
    for each in job.rows:
        connection.executemany(each.sql, each.rows)
    return True


def _put(connection: sqlite3.Connection, insert: queries.Insert, rows: Sequence[Row]) -> None:
    """Write these rows, all of them: a trigger of somebody else's could leave some out without a word."""
    sheaves, put = len(rows) // queries.SHEAF, 0
    for at in range(0, sheaves * queries.SHEAF, queries.SHEAF):
        sheaf = [value for row in rows[at : at + queries.SHEAF] for value in row]
        put += connection.execute(insert.sheaf, sheaf).rowcount
    if rest := rows[sheaves * queries.SHEAF :]:
        put += connection.executemany(insert.one, rest).rowcount
    if put != len(rows):
        raise StoreUnavailable(
            f"Of {len(rows)} rows {put} were taken: `interlock audit verify` says what is in the way."
        )


def _reviewed_rows(server: str, tools: Mapping[str, Reviewed | None], known: KnownSecrets) -> tuple[Rows, ...]:
    kept = tuple(reviewed_row(server, tool, each, known) for tool, each in tools.items() if each is not None)
    gone = tuple(storable((server, tool)) for tool, each in tools.items() if each is None)
    return Rows(queries.PUT_REVIEWED, kept), Rows(queries.DROP_REVIEWED, gone)


def _text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _words(problem: Exception) -> str:
    name: str = getattr(problem, "sqlite_errorname", "")
    return f"{problem} ({name})" if name else str(problem)
