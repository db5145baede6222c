"""`interlock stdio` as clients use it: processes, pipes, the official client, and gateways that come and go."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from interlock.core.lifecycle import CallState
from interlock.receive.identify import mint
from interlock.store.protocol import ActivityFilter, ActivityType
from tests.behaviours.conftest import ERAS
from tests.behaviours.test_malformed import request as modern_call
from tests.behaviours.test_path import calls, said
from tests.fakes import FakeClock
from tests.running import Running, config_of, end_token, keep_token, server_yaml, serving
from tests.stores import store_of
from tests.talking import SECONDS, Talk, argv, clean, talking
from tests.upstream.running import SERVER, events, received, stdio_argv

LOST = -32002
MARK = "SECRET-MARK"


@contextlib.asynccontextmanager
async def official(folder: Path, era: str) -> AsyncGenerator[Client]:
    """The official client, connected through `interlock stdio`."""
    command, *rest = argv(folder)
    parameters = StdioServerParameters(command=command, args=rest, env=clean(), cwd=folder)
    with (folder / "stderr").open("w") as errors:
        async with asyncio.timeout(SECONDS), Client(stdio_client(parameters, errors), mode=era) as client:
            yield client


async def until(met: Callable[[], Any]) -> None:
    async with asyncio.timeout(SECONDS):
        while not met():  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def pids(log: Path) -> list[int]:
    """The processes of the upstream, in the order of their start."""
    return [each["pid"] for each in events(log, "started")]


# Through a gateway that runs already ----------------------------------------------------------------------------


@pytest.mark.parametrize("era", [*ERAS, "auto"])
async def test_the_official_client_lists_calls_and_hears_progress_and_errors(
    gateway: Running, tmp_path: Path, era: str
) -> None:
    heard: list[float] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async with official(tmp_path, era) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        called = await client.call_tool("up__structured", {"a": 2, "b": 3})
        failed = await client.call_tool("up__fail", {})
        await client.call_tool("up__slow", {"seconds": 0.05}, progress_callback=listen)

    assert {"retrieve_tools", "up__echo", "far__echo"} <= set(listed)
    assert said(called) == {"sum": 5}
    assert failed.is_error is True
    assert len(heard) >= 2
    assert heard == sorted(heard)
    assert f"the gateway at {gateway.host}" in (tmp_path / "stderr").read_text()


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_the_client_gives_up_is_cancelled_upstream_and_on_record(
    gateway: Running, tmp_path: Path, log: Path, era: str
) -> None:
    async with official(tmp_path, era) as client:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(client.call_tool("up__slow", {"seconds": 60}))
            await until(lambda: calls(log))
            task.cancel()
        await until(lambda: events(log, "cancelled"))
        after = await client.call_tool("up__structured", {"a": 1, "b": 1})
    await gateway.gateway.pipeline.settled()
    statuses = [each.status for each in await gateway.activities()]

    assert said(after) == {"sum": 2}
    assert statuses == [CallState.CANCELLED, CallState.SUCCESS]


async def test_many_calls_at_once_each_get_their_own_answer(gateway: Running, tmp_path: Path) -> None:
    async def one(client: Client, number: int) -> bool:
        result = await client.call_tool(f"{('up', 'far')[number % 2]}__echo", {"nonce": f"n-{number}-"})
        (content,) = result.content
        return isinstance(content, types.TextContent) and f"n-{number}-" in content.text

    async with official(tmp_path, "2026-07-28") as client:
        answers = await asyncio.gather(*(one(client, number) for number in range(150)))

    assert all(answers)


MALFORMED: list[tuple[bytes, int]] = [
    (b"{", -32700),
    (b"\xff", -32700),
    (b"\x00" * 1000, -32700),
    (modern_call().replace(b'"id": 1', b'"id": NaN'), -32700),
    (modern_call().replace(b'"arguments": {}', b'"arguments": {"a":1,"a":2}'), -32700),
    (modern_call().replace(b'"arguments": {}', b'"arguments": {"a":"\\ud800"}'), -32700),
    (modern_call().replace(b'"arguments": {}', b'"arguments": ' + b"[" * 100_000 + b"]" * 100_000), -32700),
    (b"[" + modern_call() + b"]", -32600),
    (modern_call(id=1.0), -32600),
    (modern_call(id=True), -32600),
    (modern_call(id=None), -32600),
    (modern_call(jsonrpc="1.0"), -32600),
    (modern_call(params=[1]), -32600),
    (modern_call(method=5), -32600),
    (b'{"jsonrpc":"2.0","id":1,"Method":"tools/call"}', -32600),
    (b" " * (4 * 1024 * 1024 + 1), -32600),
    (b"x" * (9 * 1024 * 1024), -32600),
]


async def test_lines_that_no_honest_client_writes_are_errors_and_reach_nobody(
    gateway: Running, tmp_path: Path, log: Path
) -> None:
    async with talking(tmp_path) as talk:
        for number, (line, code) in enumerate(MALFORMED):
            talk.say(line)
            refused = await talk.hear()
            after = await talk.ask("tools/list", f"after-{number}", modern=True)

            assert refused["error"]["code"] == code, (line[:80], refused)
            assert "result" in after
        assert calls(log) == []
        served = await talk.call("up__structured", 1, modern=True, a=1, b=2)

    assert served["result"]["structuredContent"] == {"sum": 3}


async def test_a_client_that_does_not_read_makes_us_wait_and_gets_everything_in_the_end(
    gateway: Running, tmp_path: Path, log: Path
) -> None:
    wanted, size = 400, 100_000
    async with talking(tmp_path, limit=1024) as talk:
        assert talk.process.stdout is not None
        for number in range(wanted):
            talk.send("tools/call", number, modern=True, name="up__huge", arguments={"size": size})
        await until(lambda: len(calls(log)) >= 200)
        async with Client(gateway.url, mode="2026-07-28") as other:
            for _ in range(50):
                await other.call_tool("far__echo", {})
        sent = len(calls(log))
        pieces: list[bytes] = []
        missing = wanted
        async with asyncio.timeout(SECONDS):
            while missing:
                pieces.append(await talk.process.stdout.read(1 << 20))
                missing -= pieces[-1].count(b"\n")
    ids = sorted(json.loads(line)["id"] for line in b"".join(pieces).splitlines())

    assert sent < 300
    assert ids == list(range(wanted))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("end", ["eof", "term"])
async def test_a_client_that_leaves_ends_its_calls(
    gateway: Running, tmp_path: Path, log: Path, era: str, end: str
) -> None:
    modern = era != "legacy"
    async with talking(tmp_path) as talk:
        if not modern:
            await talk.handshake()
        talk.send("tools/call", 1, modern=modern, name="up__slow", arguments={"seconds": 60})
        await until(lambda: calls(log))
        if end == "eof":
            code = await talk.close()
        else:
            talk.process.send_signal(signal.SIGTERM)
            code = await talk.ended()
    await until(lambda: events(log, "cancelled"))
    await gateway.gateway.pipeline.settled()
    (activity,) = await gateway.activities()

    assert code == 0
    assert activity.status is CallState.CANCELLED


async def test_a_token_makes_the_caller_and_a_revoked_one_is_told_so(gateway: Running, tmp_path: Path) -> None:
    inner = gateway.gateway
    token, text = mint("ci-bot", "agent", ("agent",), 1, None)
    await keep_token(inner, token)
    async with talking(tmp_path, env=clean(INTERLOCK_TOKEN=text)) as talk:
        await talk.handshake()
        await talk.call("up__write_note", 1, name="a", text="b")
        await end_token(inner, token)
        refused = await talk.call("up__write_note", 2, name="a", text="c")
        code = await talk.close()
        told = talk.errors.read_text()
    (activity,) = await gateway.activities()

    assert activity.caller == "ci-bot"
    assert refused["error"]["code"] == -32001
    assert "The token is not valid." in refused["error"]["message"]
    assert "interlock token create" in refused["error"]["message"]
    assert code == 0
    assert text not in told


async def test_the_workspace_is_that_of_the_folder_that_the_process_was_started_in(tmp_path: Path, log: Path) -> None:
    prod = tmp_path / "srv" / "größe"
    inner = prod / "deep" / "deeper"
    other = tmp_path / "srv-other"
    for each in (inner, other):
        each.mkdir(parents=True)
    text = (
        "posture: open\nexpose: direct\nservers:\n"
        + server_yaml("up", stdio_argv(log))
        + f"workspaces:\n  - {{id: ws-prod, path: '{prod}'}}\n  - {{id: ws-deep, path: '{inner}'}}\n"
        + "route_rules:\n  - {id: r, workspace_id: ws-prod, tool_pattern: 'up__write_note', effect: deny}\n"
    )
    places = {prod: "ws-prod", prod / "deep": "ws-prod", inner: "ws-deep", other: None}
    async with serving(tmp_path, text) as running:
        for place in places:
            async with talking(tmp_path, cwd=place) as talk:
                await talk.call("up__write_note", 1, modern=True, name="a", text="b")
                await talk.close()
        found = [(each.workspace, each.verdict) for each in await running.activities()]

    assert [workspace for workspace, _ in found] == list(places.values())
    assert [verdict for _, verdict in found] == ["deny", "deny", "allow", "allow"]


# With a gateway of its own --------------------------------------------------------------------------------------


def open_config(folder: Path, argv: list[str]) -> None:
    config_of(folder, "posture: open\nexpose: direct\nservers:\n" + server_yaml("up", argv))


async def recorded(folder: Path) -> list[tuple[str | None, CallState]]:
    """Tool and status of the calls on record, oldest first, when no gateway runs."""
    store = store_of(folder / "data", FakeClock())
    await store.start()
    page = await store.list_activities(ActivityFilter(types=(ActivityType.TOOL_CALL,), limit=100))
    await store.close()
    return [(each.tool, each.status) for each in reversed(page.items)]


@pytest.mark.parametrize("era", ERAS)
async def test_alone_it_runs_a_gateway_and_leaves_nothing_behind(tmp_path: Path, log: Path, era: str) -> None:
    open_config(tmp_path, stdio_argv(log))
    modern = era != "legacy"
    async with talking(tmp_path) as talk:
        if not modern:
            await talk.handshake()
        called = await talk.call("up__structured", 1, modern=modern, a=1, b=2)
        talk.send("tools/call", 2, modern=modern, name="up__slow", arguments={"seconds": 60})
        await until(lambda: len(calls(log)) == 2)
        code = await talk.close()
        told = talk.errors.read_text()

    assert called["result"]["structuredContent"] == {"sum": 3}
    assert code == 0
    assert "a gateway in this process" in told
    assert len(events(log, "cancelled")) == 1
    assert [is_alive(pid) for pid in pids(log)] == [False]
    assert await recorded(tmp_path) == [("structured", CallState.SUCCESS), ("slow", CallState.CANCELLED)]


async def test_two_share_one_gateway_and_the_second_goes_on_when_the_first_ends(tmp_path: Path, log: Path) -> None:
    open_config(tmp_path, stdio_argv(log))
    async with talking(tmp_path) as first:
        await first.handshake()
        async with talking(tmp_path) as second, talking(tmp_path) as third:
            await second.handshake()
            await second.call("up__write_note", 1, name="a", text="b")
            await third.call("up__write_note", 2, modern=True, name="a", text="b")
            shared = len(pids(log))
            code = await first.close()
            legacy = await second.call("up__structured", 3, a=1, b=2)
            modern = await third.call("up__structured", 4, modern=True, a=3, b=4)
            ends = [await second.close(), await third.close()]

    assert shared == 1
    assert len(pids(log)) == 2
    assert (code, ends) == (0, [0, 0])
    assert legacy["result"]["structuredContent"] == {"sum": 3}
    assert modern["result"]["structuredContent"] == {"sum": 7}
    assert [is_alive(pid) for pid in pids(log)] == [False, False]
    assert len(await recorded(tmp_path)) == 4


async def killed_under(talk: Talk, other: Talk, log: Path, *, modern: bool) -> dict[str, Any]:
    """Kill the gateway of `talk` while `other` has a call under way; what `other` is answered."""
    other.send("tools/call", 7, modern=modern, name="up__slow", arguments={"seconds": 60})
    await until(lambda: [each for each in calls(log) if each.message["params"]["name"] == "slow"])
    talk.process.kill()
    return await other.hear()


@pytest.mark.parametrize("era", ERAS)
async def test_when_the_gateway_is_killed_the_call_under_way_is_an_error_and_the_next_one_works(
    tmp_path: Path, log: Path, era: str
) -> None:
    open_config(tmp_path, stdio_argv(log))
    modern = era != "legacy"
    async with talking(tmp_path) as first:
        await first.call("up__structured", 1, modern=True, a=1, b=1)
        async with talking(tmp_path) as second:
            if not modern:
                await second.handshake()
            lost = await killed_under(first, second, log, modern=modern)
            after = await second.call("up__structured", 8, modern=modern, a=2, b=3)
            code = await second.close()

    assert (lost["id"], lost["error"]["code"]) == (7, LOST)
    assert "may have had its effect" in lost["error"]["message"]
    assert after["result"]["structuredContent"] == {"sum": 5}
    assert code == 0
    assert len([each for each in calls(log) if each.message["params"]["name"] == "slow"]) == 1
    await until(lambda: not any(is_alive(pid) for pid in pids(log)))
    assert ("slow", CallState.INDETERMINATE) in await recorded(tmp_path)


async def test_no_upstream_sees_the_token(tmp_path: Path, log: Path) -> None:
    seen = tmp_path / "environment"
    program = (
        "import os, runpy, sys; "
        f"open({str(seen)!r}, 'w').write(repr(dict(os.environ))); "
        f"sys.path.insert(0, {str(SERVER.parent)!r}); sys.argv = ['server.py', '--log', {str(log)!r}]; "
        f"runpy.run_path({str(SERVER)!r}, run_name='__main__')"
    )
    yaml = f"servers:\n  up: {{command: '{sys.executable}', args: [-c, {json.dumps(program)}]}}\n"
    config_of(tmp_path, yaml)
    async with talking(tmp_path, env=clean(INTERLOCK_TOKEN=f"il_{MARK}_x")) as talk:
        refused = await talk.ask("tools/list", 1, modern=True)
        await talk.close()
    told, found = talk.errors.read_text(), seen.read_text()

    assert "The token is not valid." in refused["error"]["message"]
    assert "PATH" in found
    assert MARK not in found + told + repr(received(log))
