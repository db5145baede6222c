"""The event stream of a whole gateway, over sockets: who comes back misses nothing, who never reads costs nothing."""

import asyncio
import contextlib
import json
import os
import random
import re
import socket
import sys
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from interlock.cli.gateway import credential_of, running_at
from interlock.store.folder import DataFolder
from interlock.web.events import HEARTBEAT_SECONDS
from tests.cli.running import serve_process
from tests.talking import NO_TLS

FULL = os.environ.get("HYPOTHESIS_PROFILE") == "torture"
"""The full counts in `make torture`, a sample in `make test`."""
CALLS = int(os.environ.get("INTERLOCK_TEST_EVENTS", "20_000" if FULL else "600"))
MAX_GROWTH = 32
"""How many MiB all readers together may cost the gateway."""
FLOOD = 40_000 if FULL else 9_000
"""How many events a reader is given that never reads: more than the buffers of a connection take, and the queue."""
LONG = "x" * 200
"""Part of the name of a tool that there is not: what is told about a call of it fills the buffers sooner."""
SECONDS = 120 + CALLS / 10
"""After which a test that waits for events has failed."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway without servers: it refuses every call, and tells so."""

    url: str
    token: str
    pid: int

    def peak(self) -> int:
        """The most memory that it had since this was last forgotten, in KiB."""
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{self.pid}/status").read_text(encoding="ascii"))
        assert found is not None
        return int(found[1])

    def forget_the_peak(self) -> None:
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")

    async def work(self, count: int, also: str = "") -> None:
        """So many calls of tools that there are not, some at the same time."""

        async def caller(first: int) -> None:
            reader, writer = await asyncio.open_connection(*self.place)
            with contextlib.closing(writer):
                for number in range(first, count, 8):
                    writer.write(_request(f"t{number}{also}", self.url))
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = re.search(rb"(?i)content-length: (\d+)", head)
                    assert length is not None, head
                    assert b"UNKNOWN_TOOL" in await reader.readexactly(int(length[1]))

        async with asyncio.TaskGroup() as group:
            for first in range(8):
                group.create_task(caller(first))

    @property
    def place(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)


def _request(tool: str, url: str) -> bytes:
    """A call, as it goes over the wire: thousands of these are made, so no client is in the way."""
    meta: dict[str, Any] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params: dict[str, Any] = {"name": tool, "arguments": {}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = {
        "Host": url.removeprefix("http://"),
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n{body}".encode()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Generator[Gateway]:
    folder = tmp_path_factory.mktemp("events")
    (folder / "interlock.yaml").write_text("expose: direct\nservers: {}\n", encoding="utf-8")
    data = DataFolder(folder / "data")
    with serve_process(data.path, "--config", str(folder / "interlock.yaml")) as process:
        yield Gateway(running_at(data) or "", credential_of(data), process.pid)


@dataclass(frozen=True, slots=True)
class Told:
    """An event of the stream."""

    number: int
    tool: str


@contextlib.asynccontextmanager
async def stream(gateway: Gateway, last: int | None) -> AsyncGenerator[AsyncGenerator[Told]]:
    """The stream of calls, from the beginning or after the last that was heard."""
    headers = {"authorization": f"Bearer {gateway.token}"} | ({} if last is None else {"last-event-id": str(last)})

    async def told(answer: httpx2.Response) -> AsyncGenerator[Told]:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                yield Told(event["number"], event["tool"])

    async with (
        httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http,
        http.stream("GET", f"{gateway.url}/api/v1/events?types=activity", headers=headers) as answer,
    ):
        assert answer.status_code == 200
        async with contextlib.aclosing(told(answer)) as events:
            yield events


async def read(gateway: Gateway, last: int, most: int) -> list[Told]:
    """Connect, hear so many events at most, and go away in the middle of it."""
    heard: list[Told] = []
    async with stream(gateway, last) as events:
        async for event in events:
            heard.append(event)
            if len(heard) == most:
                break
    return heard


@pytest.mark.sqlite("it counts with the ids of events, which are numbers where there is one log")
async def test_a_reader_that_goes_away_and_comes_back_misses_nothing(gateway: Gateway) -> None:
    chance, heard, comings = random.Random(7), list[Told](), 0
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        await gateway.work(1)
        last = (await read(gateway, 0, 1))[0].number
        working = group.create_task(gateway.work(CALLS))
        while len(heard) < CALLS:
            heard += await read(gateway, heard[-1].number if heard else last, chance.randint(1, CALLS - len(heard)))
            comings += 1
        await working

    assert sorted(each.tool for each in heard) == sorted(f"t{number}" for number in range(CALLS))
    assert [each.number for each in heard] == sorted({each.number for each in heard})
    sys.stdout.write(f"{CALLS} events heard in {comings} connections, each once\n")


# A reader that never reads --------------------------------------------------------------------------------------


def deaf_reader(gateway: Gateway) -> socket.socket:
    """Somebody who asks for the stream, has a small window, and reads nothing of it."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    reader.connect(gateway.place)
    request = f"GET /api/v1/events?types=activity HTTP/1.1\r\nHost: {gateway.url.removeprefix('http://')}\r\n"
    reader.sendall(f"{request}Authorization: Bearer {gateway.token}\r\n\r\n".encode())
    # It is told of what happens from here on; of what happened before its request was looked at it would not be.
    assert reader.recv(1) == b"H"
    return reader


def rest_of(reader: socket.socket) -> bytes:
    """All that comes until the other side hangs up; nothing for longer than a sign of life takes is a failure."""
    reader.settimeout(HEARTBEAT_SECONDS / 2)
    pieces: list[bytes] = []
    with contextlib.suppress(ConnectionResetError):
        while piece := reader.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.sqlite("it counts with the ids of events, which are numbers where there is one log")
async def test_a_reader_that_never_reads_is_cut_and_costs_little_and_can_resume(gateway: Gateway) -> None:
    await gateway.work(100, LONG)
    gateway.forget_the_peak()
    before = gateway.peak()
    with contextlib.closing(deaf_reader(gateway)) as reader:
        await gateway.work(FLOOD, LONG)
        growth = (gateway.peak() - before) / 1024
        heard = await asyncio.to_thread(rest_of, reader)
    told = [int(number) for number in re.findall(rb"^id: (\d+)\n.*\n.*\n\n", heard, re.MULTILINE)]
    async with asyncio.timeout(SECONDS):
        missed = await read(gateway, told[-1], FLOOD - len(told))

    # That it is told so is for those to hear who read again in time.
    assert heard.count(b"event: overflow") <= 1
    assert len(told) < FLOOD
    assert sorted({*told, *(each.number for each in missed)}) == [*told, *(each.number for each in missed)]
    assert len(told) + len(missed) == FLOOD
    assert growth < MAX_GROWTH
    sys.stdout.write(f"cut after {len(told)} of {FLOOD} events, {len(missed)} heard later; growth {growth:.1f} MiB\n")
