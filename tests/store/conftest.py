"""The stores under test, and the loop they run in."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from interlock.store.protocol import Store
from interlock.store.sqlite import SqliteStore
from tests.store.examples import OpenStore, TickingClock


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "interlock.db"


@pytest.fixture(params=["sqlite"])
async def open_store(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[OpenStore]:
    kinds: dict[str, Callable[[], Store]] = {"sqlite": lambda: SqliteStore(path, TickingClock())}
    opened: list[Store] = []

    async def open_one() -> Store:
        opened.append(kinds[request.param]())
        await opened[-1].start()
        return opened[-1]

    yield open_one
    for each in opened:
        await each.close()


@pytest.fixture
async def store(open_store: OpenStore) -> Store:
    return await open_store()
