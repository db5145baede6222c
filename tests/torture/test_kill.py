"""kill -9 of the gateway under load: nothing above read-only was sent without a record, and no child survives."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.core.lifecycle import CallState
from interlock.store.chain import first_break
from interlock.store.protocol import ActivityFilter, ActivityType
from tests.running import config_of, server_yaml, started
from tests.upstream.running import events, received, stdio_argv

KILLS = int(os.environ.get("INTERLOCK_TEST_KILLS", "3"))
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "up__write_note",
}
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def body(number: int) -> str:
    params: dict[str, Any] = {
        "name": "up__write_note",
        "arguments": {"name": "n", "text": f"mark-{number}"},
        "_meta": META,
    }
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def started_gateway(argv: list[str]) -> "Generator[subprocess.Popen[str]]":
    """A gateway as a process of its own, once it serves."""
    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "Agents connect" not in process.stderr.readline():
            assert process.poll() is None
        yield process


async def load_until_killed(url: str, process: "subprocess.Popen[str]", kill_after: int) -> None:
    """Sixteen callers write as fast as they can; after so many answers the gateway is killed."""
    answered = 0

    async def caller(http: httpx2.AsyncClient, first: int) -> None:
        nonlocal answered
        for number in range(first, first + 10_000):
            await http.post(url, content=body(number), headers=HEADERS)
            answered += 1
            if answered == kill_after:
                process.send_signal(signal.SIGKILL)

    async with httpx2.AsyncClient(timeout=3) as http, asyncio.timeout(60):
        with contextlib.suppress(BaseExceptionGroup):
            async with asyncio.TaskGroup() as group:
                for each in range(16):
                    group.create_task(caller(http, each * 10_000))


@pytest.mark.parametrize("attempt", range(KILLS))
async def test_after_a_kill_every_call_the_upstream_saw_is_on_record_and_no_child_lives(
    tmp_path: Path, attempt: int
) -> None:
    log, port = tmp_path / "upstream.log", free_port()
    config_of(tmp_path, "expose: direct\nservers:\n" + server_yaml("up", stdio_argv(log)))
    argv = [sys.executable, "-m", "interlock", "serve", "--config", str(tmp_path / "interlock.yaml")]
    argv += ["--port", str(port), "--data-dir", str(tmp_path / "data")]
    with started_gateway(argv) as process:
        await load_until_killed(f"http://127.0.0.1:{port}/mcp", process, 40 + 30 * attempt)

    (begun,) = events(log, "started")
    deadline = time.monotonic() + 5
    while is_alive(begun["pid"]) and time.monotonic() < deadline:  # noqa: ASYNC110 - another process ends it
        await asyncio.sleep(0.02)
    seen = [each.message["params"]["arguments"]["text"] for each in received(log) if each.method == "tools/call"]

    assert not is_alive(begun["pid"])
    assert len(seen) >= 40
    async with started(tmp_path) as gateway:
        recorded: dict[str, CallState] = {}
        cursor: str | None = None
        while True:
            page = await gateway.store.list_activities(
                ActivityFilter(types=(ActivityType.TOOL_CALL,), limit=500, cursor=cursor)
            )
            for each in page.items:
                arguments = each.body["arguments"]
                assert isinstance(arguments, dict)
                recorded[str(arguments["text"])] = each.status
            if page.next is None:
                break
            cursor = page.next
        entries = await gateway.store.log_entries(0, 100_000)

    assert [mark for mark in seen if mark not in recorded] == []
    assert set(recorded.values()) <= {CallState.SUCCESS, CallState.INDETERMINATE}
    assert first_break(entries) is None
