"""Many upstreams: started together, none disturbing another, the book kept up to date."""

import asyncio
from pathlib import Path

import pytest

from interlock.core.safety import SafetyClass
from interlock.forward.fleet import Fleet
from interlock.forward.link import LinkDown, Notification
from interlock.forward.upstream import Health, UpstreamSpec
from tests.upstream.running import http_upstream, received, stdio_argv


async def test_all_upstreams_are_started_and_their_tools_are_in_one_book(tmp_path: Path) -> None:
    with http_upstream(tmp_path / "far") as running:
        specs = [
            UpstreamSpec("up", "up", tuple(stdio_argv(tmp_path / "up"))),
            UpstreamSpec("far", "ns", url=running.url),
        ]
        async with Fleet(specs, overrides={"up": {"frobnicate": SafetyClass.READ_ONLY}}) as fleet:
            up, far = fleet.book.find("up", "frobnicate"), fleet.book.find("far", "frobnicate")

    assert up is not None
    assert far is not None
    assert (up.classification.gateway, far.classification.gateway) == (SafetyClass.READ_ONLY, SafetyClass.UNKNOWN)
    assert far.tool.qualified == "ns__frobnicate"


async def test_a_dead_upstream_does_not_disturb_the_others(tmp_path: Path) -> None:
    specs = [
        UpstreamSpec("dead", "dead", ("/no/such/program",)),
        UpstreamSpec("up", "up", tuple(stdio_argv(tmp_path / "up"))),
    ]
    async with Fleet(specs) as fleet:
        answer = await fleet.call("up", "echo", b"{}")
        with pytest.raises(LinkDown):
            await fleet.call("dead", "echo", b"{}")
        health = {name: each.health for name, each in fleet.upstreams.items()}

    assert answer.error is None
    assert health == {"dead": Health.DOWN, "up": Health.READY}


async def test_a_server_that_is_not_there_is_down_and_nothing_was_sent() -> None:
    async with Fleet([]) as fleet:
        with pytest.raises(LinkDown) as down:
            await fleet.call("nobody", "x", b"{}")

    assert not down.value.sent


async def test_a_changed_list_is_asked_for_again(tmp_path: Path) -> None:
    log = tmp_path / "up"
    async with Fleet([UpstreamSpec("up", "up", tuple(stdio_argv(log)))]) as fleet, asyncio.timeout(10):
        before = fleet.book
        fleet.upstreams["up"]._heard(  # pyright: ignore[reportPrivateUsage]
            Notification("notifications/tools/list_changed")
        )
        while fleet.book is before:  # noqa: ASYNC110 - the book is replaced when the answer is there
            await asyncio.sleep(0)

    assert len([each for each in received(log) if each.method == "tools/list"]) == 2


async def test_each_upstream_has_its_own_patience() -> None:
    async with Fleet([UpstreamSpec("a", "a", ("false",), call_seconds=7.0)]) as fleet:
        assert fleet.seconds("a") == 7.0
