"""What an upstream says of its own accord: watched once for all, heard again after every break, never a flood."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.core.lexicon import DEFAULT
from interlock.core.offers import SUBSCRIBE
from interlock.forward.fleet import Fleet
from interlock.forward.link import Answer, LinkDown
from interlock.forward.upstream import Ask, Scope, UpstreamSpec, tool_call
from tests.forward.fleets import QUICK, SECONDS, small
from tests.upstream.running import http_upstream, received, stdio_argv

A, B = "note:///a", "note:///b"
PACE = replace(QUICK, updates_apart=0.01)


class Watching:
    """A fleet with one server, `up`, and the resources of it that were told to have changed."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.told: list[str] = []
        self._news = asyncio.Event()
        fleet.on_updated = self._take

    def _take(self, server: str, uri: str) -> None:
        self.told.append(uri)
        self._news.set()

    async def watch(self, uri: str = A, **more: Any) -> Answer:
        return await self.fleet.call("up", Ask(SUBSCRIBE, json.dumps({"uri": uri}).encode(), uri), **more)

    def release(self, uri: str = A) -> None:
        self.fleet.release("up", uri)

    async def call(self, tool: str, **arguments: Any) -> None:
        await self.fleet.call("up", tool_call(tool, json.dumps(arguments).encode()))

    async def until_told(self, uri: str, times: int = 1) -> None:
        async with asyncio.timeout(SECONDS):
            while self.told.count(uri) < times:
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def watching(spec: UpstreamSpec) -> AsyncGenerator[Watching]:
    async with Fleet([spec], pace=PACE) as fleet, asyncio.timeout(SECONDS):
        seen = Watching(fleet)
        await fleet.settled(SECONDS)
        yield seen


@asynccontextmanager
async def served(transport: str, era: str, log: Path) -> AsyncGenerator[Watching]:
    """The upstream of the tests, watched."""
    if transport == "stdio":
        async with watching(UpstreamSpec("up", "up", tuple(stdio_argv(log, era=era)))) as seen:
            yield seen
        return
    with http_upstream(log, era=era) as remote:
        async with watching(UpstreamSpec("up", "up", url=remote.url)) as seen:
            while era == "legacy" and not any(each.http.startswith("GET") for each in received(log)):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            yield seen


def watched(log: Path) -> set[str]:
    """What the upstream watches for us by now."""
    now: set[str] = set()
    for each in received(log):
        params: dict[str, Any] = each.message["params"] if each.raw else {}
        if each.method == "resources/subscribe":
            now.add(params["uri"])
        elif each.method == "resources/unsubscribe":
            now.discard(params["uri"])
        elif each.method == "subscriptions/listen":
            now = set(params["notifications"].get("resourceSubscriptions", ()))
    return now


async def until_watched(log: Path, uris: set[str]) -> None:
    async with asyncio.timeout(SECONDS):
        while watched(log) != uris:  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)


EVERYWHERE = [("stdio", "legacy"), ("stdio", "modern"), ("http", "legacy"), ("http", "modern")]


@pytest.mark.parametrize(("transport", "era"), EVERYWHERE)
async def test_a_resource_is_watched_for_as_long_as_somebody_wants_it(tmp_path: Path, transport: str, era: str) -> None:
    log = tmp_path / "log"
    async with served(transport, era, log) as seen:
        for uri in (A, A, B):
            assert (await seen.watch(uri)).error is None
        await seen.call("touch", uri=A)
        await seen.until_told(A)
        seen.release(A)
        await seen.call("touch", uri=A)
        await seen.until_told(A, 2)
        seen.release(A)
        await until_watched(log, {B})
        await seen.call("touch", uri=A)
        await seen.call("touch", uri=B)
        await seen.until_told(B)

    assert seen.told == [A, A, B]


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_after_a_new_start_everything_is_watched_again_and_counts_as_changed(tmp_path: Path, era: str) -> None:
    log = tmp_path / "log"
    async with served("stdio", era, log) as seen:
        await seen.watch(A)
        os.kill(pid_of(log), signal.SIGKILL)
        await seen.until_told(A)
        await until_watched_by(log, pid_of(log), A)
        await seen.call("touch", uri=A)
        await seen.until_told(A, 2)


def pid_of(log: Path) -> int:
    started = [json.loads(line) for line in log.read_text().splitlines() if '"started"' in line]
    return started[-1]["pid"]


async def until_watched_by(log: Path, pid: int, uri: str) -> None:
    """Wait until the process that was started last watches a resource."""
    async with asyncio.timeout(SECONDS):
        while uri not in since(log, pid):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)


def since(log: Path, pid: int) -> str:
    """What was written down since a process started."""
    return log.read_text().rpartition(f'"pid": {pid}')[2]


async def test_a_changed_configuration_takes_over_what_is_watched(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    spec = UpstreamSpec("up", "up", tuple(stdio_argv(first, era="legacy")))
    async with watching(spec) as seen:
        await seen.watch(A)
        await seen.fleet.apply([replace(spec, argv=tuple(stdio_argv(second, era="modern")))], {}, DEFAULT)
        await until_watched(second, {A})
        await seen.call("touch", uri=A)
        await seen.until_told(A)
        seen.release(A)
        await until_watched(second, set())


TELLING = """
def answer(message):
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        can = {"resources": {"subscribe": True}}
        result(message, protocolVersion="2025-11-25", capabilities=can, serverInfo={"name": "x", "version": "1"})
    elif method == "resources/subscribe":
        subscribe(message)
    elif method == "tools/call":
        for _ in range(params["arguments"].get("times", 1)):
            say(method="notifications/resources/updated", params={"uri": params["arguments"]["uri"]})
        result(message, content=[])
    elif method == "tools/list":
        result(message, tools=TOOLS)
    elif "id" in message:
        refuse(message)

while message := hear():
    answer(message)
"""
"""A legacy process that tells whatever it is asked to tell."""


def telling(subscribe: str = "result(message)") -> UpstreamSpec:
    return small("up", f"def subscribe(message): {subscribe}\n" + TELLING)


async def test_what_nobody_watches_is_not_passed_on() -> None:
    async with watching(telling()) as seen:
        await seen.watch(A)
        for uri in (B, A + "x", "", A):
            await seen.call("echo", uri=uri)
        await seen.until_told(A)

    assert seen.told == [A]


async def test_a_part_of_what_is_watched_counts_as_that() -> None:
    async with watching(telling()) as seen:
        await seen.watch("note:///folder/")
        await seen.call("echo", uri="note:///folder/file")
        await seen.until_told("note:///folder/")


async def test_a_flood_of_changes_is_told_a_few_times() -> None:
    async with watching(telling()) as seen:
        await seen.watch(A)
        await seen.call("echo", uri=A, times=20_000)
        await seen.watch(B)
        await seen.call("echo", uri=B)
        await seen.until_told(B)

    assert 1 <= seen.told.count(A) < 2_000


async def test_a_server_that_refuses_to_watch_is_believed() -> None:
    async with watching(telling("refuse(message, -32002)")) as seen:
        answers = [await seen.watch(A) for _ in range(2)]
        await seen.call("echo", uri=A)

    assert [each.error and each.error.code for each in answers] == [-32002, -32002]
    assert seen.told == []


async def test_a_server_that_dies_of_a_subscription_leaves_nothing_behind() -> None:
    async with watching(telling("os._exit(3)")) as seen:
        with pytest.raises(LinkDown):
            await seen.watch(A)
        assert seen.fleet.upstreams["up"].hearing._watchers == {}  # pyright: ignore[reportPrivateUsage]


LISTENING = """
def answer(message):
    method, params = message.get("method"), message.get("params") or {}
    if method == "server/discover":
        can = {"resources": {"subscribe": True}, "tools": {"listChanged": True}}
        result(message, supportedVersions=["2026-07-28"], capabilities=can)
    elif method == "subscriptions/listen":
        HEARD["listened"] = HEARD.get("listened", 0) + 1
        listen(message, params["notifications"])
    elif method == "tools/call":
        echo(message)
    elif method == "tools/list":
        result(message, tools=TOOLS)
    elif "id" in message:
        refuse(message)

while message := hear():
    answer(message)
"""
ACKNOWLEDGE = "say(method='notifications/subscriptions/acknowledged', params={'notifications': %s})"


def listening(listen: str) -> UpstreamSpec:
    """A modern process that does this with a request to listen."""
    return small("up", f"def listen(message, wanted): {listen}\n" + LISTENING)


async def test_a_resource_that_a_modern_server_does_not_honour_is_not_watched() -> None:
    async with watching(listening(ACKNOWLEDGE % "{}")) as seen:
        answer = await seen.watch(A)

    assert answer.error is not None


async def test_a_modern_server_that_does_not_listen_is_not_asked_over_and_over() -> None:
    async with watching(listening("refuse(message)")) as seen:
        answers = [await seen.watch(A) for _ in range(3)]
        heard = json.loads((await seen.fleet.call("up", tool_call("echo", b"{}"))).result)["heard"]

    assert all(each.error is not None for each in answers)
    assert heard == {"listened": 1}


async def test_a_stream_that_ended_is_opened_again_and_what_is_watched_counts_as_changed() -> None:
    once = "HEARD.update(ended=1) or result(message) if len(wanted) > 1 and 'ended' not in HEARD else None"
    ends = f"{ACKNOWLEDGE % 'wanted'}; {once}"
    async with watching(listening(ends)) as seen:
        await seen.watch(A)
        await seen.until_told(A)
        heard = json.loads((await seen.fleet.call("up", tool_call("echo", b"{}"))).result)["heard"]

    assert heard["listened"] >= 2


async def test_a_caller_with_a_session_of_its_own_is_told_of_what_it_watches(tmp_path: Path) -> None:
    upstream = UpstreamSpec("up", "up", tuple(stdio_argv(tmp_path / "log")), per_caller=True)
    async with watching(upstream) as seen:
        answer = await seen.watch(A, caller="a")
        await seen.call("touch", uri=A)
        await seen.until_told(A)

    assert answer.error is None


async def test_nothing_is_watched_with_other_credentials() -> None:
    async with watching(replace(telling(), scopes={"other": Scope()})) as seen:
        with pytest.raises(LinkDown, match="own credentials"):
            await seen.watch(A, auth_scope="other")
