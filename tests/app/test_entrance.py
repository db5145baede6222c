"""The way in for agents is opened for the first of them, once, and closed with the gateway."""

import asyncio
from pathlib import Path

import pytest
from mcp.client import Client

from interlock.app.entrance import Entrance
from interlock.core.health import Introduction
from interlock.receive.workspaces import Workspaces
from tests.running import serving


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


async def test_nothing_is_made_while_nobody_comes() -> None:
    def make(workspaces: Workspaces, in_place_of: Introduction | None) -> None:
        raise AssertionError("nobody came")

    entrance = Entrance(make, Workspaces())  # pyright: ignore[reportArgumentType] - it makes nothing
    async with entrance.running():
        assert len(entrance) == 0


async def test_many_who_come_at_once_find_the_same_face(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        entrance = running.gateway.face
        faces = await asyncio.gather(*(entrance.open() for _ in range(5)))

    assert len({id(each) for each in faces}) == 1


async def test_workspaces_that_change_reach_the_face_whether_it_is_made_or_not(tmp_path: Path) -> None:
    before, after = Workspaces("before"), Workspaces("after")
    async with serving(tmp_path) as running:
        entrance = running.gateway.face
        entrance.workspaces = before
        face = await entrance.open()
        made_with, entrance.workspaces = face.workspaces, after

    assert (made_with, face.workspaces, entrance.workspaces) == (before, after, after)


async def test_a_gateway_that_stands_for_one_server_shows_its_name_and_none_of_our_tools(tmp_path: Path) -> None:
    async with serving(tmp_path, "expose: direct\n") as running:
        running.gateway.face.in_place_of = Introduction("records", "3", "Search first.")
        async with Client(running.url, mode="auto") as client:
            told, instructions = client.server_info, client.instructions
            names = [each.name for each in (await client.list_tools()).tools]

    assert told is not None
    assert (told.name, told.version, instructions) == ("records", "3", "Search first.")
    assert "sample__read_note" in names
    assert [each for each in names if each.startswith("interlock__")] == []
