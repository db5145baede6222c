"""The whole path through the wire: agents with the official client, a real upstream that writes down what it gets."""

import asyncio
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from pydantic import ConfigDict

from interlock.core.lifecycle import CallState
from tests.behaviours.conftest import ERAS
from tests.running import Running, server_yaml, serving
from tests.upstream.running import HttpUpstream, Received, events, received, stdio_argv

MISMATCH = "Tool 'up:delete_note' is marked destructive by server, use call_tool_destructive"
MATRIX = [
    ("read", "read", "delete_note", MISMATCH),
    ("read", "read", "read_note", None),
    ("read", "read", "frobnicate", None),
    ("read", "write", "read_note", "Intent mismatch: tool is call_tool_read but intent declares write"),
    ("read", "destructive", "read_note", "Intent mismatch: tool is call_tool_read but intent declares destructive"),
    ("write", "write", "delete_note", MISMATCH),
    ("write", "write", "read_note", None),
    ("write", "write", "frobnicate", None),
    ("write", "read", "write_note", "Intent mismatch: tool is call_tool_write but intent declares read"),
    ("destructive", "destructive", "delete_note", None),
    ("destructive", "destructive", "read_note", None),
    ("destructive", "destructive", "frobnicate", None),
    ("read", None, "read_note", "intent.operation_type is required"),
    (
        "read",
        "unknown",
        "read_note",
        "Invalid intent.operation_type 'unknown': must be read, write, or destructive",
    ),
]


def calls(log: Path) -> list[Received]:
    return [each for each in received(log) if each.method == "tools/call"]


def said(result: types.CallToolResult) -> dict[str, Any]:
    assert result.structured_content is not None
    return result.structured_content


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("era", ERAS)
async def test_the_intent_matrix_holds_through_the_wire_and_the_upstream_agrees(
    gateway: Running, log: Path, era: str
) -> None:
    async with Client(gateway.url, mode=era) as client:
        for variant, declared, tool, refusal in MATRIX:
            before = len(calls(log))
            arguments = {"name": f"up:{tool}", "args": {}, "intent": {"operation_type": declared}}
            result = await client.call_tool(f"call_tool_{variant}", arguments)

            sent = len(calls(log)) - before
            if refusal is None:
                assert sent == 1, (variant, declared, tool)
            else:
                assert (sent, result.is_error, said(result)["message"]) == (0, True, refusal)


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_without_intent_is_refused(gateway: Running, log: Path, era: str) -> None:
    async with Client(gateway.url, mode=era) as client:
        result = await client.call_tool("call_tool_read", {"name": "up:read_note"})

    assert said(result)["message"] == "intent parameter is required for call_tool_read"
    assert calls(log) == []


@pytest.mark.parametrize("era", [*ERAS, "auto"])
async def test_tools_are_listed_found_and_called(gateway: Running, era: str) -> None:
    async with Client(gateway.url, mode=era) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        found = said(await client.call_tool("retrieve_tools", {"query": "read a note"}))["tools"][0]
        called = await client.call_tool("up__structured", {"a": 2, "b": 3})

    assert listed[:4] == ["retrieve_tools", "call_tool_read", "call_tool_write", "call_tool_destructive"]
    assert "up__read_note" in listed
    assert "far__read_note" in listed
    assert found["name"] in ("up:read_note", "far:read_note")
    assert said(called) == {"sum": 5}


@pytest.mark.parametrize("server", ["up", "far"])
@pytest.mark.parametrize("era", ERAS)
async def test_every_call_the_upstream_received_is_on_record_and_nothing_else(
    gateway: Running, log: Path, remote: HttpUpstream, era: str, server: str
) -> None:
    async with Client(gateway.url, mode=era) as client:
        await client.call_tool(f"{server}__write_note", {"name": "a", "text": "b"})
        await client.call_tool(f"{server}__read_note", {"name": "a"})
        await client.call_tool(f"{server}__nothing", {})
        await client.call_tool(f"{server}__write_note", {"name": 5})
        await client.call_tool("call_tool_read", {"name": f"{server}:delete_note", "args": {}})
    await gateway.gateway.pipeline.settled()
    sent = [each for each in await gateway.activities() if each.verdict == "allow"]
    refused = [each for each in await gateway.activities() if each.verdict == "deny"]
    got = calls(log if server == "up" else remote.log)

    assert [(each.tool, each.body["arguments"]) for each in sent] == [
        (each.message["params"]["name"], each.message["params"]["arguments"]) for each in got
    ]
    assert [each.status for each in sent] == [CallState.SUCCESS, CallState.SUCCESS]
    assert [each.rule_id for each in refused] == ["tool", "arguments", "two-key"]


@pytest.mark.parametrize("era", ERAS)
async def test_nothing_of_the_caller_and_nothing_of_ours_reaches_an_upstream(
    gateway: Running, log: Path, remote: HttpUpstream, era: str
) -> None:
    marked = {"_justification": "JUSTIFIED-MARK", "_approval_id": "APPROVAL-MARK", "kept": "KEPT-MARK"}
    intent = {"operation_type": "read", "reason": "REASON-MARK", "data_sensitivity": "private"}
    async with Client(gateway.url, mode=era) as client:
        for server in ("up", "far"):
            await client.call_tool(f"{server}__echo", marked)
            await client.call_tool("call_tool_read", {"name": f"{server}:echo", "args": marked, "intent": intent})
    everything = b"".join(
        each.raw + repr(each.headers).encode() for file in (log, remote.log) for each in received(file)
    )

    assert everything.count(b"KEPT-MARK") == 4
    for mark in ("JUSTIFIED-MARK", "APPROVAL-MARK", "REASON-MARK", "_justification", "operation_type", "sensitiv"):
        assert mark.encode() not in everything


async def test_an_upstream_gets_the_operators_credential_and_no_header_of_the_caller(
    gateway: Running, remote: HttpUpstream
) -> None:
    async with Client(gateway.url, mode="legacy") as client:
        await client.call_tool("far__echo", {})
    headers = {name.lower(): value for name, value in calls(remote.log)[0].headers}

    assert headers["authorization"] == "Bearer of-the-operator"
    assert set(headers) <= {
        "host", "authorization", "content-type", "content-length", "accept", "accept-encoding", "user-agent",
        "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id",
    }  # fmt: skip


@pytest.mark.parametrize("server", ["up", "far"])
async def test_what_we_do_not_know_in_a_result_survives(gateway: Running, server: str) -> None:
    async with Client(gateway.url, mode="legacy") as client:
        raw = await client.session.send_request(
            types.CallToolRequest(params=types.CallToolRequestParams(name=f"{server}__echo", arguments={"a": 1.5})),
            _RawResult,
        )

    assert raw.model_extra is not None
    assert any("vendor" in key.lower() or "extra" in key.lower() for key in raw.model_extra)


class _RawResult(types.Result):
    model_config = ConfigDict(extra="allow")


@pytest.mark.parametrize("server", ["up", "far"])
@pytest.mark.parametrize("era", ERAS)
async def test_progress_reaches_the_caller_who_asked_for_it(gateway: Running, era: str, server: str) -> None:
    heard: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with Client(gateway.url, mode=era) as client:
        result = await client.call_tool(f"{server}__slow", {"seconds": 0.05}, progress_callback=listen)

    assert result.is_error is not True
    assert len(heard) >= 2
    assert heard == sorted(heard)


@pytest.mark.parametrize("server", ["up", "far"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_the_client_gives_up_is_cancelled_upstream_and_on_record(
    gateway: Running, log: Path, remote: HttpUpstream, era: str, server: str
) -> None:
    file = log if server == "up" else remote.log
    async with Client(gateway.url, mode=era) as client, asyncio.timeout(20):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(client.call_tool(f"{server}__slow", {"seconds": 60}))
            while not calls(file):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.01)
            task.cancel()
        while not events(file, "cancelled"):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        await gateway.gateway.pipeline.settled()
        statuses = [each.status for each in await gateway.activities()]

    assert statuses == [CallState.CANCELLED]


async def test_a_crashing_upstream_is_told_and_on_record_as_indeterminate(gateway: Running) -> None:
    async with Client(gateway.url, mode="legacy") as client:
        result = await client.call_tool("up__crash", {})
        other = await client.call_tool("far__read_note", {"name": "a"})
    crashed = (await gateway.activities())[0]

    assert said(result)["code"] == "UPSTREAM_DOWN"
    assert other.is_error is not True or "note" in text_of(other)
    assert crashed.status is CallState.INDETERMINATE


async def test_an_error_of_the_tool_is_passed_on_and_recorded_as_one(gateway: Running) -> None:
    async with Client(gateway.url, mode="legacy") as client:
        result = await client.call_tool("up__fail", {})
    (activity,) = await gateway.activities()

    assert result.is_error is True
    assert activity.status is CallState.ERROR


async def test_a_lying_hint_of_an_untrusted_server_lowers_nothing(tmp_path: Path, log: Path) -> None:
    text = "servers:\n" + server_yaml("up", stdio_argv(log))
    async with serving(tmp_path, text) as gateway, Client(gateway.url, mode="legacy") as client:
        arguments = {"name": "up:remove_cache", "intent": {"operation_type": "read"}}
        result = await client.call_tool("call_tool_read", arguments)

    assert result.is_error is True
    assert calls(log) == []
