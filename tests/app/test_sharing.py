"""A gateway among others: alone there is nothing to share, and with others it begins with what they know."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest

from interlock.app.gateway import Gateway
from interlock.app.sharing import begun
from interlock.core.freezes import FreezeKind, Frozen
from interlock.store.protocol import StoreUnavailable
from interlock.store.sqlite import SqliteStore
from tests.fakes import FakeClock
from tests.postgres_server import PostgresServer
from tests.running import started

ALL = Frozen(FreezeKind.ALL)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def address(postgres: PostgresServer) -> AsyncIterator[str]:
    name = await postgres.new_database()
    yield postgres.address(name)
    await postgres.drop(name)


async def test_a_gateway_on_sqlite_is_alone(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "interlock.db", FakeClock())

    assert await begun(store, store.clock) is None


async def test_a_gateway_that_joins_knows_what_is_stopped_and_hears_of_what_is_stopped_later(
    tmp_path: Path, address: str
) -> None:
    async with started(tmp_path / "one", f"store: {address}") as one:
        await one.parts.room.freezer.freeze(ALL, "operator", "before")
        async with started(tmp_path / "two", f"store: {address}") as two:
            joined = dict(two.parts.room.freezer.in_force)
            await one.parts.room.freezer.thaw(ALL, "operator")
            async with asyncio.timeout(20):
                await _thawed(two)
            assert two.parts.room.peers is not None
            run = two.parts.room.peers.lease.run
        looked = await one.store.shared.look("", beat=False) if one.store.shared else None

    assert [each.reason for each in joined.values()] == ["before"]
    assert looked is not None
    assert run not in {each.name for each in looked.others}, "it ended in order"


async def test_a_copy_of_the_folder_of_a_gateway_that_runs_is_refused(tmp_path: Path, address: str) -> None:
    async with started(tmp_path / "one", f"store: {address}") as one:
        shutil.copytree(tmp_path / "one" / "data", tmp_path / "copy" / "data")
        with pytest.raises(StoreUnavailable, match="the folder is a copy"):
            async with started(tmp_path / "copy", f"store: {address}"):
                pass
        assert one.store.shared is not None
        assert one.parts.room.peers is not None
        looked = await one.store.shared.look(one.parts.room.peers.lease.run, beat=False)

    assert looked.ours, "the one that runs goes on as it was"


async def test_a_gateway_that_was_killed_goes_on_with_its_folder(tmp_path: Path, address: str) -> None:
    async with started(tmp_path / "one", f"store: {address}") as one:
        assert one.store.shared is not None
        chain = (tmp_path / "one" / "data" / "chain.id").read_text()
    connection = await asyncpg.connect(address)
    await connection.execute(
        "INSERT INTO interlock.gateway (run, chain, beat, started_at) VALUES ('gw_gone', $1, 7, 0)", chain.strip()
    )
    async with started(tmp_path / "one", f"store: {address}"):
        ended = await connection.fetchval("SELECT ended_by FROM interlock.gateway WHERE run = 'gw_gone'")
    await connection.close()

    assert ended is not None


async def _thawed(gateway: Gateway) -> None:
    while gateway.parts.room.freezer.in_force:  # noqa: ASYNC110 - it hears of it by itself
        await asyncio.sleep(0.01)
