"""One upstream: which era it speaks, its tools, one call; over stdio and HTTP."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from interlock.forward.link import Link, LinkDown, Listener, Notification
from interlock.forward.link_http import HttpLink
from interlock.forward.link_stdio import StdioLink
from interlock.forward.reaper import Reaper
from interlock.forward.upstream import Health, Upstream, UpstreamSpec
from tests.upstream.running import http_upstream, received, stdio_argv

TOOL_COUNT = 13


@asynccontextmanager
async def started(spec: UpstreamSpec, open_link: Callable[[Listener], Link]) -> AsyncGenerator[Upstream]:
    upstream = Upstream(spec, open_link)
    await upstream.start()
    try:
        yield upstream
    finally:
        await upstream.close()


@asynccontextmanager
async def over_stdio(argv: list[str]) -> AsyncGenerator[Upstream]:
    reaper = Reaper()
    await reaper.start()
    spec = UpstreamSpec("up", "up", tuple(argv))
    try:
        async with started(
            spec, lambda listener: StdioLink(spec.argv, {}, None, on_notification=listener, reaper=reaper)
        ) as upstream:
            yield upstream
    finally:
        await reaper.close()


@pytest.mark.parametrize(
    ("era", "version"), [("legacy", "2025-11-25"), ("modern", "2026-07-28"), ("both", "2026-07-28")]
)
async def test_the_newest_era_that_a_stdio_upstream_speaks_is_taken(tmp_path: Path, era: str, version: str) -> None:
    log = tmp_path / "log"
    async with over_stdio(stdio_argv(log, era=era)) as upstream:
        answer = await upstream.call("echo", b'{"a":1.50}')

    assert (upstream.protocol_version, len(upstream.tools)) == (version, TOOL_COUNT)
    assert answer.error is None
    call = next(each for each in received(log) if each.method == "tools/call")
    assert b'"arguments":{"a":1.50}' in call.raw.replace(b" ", b"")
    assert ("_meta" in call.message["params"]) is (version == "2026-07-28")


@pytest.mark.parametrize(
    ("era", "version"), [("legacy", "2025-11-25"), ("modern", "2026-07-28"), ("both", "2026-07-28")]
)
async def test_the_newest_era_that_an_http_upstream_speaks_is_taken(tmp_path: Path, era: str, version: str) -> None:
    with http_upstream(tmp_path / "log", era=era) as running:
        spec = UpstreamSpec("far", "far", url=running.url)
        async with started(spec, lambda listener: HttpLink(running.url, {}, on_notification=listener)) as upstream:
            answer = await upstream.call("echo", b'{"a":1}')
        call = next(each for each in running.received() if each.method == "tools/call")

    assert (upstream.protocol_version, len(upstream.tools)) == (version, TOOL_COUNT)
    assert answer.error is None
    assert call.header("mcp-protocol-version") == version
    assert call.header("mcp-name") == ("echo" if version == "2026-07-28" else None)
    assert (call.header("mcp-session-id") is not None) is (version != "2026-07-28")


async def test_a_tool_keeps_fields_that_we_do_not_know(tmp_path: Path) -> None:
    async with over_stdio(stdio_argv(tmp_path / "log")) as upstream:
        echo = next(tool for tool in upstream.tools if tool["name"] == "echo")

    assert echo["vendorField"] == {"kept": True}


@pytest.mark.parametrize("argv", [["/no/such/program"], ["false"], ["sh", "-c", "echo not json; exec cat >/dev/null"]])
async def test_an_upstream_that_does_not_start_is_down_with_a_reason(argv: list[str]) -> None:
    import interlock.forward.upstream as module

    patience = module._PROBE_SECONDS, module._START_SECONDS  # pyright: ignore[reportPrivateUsage]
    module._PROBE_SECONDS = module._START_SECONDS = 0.5  # pyright: ignore[reportPrivateUsage]
    try:
        async with over_stdio(argv) as upstream:
            with pytest.raises(LinkDown) as down:
                await upstream.call("x", b"{}")
    finally:
        module._PROBE_SECONDS, module._START_SECONDS = patience  # pyright: ignore[reportPrivateUsage]

    assert upstream.problem
    assert not down.value.sent


async def test_an_upstream_that_says_its_tools_changed_is_heard(tmp_path: Path) -> None:
    told: list[bool] = []
    async with over_stdio(stdio_argv(tmp_path / "log")) as upstream:
        upstream.on_tools_changed(lambda: told.append(True))
        upstream._heard(Notification("notifications/tools/list_changed"))  # pyright: ignore[reportPrivateUsage]
        upstream._heard(Notification("notifications/message"))  # pyright: ignore[reportPrivateUsage]

    assert told == [True]


def test_health_has_words_for_people() -> None:
    assert [each.value for each in Health] == ["starting", "ready", "down", "stopped"]
    assert json.dumps(Health.READY) == '"ready"'
