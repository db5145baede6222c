"""Where the stores under test keep what they are given: a file, or a database of the one server of the tests."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import asyncpg

from interlock.clock import Clock
from interlock.store.postgres import PostgresStore
from interlock.store.sql import SqlStore
from interlock.store.sqlite import SqliteStore
from tests.postgres_server import PostgresServer
from tests.store.examples import NOW, TickingClock

CHAIN = "chain-1"
TURN = """
CREATE OR REPLACE FUNCTION interlock.now_micros() RETURNS BIGINT LANGUAGE sql VOLATILE RETURN {}::BIGINT
"""
"""Turns the clock of a database."""


class Place(AbstractAsyncContextManager["Place"], Protocol):
    """What outlasts a store: another one that is opened at the same place finds what the first one wrote."""

    def store(self, clock: Clock) -> SqlStore: ...

    async def turn_clock(self, now: int) -> None:
        """Let the time that deadlines are compared with be this one, if it is not that of the store's own clock."""
        ...


NewPlace = Callable[[], Place]


class InFile(Place):
    """A SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def __aexit__(self, *_: object) -> None:
        for each in self._path.parent.glob(f"{self._path.name}*"):
            each.unlink()

    def store(self, clock: Clock) -> SqlStore:
        return SqliteStore(self._path, clock)

    async def turn_clock(self, now: int) -> None:
        pass


class InDatabase(Place):
    """A database of PostgreSQL, new for each test. Its time stands still until it is turned."""

    def __init__(self, server: PostgresServer, *, turned: bool = True) -> None:
        self._server = server
        self._turned = turned
        self.name = ""

    async def __aenter__(self) -> "InDatabase":
        self.name = await self._server.new_database()
        if self._turned:
            await self.turn_clock(NOW)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.drop(self.name)

    @property
    def address(self) -> str:
        return self._server.address(self.name)

    def address_of(self, user: str) -> str:
        return self._server.address(self.name, user)

    def store(self, clock: Clock, chain: str = CHAIN) -> PostgresStore:
        return PostgresStore(self.address, chain, clock)

    async def turn_clock(self, now: int) -> None:
        await self.tell(TURN.format(now))

    async def tell(self, *told: str) -> None:
        """Do something behind the store's back."""
        connection = await self.connect()
        for each in told:
            await connection.execute(each)
        await connection.close()

    async def connect(self) -> asyncpg.Connection:
        connection = await asyncpg.connect(self.address)
        await connection.execute("SET search_path = interlock")
        return connection

    async def listened_to(self) -> None:
        """Wait until somebody listens for what gateways tell each other."""
        listening = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND query ILIKE 'LISTEN %')"
        connection = await self.connect()
        async with asyncio.timeout(20):
            while not await connection.fetchval(listening, self.name):  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
        await connection.close()


@contextlib.asynccontextmanager
async def opened(database: InDatabase, chain: str = CHAIN) -> AsyncGenerator[PostgresStore]:
    """The store of one of the gateways of a database, while the block runs."""
    store = database.store(TickingClock(), chain)
    await store.start()
    try:
        yield store
    finally:
        await store.close()
