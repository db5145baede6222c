"""A gateway in front of the upstream of the tests, over stdio and over HTTP."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.running import Running, server_yaml, serving
from tests.talking import NO_TLS
from tests.upstream.running import HttpUpstream, http_upstream, stdio_argv

ERAS = ("legacy", "2026-07-28")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where the stdio upstream writes down what it receives."""
    return tmp_path / "upstream.log"


@pytest.fixture
def remote(tmp_path: Path) -> Any:
    with http_upstream(tmp_path / "remote.log") as running:
        yield running


@pytest.fixture
async def gateway(tmp_path: Path, log: Path, remote: HttpUpstream) -> AsyncGenerator[Running]:
    """Two servers: `up` over stdio, `far` over HTTP with a credential of its own. Everything may run."""
    text = (
        "posture: open\nexpose: both\nlimits: {in_flight_per_caller: 1000}\nservers:\n"
        + server_yaml("up", stdio_argv(log))
        + f"  far: {{url: '{remote.url}', headers: {{Authorization: 'Bearer of-the-operator'}}}}\n"
    )
    async with serving(tmp_path, text) as running:
        yield running


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(verify=NO_TLS) as client:
        yield client
