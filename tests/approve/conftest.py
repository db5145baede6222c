"""A waiting room with a real store, on the loop that the gateway runs on."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from interlock.store.sqlite import SqliteStore
from tests.approve.rooms import NOW, Waiting, waiting_in
from tests.fakes import FakeClock
from tests.forward.children import LOOPS


@pytest.fixture(params=LOOPS[-1:], ids=["uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Waiting]:
    clock = FakeClock(NOW)
    path = tmp_path / "interlock.db"
    store = SqliteStore(path, clock)
    await store.start()
    yield waiting_in(store, clock, path)
    await store.close()
