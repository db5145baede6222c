"""A request whose head never comes, or never ends, costs nobody anything; one that comes whole is answered in one."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from interlock.alarms import Alarms
from interlock.receive.connection import MAX_HEAD, MAX_IN_LINE
from tests.asking import META, MODERN
from tests.running import serving

SECONDS = 10
ALIVE = b'{"alive":true}'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Client:
    """Connections by hand, to a gateway at this host."""

    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    def __init__(self, host: str) -> None:
        self._host = host
        self.whole = b"GET /livez HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode()

    async def connect(self) -> None:
        address, _, port = self._host.partition(":")
        self._reader, self._writer = await asyncio.open_connection(address, int(port))

    def send(self, data: bytes) -> None:
        self._writer.write(data)

    async def answer(self) -> bytes:
        """The first line of the next answer, which must be that of a gateway that is alive."""
        async with asyncio.timeout(SECONDS):
            head = await self._reader.readuntil(b"\r\n\r\n")
            assert await self._reader.readexactly(len(ALIVE)) == ALIVE
        return head.partition(b"\r\n")[0]

    async def said(self) -> tuple[bytes, dict[str, Any]]:
        """The next answer to a call: its head in lower case, and its message."""
        async with asyncio.timeout(SECONDS):
            head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
            return head, json.loads(await self._reader.readexactly(length) or b"{}")

    def calling(self, number: int | str, *more: bytes) -> bytes:
        """A modern call that is answered at once, with further header lines."""
        meta: dict[str, Any] = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": {}}
        name, arguments = "call_tool_read", {"name": "up:none", "intent": {"operation_type": "read"}}
        params = {"name": name, "arguments": arguments, "_meta": meta}
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
        lines = [
            b"POST /mcp HTTP/1.1", b"Host: " + self._host.encode(), b"Content-Type: application/json",
            b"Accept: application/json, text/event-stream", b"MCP-Protocol-Version: " + MODERN.encode(),
            b"Mcp-Method: tools/call", b"Mcp-Name: call_tool_read", b"Content-Length: %d" % len(body), *more,
        ]  # fmt: skip
        return b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body

    async def is_let_go(self) -> bool:
        """Whether the other side ends the connection without a word."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._reader.read() == b""
        except ConnectionResetError:
            return True

    async def ends_with(self, last: bytes) -> bool:
        """Whether this comes, whatever comes before."""
        async with asyncio.timeout(SECONDS):
            seen = b""
            while last not in seen:
                piece = await self._reader.read(65_536)
                if not piece:
                    return False
                seen = seen[-len(last) :] + piece
        return True

    async def is_let_go_while_it_asks(self, request: bytes) -> bool:
        """Whether the other side ends the connection of somebody who asks and asks, and reads no answer."""
        cast("asyncio.Transport", self._writer.transport).pause_reading()
        try:
            async with asyncio.timeout(SECONDS):
                while True:
                    self._writer.write(request)
                    await self._writer.drain()
        except TimeoutError:
            return False
        except ConnectionError:
            return True

    def close(self) -> None:
        self._writer.close()


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    async with serving(tmp_path) as running:
        made = Client(running.host)
        yield made
        made.close()


@pytest.fixture
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.connection.HEAD_SECONDS", 0.05)


@pytest.mark.usefixtures("in_a_hurry")
@pytest.mark.parametrize("begun", [b"", b"GET /livez HTTP/1.1\r\n", b"GET /livez HTTP/1.1\r\nHost: x"])
async def test_a_head_that_does_not_come_ends_the_connection(client: Client, begun: bytes) -> None:
    await client.connect()
    client.send(begun)

    assert await client.is_let_go()


async def test_a_second_head_that_does_not_come_ends_the_connection(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await client.connect()
    client.send(client.whole)
    await client.answer()
    monkeypatch.setattr("interlock.receive.connection.HEAD_SECONDS", 0.05)
    client.send(client.whole[:20])

    assert await client.is_let_go()


@pytest.mark.usefixtures("in_a_hurry")
@pytest.mark.parametrize(("before", "behind"), [(b"", b"\r\n"), (b"Content-Length: 9\r\n", b"x")])
async def test_what_comes_behind_an_answer_and_is_no_head_ends_the_connection(
    client: Client, before: bytes, behind: bytes
) -> None:
    await client.connect()
    client.send(client.whole[:-2] + before + b"\r\n")
    await client.answer()
    client.send(behind)

    assert await client.is_let_go()


async def test_a_head_that_never_ends_ends_the_connection(client: Client) -> None:
    await client.connect()
    client.send(b"GET /livez HTTP/1.1\r\n" + b"X-More: 1\r\n" * 8_000)

    assert await client.is_let_go()


async def test_somebody_who_reads_no_answer_is_let_go_and_others_are_served(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.receive.connection.READ_SECONDS", 0.05)
    await client.connect()

    large = client.whole.replace(b"/livez", b"/")[:-2] + b"X-Long: " + b"x" * 30_000 + b"\r\n\r\n"
    assert await client.is_let_go_while_it_asks(large)

    await client.connect()
    client.send(client.whole)
    assert await client.answer() == b"HTTP/1.1 200 OK"


async def test_somebody_who_reads_slowly_gets_everything(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.connection.READ_SECONDS", 0.02)
    monkeypatch.setattr("interlock.receive.connection.MIN_READ", 0)
    await client.connect()
    client.send(client.whole.replace(b"/livez", b"/") * (MAX_IN_LINE - 1))
    looked = asyncio.Event()
    Alarms().set(0.2, looked.set)
    await looked.wait()
    client.send(client.whole)

    assert await client.ends_with(ALIVE)


async def test_requests_that_do_not_wait_for_their_answers_are_served_in_their_order(client: Client) -> None:
    await client.connect()
    client.send(client.whole * (MAX_IN_LINE // 2))
    client.send(client.whole * (MAX_IN_LINE // 2))

    assert {await client.answer() for _ in range(MAX_IN_LINE)} == {b"HTTP/1.1 200 OK"}


async def test_somebody_who_has_far_too_many_requests_in_line_is_let_go(client: Client) -> None:
    await client.connect()

    assert await client.is_let_go_while_it_asks(client.whole * 2 * MAX_IN_LINE)


async def test_requests_are_served_one_after_the_other(client: Client) -> None:
    await client.connect()
    for _ in range(3):
        client.send(client.whole)

        assert await client.answer() == b"HTTP/1.1 200 OK"


async def test_a_head_that_comes_in_pieces_is_served(client: Client) -> None:
    await client.connect()
    for at in range(0, len(client.whole), 10):
        client.send(client.whole[at : at + 10])
        await asyncio.sleep(0)

    assert await client.answer() == b"HTTP/1.1 200 OK"


async def test_a_head_that_begins_behind_a_long_body_is_served(client: Client) -> None:
    body = b"x" * (MAX_HEAD + MAX_HEAD // 2)
    await client.connect()
    client.send(client.whole[:-2] + b"Content-Length: %d\r\n\r\n" % len(body) + body + client.whole[:20])

    assert await client.answer() == b"HTTP/1.1 200 OK"
    client.send(client.whole[20:])
    assert await client.answer() == b"HTTP/1.1 200 OK"


IN_CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"


@pytest.mark.parametrize("more", [b"X-More: 1\r\n" * 50_000, b"X-More: " + b"1" * 500_000])
async def test_lines_behind_a_body_that_never_end_end_the_connection(client: Client, more: bytes) -> None:
    await client.connect()
    client.send(client.whole.replace(b"GET /livez", b"POST /mcp")[:-2] + IN_CHUNKS + more)

    assert await client.is_let_go()


async def test_lines_behind_a_body_are_no_part_of_the_head(client: Client) -> None:
    await client.connect()
    # A second Host would be refused.
    client.send(client.whole[:-2] + IN_CHUNKS + b"Host: elsewhere\r\n\r\n")

    assert await client.answer() == b"HTTP/1.1 200 OK"


# A call in one piece ----------------------------------------------------------------------------------------------


async def test_calls_that_do_not_wait_for_their_answers_are_answered_in_their_order(client: Client) -> None:
    await client.connect()
    numbers = list(range(1, MAX_IN_LINE // 2))
    client.send(b"".join(map(client.calling, numbers)))

    assert [(await client.said())[1]["id"] for _ in numbers] == numbers


async def test_a_caller_that_reads_nothing_for_a_while_gets_every_answer_once(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, pause = asyncio.Event(), HttpToolsProtocol.pause_writing

    def noted(connection: HttpToolsProtocol) -> None:
        waits.set()
        pause(connection)

    monkeypatch.setattr(HttpToolsProtocol, "pause_writing", noted)
    await client.connect()
    names = [f"{number}{'x' * 1_000_000}" for number in range(12)]  # an answer repeats it, so it is as long
    client.send(b"".join(map(client.calling, names)))
    async with asyncio.timeout(SECONDS):
        await waits.wait()

    assert [(await client.said())[1]["id"] for _ in names] == names


async def test_a_caller_that_wants_no_further_call_is_answered_and_let_go(client: Client) -> None:
    await client.connect()
    client.send(client.calling(7, b"Connection: close"))
    head, message = await client.said()

    assert (message["id"], b"connection: close" in head) == (7, True)
    assert await client.is_let_go()


async def test_a_connection_that_may_be_used_again_is(client: Client) -> None:
    await client.connect()
    for number in (1, 2):
        client.send(client.calling(number))
        head, message = await client.said()

        assert (message["id"], b"connection: close" in head) == (number, False)


async def test_a_body_that_waits_to_be_asked_for_is_asked_for_and_one_that_is_there_is_not(client: Client) -> None:
    await client.connect()
    call = client.calling(1, b"Expect: 100-continue")
    head, _, body = call.partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n")
    asked, _ = await client.said()
    client.send(body)
    _, late = await client.said()
    client.send(call)
    at_once, message = await client.said()

    assert asked.startswith(b"http/1.1 100 ")
    assert (late["id"], message["id"], at_once.startswith(b"http/1.1 200 ")) == (1, 1, True)
