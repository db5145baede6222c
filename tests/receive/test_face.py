"""Sessions over HTTP: whose they are, and how they end."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from interlock.receive.identify import mint
from tests.running import Running, keep_token, serving
from tests.talking import NO_TLS

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
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        session = await opened(http, running)
        during = await http.post(running.url, json=CALL, headers=session)
        ended = await http.delete(running.url, headers=session)
        after = await http.post(running.url, json=CALL, headers=session)

    assert (during.status_code, during.headers["content-type"]) == (200, "application/json")
    assert ended.status_code == 200
    assert after.status_code == 404


async def test_a_caller_with_too_many_sessions_has_to_end_one_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.receive.sessions.MAX_SESSIONS", 1)
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        session = await opened(http, running)
        refused = await http.post(running.url, json=INITIALIZE, headers=HEADERS)
        await http.delete(running.url, headers=session)
        served = await http.post(running.url, json=INITIALIZE, headers=HEADERS)

    assert (refused.status_code, served.status_code) == (429, 200)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_session_that_is_not_there_answers_the_same_to_everybody(tmp_path: Path, method: str) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        headers = {**HEADERS, "mcp-session-id": "nobody"}
        answer = await http.request(method, running.url, json=CALL if method == "POST" else None, headers=headers)

    assert (answer.status_code, answer.json()) == (404, {"error": "Session not found."})


async def token_for(running: Running, name: str) -> dict[str, str]:
    """The header of a new agent."""
    token, text = mint(name, "agent", ("agent",), 0, None)
    await keep_token(running.gateway, token)
    return {"authorization": f"Bearer {text}"}


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_a_session_of_somebody_else_is_not_there(tmp_path: Path, method: str) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        alice, bob = await token_for(running, "alice"), await token_for(running, "bob")
        answer = await http.post(running.url, json=INITIALIZE, headers={**HEADERS, **alice})
        session = {**HEADERS, "mcp-session-id": answer.headers["mcp-session-id"]}
        body = CALL if method == "POST" else None
        theirs = await http.request(method, running.url, json=body, headers={**session, **bob})
        nobodys = await http.request(method, running.url, json=body, headers=session)
        hers = await http.post(running.url, json=CALL, headers={**session, **alice})

    assert (theirs.status_code, theirs.json()) == (404, {"error": "Session not found."})
    assert (nobodys.status_code, nobodys.json()) == (404, {"error": "Session not found."})
    assert hers.status_code == 200


async def test_a_session_that_nobody_uses_is_ended_and_one_that_is_used_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        face = await running.gateway.face.open()
        idle, used = await opened(http, running), await opened(http, running)
        kept = await face.end_idle()
        monkeypatch.setattr("interlock.receive.face.IDLE_SECONDS", 0)
        async with http.stream("GET", running.url, headers=used) as stream:
            ended = await face.end_idle()
            after_idle = await http.post(running.url, json=CALL, headers=idle)
            after_used = await http.post(running.url, json=CALL, headers=used)

    assert (kept, ended) == (0, 1)
    assert stream.status_code == 200
    assert (after_idle.status_code, after_used.status_code) == (404, 200)


async def test_a_call_in_a_version_that_nobody_knows_is_told_which_ones_there_are(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        headers = {**HEADERS, "mcp-protocol-version": "2099-01-01", "mcp-method": "tools/call"}
        known = "io.modelcontextprotocol/"
        meta: dict[str, Any] = {f"{known}protocolVersion": "2099-01-01", f"{known}clientCapabilities": {}}
        call = {**CALL, "params": {**CALL["params"], "_meta": meta}}
        answer = await http.post(running.url, json=call, headers={**headers, "mcp-name": "retrieve_tools"})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == -32022


def modern(method: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A modern request: its body and its headers."""
    known = "io.modelcontextprotocol/"
    meta: dict[str, Any] = {f"{known}protocolVersion": "2026-07-28", f"{known}clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    name = params.get("name") or params.get("uri")
    headers = {**HEADERS, "mcp-protocol-version": "2026-07-28", "mcp-method": method}
    return body, headers if name is None else {**headers, "mcp-name": name}


async def test_an_error_in_the_answer_shows_in_the_status_for_modern_clients_only(tmp_path: Path) -> None:
    body, headers = modern("resources/read", uri="test://nothing")
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        session = await opened(http, running)
        now = await http.post(running.url, json=body, headers=headers)
        before = await http.post(running.url, json=body, headers=session)

    assert [(each.status_code, each.json()["error"]["code"]) for each in (now, before)] == [
        (400, -32602),
        (200, -32602),
    ]


async def posted_raw(running: Running, body: dict[str, Any], headers: dict[str, str]) -> bytes:
    """The answer to a request that is written byte for byte: clients will not send every header that there can be."""
    reader, writer = await asyncio.open_connection(*running.host.split(":"))
    text = json.dumps(body)
    named = {"host": running.host, "connection": "close", "content-length": str(len(text)), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    writer.write(f"POST /mcp HTTP/1.1\r\n{lines}\r\n{text}".encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


@pytest.mark.parametrize("method", ["tools/list", "server/discover"])
async def test_white_space_around_a_header_changes_nothing(tmp_path: Path, method: str) -> None:
    body, headers = modern(method)
    async with serving(tmp_path) as running, asyncio.timeout(30):
        answer = await posted_raw(running, body, {**headers, "mcp-method": f"  {method} \t "})

    assert answer.startswith(b"HTTP/1.1 200")
    assert b'"result"' in answer


async def test_a_client_that_only_listens_does_not_keep_the_gateway_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.app.listening.GRACE_SECONDS", 3600)
    listener = contextlib.AsyncExitStack()  # left after the gateway has ended
    async with asyncio.timeout(30), httpx2.AsyncClient(verify=NO_TLS) as http, listener, serving(tmp_path) as running:
        session = await opened(http, running)
        stream = await listener.enter_async_context(http.stream("GET", running.url, headers=session))

    assert stream.status_code == 200


async def test_a_token_that_neither_calls_nor_answers_is_turned_away(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, httpx2.AsyncClient(verify=NO_TLS) as http:
        token, text = mint("looker", "human", ["auditor", "admin"], 0, None)
        await keep_token(running.gateway, token)
        answer = await http.post(running.url, json=INITIALIZE, headers={**HEADERS, "authorization": f"Bearer {text}"})

    refused = {"error": "This token is neither one of an agent nor one of an approver."}
    assert (answer.status_code, answer.json()) == (403, refused)


async def test_the_name_of_the_client_is_on_record_for_both_eras(tmp_path: Path) -> None:
    async with serving(tmp_path, "expose: direct") as running:
        for mode in ("legacy", "2026-07-28"):
            async with Client(running.url, mode=mode) as client:
                await client.call_tool("sample__delete_note", {"name": "x"})
        clients = [each.body["client"] for each in await running.activities()]

    assert clients == ["mcp", "mcp"]
