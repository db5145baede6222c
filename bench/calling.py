"""Callers: they send as fast as they are answered, and look at every answer.

Every request has an id and a text of its own, and only an answer with both counts; others are errors, and the first of
them is kept. Answers may come whole, in chunks, or as a stream of events, and over HTTP or over the pipes of a process.
"""

import asyncio
import json
import os
import secrets
import select
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from processes import PATIENCE, Failed, Process, asked
from upstream import MODERN, READ_TOOL, WRITE_TOOL

LEGACY = "2025-11-25"
FIRST_NUMBER = 100_000_000
"""All ids have as many digits, so all requests have one length."""
SHOWN = 300
"""So many bytes of a wrong answer are shown."""
_NAMED = {"name": "bench", "version": "1"}


@dataclass(frozen=True)
class Calls:
    """What callers send: in which era, how large, and which of the calls write."""

    version: str = MODERN
    read: str = READ_TOOL
    write: str = WRITE_TOOL
    writes_every: int = 0
    """Every so-manieth call writes; 0 is none."""
    declared: bool = False
    """Whether the call goes through `call_tool_read` and its like, with an intent."""
    size: int = 64
    words: bool = False
    """Whether a long text is made of words, as most are, or is one long word, as an image is."""
    progress: bool = False
    """Whether the caller wants to hear of progress."""


@dataclass(frozen=True)
class Door:
    """Where callers come in: a port, or the pipes of a process."""

    process: Process
    counted: Process | None = None
    """The upstream that counts the calls which come through here."""
    path: str = "/mcp"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    pipes: "subprocess.Popen[bytes] | None" = None


# Requests -------------------------------------------------------------------------------------------------------


class Requests:
    """The requests of one row: one text for each kind, but for the number in its id and the nonce in its argument."""

    def __init__(self, calls: Calls, door: Door) -> None:
        self.run = secrets.token_hex(27)
        opened = _opened(calls, door)
        writing = [bool(calls.writes_every) and kind == 0 for kind in range(calls.writes_every or 1)]
        self._parts = [self._split(calls, door, opened, writes=writes) for writes in writing]

    def _split(self, calls: Calls, door: Door, opened: dict[str, str], *, writes: bool) -> list[bytes]:
        message = _message(calls, self.run, writes=writes)
        body = json.dumps(message, separators=(",", ":")).encode()
        if door.pipes is not None:
            return (body + b"\n").split(b"%d" % FIRST_NUMBER)
        headers = {"Host": f"127.0.0.1:{door.process.port}", **opened}
        if calls.version == MODERN:
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": message["params"]["name"]}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        text = f"POST {door.path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        return text.split(b"%d" % FIRST_NUMBER)

    def text(self, number: int) -> bytes:
        return (b"%d" % number).join(self._parts[number % len(self._parts)])

    def wrong(self, number: int, body: bytes) -> bool:
        return (
            (b'"id":%d' % number not in body and b'"id": %d' % number not in body)
            or b"%s-%d" % (self.run.encode(), number) not in body
            or b'"isError":true' in body
            or b'"isError": true' in body
        )


def _message(calls: Calls, run: str, *, writes: bool) -> dict[str, Any]:
    name = calls.write if writes else calls.read
    arguments: dict[str, Any] = {"text": (f"{run}-{FIRST_NUMBER}" + _filling(calls))[: calls.size]}
    if calls.declared:
        operation = "write" if writes else "read"
        intent = {"operation_type": operation, "reason": "to see what a call costs"}
        name, arguments = f"call_tool_{operation}", {"name": f"up:{name}", "args": arguments, "intent": intent}
    params: dict[str, Any] = {"name": name, "arguments": arguments}
    meta: dict[str, Any] = {"progressToken": FIRST_NUMBER} if calls.progress else {}
    if calls.version == MODERN:
        meta |= _MODERN_META
    if meta:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": FIRST_NUMBER, "method": "tools/call", "params": params}


def _filling(calls: Calls) -> str:
    return _WORDS * (calls.size // len(_WORDS) + 1) if calls.words else "x" * calls.size


_WORDS = ' It was closed by alice on 3 May: the build of "main" failed\nat step 4 (see log/build-1174.txt).'
_PREFIX = "io.modelcontextprotocol/"
_MODERN_META = {
    f"{_PREFIX}protocolVersion": MODERN,
    f"{_PREFIX}clientCapabilities": {},
    f"{_PREFIX}clientInfo": _NAMED,
}


# Sessions -------------------------------------------------------------------------------------------------------


def _opened(calls: Calls, door: Door) -> dict[str, str]:
    """The headers of every request from now on; in the older era a session is opened first."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **door.headers,
    }
    if calls.version == MODERN:
        return {**headers, "MCP-Protocol-Version": MODERN}
    params = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _NAMED}
    said, fields = _told(door, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}, headers)
    headers |= {"MCP-Protocol-Version": said["result"]["protocolVersion"], **fields}
    _told(door, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
    return headers


def _told(door: Door, message: dict[str, Any], headers: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Send a message outside of the measurement; gives the answer, and the session that it names."""
    if door.pipes is not None:
        return _told_over_pipes(door.pipes, message), {}
    with asked(door.process.port, "POST", door.path, json.dumps(message).encode(), headers) as answer:
        if answer.status not in (200, 202):
            raise Failed(f"{message['method']} was refused: {answer.status} {answer.read()[:SHOWN]!r}")
        session = answer.getheader("Mcp-Session-Id")
        lines = (line.removeprefix(b"data:").strip() for line in answer)
        said = next((line for line in lines if line.startswith(b"{")), b"{}")
        return json.loads(said), {"Mcp-Session-Id": session} if session else {}


def _told_over_pipes(process: "subprocess.Popen[bytes]", message: dict[str, Any]) -> dict[str, Any]:
    to, back = process.stdin, process.stdout
    if to is None or back is None:
        raise Failed("there are no pipes to speak over")
    to.write(json.dumps(message).encode() + b"\n")
    to.flush()
    if "id" not in message:
        return {}
    if not select.select([back], [], [], PATIENCE)[0]:
        raise Failed(f"{message['method']} was not answered")
    return json.loads(back.readline())


# Callers --------------------------------------------------------------------------------------------------------


class Load:
    """What the callers of one round share: the next number, the time to stop, how long each call took, and errors."""

    def __init__(self, requests: Requests, seconds: float) -> None:
        self.requests = requests
        self.waits: list[float] = []
        self.errors = 0
        self.problem = ""
        self.began = time.perf_counter()
        self.until = self.began + seconds
        self.took = 0.0
        self._number = FIRST_NUMBER

    def next(self) -> int:
        self._number += 1
        return self._number

    def wrong(self, what: str) -> None:
        self.errors += 1
        self.problem = self.problem or what


class Connection(asyncio.Protocol):
    """One connection over HTTP: sends a request, checks the answer, and so on until the time is over."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = bytearray()
        self._needed = 0
        self._number = 0
        self._sent_at = 0.0
        self._over = False
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def _send(self) -> None:
        self._number, self._needed = self._load.next(), 0
        self._received.clear()
        self._sent_at = time.perf_counter()
        self._transport.write(self._load.requests.text(self._number))

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) < self._needed:
            return
        head, blank, rest = bytes(self._received).partition(b"\r\n\r\n")
        fields = head.lower()
        body = self._whole(fields, rest) if blank else None
        if body is not None:
            self._answered(fields, body)

    def _whole(self, fields: bytes, rest: bytes) -> bytes | None:
        """The body, if all of it has come."""
        length = fields.partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not length:
            return unchunked(rest) if rest.endswith(_LAST_CHUNK) else None
        self._needed = len(fields) + 4 + int(length)
        return rest if len(rest) >= int(length) else None

    def _answered(self, fields: bytes, body: bytes) -> None:
        now = time.perf_counter()
        if not fields.startswith(b"http/1.1 200 ") or self._load.requests.wrong(self._number, body):
            self._load.wrong(f"a wrong answer: {bytes(self._received[:SHOWN])!r}")
        else:
            self._load.waits.append(now - self._sent_at)
        if now < self._load.until and b"connection: close" not in fields:
            self._send()
        else:
            self._over = True
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._over:
            self._load.wrong(f"a connection was lost: {exc}")
        if not self.done.done():
            self.done.set_result(None)


_LAST_CHUNK = b"\r\n0\r\n\r\n"


def unchunked(rest: bytes) -> bytes:
    pieces: list[bytes] = []
    while size := int(rest.partition(b"\r\n")[0].partition(b";")[0], 16):
        rest = rest.partition(b"\r\n")[2]
        pieces.append(rest[:size])
        rest = rest[size + 2 :]
    return b"".join(pieces)


class _Numbered(msgspec.Struct):
    id: int | str | None = None


_NUMBERED = msgspec.json.Decoder(_Numbered)


class Conversation(asyncio.Protocol):
    """All callers over the pipes of one process."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._received = b""
        self._sent: dict[int, float] = {}
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def begin(self, to: asyncio.WriteTransport, callers: int) -> None:
        self._to = to
        for _ in range(callers):
            self._send()

    def _send(self) -> None:
        number = self._load.next()
        self._sent[number] = time.perf_counter()
        self._to.write(self._load.requests.text(number))

    def data_received(self, data: bytes) -> None:
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            self._answered(line)

    def _answered(self, line: bytes) -> None:
        number, now = _NUMBERED.decode(line).id, time.perf_counter()
        sent_at = self._sent.pop(number, None) if isinstance(number, int) else None
        if sent_at is None or not isinstance(number, int):
            return
        if self._load.requests.wrong(number, line):
            self._load.wrong(f"a wrong answer: {line[:SHOWN]!r}")
        else:
            self._load.waits.append(now - sent_at)
        if now < self._load.until:
            self._send()
        elif not self._sent and not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.done.done():
            self._load.wrong(f"the pipe was closed: {exc}")
            self.done.set_result(None)


async def _connected(load: Load, port: int) -> None:
    """One caller. Who is shown out with an answer comes again."""
    loop = asyncio.get_running_loop()
    while True:
        _, connection = await loop.create_connection(lambda: Connection(load), "127.0.0.1", port)
        await connection.done
        if time.perf_counter() >= load.until:
            return


async def _piped(load: Load, process: "subprocess.Popen[bytes]", callers: int) -> None:
    if process.stdin is None or process.stdout is None:
        raise Failed("there are no pipes to speak over")
    loop = asyncio.get_running_loop()
    # Of copies, because the loop closes what it was given.
    back, to = os.fdopen(os.dup(process.stdout.fileno()), "rb"), os.fdopen(os.dup(process.stdin.fileno()), "wb")
    reading, conversation = await loop.connect_read_pipe(lambda: Conversation(load), back)
    writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, to)
    conversation.begin(writing, callers)
    try:
        await conversation.done
    finally:
        reading.close()
        writing.close()


async def loaded(door: Door, requests: Requests, seconds: float, callers: int) -> Load:
    """Let so many callers call for so long."""
    load = Load(requests, seconds)
    try:
        async with asyncio.timeout(seconds + PATIENCE):
            if door.pipes is not None:
                await _piped(load, door.pipes, callers)
            else:
                await asyncio.gather(*(_connected(load, door.process.port) for _ in range(callers)))
    except TimeoutError:
        load.wrong(f"no answer within {PATIENCE:g} s")
    load.took = time.perf_counter() - load.began
    return load
