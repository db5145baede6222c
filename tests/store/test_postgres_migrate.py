"""Migrations in PostgreSQL: all of one or nothing, once, and never of what is not ours."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from interlock.store.migrate import Migration, migrations
from interlock.store.postgres import PostgresStore
from interlock.store.postgres_migrate import migrate
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.examples import TickingClock, activity, assert_sound
from tests.store.places import CHAIN, InDatabase, opened

OURS = migrations("migrations/postgres")


@pytest.fixture
async def empty(postgres: PostgresServer) -> AsyncIterator[str]:
    """The address of a database with nothing in it."""
    name = await postgres.new_database("template1")
    yield postgres.address(name)
    await postgres.drop(name)


@pytest.fixture
async def connection(empty: str) -> AsyncIterator[asyncpg.Connection]:
    made = await connected(empty)
    yield made
    await made.close()


async def connected(address: str) -> asyncpg.Connection:
    made = await asyncpg.connect(address)
    await made.execute("SET search_path = interlock")
    return made


async def parts(connection: asyncpg.Connection) -> set[str]:
    rows = await connection.fetch("SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('interlock')")
    return {name for (name,) in rows}


def test_our_migrations_are_numbered_without_a_gap() -> None:
    assert [each.version for each in OURS] == [*range(1, len(OURS) + 1)]


async def test_a_new_database_is_brought_to_our_version_and_the_second_time_nothing_happens(
    connection: asyncpg.Connection,
) -> None:
    await migrate(connection, OURS)
    before = await connection.fetch("SELECT version, xmin::text FROM version")
    await migrate(connection, OURS)

    assert [version for version, _ in before] == [each.version for each in OURS]
    assert await connection.fetch("SELECT version, xmin::text FROM version") == before


async def test_a_next_version_keeps_what_is_there(database: InDatabase) -> None:
    async with opened(database) as store:
        await store.write([activity(1)])
        connection = await database.connect()
        await migrate(connection, (*OURS, Migration(len(OURS) + 1, "ALTER TABLE activity ADD note TEXT")))
        await connection.close()
        await store.write([activity(2)])

        await assert_sound(store)


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(database: InDatabase) -> None:
    await database.tell("INSERT INTO version VALUES (99)")
    store = database.store(TickingClock())
    with pytest.raises(StoreUnavailable, match=r"has version 99 .* install the Interlock that wrote it"):
        await store.start()
    with pytest.raises(StoreUnavailable, match="not open"):
        await store.write([activity(1)])

    await store.close()


async def test_a_schema_of_another_program_is_refused_and_left_alone(
    connection: asyncpg.Connection, empty: str
) -> None:
    await connection.execute("CREATE SCHEMA interlock CREATE TABLE theirs ()")
    with pytest.raises(StoreUnavailable, match="belongs to another program: give the store an address of its own"):
        await PostgresStore(empty, CHAIN, TickingClock()).start()

    assert await parts(connection) == {"theirs"}


async def test_what_else_is_in_a_database_is_no_obstacle(connection: asyncpg.Connection) -> None:
    await connection.execute("CREATE TABLE public.entry (theirs int)")
    await migrate(connection, OURS)

    assert await connection.fetch("SELECT * FROM entry") == []


async def test_a_schema_that_the_administrator_has_made_is_used(connection: asyncpg.Connection) -> None:
    await connection.execute("CREATE SCHEMA interlock")
    await migrate(connection, OURS)

    assert "entry" in await parts(connection)


async def test_a_migration_that_fails_half_way_leaves_nothing_behind(connection: asyncpg.Connection) -> None:
    with pytest.raises(asyncpg.PostgresError):
        await migrate(connection, [Migration(1, f"{OURS[0].sql}; SELECT 1 / 0")])

    assert await parts(connection) == set()


async def test_a_migration_that_is_killed_leaves_nothing_behind_and_is_done_by_the_next(
    connection: asyncpg.Connection, empty: str
) -> None:
    victim = await connected(empty)
    endless = Migration(1, f"{OURS[0].sql}; SELECT pg_sleep(600)")
    migrating = asyncio.ensure_future(migrate(victim, [endless]))
    asleep = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep')"
    async with asyncio.timeout(20):
        while not await connection.fetchval(asleep, victim.get_server_pid()):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    await connection.execute("SELECT pg_terminate_backend($1)", victim.get_server_pid())
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        await migrating
    victim.terminate()
    await migrate(connection, OURS)

    assert await connection.fetchval("SELECT max(version) FROM version") == len(OURS)


async def test_gateways_that_start_at_once_migrate_once(connection: asyncpg.Connection, empty: str) -> None:
    stores = [PostgresStore(empty, f"chain-{number}", TickingClock()) for number in range(5)]
    await asyncio.gather(*(each.start() for each in stores))
    await asyncio.gather(*(each.write([activity(number)]) for number, each in enumerate(stores)))
    await asyncio.gather(*(each.close() for each in stores))

    assert await connection.fetchval("SELECT count(*) FROM version") == len(OURS)
    assert await connection.fetchval("SELECT count(*) FROM chain") == 5
