"""A database as the source and the target of a copy: what only PostgreSQL has to be asked for."""

import asyncio
from importlib.resources import files

import pytest

from interlock.store.copying.postgres_copy import NotEmpty, PostgresSource, postgres_target
from interlock.store.copying.tables import TABLES
from interlock.store.postgres_snapshot import snapshot_of
from interlock.store.protocol import StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.places import InDatabase, opened

ROLE = files("interlock.store").joinpath("postgres_role.sql").read_text(encoding="utf-8")


async def test_a_gateway_that_is_connected_is_seen_and_whoever_only_reads_is_none(database: InDatabase) -> None:
    with snapshot_of(database.address) as one, snapshot_of(database.address) as other:
        assert [PostgresSource(each).gateways() for each in (one, other)] == [0, 0]
    async with opened(database) as store:
        await store.write([])
        await store.log_end()
        with snapshot_of(database.address) as seen:
            assert PostgresSource(seen).gateways() > 0


def test_a_database_that_was_never_used_is_migrated_first(postgres: PostgresServer) -> None:

    name = asyncio.run(postgres.new_database("template1"))
    with postgres_target(postgres.address(name)) as target:
        target.put(TABLES[0], [("chain", 1)])
    with snapshot_of(postgres.address(name)) as seen:
        assert PostgresSource(seen).chains == ("chain",)
    with pytest.raises(NotEmpty, match="chain"), postgres_target(postgres.address(name)):
        pass
    asyncio.run(postgres.drop(name))


def test_only_the_owner_of_the_tables_can_fill_them(postgres: PostgresServer) -> None:

    database = InDatabase(postgres)
    asyncio.run(database.__aenter__())
    login = f"filling_{database.name}"
    asyncio.run(database.tell(ROLE, f"CREATE ROLE {login} LOGIN IN ROLE interlock_gateway"))
    with pytest.raises(StoreUnavailable, match="must be owner"), postgres_target(database.address_of(login)):
        pass
    asyncio.run(database.tell(f"DROP OWNED BY {login}", f"DROP ROLE {login}"))
    asyncio.run(database.__aexit__())


def test_a_password_is_not_in_what_is_said() -> None:
    for each in ("postgresql://u:hunter2@/db?host=/nowhere", "postgresql://u:hunter2@h:port/db"):
        with pytest.raises(StoreUnavailable) as refused, postgres_target(each):
            pass
        assert "hunter2" not in str(refused.value)
