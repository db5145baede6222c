"""The store in PostgreSQL, which several gateways share: one queue of approvals, and one log for each gateway.

What is written goes through the same queue as in SQLite; see the ledger. What is read is read on a few connections of
the gateway's own event loop. After any failure a connection is thrown away and another is opened for the next try, so
that the store works again as soon as the database does.

Deadlines of approvals and grants are compared with the time of the database, which is one for all gateways, when the
statement runs; the clock of a gateway is only written down.

This module refuses to keep a password where it could be shown, and to touch a database of a newer version.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

import asyncpg

from interlock.clock import Clock
from interlock.core.model import Micros
from interlock.store import postgres_words as statements
from interlock.store.migrate import migrations
from interlock.store.postgres_address import shown_database
from interlock.store.postgres_clock import PostgresClock
from interlock.store.postgres_ledger import PostgresLedger
from interlock.store.postgres_link import FAILURES, Address, Ear, Lines, Patience, say_goodbye, words
from interlock.store.postgres_migrate import migrate, refused
from interlock.store.postgres_shared import PostgresShared
from interlock.store.postgres_story import PostgresStory
from interlock.store.postgres_words import held, in_postgres, plain
from interlock.store.protocol import Activity, ActivityFilter, StoreUnavailable
from interlock.store.rows import Row, activity_of, storable
from interlock.store.shared import Shared
from interlock.store.sql import OPEN_STATES, SqlStore
from interlock.store.story import Story
from interlock.store.writer import Limits

READERS = 4
"""How many statements are read at once; to count everything takes long, and a call must not wait for that."""
LOOK_SECONDS = 1.0
"""How often whoever waits for news looks for it, told or not."""
LIMITS = Limits(batch_records=2_000, batch_characters=16 * 1024 * 1024)
"""A transaction has to end within seconds, for those who wait for it and for the other gateways, however much has
gathered while the database was slow."""
_PATIENT = Patience()


class PostgresStore(SqlStore):
    """The store of one gateway, in a database that others may share. `chain` is the gateway's own, for ever."""

    def __init__(
        self,
        address: str,
        chain: str,
        clock: Clock,
        *,
        limits: Limits | None = None,
        patience: Patience = _PATIENT,
    ) -> None:
        self._time = PostgresClock(clock)
        super().__init__(self._time, limits or LIMITS)
        self._own = chain
        self._address = Address(address, patience)
        self._lines = Lines(self._address, READERS)
        self._ear = Ear(self._address, self._told)
        self._shared = PostgresShared(self._address, chain, self._time, self._write, self._rows, self._ear.listen)

        self._story = PostgresStory(self._rows, self._heard, lambda: self._news)

    @property
    def place(self) -> str:
        return shown_database(self._address.text)

    @property
    def shared(self) -> Shared:
        return self._shared

    @property
    def story(self) -> Story:
        return self._story

    def _told(self) -> None:
        """Another gateway, or this one, has changed something that all know."""
        self._committed()
        self._shared.heard()

    async def start(self) -> None:
        await prepare(self._address, self._own, self._clock)
        self._begin(self._own, PostgresLedger(self._address, self._clock, self._own))

    async def close(self) -> None:
        writer = self._end()
        if writer is None:
            return
        try:
            await asyncio.to_thread(writer.close)
        finally:
            await self._ear.close()
            await self._shared.close()
            await self._lines.close()

    async def open_activities(self) -> Sequence[Activity]:
        return [activity_of(row) for row in await self._rows(statements.OPEN_CALLS, (OPEN_STATES, self._chain))]

    async def _rows(self, sql: str, values: Row, *, timed: bool = False) -> list[Any]:
        self._open_writer()
        given = [held(each) for each in storable(values)]
        async with self._lines.use() as connection:
            found = await connection.fetch(in_postgres(sql, timed=timed), *given)
        return [plain(each) for each in found]

    async def _heard(self, news: asyncio.Event) -> None:
        await self._ear.listen()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await news.wait()

    @staticmethod
    def _listing(wanted: ActivityFilter, limit: int) -> tuple[str, Row]:
        return statements.listing(wanted, limit)

    @staticmethod
    def _counting(wanted: ActivityFilter, width: Micros, limit: int) -> tuple[str, Row]:
        return statements.counting(wanted, width, limit)


async def prepare(address: Address, chain: str, clock: Clock) -> None:
    """Create or migrate what is ours in the database, and see that the chain is known there."""
    try:
        connection = await address.connect()
        try:
            await migrate(connection, migrations("migrations/postgres"))
            await connection.execute(statements.START_CHAIN, chain, clock.now())
        except asyncpg.InsufficientPrivilegeError as problem:
            raise await refused(connection, problem) from problem
        finally:
            await say_goodbye(connection, address.patience.connect)
    except FAILURES as problem:
        raise StoreUnavailable(f"PostgreSQL: {words(problem)}") from problem
