"""Many clients with equal JSON-RPC ids and answers that come in any order: nobody gets what belongs to another."""

import asyncio
import os
import random
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.running import Running, server_yaml, serving
from tests.talking import NO_TLS
from tests.upstream.running import http_upstream, stdio_argv

CLIENTS = 50
TURNS = int(os.environ.get("INTERLOCK_TEST_TURNS", "20"))
MODERN = "2026-07-28"
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncGenerator[Running]:
    with http_upstream(tmp_path / "remote.log") as remote:
        text = "expose: direct\nposture: open\nservers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"))
        async with serving(tmp_path, f"{text}  far: {{url: '{remote.url}'}}\n") as running:
            yield running


def requests(number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What one client asks: the name of the tool and the params, each with a nonce of its own. Seeded by the client."""
    chance = random.Random(number)
    for turn in range(TURNS):
        name = f"{chance.choice(('up', 'far'))}__echo"
        yield name, {"name": name, "arguments": {"nonce": f"<{number}:{turn}>", "after_ms": chance.random() * 20}}


async def legacy_client(http: httpx2.AsyncClient, url: str, number: int) -> list[Any]:
    """The content of each answer. Ids begin with 1 for every client."""
    info = {"name": "test", "version": "1"}
    params: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    session = (await http.post(url, json=opening, headers=JSON)).headers["mcp-session-id"]
    headers = {**JSON, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    return [await _ask(http, url, headers, turn, each) for turn, (_, each) in enumerate(requests(number), start=1)]


async def modern_client(http: httpx2.AsyncClient, url: str, number: int) -> list[Any]:
    answers: list[Any] = []
    for turn, (name, params) in enumerate(requests(number), start=1):
        headers = {**JSON, "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name}
        answers.append(await _ask(http, url, headers, turn, {**params, "_meta": META}))
    return answers


async def _ask(
    http: httpx2.AsyncClient, url: str, headers: dict[str, str], number: int, params: dict[str, Any]
) -> tuple[int, str]:
    body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    answer = (await http.post(url, json=body, headers=headers)).json()
    return answer["id"], answer["result"]["arguments"]["nonce"]


async def test_fifty_clients_with_equal_ids_each_get_their_own_answers(gateway: Running) -> None:
    limits = httpx2.Limits(max_connections=CLIENTS)
    async with httpx2.AsyncClient(limits=limits, timeout=60, verify=NO_TLS) as http, asyncio.TaskGroup() as group:
        clients = [
            group.create_task((legacy_client, modern_client)[number % 2](http, gateway.url, number))
            for number in range(CLIENTS)
        ]

    for number, client in enumerate(clients):
        assert client.result() == [(turn + 1, f"<{number}:{turn}>") for turn in range(TURNS)]
