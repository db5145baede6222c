"""The upstream of the tests is one that the official client understands, in both eras and over every transport."""

import http.client
import json
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client, StdioServerParameters

from tests.upstream.running import HttpUpstream, events, http_upstream, list_other_tools, received, stdio_argv
from tests.upstream.tools import TOOLS

ERAS = [("legacy", "both"), ("legacy", "legacy"), ("2026-07-28", "both"), ("auto", "modern"), ("auto", "legacy")]
"""What the client asks for, and what the upstream speaks."""

MODERN: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@contextmanager
def reachable(transport: str, log: Path, era: str) -> Generator[str | StdioServerParameters]:
    if transport == "stdio":
        command, *words = stdio_argv(log, era=era)
        yield StdioServerParameters(command=command, args=words)
    else:
        with http_upstream(log, era=era, sse=transport == "sse") as upstream:
            yield upstream.url


@pytest.mark.parametrize("transport", ["stdio", "json", "sse"])
@pytest.mark.parametrize(("mode", "era"), ERAS)
async def test_the_official_client_lists_calls_and_sees_progress(
    tmp_path: Path, transport: str, mode: str, era: str
) -> None:
    log = tmp_path / "log"
    seen: list[float] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    with reachable(transport, log, era) as server:
        async with Client(server, mode=mode) as client:
            listed = await client.list_tools()
            echoed = await client.call_tool("echo", {"a": 1})
            summed = await client.call_tool("structured", {"a": 1, "b": 2})
            failed = await client.call_tool("fail")
            await client.call_tool("slow", {"seconds": 0}, progress_callback=progressed)

    assert [each.name for each in listed.tools] == [each["name"] for each in TOOLS]
    assert json.loads(getattr(echoed.content[0], "text", "")) == {"a": 1}
    assert summed.structured_content == {"sum": 3}
    assert failed.is_error
    assert seen == [0, 1, 2, 3, 4]
    assert [each.message["params"]["name"] for each in received(log) if each.method == "tools/call"] == [
        "echo",
        "structured",
        "fail",
        "slow",
    ]


Post = Callable[..., http.client.HTTPResponse]


@contextmanager
def connected(upstream: HttpUpstream) -> Generator[Post]:
    """A bare connection: a message and headers in, the response out."""
    address = urlsplit(upstream.url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)

    def post(message: dict[str, Any], **headers: str) -> http.client.HTTPResponse:
        body = json.dumps({"jsonrpc": "2.0", **message})
        connection.request("POST", address.path, body, {name.replace("_", "-"): headers[name] for name in headers})
        return connection.getresponse()

    try:
        yield post
    finally:
        connection.close()


def status_of(answer: http.client.HTTPResponse) -> int:
    answer.read()
    return answer.status


def test_a_session_is_needed_after_the_handshake(tmp_path: Path) -> None:
    with http_upstream(tmp_path / "log") as upstream, connected(upstream) as post:
        opened = post({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}})
        body = json.loads(opened.read())
        session = opened.headers["mcp-session-id"]
        told = status_of(post({"method": "notifications/initialized"}, mcp_session_id=session))
        pinged = status_of(post({"id": 2, "method": "ping"}, mcp_session_id=session))
        strange = status_of(post({"id": 3, "method": "ping"}, mcp_session_id="other"))
        without = status_of(post({"id": 4, "method": "ping"}))

    assert body["result"]["protocolVersion"] == "2025-06-18"
    assert (told, pinged, strange, without) == (202, 200, 404, 400)


def test_headers_that_contradict_the_body_are_refused(tmp_path: Path) -> None:
    call: dict[str, Any] = {"id": 1, "method": "tools/call", "params": {"name": "echo", "_meta": MODERN}}
    with http_upstream(tmp_path / "log") as upstream, connected(upstream) as post:
        answer = post(call, mcp_protocol_version="2026-07-28", mcp_method="tools/call", mcp_name="delete_note")
        body = json.loads(answer.read())

    assert (answer.status, body["error"]["code"]) == (400, -32020)
    assert received(tmp_path / "log")[0].header("Mcp-Name") == "delete_note"


def test_hanging_up_cancels_a_modern_call(tmp_path: Path) -> None:
    params = {"name": "slow", "arguments": {"seconds": 60}, "_meta": {**MODERN, "progressToken": 1}}
    call = {"id": 7, "method": "tools/call", "params": params}
    with http_upstream(tmp_path / "log") as upstream:
        with connected(upstream) as post:
            post(call, mcp_protocol_version="2026-07-28", mcp_method="tools/call", mcp_name="slow").readline()
        deadline = time.monotonic() + 10
        while not events(upstream.log, "cancelled"):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    assert events(tmp_path / "log", "cancelled") == [{"event": "cancelled", "id": 7}]


def test_what_was_received_is_kept_byte_by_byte(tmp_path: Path) -> None:
    raw = b'{ "jsonrpc":"2.0" ,"method":"x","params":{"a":1.50,"b":"\xc3\xa9"}}'
    with http_upstream(tmp_path / "log") as upstream:
        address = urlsplit(upstream.url)
        connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
        connection.request("POST", address.path, raw, {"X-Kept": "yes"})
        connection.getresponse().read()
        connection.close()

    only = received(tmp_path / "log")[0]
    assert (only.raw, only.http, only.header("x-kept")) == (raw, "POST /mcp", "yes")


def test_it_lists_and_runs_other_tools_when_it_is_told_to_and_says_so(tmp_path: Path) -> None:
    log, file = tmp_path / "log", tmp_path / "tools"
    argv = stdio_argv(log, tools=file)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:

        def ask(method: str, **params: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
            return json.loads(process.stdout.readline())

        own = ask("tools/list")["result"]["tools"]
        list_other_tools(log, file, [{"name": "other"}])
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        others = ask("tools/list")["result"]["tools"]
        ran = ask("tools/call", name="other")["result"]["content"][0]["text"]
        unknown = ask("tools/call", name="nothing")["error"]["message"]

    assert [each["name"] for each in own] == [each["name"] for each in TOOLS]
    assert said["method"] == "notifications/tools/list_changed"
    assert others == [{"name": "other"}]
    assert (ran, unknown) == ("This was other.", "Unknown tool: nothing")
