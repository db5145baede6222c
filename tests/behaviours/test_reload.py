"""A configuration file that is edited while the gateway runs: what is good is taken up, what is bad changes nothing."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from mcp.client import Client

from interlock.store.protocol import Activity, ActivityFilter, ActivityType
from tests.running import Running, server_yaml, serving
from tests.upstream.running import stdio_argv

DENY = "route_rules: [{id: no-reads, tool_pattern: up__echo, effect: deny}]\n"


@pytest.fixture
async def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Running]:
    monkeypatch.setattr("interlock.app.gateway.LOOK_SECONDS", 0.01)
    async with serving(tmp_path, base(tmp_path)) as running:
        yield running


def base(folder: Path) -> str:
    return "expose: direct\nposture: open\nservers:\n" + server_yaml("up", stdio_argv(folder / "up.log"))


def write(folder: Path, text: str) -> None:
    """As an editor does: whole, under the old name."""
    new = folder / "interlock.yaml.new"
    new.write_text(text)
    new.replace(folder / "interlock.yaml")


async def changes(running: Running) -> list[Activity]:
    page = await running.gateway.store.list_activities(ActivityFilter(types=(ActivityType.CONFIG_CHANGE,)))
    return list(page.items)


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await true():  # noqa: ASYNC110 - the file is looked at now and then
            await asyncio.sleep(0.01)


async def is_refused(running: Running, tool: str) -> bool:
    async with Client(running.url, mode="2026-07-28") as client:
        return (await client.call_tool(tool, {})).is_error or False


async def test_a_rule_that_is_added_holds_and_one_that_is_taken_away_does_not(gateway: Running, tmp_path: Path) -> None:
    before = await is_refused(gateway, "up__echo")
    write(tmp_path, base(tmp_path) + DENY)
    await until(lambda: is_refused(gateway, "up__echo"))
    write(tmp_path, base(tmp_path))

    async def is_allowed() -> bool:
        return not await is_refused(gateway, "up__echo")

    async def are_told() -> bool:  # a moment after the rules are in force
        return len(await changes(gateway)) >= 2

    await until(is_allowed)
    await until(are_told)

    assert before is False
    assert [each.body["change"] for each in await changes(gateway)] == ["taken up", "taken up"]


async def test_a_bad_file_is_refused_told_and_changes_nothing(gateway: Running, tmp_path: Path) -> None:
    write(tmp_path, base(tmp_path) + DENY)
    await until(lambda: is_refused(gateway, "up__echo"))
    write(tmp_path, base(tmp_path) + "postur: open\n")

    async def is_told() -> bool:
        return any(each.body["change"] == "refused" for each in await changes(gateway))

    await until(is_told)

    assert await is_refused(gateway, "up__echo")
    refused = next(each for each in await changes(gateway) if each.body["change"] == "refused")
    assert "unknown key 'postur'; did you mean 'posture'?" in str(refused.body["problems"])


async def test_a_server_that_is_added_is_reached_and_the_others_keep_running(gateway: Running, tmp_path: Path) -> None:
    async with Client(gateway.url, mode="2026-07-28") as client, asyncio.TaskGroup() as group:
        slow = group.create_task(client.call_tool("up__slow", {"seconds": 1}))
        write(tmp_path, base(tmp_path) + server_yaml("two", stdio_argv(tmp_path / "two.log")))

        async def is_there() -> bool:
            return not await is_refused(gateway, "two__echo")

        await until(is_there)

    assert slow.result().is_error is not True
