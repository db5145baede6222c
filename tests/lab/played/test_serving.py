"""A played server on the wire: what goes in and out, line by line and request by request."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from interlock.lab.played.answering import Answerer
from interlock.lab.played.manifest import manifest_of
from interlock.lab.played.mock import Mock
from interlock.lab.played.serving import GARBAGE, MAX_MESSAGE, MAX_OPEN, Scope, http_app, serve_lines

TOOLS: list[Any] = [
    {"name": "quick"},
    {"name": "hang", "fault": "hang"},
    {"name": "garbage", "fault": "garbage"},
]


def answerer() -> Answerer:
    return Answerer(Mock(manifest_of({"mock_server": {"name": "m", "tools": TOOLS}})))


def request(number: int | None, tool: str = "quick") -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": tool}}
    return json.dumps(message if number is None else {**message, "id": number}).encode()


def cancelled(number: Any) -> bytes:
    params = {"requestId": number}
    return json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}).encode()


# Lines ------------------------------------------------------------------------------------------------------------


async def said_to(*lines: bytes | None) -> list[bytes]:
    """What is answered to these lines, after which the client leaves."""
    out: list[bytes] = []

    async def arriving() -> AsyncIterator[bytes | None]:
        for line in lines:
            yield line

    async def say(line: bytes) -> None:
        out.append(line)

    async with asyncio.timeout(10):
        await serve_lines(answerer(), arriving(), say)
    return out


def ids(out: list[bytes]) -> list[Any]:
    return [json.loads(line)["id"] for line in out]


async def test_each_request_is_answered_and_nothing_else_is() -> None:
    blank, notice, answer = b"  ", b'{"jsonrpc":"2.0","method":"notifications/initialized"}', b'{"id":9,"result":{}}'

    assert ids(await said_to(request(1), blank, notice, answer, request(2))) == [1, 2]


async def test_what_hangs_stops_no_other_and_not_the_end() -> None:
    assert ids(await said_to(request(1, "hang"), request(2))) == [2]


async def test_a_request_that_is_given_up_is_over() -> None:
    lines = [each for number in range(MAX_OPEN + 5) for each in (request(number, "hang"), cancelled(number))]

    assert ids(await said_to(*lines, cancelled([]), request(-1))) == [-1]


async def test_more_than_may_be_open_are_refused() -> None:
    out = await said_to(*(request(number, "hang") for number in range(MAX_OPEN + 1)))

    (refused,) = map(json.loads, out)
    assert refused["id"] == MAX_OPEN
    assert refused["error"]["code"] == -32600


async def test_garbage_takes_the_place_of_an_answer() -> None:
    assert await said_to(request(1, "garbage")) == [GARBAGE]


@pytest.mark.parametrize(("line", "code"), [(b"{", -32700), (None, -32600)])
async def test_a_line_that_cannot_be_read_is_an_error_without_an_id(line: bytes | None, code: int) -> None:
    (answer,) = map(json.loads, await said_to(line))

    assert (answer["id"], answer["error"]["code"]) == (None, code)


# HTTP -------------------------------------------------------------------------------------------------------------


async def ask(
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "POST",
    path: str = "/mcp",
    leave: bool = False,
) -> tuple[int, bytes, Mapping[bytes, bytes]]:
    """The status, body and headers of one answer; status 0 if there was none."""
    named = {"host": "127.0.0.1:1", **(headers or {})}
    scope: Scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(key.encode(), value.encode()) for key, value in named.items()],
    }
    out: list[Scope] = []
    pieces = [body[at : at + MAX_MESSAGE] for at in range(0, len(body), MAX_MESSAGE)] or [b""]
    incoming = [
        {"type": "http.request", "body": piece, "more_body": at < len(pieces) - 1} for at, piece in enumerate(pieces)
    ]

    async def receive() -> Scope:
        if incoming:
            return incoming.pop(0)
        if not leave:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    async def send(message: Scope) -> None:
        out.append(message)

    async with asyncio.timeout(10):
        await http_app(answerer())(scope, receive, send)
    if not out:
        return 0, b"", {}
    return out[0]["status"], out[1]["body"], dict(out[0]["headers"])


async def test_a_request_is_answered_with_json() -> None:
    status, body, headers = await ask(request(1))

    assert (status, headers[b"content-type"]) == (200, b"application/json")
    assert json.loads(body)["result"]["content"] == [{"type": "text", "text": "ok"}]


async def test_a_notification_is_accepted() -> None:
    assert (await ask(request(None)))[0] == 202


async def test_there_is_no_stream_and_no_other_path() -> None:
    status, _, headers = await ask(method="GET")

    assert (status, headers[b"allow"]) == (405, b"POST")
    assert (await ask(request(1), path="/"))[0] == 404


@pytest.mark.parametrize(
    "headers", [{"host": "evil.example"}, {"origin": "https://evil.example"}, {"host": "127.0.0.1.evil.example"}]
)
async def test_a_page_of_somebody_else_is_refused(headers: dict[str, str]) -> None:
    assert (await ask(request(1), headers))[0] == 403


@pytest.mark.parametrize("headers", [{"host": "localhost:1"}, {"host": "[::1]:1"}, {"origin": "http://localhost:5"}])
async def test_whoever_is_on_this_machine_is_served(headers: dict[str, str]) -> None:
    assert (await ask(request(1), headers))[0] == 200


async def test_a_body_that_is_too_long_or_no_message_is_refused() -> None:
    assert (await ask(b" " * (MAX_MESSAGE + 1)))[0] == 413
    assert (await ask(b"{"))[0] == 400


async def test_a_version_of_the_future_has_a_status_of_its_own() -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2999-01-01"}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})
    status, said, _ = await ask(body.encode())

    assert (status, json.loads(said)["error"]["code"]) == (400, -32022)


async def test_a_client_that_leaves_a_hanging_request_frees_it() -> None:
    assert (await ask(request(1, "hang"), leave=True))[0] == 0


async def test_garbage_over_http_is_a_body_that_is_no_json() -> None:
    assert (await ask(request(1, "garbage")))[:2] == (200, GARBAGE)
