"""Lists that change, resources that are watched, log messages: told to those who asked, and to nobody else."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.session import IncomingMessage
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_to_notification

from interlock.receive.identify import TokenScope, mint
from tests.behaviours.conftest import ERAS
from tests.running import Running, keep_token, server_yaml, serving
from tests.upstream.running import HttpUpstream, http_upstream, list_other_tools, received, stdio_argv
from tests.upstream.tools import TOOLS

SECONDS = 30
README = "note:///readme"


@pytest.fixture(params=["legacy", "modern"])
def behind(request: pytest.FixtureRequest) -> str:
    """The era of the servers."""
    return request.param


@pytest.fixture
def remote(tmp_path: Path, behind: str) -> Generator[HttpUpstream]:
    with http_upstream(tmp_path / "remote.log", era=behind) as running:
        yield running


@asynccontextmanager
async def started(
    folder: Path, log: Path, remote: HttpUpstream, behind: str, expose: str = "both"
) -> AsyncGenerator[Running]:
    servers = server_yaml("up", stdio_argv(log, era=behind)) + f"  far: {{url: '{remote.url}'}}\n"
    async with serving(folder, f"posture: open\nexpose: {expose}\nservers:\n{servers}") as running:
        await heard_by_all(running, log, remote, behind)
        yield running


async def heard_by_all(running: Running, log: Path, remote: HttpUpstream, behind: str) -> None:
    """Wait until the gateway has opened the streams on which it hears of changes."""
    wanted = "subscriptions/listen" if behind == "modern" else "notifications/initialized"

    def is_open() -> bool:
        far = any(
            each.http.startswith("GET") if behind == "legacy" else each.method == wanted for each in remote.received()
        )
        return far and any(each.method == wanted for each in received(log))

    async with asyncio.timeout(SECONDS):
        while not is_open():  # noqa: ASYNC110 - other processes write it
            await asyncio.sleep(0.01)


@pytest.fixture
async def gateway(tmp_path: Path, log: Path, remote: HttpUpstream, behind: str) -> AsyncGenerator[Running]:
    async with started(tmp_path, log, remote, behind) as running:
        yield running


class Heard:
    """What a client was told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str | None]] = []
        self._news = asyncio.Event()

    def take(self, method: str, uri: str | None = None) -> None:
        self.told.append((method.removeprefix("notifications/"), uri))
        self._news.set()

    async def until(self, method: str, uri: str | None = None) -> None:
        async with asyncio.timeout(SECONDS):
            while (method, uri) not in self.told:
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def hearing(
    running: Running, era: str, *watched: str, headers: dict[str, str] | None = None, door: Any = None
) -> AsyncGenerator[tuple[Client, Heard]]:
    """A client that wants to hear everything, and of these resources."""
    heard = Heard()

    async def take(message: IncomingMessage) -> None:
        if not isinstance(message, Exception):
            heard.take(message.method, getattr(message.params, "uri", None))

    http = create_mcp_http_client(headers=headers)
    target = door or streamable_http_client(running.url, http_client=http)
    handler = take if era == "legacy" else None  # a modern client would be told twice
    async with http, Client(target, mode=era, message_handler=handler, cache=None) as client:
        if era == "legacy":
            for uri in watched:
                await subscribe(client, uri)
            yield client, heard
            return
        async with client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=list(watched),
        ) as stream:
            listening = asyncio.ensure_future(_listen(stream, heard))
            yield client, heard
            listening.cancel()


async def _listen(stream: Any, heard: Heard) -> None:
    async for event in stream:
        told = event_to_notification(event, {})
        heard.take(told.method, getattr(told.params, "uri", None))


async def subscribe(client: Client, uri: str) -> None:
    params = types.SubscribeRequestParams(uri=uri)
    await client.session.send_request(types.SubscribeRequest(params=params), types.EmptyResult)


async def unsubscribe(client: Client, uri: str) -> None:
    params = types.UnsubscribeRequestParams(uri=uri)
    await client.session.send_request(types.UnsubscribeRequest(params=params), types.EmptyResult)


def watched_by(log: Path) -> list[tuple[str, ...]]:
    """What the server was asked to watch, each time that changed."""
    asked = [each.message for each in received(log) if each.method in ("subscriptions/listen", "resources/subscribe")]
    named = [
        each["params"].get("notifications", {}).get("resourceSubscriptions", [])
        if each["method"] == "subscriptions/listen"
        else [each["params"]["uri"]]
        for each in asked
    ]
    return [tuple(each) for each in named]


@pytest.mark.parametrize("server", ["up", "far"])
@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_that_changes_is_told_to_whoever_watches_it_and_to_nobody_else(
    gateway: Running, log: Path, remote: HttpUpstream, behind: str, era: str, server: str
) -> None:
    async with (
        hearing(gateway, era, f"{server}+{README}") as (_, first),
        hearing(gateway, era, f"{server}+{README}") as (_, second),
        hearing(gateway, era, f"{server}+note:///logo") as (client, third),
    ):
        asked = watched_by(log if server == "up" else remote.log)
        await client.call_tool(f"{server}__touch", {"uri": README})
        await first.until("resources/updated", f"{server}+{README}")
        await second.until("resources/updated", f"{server}+{README}")
        await client.call_tool(f"{server}__touch", {"uri": "note:///logo"})
        await third.until("resources/updated", f"{server}+note:///logo")

    assert third.told == [("resources/updated", f"{server}+note:///logo")]
    # Two clients watch the same resource, and the server was asked for it once.
    logo = "note:///logo"
    assert asked == ([(README,), (logo,)] if behind == "legacy" else [(), (README,), (logo, README)])
    assert [each.tool for each in await gateway.activities() if each.tool == "resources/subscribe"] == (
        ["resources/subscribe"] * 3
    )


@pytest.mark.parametrize("server", ["up", "far"])
async def test_nobody_watches_any_more_after_unsubscribing_or_going_away(
    gateway: Running, log: Path, remote: HttpUpstream, behind: str, server: str
) -> None:
    file = log if server == "up" else remote.log
    async with hearing(gateway, "legacy", f"{server}+{README}", f"{server}+note:///logo") as (client, heard):
        await unsubscribe(client, f"{server}+{README}")
        await client.call_tool(f"{server}__touch", {"uri": README})
        await client.call_tool(f"{server}__touch", {"uri": "note:///logo"})
        await heard.until("resources/updated", f"{server}+note:///logo")
    async with asyncio.timeout(SECONDS):
        while left(file, behind):  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)

    assert heard.told == [("resources/updated", f"{server}+note:///logo")]


def left(log: Path, behind: str) -> set[str]:
    """What a server still watches for us."""
    if behind == "modern":
        return set(watched_by(log)[-1])
    watched: set[str] = set()
    for each in received(log):
        if each.method == "resources/subscribe":
            watched.add(each.message["params"]["uri"])
        if each.method == "resources/unsubscribe":
            watched.discard(each.message["params"]["uri"])
    return watched


@pytest.mark.parametrize("server", ["up", "far"])
@pytest.mark.parametrize("era", ERAS)
async def test_lists_that_change_are_told_and_show_the_change(gateway: Running, era: str, server: str) -> None:
    async with hearing(gateway, era) as (client, heard):
        await client.call_tool(f"{server}__add", {"uri": "late:///one"})
        await heard.until("resources/list_changed")
        resources = [each.uri for each in (await client.list_resources()).resources]
        await client.call_tool(f"{server}__add", {"name": "late"})
        await heard.until("prompts/list_changed")
        prompts = [each.name for each in (await client.list_prompts()).prompts]

    assert f"{server}+late:///one" in resources
    assert f"{server}__late" in prompts
    assert ("tools/list_changed", None) not in heard.told


async def token_for(running: Running, name: str, scope: TokenScope) -> dict[str, str]:
    token, text = mint(name, "agent", ("agent",), 0, None, scope)
    await keep_token(running.gateway, token)
    return {"authorization": f"Bearer {text}"}


@pytest.mark.parametrize("era", ERAS)
async def test_nobody_is_told_of_a_server_out_of_scope(gateway: Running, era: str) -> None:
    narrow = await token_for(gateway, "narrow", TokenScope(servers=("up",)))
    async with hearing(gateway, era) as (client, wide), hearing(gateway, era, headers=narrow) as (_, heard):
        await client.call_tool("far__add", {"uri": "late:///one"})
        await wide.until("resources/list_changed")
        await client.call_tool("up__add", {"name": "late"})
        await heard.until("prompts/list_changed")

    assert heard.told == [("prompts/list_changed", None)]


async def test_a_resource_out_of_scope_cannot_be_watched(gateway: Running, remote: HttpUpstream) -> None:
    narrow = await token_for(gateway, "narrow", TokenScope(servers=("up",)))
    async with (
        hearing(gateway, "2026-07-28", f"far+{README}", f"up+{README}", headers=narrow) as (_, heard),
        hearing(gateway, "2026-07-28", f"far+{README}") as (client, wide),
    ):
        await client.call_tool("far__touch", {"uri": README})
        await wide.until("resources/updated", f"far+{README}")
        await client.call_tool("up__touch", {"uri": README})
        await heard.until("resources/updated", f"up+{README}")

    assert heard.told == [("resources/updated", f"up+{README}")]


async def test_what_a_rule_denies_is_not_watched_and_the_client_is_told_so(tmp_path: Path, log: Path) -> None:
    matched = "tool_pattern: 'up__resources/subscribe', args: {uri: '*logo'}"
    rule = f"route_rules: [{{id: no-watching, {matched}, effect: deny}}]\n"
    async with (
        serving(tmp_path, rule + "servers:\n" + server_yaml("up", stdio_argv(log, era="modern"))) as running,
        Client(running.url, mode="2026-07-28") as client,
        client.listen(resource_subscriptions=[f"up+{README}", "up+note:///logo"]) as stream,
    ):
        honoured = stream.honored.resource_subscriptions
        refused = [each.rule_id for each in await running.activities() if each.verdict == "deny"]

    assert honoured == [f"up+{README}"]
    assert refused == ["no-watching"]
    assert all("note:///logo" not in each for each in watched_by(log))


@pytest.mark.parametrize("era", ERAS)
async def test_where_agents_search_for_tools_they_are_told_of_everything_but_tools(
    tmp_path: Path, log: Path, era: str
) -> None:
    file = tmp_path / "tools.json"
    argv = stdio_argv(log, era="legacy", tools=file)
    text = "posture: open\nservers:\n" + server_yaml("up", argv, trusted=True)
    async with serving(tmp_path, text) as running, hearing(running, era) as (client, heard):
        list_again(log, file)
        while running.gateway.pipeline.book.find("up", "other") is None:  # noqa: ASYNC110 - nobody else tells of it
            await asyncio.sleep(0.01)
        added = {"name": "up:add", "args": {"name": "late"}, "intent": {"operation_type": "write"}}
        await client.call_tool("call_tool_write", added)
        await heard.until("prompts/list_changed")

    assert heard.told == [("prompts/list_changed", None)]


@pytest.mark.parametrize("era", ERAS)
async def test_tools_that_change_are_told(tmp_path: Path, log: Path, era: str) -> None:
    file = tmp_path / "tools.json"
    argv = stdio_argv(log, era="legacy", tools=file)
    text = "expose: direct\nservers:\n" + server_yaml("up", argv, trusted=True)
    async with serving(tmp_path, text) as running, hearing(running, era) as (client, heard):
        list_again(log, file)
        await heard.until("tools/list_changed")
        tools = [each.name for each in (await client.list_tools()).tools]

    assert tools == ["up__other", "up__add", "interlock__await_approval"]


def list_again(log: Path, file: Path) -> None:
    """Have the server list another tool, and say so."""
    other = {"name": "other", "inputSchema": {"type": "object"}}
    list_other_tools(log, file, [other, *(each for each in TOOLS if each["name"] == "add")])


@pytest.mark.parametrize("era", ERAS)
async def test_over_stdio_clients_hear_of_changes_too(gateway: Running, era: str) -> None:
    words = ["-m", "interlock", "stdio", "--data-dir", str(gateway.folder.path)]
    door = stdio_client(StdioServerParameters(command=sys.executable, args=words))
    async with hearing(gateway, era, f"up+{README}", door=door) as (client, heard):
        read = await client.read_resource(f"far+{README}")
        await client.call_tool("up__touch", {"uri": README})
        await heard.until("resources/updated", f"up+{README}")
        await client.call_tool("far__add", {"name": "late"})
        await heard.until("prompts/list_changed")

    assert read.contents[0].uri == f"far+{README}"


async def test_a_gateway_that_stops_ends_the_streams_of_those_who_listen(tmp_path: Path, log: Path) -> None:
    listens = asyncio.Event()

    async def listen(url: str) -> list[Any]:
        async with Client(url, mode="2026-07-28") as client, client.listen(tools_list_changed=True) as stream:
            listens.set()
            return [event async for event in stream]  # a stream that breaks off raises

    text = "servers:\n" + server_yaml("up", stdio_argv(log, era="modern"))
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group, serving(tmp_path, text) as running:
        heard = group.create_task(listen(running.url))
        await listens.wait()

    assert heard.result() == []


# Log messages ---------------------------------------------------------------------------------------------------


class Log:
    """The log messages that a client got."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []

    async def __call__(self, params: types.LoggingMessageNotificationParams) -> None:
        self.said.append((params.level, params.data))


@pytest.mark.parametrize("era", ERAS)
async def test_log_messages_of_a_call_reach_its_client_from_the_level_it_asked_for(gateway: Running, era: str) -> None:
    mine, others = Log(), Log()
    level: Any = {"log_level": "warning"} if era != "legacy" else {}
    async with (
        Client(gateway.url, mode=era, logging_callback=mine, **level) as client,
        Client(gateway.url, mode=era, logging_callback=others, **level) as other,
    ):
        if era == "legacy":
            for each in (client, other):
                params = types.SetLevelRequestParams(level="warning")
                await each.session.send_request(types.SetLevelRequest(params=params), types.EmptyResult)
        await client.call_tool("far__chatter", {"of": "mine"})
        await other.call_tool("far__chatter", {"of": "others"})

    assert mine.said == [(level, {"about": {"of": "mine"}, "vendorField": 1.5}) for level in ("warning", "error")]
    assert [data["about"]["of"] for _, data in others.said] == ["others", "others"]


@pytest.mark.parametrize("era", ERAS)
async def test_whoever_asked_for_no_level_gets_no_log_message(gateway: Running, era: str) -> None:
    log = Log()
    async with Client(gateway.url, mode=era, logging_callback=log) as client:
        await client.call_tool("far__chatter", {})

    assert log.said == []


async def test_messages_that_cannot_be_told_apart_are_dropped(gateway: Running) -> None:
    log = Log()
    async with Client(gateway.url, mode="2026-07-28", logging_callback=log, log_level="debug") as client:
        result = await client.call_tool("up__chatter", {})

    assert result.is_error is not True
    assert log.said == []


async def test_a_level_that_there_is_not_is_refused(gateway: Running) -> None:
    async with Client(gateway.url, mode="legacy") as client:
        params: Any = types.SetLevelRequestParams.model_construct(level=cast("Any", "loud"))
        with pytest.raises(MCPError, match="level must be one of the protocol's"):
            await client.session.send_request(types.SetLevelRequest(params=params), types.EmptyResult)
