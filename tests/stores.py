"""The store that the tests run on: SQLite, or PostgreSQL with INTERLOCK_TEST_STORE=postgres.

A data folder has a file in it, or a database: whoever names the same folder again finds what was written, and when the
folder is gone, its database goes too. Where a configuration names a store of its own, that one counts.
"""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg

from interlock.clock import Clock
from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.place import LogPlace, place_of
from interlock.store.audit.verify import Verification
from interlock.store.folder import DATABASE, DataFolder
from interlock.store.postgres import PostgresStore
from interlock.store.postgres_link import Patience
from interlock.store.postgres_words import in_postgres
from interlock.store.sql import SqlStore
from interlock.store.sqlite import SqliteStore
from tests.fakes import FakeClock
from tests.postgres_server import PostgresServer, run_apart
from tests.store import examples
from tests.store.audit import logs
from tests.store.places import TURN

SOON = 20.0
"""After which a test that waits for something has failed."""
REFUSALS = (sqlite3.IntegrityError, asyncpg.RaiseError, asyncpg.IntegrityConstraintViolationError)
"""How a database says that it does not let something happen."""


class Databases:
    """The databases of a run on PostgreSQL, one for each data folder."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self._names: dict[Path, str] = {}
        self._near: dict[Path, Path] = {}
        """What there was of the way to a folder when its database was made."""

    def address(self, folder: Path) -> str:
        if folder not in self._names:
            self._tidy()
            self._near[folder] = next(each for each in (folder, *folder.parents) if each.exists())
            self._names[folder] = run_apart(self._server.new_database())
        return self._server.address(self._names[folder])

    def _tidy(self) -> None:
        for each in [each for each, near in self._near.items() if not near.exists()]:
            del self._near[each]
            run_apart(self._server.drop(self._names.pop(each)))


databases: Databases | None = None
"""Those of this run, if it is one on PostgreSQL."""


def address_of(folder: Path) -> str:
    """What `store:` in the configuration of a data folder says."""
    return "sqlite" if databases is None else databases.address(folder)


def store_line(folder: Path, text: str = "") -> str:
    """The line with that, for a configuration that says this already; empty where it need not be said."""
    return "" if databases is None or "store:" in text else f"\nstore: '{address_of(folder)}'\n"


def store_variable(folder: Path) -> dict[str, str]:
    """The same as a variable, for a gateway whose configuration is none of the test's."""
    return {} if databases is None else {"INTERLOCK_STORE": address_of(folder)}


def store_of(folder: Path, clock: Clock, *, hurried: bool = False) -> SqlStore:
    """The store of a data folder, for a test that has no gateway, or none any more. One in a hurry hardly waits."""
    data = DataFolder(folder)
    if databases is None:
        return SqliteStore(data.database, clock, patience=0.05) if hurried else SqliteStore(data.database, clock)
    folder.mkdir(parents=True, exist_ok=True)
    patience = Patience(write=0.2, find_out=0.05) if hurried else Patience()
    return PostgresStore(databases.address(folder), data.chain(), clock, patience=patience)


def clocked_store_of(folder: Path, clock: FakeClock) -> SqlStore:
    """The same, whose deadlines are compared with a clock that the test turns."""

    def turn(now: int) -> None:
        run_elsewhere(folder, TURN.format(now))

    if databases is not None:
        turn(clock.now())
        clock.followers.append(turn)
    return store_of(folder, clock)


def log_of(folder: Path) -> LogPlace:
    """Where the log of a data folder is checked."""
    return place_of(DataFolder(folder), address_of(folder))


def check(folder: Path) -> Verification:
    """What the check says of it, with its anchor."""
    return log_of(folder).check(folder / ANCHOR)


async def sealed_folder(folder: Path) -> Path:
    """A data folder whose log was sealed to its end, years ago."""
    async with logs.Office(folder, store=store_of(folder, examples.TickingClock())) as office:
        await office.fill(1, 20, every=5)
    return folder


def run_elsewhere(folder: Path, *statements: str) -> None:
    """Change a database behind the back of its store."""
    if databases is None:
        examples.run_elsewhere(DataFolder(folder).database, *statements)
    else:
        run_apart(_told(databases.address(folder), statements))


async def _told(address: str, statements: tuple[str, ...]) -> None:
    connection = await _connected(address)
    try:
        for each in statements:
            await connection.execute(each)
    finally:
        await connection.close()


async def _connected(address: str) -> asyncpg.Connection:
    return await asyncpg.connect(address, server_settings={"search_path": "interlock"})


def rows_in(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """What a database answers, whoever works with it."""
    if databases is None:
        with contextlib.closing(sqlite3.connect(f"file:{folder / DATABASE}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()
    return run_apart(_found(databases.address(folder), sql))


async def _found(address: str, sql: str) -> list[tuple[Any, ...]]:
    connection = await _connected(address)
    rows = await connection.fetch(sql)
    await connection.close()
    return [tuple(each) for each in rows]


def tamper(folder: Path, sql: str, *values: object) -> None:
    """Do what the guards of the database forbid, as somebody who owns it can."""
    if databases is None:
        logs.tamper(folder, (sql, values))
    else:
        run_apart(_unguarded(databases.address(folder), in_postgres(sql), values))


async def _unguarded(address: str, sql: str, values: tuple[object, ...]) -> None:
    connection = await _connected(address)
    await connection.execute("SET session_replication_role = replica")
    await connection.execute(sql, *values)
    await connection.close()


def kept_in(folder: Path) -> dict[str, bytes]:
    """All that a database has in it, by the names of what it is kept in."""
    if databases is None:
        return {each.name: each.read_bytes() for each in folder.glob(f"{DATABASE}*")}
    return run_apart(_tables(databases.address(folder)))


async def _tables(address: str) -> dict[str, bytes]:
    connection = await _connected(address)
    names = [row[0] for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'interlock'")]
    rows = {name: await connection.fetch(f'SELECT kept::text FROM "{name}" AS kept') for name in names}  # noqa: S608
    await connection.close()
    return {name: "\n".join(row[0] for row in found).encode() for name, found in rows.items()}


@contextlib.contextmanager
def held_by_another(folder: Path) -> Generator[None]:
    """While somebody else is in the middle of a write, the store has to wait."""
    if databases is None:
        with examples.held_by_another(DataFolder(folder).database):
            yield
        return
    held, done = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as apart:
        holding = apart.submit(asyncio.run, _hold(databases.address(folder), held, done))
        try:
            assert held.wait(SOON)
            yield
        finally:
            done.set()
            holding.result()


async def _hold(address: str, held: threading.Event, done: threading.Event) -> None:
    connection = await _connected(address)
    await connection.execute("BEGIN; LOCK TABLE entry IN ACCESS EXCLUSIVE MODE")
    held.set()
    done.wait()
    await connection.execute("ROLLBACK")
    await connection.close()


def forbid(folder: Path) -> None:
    """Let the log of a database take nothing in."""
    trigger = "CREATE TRIGGER forbidden BEFORE INSERT ON entry EXECUTE FUNCTION never('forbidden by a test')"
    run_elsewhere(folder, examples.FORBID if databases is None else trigger)


def allow(folder: Path) -> None:
    """Let it take everything in again."""
    run_elsewhere(folder, examples.ALLOW if databases is None else "DROP TRIGGER forbidden ON entry")
