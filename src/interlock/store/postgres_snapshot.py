"""One moment of a PostgreSQL database, read from its beginning to its end while gateways go on writing.

For what takes long and blocks: the check of a log, a copy, a look from the command line. It is one transaction that
only reads, in a thread with an event loop for nothing else, so that whoever asks need not know either. What comes back
comes in pages, and no page is kept.

This module refuses to write, and to say more of a password than nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from asyncpg import Connection, InsufficientPrivilegeError

from interlock.store.migrate import migrations, newer, not_ours
from interlock.store.postgres_link import FAILURES, Address, Patience, say_goodbye, words
from interlock.store.postgres_migrate import ORIGIN, VERSION, refused
from interlock.store.postgres_words import plain
from interlock.store.protocol import StoreUnavailable

PATIENT = Patience(connect=5.0, read=3600.0)
"""A statement that looks at everything may take long, and nobody else waits for it."""
PAGE = 500
"""How many rows are in memory at once."""

# Nothing that others do is seen from here on; and whoever hashes between two pages is not taken for one that froze.
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_UNHURRIED = "SET idle_in_transaction_session_timeout = 0"

T = TypeVar("T")


class Snapshot:
    """A database as it was when this was opened. Used by one thread at a time; raises StoreUnavailable."""

    def __init__(self, address: str) -> None:
        self._address = Address(address, PATIENT, "interlock reading")
        self._thread = ThreadPoolExecutor(1, "interlock-snapshot")
        self._runner = asyncio.Runner()
        self._connection: Connection | None = None
        self._running: Future[Any] | None = None

    def open(self) -> None:
        """Look at the database as it is now."""
        self._wait(self._open)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """What a statement finds, all at once."""

        async def fetched() -> list[Any]:
            return await self._here.fetch(sql, *values)

        return [plain(each) for each in self._wait(fetched)]

    def value(self, sql: str, *values: object) -> Any:
        """The one thing that a statement finds."""
        ((found,),) = self.rows(sql, *values)
        return found

    def pages(self, sql: str, *values: object) -> Generator[tuple[Any, ...]]:
        """What a statement finds, page by page."""

        async def begun() -> Any:
            return await self._here.cursor(sql, *values)

        cursor = self._wait(begun)

        async def page() -> list[Any]:
            return await cursor.fetch(PAGE)

        while found := self._wait(page):
            yield from map(plain, found)

    def close(self) -> None:
        """Let go of it, at once if a statement still runs."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if self._running is not None and not self._running.done():
                self._runner.get_loop().call_soon_threadsafe(connection.terminate)
            with suppress(*FAILURES):
                self._thread.submit(self._run, lambda: say_goodbye(connection, PATIENT.connect)).result()
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()

    @property
    def _here(self) -> Connection:
        if self._connection is None:
            raise StoreUnavailable("The database is not open.")
        return self._connection

    async def _open(self) -> None:
        self._connection = await self._address.connect()
        await self._connection.execute(_UNHURRIED)
        await self._connection.execute(_BEGIN)

    def _run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def done() -> T:
            return await work()

        return self._runner.run(done())

    def _wait(self, work: Callable[[], Awaitable[T]]) -> T:
        self._running = running = self._thread.submit(self._run, work)
        try:
            return running.result()
        except InsufficientPrivilegeError as problem:
            raise self._refused(problem) from None
        except FAILURES as problem:
            raise StoreUnavailable(f"PostgreSQL: {words(problem)}") from None

    def _refused(self, problem: InsufficientPrivilegeError) -> StoreUnavailable:
        async def asked() -> StoreUnavailable:
            await self._here.execute("ROLLBACK")
            return await refused(self._here, problem)

        return self._wait(asked)


@contextmanager
def snapshot_of(address: str) -> Generator[Snapshot]:
    """A database as it is now, while the block runs; raises StoreUnavailable."""
    snapshot = Snapshot(address)
    try:
        snapshot.open()
        yield snapshot
    finally:
        snapshot.close()


def versions_in(snapshot: Snapshot) -> tuple[int, int]:
    """How far the database has come, and how far this program would bring it. Raises for one that is not ours."""
    ((taken, ours),) = snapshot.rows(ORIGIN)
    if taken and not ours:
        raise not_ours("an address")
    return (snapshot.value(VERSION) if ours else 0), migrations("migrations/postgres")[-1].version


def see_version(snapshot: Snapshot) -> None:
    """Raises for a database of another version than this program reads."""
    version, known = versions_in(snapshot)
    if version > known:
        raise newer(version, known, "address")
    if version != known:
        raise StoreUnavailable(
            f"The database has version {version}, and this Interlock reads version {known}: `interlock db migrate`"
            " brings an older one there."
        )
