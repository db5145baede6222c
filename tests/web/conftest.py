"""Offices for the tests of REST: one without any server, and one with two of them."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from interlock.core.safety import Posture
from interlock.forward.fleet import Fleet
from tests.web.office import Office, fleet_of, office, strange, upstream


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the upstream writes down what it receives."""
    return tmp_path_factory.mktemp("upstream") / "upstream.log"


@pytest.fixture(scope="module")
async def fleet(log: Path) -> AsyncGenerator[Fleet]:
    """`up` (namespace `upper`) is the upstream of the tests, `odd` (namespace `curious`) the one with strange tools."""
    async with fleet_of(upstream(log), strange()) as running:
        yield running


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncGenerator[Office]:
    """An office with no server behind it."""
    async with fleet_of() as fleet, office(tmp_path, fleet) as running:
        yield running


@pytest.fixture
async def live(tmp_path: Path, fleet: Fleet, log: Path) -> AsyncGenerator[Office]:
    """An office with both servers behind it."""
    async with office(tmp_path, fleet, log=log) as running:
        yield running


@pytest.fixture
async def lenient(tmp_path: Path) -> AsyncGenerator[Office]:
    """An office that lets everything pass, with a server of its own that may be broken."""
    own = tmp_path / "own.log"
    async with fleet_of(upstream(own)) as fleet, office(tmp_path, fleet, Posture.OPEN, own) as running:
        yield running
