"""An upstream for tests: a real MCP server in a process of its own, written by hand so that it can misbehave.

    server.py --log FILE [--era legacy|modern|both]                  over stdio
    server.py --log FILE --http PORT [--era ...] [--sse]             over Streamable HTTP, at /mcp

Port 0 takes a free port; the port is printed as the first line. `--sse` answers every request with an event stream.
With `--tools FILE` it lists the tools that are in that file, if there is one; over stdio, SIGUSR1 makes it say that its
tools have changed. With `--many N` it has so many resources more.
Before anything else is done with a message, it is written to the log with its bytes and headers: what a test finds
there is what an upstream really received. It speaks 2025-06-18 and 2025-11-25 (handshake, sessions over HTTP) and
2026-07-28 (discovery, the envelope in every request), keeps to the protocol unless a tool is for breaking it, and needs
nothing but the standard library.
"""

import argparse
import asyncio
import base64
import itertools
import json
import os
import signal
import sys
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from rest import CAPABILITIES, Rest
from tools import INVALID_PARAMS, Ask, Call, Garbage, Log, Message, Notify, Refused, Tools, text

LEGACY = ("2025-11-25", "2025-06-18")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
INFO = {"name": "test-upstream", "version": "1.0.0"}
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
NEVER_CACHED = ("tools/call", "prompts/get", "completion/complete", "subscriptions/listen")
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""The param that a header repeats, by method."""
MODERN_STATUS = {METHOD_NOT_FOUND: 404, INVALID_PARAMS: 400, UNSUPPORTED_VERSION: 400}
"""The HTTP status of an error, for modern clients."""

# The protocol ---------------------------------------------------------------------------------------------------


class Upstream:
    """The protocol in both eras, whatever it runs over: a request in, a response out."""

    def __init__(self, log: Log, era: str, tools: Path | None = None, many: int = 0) -> None:
        self.log = log
        self.era = era
        self.rest = Rest(many)
        self._tools = Tools(log, self.rest, tools)
        self._running: dict[tuple[str, Any], asyncio.Task[Any]] = {}
        self._asked: dict[tuple[str, Any], asyncio.Future[Message]] = {}
        self._questions = itertools.count()

    def is_modern(self, message: Message) -> bool:
        return self.era != "legacy" and f"{META}protocolVersion" in meta_of(message)

    async def respond(self, message: Message, notify: Notify, session: str = "") -> Message:
        """The response to a request. It can be cancelled by a notification of the same session."""
        key = (session, message["id"])
        self._running[key] = cast(asyncio.Task[Any], asyncio.current_task())
        try:
            body: Message = {"result": await self._result(message, notify, session)}
        except Refused as refused:
            body = {"error": refused.error}
        finally:
            self._running.pop(key, None)
        return {"jsonrpc": "2.0", "id": message["id"], **body}

    def hear(self, message: Message, session: str = "") -> None:
        """Take in a notification, or an answer."""
        if "method" not in message and not (answer := self._asked[session, message["id"]]).done():
            answer.set_result(message)
        if message.get("method") == "notifications/initialized" and session == "":
            self.rest.streams[session] = tell_stdio
        if message.get("method") == "notifications/cancelled":
            task = self._running.get((session, params_of(message).get("requestId")))
            if task is not None:
                task.cancel()

    def _asking(self, notify: Notify, session: str) -> Ask:
        async def ask(method: str, params: Message) -> Message:
            number = next(self._questions)
            answer = self._asked[session, number] = asyncio.get_running_loop().create_future()
            await notify(method, params, number)
            return await answer

        return ask

    async def _result(self, message: Message, notify: Notify, session: str) -> Message:
        if self.is_modern(message):
            self._check_envelope(message)
            return self._in_modern_shape(message["method"], await self._modern(message, notify))
        if self.era == "modern":
            raise Refused(INVALID_PARAMS, "params._meta lacks the protocol version")
        return await self._legacy(message, notify, session)

    def _check_envelope(self, message: Message) -> None:
        meta = meta_of(message)
        if (version := meta[f"{META}protocolVersion"]) != MODERN:
            raise Refused(
                UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": [MODERN], "requested": version}
            )
        if f"{META}clientCapabilities" not in meta:
            raise Refused(INVALID_PARAMS, "params._meta lacks the client's capabilities")

    def _in_modern_shape(self, method: str, result: Message) -> Message:
        cache = {} if method in NEVER_CACHED else {"ttlMs": 0, "cacheScope": "public"}
        meta = {**result.get("_meta", {}), f"{META}serverInfo": INFO}
        return {"resultType": "complete", **result, **cache, "_meta": meta}

    async def _modern(self, message: Message, notify: Notify) -> Message:
        if message["method"] == "subscriptions/listen":
            return await self.rest.listen(message, notify)
        if message["method"] == "server/discover":
            versions = [MODERN, *LEGACY] if self.era == "both" else [MODERN]
            return {"supportedVersions": versions, "capabilities": CAPABILITIES}
        return await self._common(message, notify, "modern")

    async def _legacy(self, message: Message, notify: Notify, session: str) -> Message:
        if message["method"] == "initialize":
            asked = params_of(message).get("protocolVersion")
            version = asked if asked in LEGACY else LEGACY[0]
            return {"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": INFO}
        if message["method"] == "ping":
            return {}
        return await self._common(message, notify, session)

    async def _common(self, message: Message, notify: Notify, session: str) -> Message:
        params = params_of(message)
        if message["method"] == "tools/list":
            return {"tools": self._tools.listed()}
        if message["method"] == "tools/call":
            ask = None if session == "modern" else self._asking(notify, session)
            call = Call(
                message["id"],
                params.get("arguments") or {},
                notify,
                meta_of(message).get("progressToken"),
                ask,
                params.get("inputResponses"),
                params.get("requestState"),
            )
            return await self._tools.run(params.get("name", ""), call)
        answer = self.rest.answer(message["method"], params, session)
        if answer is not None:
            return answer
        raise Refused(METHOD_NOT_FOUND, "Method not found")


def params_of(message: Message) -> Message:
    return message.get("params") or {}


def message_of(method: str, params: Message, number: int | None) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})


def meta_of(message: Message) -> Message:
    return params_of(message).get("_meta") or {}


# Over stdio -----------------------------------------------------------------------------------------------------

STDIO_GARBAGE = {
    "junk": b"Listening for questions\n",
    "utf8": b"\xc3\x28\xff\n",
    "array": b"[]\n",
    "object": b'{"level":"info"}\n',
    "broken": b'{"jsonrpc":"2.0","id":1,"result":{\n',
}


def say(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


async def tell_stdio(method: str, params: Message, number: int | None = None) -> None:
    say(json.dumps(message_of(method, params, number)).encode() + b"\n")


def tell_of_tools() -> None:
    say(json.dumps({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}).encode() + b"\n")


async def respond_over_stdio(upstream: Upstream, message: Message) -> None:
    try:
        say(json.dumps(await upstream.respond(message, tell_stdio)).encode() + b"\n")
    except Garbage as garbage:
        while garbage.kind == "endless":
            say(b"x" * 65_536)
        say(STDIO_GARBAGE[garbage.kind] * garbage.count)
        say(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": text("Broken.")}).encode() + b"\n")


async def over_stdio(upstream: Upstream) -> None:
    reader = asyncio.StreamReader(limit=1 << 26)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGUSR1, tell_of_tools)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    tasks: set[asyncio.Task[None]] = set()
    async with asyncio.TaskGroup() as group:
        while line := await reader.readline():
            upstream.log.received(line.rstrip(b"\n"))
            message = json.loads(line)
            if "id" in message and "method" in message:
                task = group.create_task(respond_over_stdio(upstream, message))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            else:
                upstream.hear(message)
        for task in tasks:
            task.cancel()


# Over HTTP ------------------------------------------------------------------------------------------------------

HTTP_GARBAGE = {
    "junk": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\nThis is no JSON",
    "utf8": b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n{"\xff"}',
    "array": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]",
    "short": b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{",
    "event": b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 12\r\n\r\ndata: junk\n\n",
    "head": b"This is no HTTP\r\n\r\n",
}
ENDLESS = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        return next((value for each, value in self.headers if each.lower() == name), "")


async def read_request(reader: asyncio.StreamReader) -> Request:
    """The next request of a connection; raises IncompleteReadError at its end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    request = Request(method, path, headers, b"")
    if request.header("transfer-encoding") == "chunked":
        body = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
    else:
        body = await reader.readexactly(int(request.header("content-length") or 0))
    return Request(method, path, headers, body)


@dataclass(slots=True)
class Exchange:
    """The way back for one request: a JSON body, or an event stream from the first notification on."""

    writer: asyncio.StreamWriter
    request: Request
    headers: dict[str, str] = field(default_factory=dict[str, str])
    streaming: bool = False

    async def reply(self, status: int, body: Message | None = None) -> None:
        text = b"" if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"content-type": "application/json"}
        await self._head(status, {**kind, "content-length": str(len(text))}, text)

    async def stream(self) -> None:
        self.streaming = True
        await self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})

    async def tell(self, method: str, params: Message, number: int | None = None) -> None:
        if not self.streaming:
            await self.stream()
        await self.event(message_of(method, params, number))

    async def event(self, message: Message) -> None:
        await self._chunk(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")

    async def end(self, response: Message, status: int) -> None:
        if self.streaming:
            await self.event(response)
            await self._chunk(b"")
        else:
            await self.reply(status, response)

    async def break_it(self, garbage: Garbage) -> None:
        if garbage.kind == "endless":
            self.writer.write(ENDLESS)
            while True:
                await self._chunk(b"x" * 65_536)
        self.writer.write(HTTP_GARBAGE[garbage.kind])
        await self.writer.drain()

    async def _chunk(self, data: bytes) -> None:
        self.writer.write(b"%x\r\n%b\r\n" % (len(data), data))
        await self.writer.drain()

    async def _head(self, status: int, headers: dict[str, str], body: bytes = b"") -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**self.headers, **headers}.items())
        self.writer.write(f"HTTP/1.1 {status} -\r\n{lines}\r\n".encode("latin-1") + body)
        await self.writer.drain()


def header_mismatch(request: Request, message: Message) -> bool:
    """Whether a header of a modern request says something else than its body."""
    name = request.header("mcp-name")
    if name.startswith("=?base64?"):
        name = base64.b64decode(name[9:-2]).decode()
    wanted = params_of(message).get(NAMED.get(message["method"], ""))
    return (
        request.header("mcp-protocol-version") != meta_of(message)[f"{META}protocolVersion"]
        or request.header("mcp-method") != message["method"]
        or (wanted is not None and name != wanted)
    )


class HttpFace:
    """Streamable HTTP on top of the protocol."""

    def __init__(self, upstream: Upstream, *, sse: bool) -> None:
        self._upstream = upstream
        self._sse = sse
        self._sessions: set[str] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await read_request(reader)
                line = f"{request.method} {request.path}"
                self._upstream.log.received(request.body, http=line, headers=request.headers)
                await self._serve(Exchange(writer, request), reader)
        except* (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _serve(self, exchange: Exchange, reader: asyncio.StreamReader) -> None:
        request, session = exchange.request, exchange.request.header("mcp-session-id")
        if request.path != "/mcp":
            await exchange.reply(404)
        elif request.method == "DELETE":
            await exchange.reply(200 if session in self._sessions else 404)
            self._sessions.discard(session)
        elif request.method == "GET" and session in self._sessions:
            await self._hear(exchange, session, reader)
        elif request.method != "POST":
            await exchange.reply(405)
        else:
            try:
                message = json.loads(request.body)
            except ValueError:
                await exchange.reply(400, refusal(None, PARSE_ERROR, "Parse error"))
                return
            await self._post(exchange, message, session, reader)

    async def _hear(self, exchange: Exchange, session: str, reader: asyncio.StreamReader) -> None:
        """The stream for what is said outside of any request, until its reader is gone."""
        streams = self._upstream.rest.streams
        await exchange.stream()
        streams[session] = exchange.tell
        try:
            await reader.read(1)
        finally:
            del streams[session]
        raise ConnectionAbortedError

    async def _post(self, exchange: Exchange, message: Message, session: str, reader: asyncio.StreamReader) -> None:
        is_request = "id" in message and "method" in message
        is_legacy_spoken = self._upstream.era != "modern"
        if self._upstream.is_modern(message):
            if header_mismatch(exchange.request, message):
                await exchange.reply(400, refusal(message.get("id"), HEADER_MISMATCH, "A header contradicts the body"))
            elif is_request:
                await self._until_hung_up(self._request(exchange, message, ""), reader)
            else:
                await exchange.reply(202)
            return
        if message.get("method") == "initialize" and is_legacy_spoken:
            session = exchange.headers["mcp-session-id"] = uuid.uuid4().hex
            self._sessions.add(session)
        if session not in self._sessions and is_legacy_spoken:
            status = 404 if session else 400
            await exchange.reply(status, refusal(message.get("id"), INVALID_REQUEST, "There is no such session"))
        elif is_request:
            await self._request(exchange, message, session)
        else:
            self._upstream.hear(message, session)
            await exchange.reply(202)

    async def _request(self, exchange: Exchange, message: Message, session: str) -> None:
        if self._sse:
            await exchange.stream()
        try:
            response = await self._upstream.respond(message, exchange.tell, session)
        except Garbage as garbage:
            await exchange.break_it(garbage)
            raise ConnectionAbortedError from None
        code = response.get("error", {}).get("code")
        await exchange.end(response, 200 if session else MODERN_STATUS.get(code, 200))

    async def _until_hung_up(self, work: Coroutine[Any, Any, None], reader: asyncio.StreamReader) -> None:
        """Closing the stream is cancelling, for modern clients: nobody pipelines, so any read means the end."""

        async def hang_up() -> None:
            await reader.read(1)
            task.cancel()

        async with asyncio.TaskGroup() as group:
            task = group.create_task(work)
            watch = group.create_task(hang_up())
            task.add_done_callback(lambda _: watch.cancel())


def refusal(id: Any, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}


async def over_http(upstream: Upstream, port: int, *, sse: bool) -> None:
    face = HttpFace(upstream, sse=sse)
    server = await asyncio.start_server(face.connected, "127.0.0.1", port, limit=1 << 26)
    say(b"%d\n" % server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--era", choices=["legacy", "modern", "both"], default="both")
    parser.add_argument("--http", type=int)
    parser.add_argument("--sse", action="store_true")
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--many", type=int, default=0)
    chosen = parser.parse_args()
    upstream = Upstream(Log(chosen.log), chosen.era, chosen.tools, chosen.many)
    upstream.log.event("started", pid=os.getpid())
    asyncio.run(over_stdio(upstream) if chosen.http is None else over_http(upstream, chosen.http, sse=chosen.sse))


if __name__ == "__main__":
    main()
