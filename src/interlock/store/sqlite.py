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
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from interlock.clock import Clock
from interlock.core.model import Micros
from interlock.store import queries
from interlock.store.chain import BEGINNING, linked
from interlock.store.migrate import migrate, migrations
from interlock.store.protocol import StoreUnavailable
from interlock.store.rows import Record, Row
from interlock.store.sql import SqlStore
from interlock.store.sqlite_chain import begin_chain
from interlock.store.writer import Job, Limits

PATIENCE = 2.0
"""How many seconds a write waits for another process that is writing."""

WRITER_PRAGMAS = ("PRAGMA synchronous = FULL", "PRAGMA fullfsync = ON", "PRAGMA wal_autocheckpoint = 4000")
"""Sync at every commit, and on macOS, where a plain sync stops at the cache of the drive, make the drive sync too. The
write-ahead log may grow to 16 MiB, four times what is usual: a page of an index that changes with each record is then
copied into the database a quarter as often."""

READER_PRAGMAS = ("PRAGMA query_only = ON",)

_WRITE_AHEAD_LOG = "PRAGMA journal_mode = WAL"
_TRIES = 20


class SqliteStore(SqlStore):
    """The store of one gateway, in a file."""

    def __init__(self, path: Path, clock: Clock, *, limits: Limits | None = None, patience: float = PATIENCE) -> None:
        super().__init__(clock, limits)
        self._path = path
        self._patience = patience
        self._reading = Handle(path, patience, READER_PRAGMAS)
        self._reader = ThreadPoolExecutor(1, "interlock-store-reader")

    @property
    def place(self) -> str:
        return str(self._path)

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            chain = await loop.run_in_executor(self._reader, prepare, self._path, self._clock, self._patience)
        except asyncio.CancelledError:
            # The thread goes on all the same, and whoever gave up must not let go of the folder while it works there.
            self._reader.shutdown(cancel_futures=True)
            raise
        self._begin(chain, SqliteLedger(self._path, self._clock, chain, self._patience))

    async def close(self) -> None:
        writer = self._end()
        if writer is None:
            return
        loop = asyncio.get_running_loop()
        try:
            await loop.run_in_executor(self._reader, writer.close)
        finally:
            await loop.run_in_executor(self._reader, self._reading.close)
            self._reader.shutdown(wait=False)

    async def _rows(self, sql: str, values: Row, *, timed: bool = False) -> list[Any]:
        self._open_writer()
        given = (*values, self._clock.now()) if timed else values
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._read, sql, given)

    def _read(self, sql: str, values: Row) -> list[Any]:
        with self._reading.use() as connection:
            return connection.execute(sql, values).fetchall()


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
        tip = connection.execute(queries.TIP, (self._chain,)).fetchone() or (0, BEGINNING)
        links = linked(self._chain, tip, self._clock.now(), records)
        self._tip = tip[0] + len(links)
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
            raise StoreUnavailable(f"{self._path} was removed or replaced while in use: put it back, or restart")
        if self._connection is None:
            self._write_ahead = None
            return
        ahead = _identity(self._path.with_name(f"{self._path.name}-wal"))
        self._write_ahead = self._write_ahead or ahead
        if ahead != self._write_ahead:
            raise StoreUnavailable(f"{self._path}-wal was removed while in use: restart, which keeps what it held")

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
