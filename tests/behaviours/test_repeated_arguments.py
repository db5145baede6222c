"""A tool that wants an argument repeated in a header can be called by every client, and the header cannot lie."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from tests.behaviours.conftest import ERAS
from tests.conformance.suites import upstream
from tests.running import Running, serving
from tests.talking import META, talking

TOOL = "test_custom_headers"
CONFIG = "posture: open\nexpose: both\nservers:\n  up: {{url: '{url}'}}\n"


@pytest.fixture(scope="module")
def far() -> Generator[str]:
    """A modern server that refuses a call without the header."""
    with upstream("modern") as url:
        yield url


@pytest.fixture
async def gateway(tmp_path: Path, far: str) -> AsyncGenerator[Running]:
    async with serving(tmp_path, CONFIG.format(url=far)) as running:
        yield running


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("region", ["eu", "Zürich\n"])
async def test_clients_of_both_eras_can_call_it(gateway: Running, era: str, region: str) -> None:
    async with Client(gateway.url, mode=era) as client:
        await client.list_tools()
        result = await client.call_tool(f"up__{TOOL}", {"region": region})

    assert not result.is_error, result


async def test_an_agent_that_searches_can_call_it(gateway: Running) -> None:
    arguments: dict[str, Any] = {
        "name": f"up:{TOOL}",
        "args": {"region": "eu"},
        "intent": {"operation_type": "destructive"},
    }
    async with Client(gateway.url, mode="2026-07-28") as client:
        result = await client.call_tool("call_tool_destructive", arguments)

    assert not result.is_error, result


async def test_a_modern_client_over_stdio_can_call_it(tmp_path: Path, far: str) -> None:
    (tmp_path / "interlock.yaml").write_text(CONFIG.format(url=far), encoding="utf-8")
    async with talking(tmp_path) as talk:
        answer = await talk.call(f"up__{TOOL}", 1, modern=True, region="eu")

    assert answer["result"].get("isError") is not True, answer


async def test_a_header_that_says_something_else_is_refused_and_nothing_is_sent(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    name = f"up__{TOOL}"
    params = {"name": name, "arguments": {"region": "eu"}, "_meta": META}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": name,
        "mcp-param-region": "us",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await http.post(gateway.url, json=body, headers=headers)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)
    assert await gateway.activities() == []
