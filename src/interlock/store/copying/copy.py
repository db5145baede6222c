"""The copy of a whole store, from and to either database: which kind a place is, and the walk over all tables.

What a copy must not lose is the proof: entries and seals are written as they were read, byte for byte, so that the same
anchor and the same keys prove the copy.

This module refuses to write into a store that has anything in it, to take a store for still that a gateway writes to,
and to show more of an address than which database it is.
"""

import re
import sqlite3
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from interlock.store.copying.sqlite_copy import SqliteSource, sqlite_target
from interlock.store.copying.tables import TABLES, Source, Table, Target, TargetFailed, batches, stoppable
from interlock.store.folder import DATABASE, DataFolder, FolderBusy
from interlock.store.postgres_address import begin_sentence, shown_database
from interlock.store.protocol import StoreUnavailable
from interlock.store.rows import Row

Progress = Callable[[str, int, int], None]
"""Told which table, how many rows are behind, and how many there are."""
_SCHEMES = ("postgresql://", "postgres://")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,19}")


class Foreign(Exception):
    """An address, and not one of PostgreSQL. The message says of which kind, and nothing else that stands in it."""


class Occupied(Exception):
    """There is something where the copy was to be made. The message says what."""


class InUse(Exception):
    """A gateway writes to what was to be copied, and what it writes meanwhile would be lost."""


class _SourceFailed(StoreUnavailable):
    """What is copied could not be read any further, while the target was open."""


class SeveralLogs(Exception):
    """A gateway on a file goes on with one log, and there are several."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a store is: a file, or a database at an address that may hold a password. `goes_on` says that a gateway is
    to go on there, and not only a backup to lie."""

    file: Path | None = None
    address: str = field(default="", repr=False)
    goes_on: bool = False

    @property
    def shown(self) -> str:
        """What may be said of it."""
        return shown_database(self.address) if self.file is None else str(self.file)

    @property
    def begins(self) -> str:
        """The same at the beginning of a sentence; the name of a file stays as it is."""
        return begin_sentence(self.shown) if self.file is None else str(self.file)


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied: how many rows, and the logs among them."""

    rows: int
    chains: tuple[str, ...]


def place_at(text: str, folder: DataFolder) -> Place:
    """The place that a user names: `sqlite` for the file in the data folder, a path, or an address. Raises Foreign."""
    if text.startswith(_SCHEMES):
        return Place(address=text)
    refuse_address(text)
    if text == "sqlite":
        return Place(folder.database, goes_on=True)
    file = Path(text)
    return Place(file / DATABASE, goes_on=True) if file.is_dir() else Place(file, goes_on=file.name == DATABASE)


def refuse_address(text: str) -> None:
    """Raises Foreign for what is no path: a folder of that name would be made, and a password told with it."""
    scheme, slashes, _ = text.partition("://")
    if slashes:
        raise Foreign(f"a {scheme}:// address" if _SCHEME.fullmatch(scheme) else "such an address")


def copy_store(source: Place, target: Place, progress: Progress, *, running: bool = False) -> Copied:
    """Copy everything. With `running` it is a backup, and gateways may go on: it has all up to a moment. Raises
    Occupied, InUse, SeveralLogs, Stopped, and StoreUnavailable, which is a TargetFailed where it is the target's."""
    with ExitStack() as opened, stoppable() as step:
        if not running:
            opened.enter_context(_stood_still(source))
        given = opened.enter_context(_opened(source, alone=not running))
        chains = tuple(given.chains)
        if target.goes_on and len(chains) > 1:
            raise SeveralLogs
        try:
            with _made(target) as taken:
                rows = _copied(given, taken, progress)
                step.at_end = True
            return Copied(rows, chains)
        except UnicodeEncodeError:
            raise StoreUnavailable("A text in it is none: `interlock audit verify` says where.") from None
        except _SourceFailed:
            raise
        except StoreUnavailable as failed:
            raise TargetFailed(str(failed)) from None


def _copied(source: Source, target: Target, progress: Progress) -> int:
    with _reading():
        counts = {table: source.count(table) for table in TABLES}
    done, total = 0, sum(counts.values())
    for table in TABLES:
        begun = done
        for rows in batches(_rows(source, table)):
            target.put(table, rows)
            done += len(rows)
            progress(table.name, done, total)
        if done - begun != counts[table]:
            raise _SourceFailed(f"Of {counts[table]} rows of the table {table.name} {done - begun} could be read.")
    return done


def _rows(source: Source, table: Table) -> Iterator[Row]:
    with _reading():
        yield from source.rows(table)


@contextmanager
def _reading() -> Generator[None]:
    """What fails here is the source's: whoever makes the target would take it for their own."""
    try:
        yield
    except (StoreUnavailable, sqlite3.Error) as failed:
        raise _SourceFailed(str(failed)) from None


@contextmanager
def _stood_still(source: Place) -> Generator[None]:
    """See to it that no gateway works on a file while the block runs."""
    if source.file is None or source.file.name != DATABASE or not source.file.exists():
        yield
        return
    with ExitStack() as held:
        try:
            held.enter_context(DataFolder(source.file.parent).hold())
        except FolderBusy:
            raise InUse from None
        except OSError:
            pass  # where we may not write, as on a disk that is read-only, no gateway does
        yield


@contextmanager
def _opened(source: Place, *, alone: bool) -> Generator[Source]:
    if source.file is not None:
        with SqliteSource.at(source.file) as opened:
            yield opened
        return
    from interlock.store.copying.postgres_copy import PostgresSource
    from interlock.store.postgres_snapshot import snapshot_of

    with snapshot_of(source.address) as snapshot:
        found = PostgresSource(snapshot)
        if alone and found.gateways():
            raise InUse
        yield found


@contextmanager
def _made(target: Place) -> Generator[Target]:
    if target.file is not None:
        try:
            with sqlite_target(target.file, in_new_folder=target.goes_on) as made:
                yield made
        except FileExistsError:
            raise Occupied(f"{target.file} is there already") from None
        return
    from interlock.store.copying.postgres_copy import NotEmpty, postgres_target

    try:
        with postgres_target(target.address) as made:
            yield made
    except NotEmpty as found:
        raise Occupied(f"{target.shown} has something in it ({found})") from None
