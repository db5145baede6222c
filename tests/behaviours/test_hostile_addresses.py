"""Every way in x names and pages that are not ours: refused before a byte of the body has come."""

import asyncio
import re
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from interlock.web import PREFIX
from interlock.web.routes import ROUTES
from tests.running import Running, serving

WAYS = (
    *((route.method, PREFIX + re.sub(r"\{[^}]*\}", "x", route.path)) for route in ROUTES),
    *((method, "/mcp") for method in ("POST", "GET", "DELETE", "OPTIONS", "PUT")),
    *(("GET", path) for path in ("/", "/livez", "/readyz", "/metrics", "/nothing", f"{PREFIX}/nothing", "//", "/%2e")),
)
HOSTS = ("evil.test", "127.0.0.1.evil.test:{port}", "localhost:1", "127.0.0.1", "0.0.0.0:{port}", "[::ffff:7f00:1]", "")
ORIGINS = ("http://evil.test", "null", "http://localhost:1", "file://", "http://127.0.0.1:{port}.evil.test", "")
SECONDS = 20


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def running(tmp_path: Path) -> AsyncGenerator[Running]:
    async with serving(tmp_path) as made:
        yield made


async def status_of(running: Running, way: tuple[str, str], headers: str) -> int:
    """The status that is answered to a head whose body never comes."""
    host, _, port = running.host.partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        method, path = way
        rest = "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        writer.write(f"{method} {path} HTTP/1.1\r\n{headers.format(port=port)}{rest}".encode())
        async with asyncio.timeout(SECONDS):
            return int((await reader.readline()).split()[1])
    finally:
        writer.close()


@pytest.mark.parametrize("host", HOSTS)
async def test_another_name_is_misdirected_on_every_way_in(running: Running, host: str) -> None:
    head = f"Host: {host}\r\nAuthorization: Bearer il_x_y\r\n"

    assert {way: await status_of(running, way, head) for way in WAYS} == dict.fromkeys(WAYS, 421)


@pytest.mark.parametrize("origin", ORIGINS)
async def test_another_page_is_refused_on_every_way_in(running: Running, origin: str) -> None:
    head = f"Host: {running.host}\r\nOrigin: {origin}\r\nAuthorization: Bearer il_x_y\r\n"

    assert {way: await status_of(running, way, head) for way in WAYS} == dict.fromkeys(WAYS, 403)


async def test_a_request_without_a_name_is_misdirected_on_every_way_in(running: Running) -> None:
    assert {way: await status_of(running, way, "") for way in WAYS} == dict.fromkeys(WAYS, 421)
