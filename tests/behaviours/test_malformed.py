"""Requests that no honest client sends: a proper error each, nothing sent upstream, and the process goes on."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.running import Running
from tests.upstream.running import received

META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "up__echo",
}


def request(**changes: Any) -> bytes:
    params: dict[str, Any] = {"name": "up__echo", "arguments": {}, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params, **changes}).encode()


def sent(log: Path) -> int:
    return len([each for each in received(log) if each.method == "tools/call"])


async def test_a_plain_modern_call_works_without_any_handshake(
    gateway: Running, http: httpx2.AsyncClient, log: Path
) -> None:
    answer = await http.post(gateway.url, content=request(), headers=HEADERS)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["resultType"] == "complete"
    assert sent(log) == 1


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (request().replace(b'"id": 1', b'"id": NaN'), -32700),
        (request().replace(b'"arguments": {}', b'"arguments": {"a":1,"a":2}'), -32700),
        (request().replace(b'"arguments": {}', b'"arguments": {"a":"\\ud800"}'), -32700),
        (request().replace(b'"arguments": {}', b'"arguments": ' + b"[" * 100_000 + b"]" * 100_000), -32700),
        (b"[" + request() + b"]", -32600),
        (request(id=1.0), -32600),
        (request(id=True), -32600),
        (request(id=None), -32600),
        (request(jsonrpc="1.0"), -32600),
        (request(params=[1]), -32600),
        (request(method=5), -32600),
        (b'{"jsonrpc":"2.0","id":1,"Method":"tools/call"}', -32600),
    ],
)
async def test_what_is_no_message_is_an_error(
    gateway: Running, http: httpx2.AsyncClient, log: Path, body: bytes, code: int
) -> None:
    answer = await http.post(gateway.url, content=body, headers=HEADERS)

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)
    assert sent(log) == 0


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"mcp-name": "up__delete_note"}, 400),
        ({"mcp-method": "tools/list"}, 400),
        ({"mcp-name": "=?base64?dXBfX2RlbGV0ZV9ub3Rl?="}, 400),
        ({"host": "evil.test"}, 421),
        ({"host": "localhost.evil.test:80"}, 421),
        ({"origin": "http://evil.test"}, 403),
        ({"origin": "null"}, 403),
        ({"authorization": "Bearer il_x_y"}, 401),
        ({"authorization": "Basic abc"}, 401),
        ({"mcp-session-id": "somebody-elses"}, 404),
    ],
)
async def test_headers_that_lie_are_refused(
    gateway: Running, http: httpx2.AsyncClient, log: Path, changes: dict[str, str], status: int
) -> None:
    answer = await http.post(gateway.url, content=request(), headers={**HEADERS, **changes})

    assert answer.status_code == status
    assert sent(log) == 0


async def test_who_is_not_known_is_told_how_to_say_who_it_is(gateway: Running, http: httpx2.AsyncClient) -> None:
    answer = await http.post(gateway.url, content=request(), headers={**HEADERS, "authorization": "Bearer il_x_y"})

    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_header_that_disagrees_with_the_body_is_told_by_its_code(
    gateway: Running, http: httpx2.AsyncClient
) -> None:
    answer = await http.post(gateway.url, content=request(), headers={**HEADERS, "mcp-name": "other"})

    assert answer.json()["error"]["code"] == -32020


async def test_a_body_that_is_too_long_is_refused(gateway: Running, http: httpx2.AsyncClient, log: Path) -> None:
    answer = await http.post(gateway.url, content=b" " * (5 * 1024 * 1024), headers=HEADERS)

    assert answer.status_code == 413
    assert sent(log) == 0


async def test_an_endless_body_is_refused_once_it_is_too_long(gateway: Running, log: Path) -> None:
    host, port = gateway.host.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    head = "POST /mcp HTTP/1.1\r\nHost: " + gateway.host + "\r\nTransfer-Encoding: chunked\r\n\r\n"
    writer.write(head.encode())
    async with asyncio.timeout(20):
        for _ in range(100):
            writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
            try:
                await writer.drain()
            except ConnectionError:
                break
        status = await reader.readline()
    writer.close()

    assert b" 413 " in status
    assert sent(log) == 0


@pytest.mark.parametrize(
    "params",
    [
        {"name": 5, "arguments": {}, "_meta": META},
        {"name": "up__echo", "arguments": [1], "_meta": META},
        {"arguments": {}, "_meta": META},
    ],
)
async def test_a_call_of_the_wrong_shape_is_refused(
    gateway: Running, http: httpx2.AsyncClient, log: Path, params: dict[str, Any]
) -> None:
    answer = await http.post(gateway.url, content=request(params=params), headers=HEADERS)

    assert answer.json()["error"]["code"] in (-32602, -32020)
    assert sent(log) == 0


async def test_a_legacy_call_without_a_session_is_refused(
    gateway: Running, http: httpx2.AsyncClient, log: Path
) -> None:
    headers = {key: HEADERS[key] for key in ("content-type", "accept")}
    answer = await http.post(gateway.url, content=request(), headers=headers)

    assert answer.status_code == 400
    assert sent(log) == 0


async def test_methods_and_paths_that_are_not_there_are_told_so(gateway: Running, http: httpx2.AsyncClient) -> None:
    headers = {**HEADERS, "mcp-method": "no/such"}
    unknown = await http.post(gateway.url, content=request(method="no/such"), headers=headers)
    nowhere = await http.get(gateway.url.replace("/mcp", "/nothing"))
    alive = await http.get(gateway.url.replace("/mcp", "/livez"))
    ready = await http.get(gateway.url.replace("/mcp", "/readyz"))

    assert unknown.json()["error"]["code"] == -32601
    assert (nowhere.status_code, alive.status_code, ready.status_code) == (404, 200, 200)


async def test_after_all_that_the_gateway_still_serves(gateway: Running, http: httpx2.AsyncClient) -> None:
    for body in (b"{", b"[]", request(id=True), b"\x00" * 1000):
        await http.post(gateway.url, content=body, headers=HEADERS)
    answer = await http.post(gateway.url, content=request(), headers=HEADERS)

    assert answer.status_code == 200
