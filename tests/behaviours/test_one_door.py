"""One door: whatever way a call comes in, what the upstream received is what is on record, call by call."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from interlock.core.lifecycle import CallState
from interlock.store.protocol import Activity
from tests.running import Running, server_yaml, serving
from tests.talking import NO_TLS
from tests.upstream.running import received, stdio_argv

RULES = "route_rules: [{id: no-commands, tool_pattern: up__run_command, effect: deny}]\n"
Door: TypeAlias = Callable[[Running, str, dict[str, Any]], Awaitable[str | None]]
"""Calls a write tool of `up`; returns the code of the refusal, or None."""

CASES: dict[str, tuple[str, dict[str, Any], str | None, CallState]] = {
    "allowed": ("write_note", {"name": "n", "text": "t"}, None, CallState.SUCCESS),
    "blocked": ("run_command", {"command": "ls"}, "DENIED_BY_RULE", CallState.BLOCKED),
    "unknown tool": ("write_notes", {"name": "n"}, "UNKNOWN_TOOL", CallState.BLOCKED),
    "bad arguments": ("set_level", {"level": "high"}, "INVALID_ARGUMENTS", CallState.BLOCKED),
}


async def through_client(client: Client, tool: str, arguments: dict[str, Any]) -> str | None:
    declared = {"name": f"up:{tool}", "args": arguments, "intent": {"operation_type": "write"}}
    result = await client.call_tool("call_tool_write", declared)
    return result.structured_content["code"] if result.is_error and result.structured_content else None


def over_http(era: str) -> Door:
    async def call(running: Running, tool: str, arguments: dict[str, Any]) -> str | None:
        async with Client(running.url, mode=era) as client:
            return await through_client(client, tool, arguments)

    return call


def over_stdio(era: str) -> Door:
    async def call(running: Running, tool: str, arguments: dict[str, Any]) -> str | None:
        words = ["-m", "interlock", "stdio", "--data-dir", str(running.folder.path)]
        async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=words)), mode=era) as client:
            return await through_client(client, tool, arguments)

    return call


async def command_line(running: Running, *words: str) -> str | None:
    argv = [sys.executable, "-m", "interlock", *words, "--data-dir", str(running.folder.path), "--json"]
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return None if process.returncode == 0 else json.loads(out)["error"]["code"]


async def over_call(running: Running, tool: str, arguments: dict[str, Any]) -> str | None:
    given = json.dumps(arguments)
    return await command_line(running, "call", "tool-write", "--tool-name", f"up:{tool}", "--json_args", given)


async def over_run_tool(running: Running, tool: str, arguments: dict[str, Any]) -> str | None:
    given = [
        f"--arg={key}={json.dumps(value) if isinstance(value, int) else value}" for key, value in arguments.items()
    ]
    return await command_line(running, "run-tool", f"up:{tool}", *given, "--approve")


async def over_try_it(running: Running, tool: str, arguments: dict[str, Any]) -> str | None:
    headers = {"authorization": f"Bearer {running.folder.credential()}"}
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http:
        url = f"http://{running.host}/api/v1/tools/up/{tool}/call"
        answer = await http.post(url, json={"arguments": arguments}, headers=headers)
    return answer.json()["code"] if answer.is_error else None


DOORS: dict[str, Door] = {
    "HTTP, legacy": over_http("legacy"),
    "HTTP, modern": over_http("2026-07-28"),
    "stdio, legacy": over_stdio("legacy"),
    "stdio, modern": over_stdio("2026-07-28"),
    "interlock call": over_call,
    "interlock run-tool": over_run_tool,
    "REST": over_try_it,
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "upstream.log"


@pytest.fixture
async def gateway(tmp_path: Path, log: Path) -> AsyncGenerator[Running]:
    async with serving(tmp_path, RULES + "servers:\n" + server_yaml("up", stdio_argv(log))) as running:
        yield running


def sent(log: Path) -> list[tuple[str, Any]]:
    """The calls that the upstream received."""
    calls = [each.message["params"] for each in received(log) if each.method == "tools/call"]
    return [(each["name"], each["arguments"]) for each in calls]


def forwarded(activities: list[Activity]) -> list[tuple[str | None, Any]]:
    """The calls that are on record as sent."""
    return [(each.tool, each.body["arguments"]) for each in activities if each.status is not CallState.BLOCKED]


@pytest.mark.parametrize("door", DOORS)
async def test_what_the_upstream_received_is_what_is_on_record(gateway: Running, log: Path, door: str) -> None:
    for tool, arguments, refusal, status in CASES.values():
        code = await DOORS[door](gateway, tool, arguments)
        activities = await gateway.activities()

        assert code == refusal
        assert (activities[-1].tool, activities[-1].status) == (tool, status)
        assert sent(log) == forwarded(activities)

    assert len(await gateway.activities()) == len(CASES)
    assert len(sent(log)) == 1
