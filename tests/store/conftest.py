"""The stores under test, and the loop they run in."""

import itertools
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from interlock.store.protocol import Store
from tests.postgres_server import PostgresServer
from tests.store.examples import OpenStore, TickingClock
from tests.store.places import InDatabase, InFile, NewPlace, Place


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "interlock.db"


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, path: Path) -> NewPlace:
    if request.param == "postgres":
        return partial(InDatabase, request.getfixturevalue("postgres"))
    numbers = itertools.count()
    return lambda: InFile(path.with_name(f"{next(numbers)}.db"))


@pytest.fixture
async def database(postgres: PostgresServer) -> AsyncIterator[InDatabase]:
    """A new database that is migrated."""
    async with InDatabase(postgres) as made:
        yield made


@pytest.fixture
async def place(new_place: NewPlace) -> AsyncIterator[Place]:
    async with new_place() as made:
        yield made


@pytest.fixture
async def open_store(place: Place) -> AsyncIterator[OpenStore]:
    opened: list[Store] = []

    async def open_one() -> Store:
        opened.append(place.store(TickingClock()))
        await opened[-1].start()
        return opened[-1]

    yield open_one
    for each in opened:
        await each.close()


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    return await open_store()
