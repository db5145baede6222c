"""Whoever does not read what is written to it keeps nobody waiting but itself: clients over stdio, and servers."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.behaviours.callers import Doors
from tests.behaviours.test_malformed import META, request
from tests.behaviours.test_stdio import until
from tests.running import Running, server_yaml, serving
from tests.talking import argv, clean
from tests.upstream.running import received, stdio_argv

SIZE = 100_000
MANY = 900
LEAST = 100
MIB = 1024 * 1024
PARAMS = {"name": "up__huge", "arguments": {"size": SIZE}, "_meta": META}
DEAF = """
import json, signal, sys
for line in iter(sys.stdin.buffer.readline, b""):
    message = json.loads(line)
    named = {"name": "deaf", "version": "1"}
    told = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": named}
    if message["method"] == "tools/list":
        told = {"tools": [{"name": "get_it", "inputSchema": {"type": "object"}}]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": told}), flush=True)
    if message["method"] == "tools/list":
        signal.pause()
"""
"""A server that says what it has, and reads nothing from then on."""


def resident(pid: int) -> int:
    """How much memory a process has now, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def asked(log: Path) -> int:
    return len([each for each in received(log) if each.method == "tools/call"])


async def test_a_client_that_reads_nothing_costs_little_harms_nobody_and_is_gone_when_it_goes(
    gateway: Running, http: httpx2.AsyncClient, log: Path, tmp_path: Path
) -> None:
    calls = b"".join(request(id=each, params=PARAMS) + b"\n" for each in range(MANY))
    with subprocess.Popen(  # noqa: ASYNC220 - asyncio would read its output
        argv(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=clean(),
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        try:
            await asyncio.to_thread(process.stdin.write, calls)
            await asyncio.to_thread(process.stdin.flush)
            # Each has its answer from the server by then, as far as it was asked.
            await until(lambda: asked(log) > LEAST)
            told = [await Doors(http, gateway).modern("structured", {"a": 1, "b": each}) for each in range(20)]
            most, count = resident(process.pid), asked(log)
            process.stdin.close()
            code = await asyncio.to_thread(process.wait, 20)
        finally:
            process.kill()

    assert told == [("ok", "")] * 20
    assert count < 400  # those under way and those that wait to be written; the others are not asked for
    assert most < 250 * MIB
    assert code == 0


@pytest.mark.parametrize("size", [10, 300_000], ids=["small", "larger than the pipe"])
async def test_calls_of_a_server_that_reads_nothing_run_out_of_time_and_others_go_on(
    tmp_path: Path, log: Path, http: httpx2.AsyncClient, size: int
) -> None:
    text = "posture: open\nexpose: direct\nservers:\n" + server_yaml("up", stdio_argv(log))
    text += server_yaml("deaf", [sys.executable, str(tmp_path / "deaf.py")], call_timeout="1s")
    (tmp_path / "deaf.py").write_text(DEAF)
    async with serving(tmp_path, text) as running:
        doors = Doors(http, running)

        async def deaf() -> str:
            body = {"arguments": {"a": "x" * size}}
            answer = await http.post(
                doors.api("/tools/deaf/get_it/call"), json=body, headers=doors.operator, timeout=30
            )
            return answer.json()["code"]

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            waiting = [group.create_task(deaf()) for _ in range(8)]
            between = [await doors.modern("structured", {"a": 1, "b": each}) for each in range(5)]
            early = [each for each in waiting if each.done()]
        codes = {each.result() for each in waiting}

    assert between == [("ok", "")] * 5
    assert early == []
    assert "UPSTREAM_TIMEOUT" in codes
    assert codes <= {"UPSTREAM_TIMEOUT", "UPSTREAM_DOWN"}
