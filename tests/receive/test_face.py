"""Sessions over HTTP: whose they are, and how they end."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from tests.running import Running, serving

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "retrieve_tools", "arguments": {}},
}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


async def opened(http: httpx2.AsyncClient, running: Running) -> dict[str, str]:
    """Headers of a new session."""
    answer = await http.post(running.url, json=INITIALIZE, headers=HEADERS)
    return {**HEADERS, "mcp-session-id": answer.headers["mcp-session-id"]}


async def test_a_session_serves_calls_until_it_is_deleted(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient() as http:
        session = await opened(http, running)
        during = await http.post(running.url, json=CALL, headers=session)
        ended = await http.delete(running.url, headers=session)
        after = await http.post(running.url, json=CALL, headers=session)

    assert (during.status_code, during.headers["content-type"]) == (200, "application/json")
    assert ended.status_code == 200
    assert after.status_code == 404


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_session_that_is_not_there_answers_the_same_to_everybody(tmp_path: Path, method: str) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient() as http:
        headers = {**HEADERS, "mcp-session-id": "nobody"}
        answer = await http.request(method, running.url, json=CALL if method == "POST" else None, headers=headers)

    assert (answer.status_code, answer.json()) == (404, {"error": "Session not found."})


async def test_the_name_of_the_client_is_on_record_for_both_eras(tmp_path: Path) -> None:
    async with serving(tmp_path, "expose: direct") as running:
        for mode in ("legacy", "2026-07-28"):
            async with Client(running.url, mode=mode) as client:
                await client.call_tool("sample__delete_note", {"name": "x"})
        clients = [each.body["client"] for each in await running.activities()]

    assert clients == ["mcp", "mcp"]
