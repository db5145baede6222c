"""A SQLite file as the source and as the target of a copy, and the backup of one by SQLite itself.

A file is made under another name and gets its own when all is in it and on the disk: what was broken off is never taken
for whole, and nothing that is there is replaced. It is private from its first byte on.

The guards of the tables let nothing in that has not come about step by step, which a copy has not: they are put up
again, word for word, after the last row and in the same transaction.
"""

import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from interlock.store.audit.told import told_of
from interlock.store.copying.tables import ACTIVITY, SERVER, Table, TargetFailed, stoppable
from interlock.store.migrate import migrate, migrations, versions
from interlock.store.protocol import StoreUnavailable
from interlock.store.queries import BEGIN, CHAIN, COMMIT
from interlock.store.rows import Row
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, WRITER_PRAGMAS, connect

PAGES = 1000
"""How many pages a backup copies before it says how far it is."""
_SERVER = replace(SERVER, order="rowid")
_GUARDS = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"

# Of several logs, those that tell of an activity last, each with what it says.
_TOLD_BY = """
WITH latest AS MATERIALIZED (SELECT chain, subject, max(seq) AS seq FROM entry GROUP BY chain, subject)
SELECT {columns}, latest.chain, entry.text FROM activity
LEFT JOIN latest ON latest.subject = activity.id
LEFT JOIN entry ON entry.chain = latest.chain AND entry.seq = latest.seq
ORDER BY activity.id, latest.chain
"""


class SqliteSource:
    """A file, read at one moment."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.chains: tuple[str, ...] = tuple(name for (name,) in connection.execute(CHAIN))

    @classmethod
    @contextmanager
    def at(cls, file: Path) -> Generator["SqliteSource"]:
        """The one in a file; raises StoreUnavailable."""
        still = not os.access(file.parent, os.W_OK) and not file.with_name(f"{file.name}-wal").exists()
        try:
            with closing(connect(file, PATIENCE, READER_PRAGMAS, still=still)) as connection:
                connection.execute("BEGIN")
                _see_version(connection)
                yield cls(connection)
        except sqlite3.Error as failed:
            raise StoreUnavailable(str(failed)) from None

    def count(self, table: Table) -> int:
        ((found,),) = self._connection.execute(f"SELECT count(*) FROM {table.quoted}").fetchall()  # noqa: S608
        return found

    def rows(self, table: Table) -> Iterator[Row]:
        if table is ACTIVITY:
            return self._activities()
        return self._connection.execute((_SERVER if table is SERVER else table).select())

    def _activities(self) -> Iterator[Row]:
        if len(self.chains) == 1:
            for row in self._connection.execute(ACTIVITY.select()):
                yield (*row, self.chains[0])
            return
        width = len(ACTIVITY.columns)
        columns = ", ".join(f"activity.{each}" for each in ACTIVITY.columns)
        rows = self._connection.execute(_TOLD_BY.format(columns=columns))
        for _, told in groupby(rows, key=lambda row: row[0]):
            versions_ = list(told)
            row = versions_[0][:width]
            text = (told_of(row) or b"").decode()
            tellers = [chain for *_, chain, said in versions_ if said == text]
            yield (*row, next(iter(tellers), None) or versions_[0][width] or next(iter(self.chains), ""))


def _see_version(connection: sqlite3.Connection) -> None:
    version, known = versions(connection)
    if version != known:
        raise StoreUnavailable(
            f"The database has version {version}, and this Interlock copies version {known}: `interlock db migrate`"
            " brings an older one there."
        )


class SqliteTarget:
    """A file that is being filled."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        width = len(table.columns)
        marks = ", ".join("?" * width)
        into = f"INSERT INTO {table.quoted} ({', '.join(table.columns)}) VALUES ({marks})"  # noqa: S608 - of constants
        self._connection.executemany(into, [row[:width] for row in rows])


@contextmanager
def sqlite_target(file: Path, *, in_new_folder: bool = False) -> Generator[SqliteTarget]:
    """A new file, there when the block has ended well, with `in_new_folder` in one that need not be there yet; raises
    FileExistsError and StoreUnavailable."""
    with (
        _new(file, in_new_folder=in_new_folder) as part,
        closing(connect(part, PATIENCE, WRITER_PRAGMAS)) as connection,
    ):
        try:
            migrate(connection, migrations())
            connection.execute(BEGIN)
            guards = connection.execute(_GUARDS).fetchall()
            for name, _ in guards:
                connection.execute(f"DROP TRIGGER {name}")
            yield SqliteTarget(connection)
            for _, sql in guards:
                connection.execute(sql)
            connection.execute(COMMIT)
        except sqlite3.Error as failed:
            raise TargetFailed(str(failed)) from None


def back_up(source: Path, file: Path, progress: Callable[[int, int], None]) -> None:
    """Copy a file page by page, as it is at this moment, while a gateway may go on. Raises FileExistsError,
    Stopped, and StoreUnavailable, which is a TargetFailed where it is the new file's."""
    try:
        with (
            stoppable() as step,
            closing(connect(source, PATIENCE, READER_PRAGMAS)) as given,
            _new(file) as part,
            closing(connect(part, PATIENCE, WRITER_PRAGMAS)) as taken,
        ):
            # Held by a transaction: otherwise a write of the gateway would make it begin anew, again and again.
            given.execute("BEGIN")
            versions(given)
            given.backup(taken, pages=PAGES, progress=lambda _, left, total: progress(total - left, total))
            step.at_end = True
            taken.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
    except sqlite3.Error as failed:
        # Nothing is written but the new file, so that it is its disk that is full.
        full = failed.sqlite_errorcode == sqlite3.SQLITE_FULL
        raise (TargetFailed if full else StoreUnavailable)(str(failed)) from None


@contextmanager
def _new(file: Path, *, in_new_folder: bool = False) -> Generator[Path]:
    """A private file under another name, which gets its own when the block has ended well."""
    if os.path.lexists(file):
        raise FileExistsError(file)
    part = file.with_name(f"{file.name}.part")
    try:
        if not file.parent.is_dir():
            # Not for a backup: where a disk is not mounted, it would come to lie beside what it is a backup of.
            if not in_new_folder:
                raise TargetFailed(f"there is no folder {file.parent}")
            os.makedirs(file.parent, 0o700)
        _discard(part)
        os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        os.link(part, file)  # unlike a renaming it replaces nothing
        _settle(file.parent)
    except FileExistsError:
        raise
    except OSError as failed:
        raise TargetFailed(str(failed.strerror)) from None
    finally:
        with suppress(OSError):
            _discard(part)


def _discard(part: Path) -> None:
    for each in ("", "-journal", "-wal", "-shm"):
        part.with_name(f"{part.name}{each}").unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Put the name of a new file on the disk too."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
