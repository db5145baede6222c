"""Hearing of approvals: nothing is missed, and an interruption is bridged."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from interlock import errors
from interlock.cli.gateway import Api
from interlock.cli.watching.follow import Happened, Lost, News, Waiting, follow, present_api
from interlock.errors import InterlockError
from interlock.receive.reach import RemoteReach
from interlock.store.folder import DataFolder
from tests.running import Running, serving

SECONDS = 30


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


class Ear:
    """What was told so far."""

    def __init__(self) -> None:
        self.heard: list[News] = []
        self._news = asyncio.Event()

    def __call__(self, news: News) -> None:
        self.heard.append(news)
        self._news.set()

    async def until(self, kind: type[Any] | tuple[type[Any], ...], count: int = 1) -> Any:
        """The last of so many news of a kind."""
        async with asyncio.timeout(SECONDS):
            while len(found := [each for each in self.heard if isinstance(each, kind)]) < count:
                self._news.clear()
                await self._news.wait()
        return found[count - 1]


@contextlib.asynccontextmanager
async def following(connect: Callable[[], Api]) -> AsyncGenerator[Ear]:
    ear = Ear()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(follow(connect, ear, pause=0.01))
        await ear.until((Waiting, Lost))  # what happens before that is told as something that waits
        yield ear
        task.cancel()


@contextlib.asynccontextmanager
async def held(running: Running, name: str) -> AsyncGenerator[None]:
    """A call that waits until the block ends."""
    api = present_api(running.folder)
    body = {"arguments": {"name": name, "_justification": "x"}}
    async with asyncio.TaskGroup() as group:
        call = group.create_task(api.post("tools", "sample", "delete_note", "call", body=body))
        yield
        call.cancel()


async def test_what_waits_is_told_first_and_then_what_happens(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, following(lambda: present_api(running.folder)) as ear:
        begun = await ear.until(Waiting)
        async with held(running, "a"):
            created = await ear.until(Happened)
        ended = await ear.until(Happened, 2)

    assert begun == Waiting([], 0)
    assert (created.event, created.approval["tool_name"]) == ("approval.created", "sample__delete_note")
    assert (ended.event, ended.approval["resolution"]) == ("approval.cancelled", "client disconnected")
    assert ended.approval["votes"] == []


async def test_what_waited_before_is_told_oldest_first(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, following(lambda: present_api(running.folder)) as ear, held(running, "a"):
        await ear.until(Happened)
        async with held(running, "b"):
            await ear.until(Happened, 2)
            async with following(lambda: present_api(running.folder)) as late:
                begun = await late.until(Waiting)

    assert [each["arguments"]["name"] for each in begun.items] == ["a", "b"]
    assert begun.total == 2


async def test_after_a_stream_was_cut_off_nothing_is_told_twice_and_nothing_is_missed(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, following(lambda: present_api(running.folder)) as ear:
        async with held(running, "a"):
            await ear.until(Happened)
            running.gateway.parts.feed.end()
            async with held(running, "b"):
                await ear.until(Happened, 2)
                await ear.until(Waiting, 2)
        await ear.until(Happened, 4)

    told = [(each.event, each.approval["arguments"]["name"]) for each in ear.heard if isinstance(each, Happened)]
    assert told == [
        ("approval.created", "a"),
        ("approval.created", "b"),
        ("approval.cancelled", "b"),
        ("approval.cancelled", "a"),
    ]


async def test_a_gateway_that_is_not_there_is_told_and_looked_for_again(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    async with following(lambda: present_api(folder)) as ear:
        lost = await ear.until(Lost)
        async with serving(tmp_path):
            await ear.until(Waiting)
        again = await ear.until(Lost, len([each for each in ear.heard if isinstance(each, Lost)]) + 1)

    assert lost.why.startswith("No gateway runs on ")
    assert again.why


async def test_another_gateway_with_a_shorter_log_is_followed_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "long").mkdir()
    (tmp_path / "short").mkdir()
    async with serving(tmp_path / "long") as long, serving(tmp_path / "short") as short:
        chosen = [long.folder]
        async with following(lambda: present_api(chosen[0])) as ear:
            await ear.until(Waiting)
            async with held(long, "a"):
                await ear.until(Happened)
            await ear.until(Happened, 2)
            chosen[0] = short.folder
            long.gateway.parts.feed.end()
            await ear.until(Waiting, 2)
            async with held(short, "b"):
                created = await ear.until(Happened, 3)

    assert created.approval["arguments"]["name"] == "b"


async def test_what_asking_again_would_not_mend_ends_it(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        host, port = running.host.split(":")
        stranger = Api(RemoteReach(host, int(port)), "il_nobody_nothing")
        with pytest.raises(InterlockError) as refused:
            await follow(lambda: stranger, Ear(), pause=0.01)

    assert refused.value.reason.code is errors.Code.UNAUTHENTICATED
