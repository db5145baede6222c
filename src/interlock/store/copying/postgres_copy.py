"""A PostgreSQL database as the source and as the target of a copy.

What is written is one transaction: what was broken off leaves nothing behind. The guards of the tables let nothing in
that has not come about step by step, which a copy has not: they are switched off and on again in that transaction,
which only the owner of the tables can do, and which keeps all others out until it has ended.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from asyncpg import Connection

from interlock.store.copying.tables import ACTIVITY, TABLES, Table
from interlock.store.migrate import migrations
from interlock.store.postgres_link import FAILURES, GATEWAY, Address, say_goodbye, words
from interlock.store.postgres_migrate import migrate
from interlock.store.postgres_snapshot import PATIENT, Snapshot, see_version
from interlock.store.postgres_words import held
from interlock.store.protocol import StoreUnavailable
from interlock.store.rows import Row

# Who else is connected and is a gateway.
_GATEWAYS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()
"""
_CHAINS = "SELECT id FROM chain ORDER BY started_at, id"
_GUARDED = ("entry", "seal", "approval", "granted")
_UNHURRIED = "SET idle_in_transaction_session_timeout = 0; SET lock_timeout = '10s'"
_TOLD_IN = replace(ACTIVITY, columns=(*ACTIVITY.columns, "chain"))

T = TypeVar("T")


class NotEmpty(Exception):
    """The database has something in it. The message says where."""


class PostgresSource:
    """A database, read at one moment."""

    def __init__(self, snapshot: Snapshot) -> None:
        see_version(snapshot)
        self._snapshot = snapshot
        self.chains: tuple[str, ...] = tuple(name for (name,) in snapshot.rows(_CHAINS))

    def gateways(self) -> int:
        """How many connections of gateways there are beside this one."""
        return self._snapshot.value(_GATEWAYS, GATEWAY)

    def count(self, table: Table) -> int:
        return self._snapshot.value(f"SELECT count(*) FROM {table.quoted}")  # noqa: S608 - of constants

    def rows(self, table: Table) -> Iterator[Row]:
        return self._snapshot.pages((_TOLD_IN if table is ACTIVITY else table).select())


class PostgresTarget:
    """A database that is being filled, in a transaction."""

    def __init__(self, run: Callable[[Awaitable[Any]], Any], connection: Connection) -> None:
        self._run = run
        self._connection = connection

    def put(self, table: Table, rows: Sequence[Row]) -> None:
        columns = _TOLD_IN.columns if table is ACTIVITY else table.columns
        records = [tuple(map(held, row)) for row in rows]
        self._run(
            self._connection.copy_records_to_table(
                table.name, schema_name="interlock", columns=columns, records=records
            )
        )


@contextmanager
def postgres_target(address: str) -> Generator[PostgresTarget]:
    """An empty database, filled when the block has ended well; raises NotEmpty and StoreUnavailable."""
    place = Address(address, PATIENT, "interlock db")
    with asyncio.Runner() as runner:

        def run(work: Awaitable[T]) -> T:
            async def done() -> T:
                return await work

            return runner.run(done())

        try:
            connection = run(place.connect())
        except FAILURES as problem:
            raise StoreUnavailable(f"PostgreSQL: {words(problem)}") from None
        try:
            run(_begin(connection))
            yield PostgresTarget(run, connection)
            run(_end(connection))
        except FAILURES as problem:
            raise StoreUnavailable(f"PostgreSQL: {words(problem)}") from None
        finally:
            # What is open then is rolled back.
            run(say_goodbye(connection, PATIENT.connect))


async def _begin(connection: Connection) -> None:
    await connection.execute(_UNHURRIED)
    await migrate(connection, migrations("migrations/postgres"))
    await connection.execute("BEGIN")
    for each in _GUARDED:
        await connection.execute(f"ALTER TABLE {each} DISABLE TRIGGER USER")
    for table in TABLES:
        if await connection.fetchval(f"SELECT EXISTS (SELECT 1 FROM {table.quoted})"):  # noqa: S608 - of constants
            raise NotEmpty(f"in the table {table.name}")


async def _end(connection: Connection) -> None:
    for each in _GUARDED:
        await connection.execute(f"ALTER TABLE {each} ENABLE TRIGGER USER")
    await connection.execute("COMMIT")
