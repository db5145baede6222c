"""A waiting room with a real store, on the loop that the gateway runs on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.approve.joined import Company, Joined
from tests.approve.rooms import NOW, Waiting, waiting_in
from tests.fakes import FakeClock
from tests.forward.children import LOOPS
from tests.postgres_server import PostgresServer
from tests.store.places import InDatabase
from tests.stores import clocked_store_of


@pytest.fixture(params=LOOPS[-1:], ids=["uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Waiting]:
    clock = FakeClock(NOW)
    store = clocked_store_of(tmp_path, clock)
    await store.start()
    yield waiting_in(store, clock, tmp_path)
    await store.close()


@pytest.fixture
async def company(postgres: PostgresServer) -> AsyncIterator[Company]:
    async with InDatabase(postgres) as database:
        yield Company(database)


@pytest.fixture
async def two(company: Company) -> AsyncIterator[tuple[Joined, Joined]]:
    async with company.gateway() as one, company.gateway() as other:
        yield one, other
