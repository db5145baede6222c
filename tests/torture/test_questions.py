"""Two callers on one server that asks both of them, again and again: nobody is asked or answers what is another's."""

import asyncio
import os
import random
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client

from tests.asking import Person, asking, connected, token_for

TIMES = int(os.environ.get("INTERLOCK_TEST_QUESTIONS", "60"))
"""How often each of the two is asked."""
AT_ONCE = {"stdio": 1, "http": 4}
"""How many calls of one caller are under way. Over stdio a question belongs to the only one that is."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def keep_calling(client: Client, name: str, at_once: int) -> list[Any]:
    """What the server was answered in each call, in order. Seeded by the name."""
    chance = random.Random(name)
    delays = [chance.random() * 10 for _ in range(TIMES)]
    room = asyncio.Semaphore(at_once)

    async def call(number: int) -> Any:
        async with room:
            arguments = {"message": f"<{name}:{number}>", "after_ms": delays[number]}
            result = await client.call_tool("up__ask", arguments)
            assert result.structured_content is not None, result
            return result.structured_content["answers"][0]["content"]["word"]

    return await asyncio.gather(*(call(number) for number in range(TIMES)))


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("modes", [("legacy", "legacy"), ("2026-07-28", "2026-07-28"), ("legacy", "2026-07-28")])
async def test_two_callers_are_asked_at_random_and_nothing_is_crossed(
    tmp_path: Path, modes: tuple[str, str], era: str, transport: str
) -> None:
    chance = random.Random(era + transport)
    people = {name: Person(name, before=lambda: asyncio.sleep(chance.random() / 100)) for name in ("ada", "bob")}
    heard: dict[str, list[Any]] = {}
    async with asking(tmp_path, era, transport) as stage:

        async def take_part(name: str, mode: str) -> None:
            headers = await token_for(stage.running, name)
            async with connected(people[name], stage.running, mode, headers) as client:
                heard[name] = await keep_calling(client, name, AT_ONCE[transport])

        async with asyncio.TaskGroup() as group:
            for name, mode in zip(people, modes, strict=True):
                group.create_task(take_part(name, mode))

    for name, person in people.items():
        assert heard[name] == [f"{name} <{name}:{number}>" for number in range(TIMES)]
        assert sorted(each["message"] for each in person.seen) == sorted(f"<{name}:{each}>" for each in range(TIMES))
