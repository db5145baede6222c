"""Who is told what: by scope, by what is watched, and as fast as a client reads."""

import asyncio
from typing import Any, cast

from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from interlock.core.model import Caller, Scope
from interlock.core.offers import Kind, OfferChange
from interlock.receive.earshot import Earshot, Hearer, Opening, Voice


def listening(earshot: Earshot, scope: Scope | None = None, **watched: str) -> list[ServerEvent]:
    """What a new hearer is told; `watched` are URIs of the server `up`."""
    told: list[ServerEvent] = []
    names = {("up", uri): spelled for uri, spelled in watched.items()}
    earshot.add(Hearer(Caller("agent", scope=scope or Scope()), told.append, watched=names))
    return told


def test_lists_are_told_by_kind() -> None:
    earshot = Earshot(tools=True)
    told = listening(earshot)
    earshot.tools_changed("up")
    earshot.offer_changed(OfferChange("up", frozenset({Kind.RESOURCES, Kind.TEMPLATES})))
    earshot.offer_changed(OfferChange("up", frozenset({Kind.PROMPTS, Kind.TEMPLATES})))

    assert told == [ToolsListChanged(), ResourcesListChanged(), ResourcesListChanged(), PromptsListChanged()]


def test_where_tools_are_searched_for_nobody_is_told_of_them() -> None:
    earshot = Earshot(tools=False)
    told = listening(earshot)
    earshot.tools_changed("up")

    assert told == []


def test_nobody_is_told_of_what_is_out_of_scope() -> None:
    earshot = Earshot(tools=True)
    other_server, other_tools = (
        listening(earshot, Scope(servers=("far",))),
        listening(earshot, Scope(tools=("read_*",))),
    )
    earshot.tools_changed("up")
    earshot.offer_changed(OfferChange("up", frozenset(Kind)))

    assert (other_server, other_tools) == ([], [ToolsListChanged()])


def test_a_resource_is_told_to_those_who_watch_it_under_their_name_for_it() -> None:
    earshot = Earshot(tools=True)
    first, second, third = listening(earshot, a="up+a"), listening(earshot, a="a", b="b"), listening(earshot, b="b")
    earshot.updated("up", "a")
    earshot.updated("far", "b")

    assert (first, second, third) == ([ResourceUpdated("up+a")], [ResourceUpdated("a")], [])


def test_whoever_was_removed_hears_nothing_and_all_can_be_ended() -> None:
    earshot, ended = Earshot(tools=True), list[int]()
    gone, there = Hearer(Caller("a"), end=lambda: ended.append(1)), Hearer(Caller("b"), end=lambda: ended.append(2))
    for each in (gone, there):
        earshot.add(each)
    earshot.remove(gone)
    earshot.end()

    assert (len(earshot), ended) == (1, [2])


class Client:
    """Stands for the SDK's side of a session whose client reads when it is let to."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self.reads = asyncio.Event()
        self.took = asyncio.Event()

    async def send_notification(self, notification: Any) -> None:
        await self.reads.wait()
        self.read.append(notification.method)
        self.took.set()


async def test_what_happens_often_while_a_client_does_not_read_is_told_once() -> None:
    client = Client()
    async with asyncio.timeout(20), asyncio.TaskGroup() as side:
        voice = Voice(Opening(cast("Any", client)), side)
        voice.deliver(PromptsListChanged())
        await asyncio.sleep(0)
        for _ in range(100_000):
            voice.deliver(ToolsListChanged())
        client.reads.set()

    assert client.read == ["notifications/prompts/list_changed", "notifications/tools/list_changed"]


async def test_a_session_that_ended_is_told_nothing_any_more() -> None:
    client = Client()
    async with asyncio.timeout(20), asyncio.TaskGroup() as side:
        voice = Voice(Opening(cast("Any", client)), side)
        voice.deliver(ToolsListChanged())
        await asyncio.sleep(0)
        voice.end()

    assert client.read == []


async def test_a_session_that_is_not_open_yet_misses_what_happens() -> None:
    async with asyncio.timeout(20), asyncio.TaskGroup() as side:
        Voice(Opening(), side).deliver(ToolsListChanged())
