"""Gateways in front of servers that ask, and clients that can be asked."""

import contextlib
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from interlock.receive.identify import mint
from tests.running import Running, keep_token, server_yaml, serving
from tests.talking import NO_TLS
from tests.upstream.running import events, http_upstream, received, stdio_argv

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
ALL: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
WORD = "a person said this"


@dataclass
class Stage:
    """A gateway with one server `up`, and what that server received."""

    running: Running
    log: Path

    def sends(self) -> int:
        return len([each for each in received(self.log) if each.method == "tools/call"])

    def replies(self) -> list[Any]:
        """What the server got as answers to its own requests."""
        return [each.message for each in received(self.log) if each.raw and each.method is None]

    def cancelled(self) -> int:
        return len(events(self.log, "cancelled"))


@contextlib.asynccontextmanager
async def asking(
    folder: Path, era: str, transport: str = "stdio", *, sessions: str = "per-caller", more: str = "", top: str = ""
) -> AsyncGenerator[Stage]:
    """Run a gateway in front of a server of this era, which may ask unless its session is shared."""
    log = folder / "up.log"
    text = f"{top}\nposture: open\nexpose: direct\nservers:\n  up: {{sessions: {sessions}{more}, "
    if transport == "stdio":
        served = server_yaml("up", stdio_argv(log, era=era)).removeprefix("  up: {")
        async with serving(folder, text + served) as running:
            yield Stage(running, log)
        return
    with http_upstream(log, era=era) as remote:
        async with serving(folder, f"{text}url: '{remote.url}'}}\n") as running:
            yield Stage(running, log)


async def token_for(running: Running, name: str) -> dict[str, str]:
    """The header of a caller of its own."""
    token, text = mint(name, "agent", ("agent",), 0, None)
    await keep_token(running.gateway, token)
    return {"authorization": f"Bearer {text}"}


# The official client --------------------------------------------------------------------------------------------


@dataclass
class Person:
    """Answers what a client is asked, and remembers it."""

    word: str = WORD
    seen: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    before: Callable[[], Any] = lambda: None

    async def elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.seen.append(params.model_dump(mode="json", by_alias=True, exclude_none=True))
        waited = self.before()
        if waited is not None:
            await waited
        content: Any = None if params.mode == "url" else {"word": f"{self.word} {params.message}".strip()}
        return types.ElicitResult(action="accept", content=content)

    async def sample(self, context: Any, params: types.CreateMessageRequestParams) -> types.CreateMessageResult:
        self.seen.append(params.model_dump(mode="json", by_alias=True, exclude_none=True))
        said = types.TextContent(type="text", text=self.word)
        return types.CreateMessageResult(role="assistant", content=said, model="m", stop_reason="endTurn")

    async def roots(self, context: Any) -> types.ListRootsResult:
        self.seen.append({})
        return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///here", "name": self.word}]})

    def client(self, server: Any, mode: str) -> Client:
        """The official client, with this person behind it."""
        return Client(
            server,
            mode=mode,
            elicitation_callback=self.elicit,
            sampling_callback=self.sample,
            list_roots_callback=self.roots,
        )


@contextlib.asynccontextmanager
async def connected(
    person: Person, running: Running, mode: str, headers: dict[str, str] | None = None
) -> AsyncGenerator[Client]:
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60, verify=NO_TLS) as http,
        person.client(streamable_http_client(running.url, http_client=http), mode) as client,
    ):
        yield client


# Clients by hand ------------------------------------------------------------------------------------------------


@dataclass
class Modern:
    """A modern client that does one request at a time, and answers nothing by itself."""

    http: httpx2.AsyncClient
    running: Running
    capabilities: dict[str, Any] = field(default_factory=lambda: ALL)
    number: int = 0

    async def call(
        self, arguments: dict[str, Any], more: dict[str, Any] | None = None, tool: str = "ask", **headers: str
    ) -> dict[str, Any]:
        """The answer to one request; `more` are further params."""
        self.number += 1
        name = f"up__{tool}"
        mirrored = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": name}
        meta = {f"{META}protocolVersion": MODERN, f"{META}clientCapabilities": self.capabilities}
        params = {"name": name, "arguments": arguments, "_meta": meta, **(more or {})}
        body = {"jsonrpc": "2.0", "id": self.number, "method": "tools/call", "params": params}
        answer = await self.http.post(self.running.url, json=body, headers={**JSON, **mirrored, **headers})
        return answer.json()


class Legacy:
    """A legacy client by hand: one session, calls as streams that are read message by message."""

    def __init__(self, http: httpx2.AsyncClient, running: Running, headers: dict[str, str] | None = None) -> None:
        self._http = http
        self._url = running.url
        self._headers = {**JSON, **(headers or {})}

    async def open(self, capabilities: dict[str, Any]) -> None:
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        opened = await self.post({"id": 0, "method": "initialize", "params": params})
        self._headers |= {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        await self.post({"method": "notifications/initialized"})

    async def post(self, message: dict[str, Any], **headers: str) -> httpx2.Response:
        return await self._http.post(
            self._url, json={"jsonrpc": "2.0", **message}, headers={**self._headers, **headers}
        )

    async def delete(self) -> None:
        await self._http.delete(self._url, headers=self._headers)

    @contextlib.asynccontextmanager
    async def calling(
        self, arguments: dict[str, Any], number: int = 1
    ) -> AsyncGenerator[AsyncGenerator[dict[str, Any]]]:
        """Call the tool that asks; the messages of its stream, as they come."""
        params = {"name": "up__ask", "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        async with self._http.stream("POST", self._url, json=body, headers=self._headers) as answer:

            async def messages() -> AsyncGenerator[dict[str, Any]]:
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))

            yield messages()
