"""The logs of several gateways as one story, which can be gone on with at any of them."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from interlock.core.lifecycle import CallState
from interlock.store.postgres import PostgresStore
from interlock.web.feed import Feed, Reader, Topic, event_of
from tests.store.examples import activity, told
from tests.store.places import InDatabase, opened

Stores = list[PostgresStore]
WRITTEN = 40


@pytest.fixture
async def three(database: InDatabase) -> AsyncIterator[Stores]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(opened(database, f"chain-{each}")) for each in "abc"]


async def test_what_any_gateway_writes_is_told_by_all_of_them(three: Stores) -> None:
    for number, each in enumerate(three):
        await each.write([activity(number)])
    heard = [{entry.subject for entry in await each.story.entries({}, 10)} for each in three]

    assert heard == [{"act-000000", "act-000001", "act-000002"}] * 3


async def test_of_each_gateway_the_order_is_that_of_its_log_whatever_its_clock_says(three: Stores) -> None:
    one, other, _ = three
    await one.write([activity(1)])
    await other.write([activity(2)])
    one._time.told(5, 0, 0)  # type: ignore[attr-defined] # the clock of the database was set back
    await one.write([activity(3), activity(4)])
    entries = await other.story.entries({}, 10)

    assert [each.subject for each in entries if each.chain == "chain-a"] == ["act-000001", "act-000003", "act-000004"]


async def test_a_place_is_the_same_at_every_gateway(three: Stores) -> None:
    one, other, _ = three
    await one.write([activity(1), activity(2)])
    end = await one.story.end()
    text = one.story.text(end)
    await other.write([activity(3)])
    place = await other.story.mark(text)

    assert place is not None
    assert place == end
    assert [each.subject for each in await other.story.entries(place, 10)] == ["act-000003"]


async def test_a_gateway_that_was_not_there_yet_is_told_from_its_beginning(three: Stores, database: InDatabase) -> None:
    place = await three[0].story.end()
    async with opened(database, "chain-new") as new:
        await new.write([activity(7)])

    assert [each.subject for each in await three[0].story.entries(place, 10)] == ["act-000007"]


async def test_a_place_in_a_log_that_there_is_not_is_none(three: Stores) -> None:
    assert await three[0].story.mark("999.1") is None


async def test_who_waits_hears_of_a_change_at_another_gateway(three: Stores, database: InDatabase) -> None:
    one, other, _ = three
    place = await one.story.end()
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        waiting = group.create_task(one.story.next_entries(place, 10))
        await database.listened_to()
        await other.revoke_token("none", 1, told(1))  # nothing is written, and all are told
        await other.write([activity(1)])

    assert [each.subject for each in waiting.result()] == ["act-000001"]


# Readers of the stream --------------------------------------------------------------------------------------------


async def heard_at(feed: Feed, last: str | None, count: int) -> list[tuple[str, str]]:
    """What a reader hears that goes on after an event, until it has heard so many: the id and the activity of each."""
    reader = await feed.join({Topic.ACTIVITY}, last)
    assert reader is not None
    heard: list[tuple[str, str]] = []
    try:
        heard += [said(reader.text_of(event)) async for event in feed.replay(reader)]
        while len(heard) < count and (event := await reader.next(0.3)):
            heard.append(said(reader.text_of(event)))
    finally:
        feed.leave(reader)
    return heard


def said(text: bytes) -> tuple[str, str]:
    fields = dict(line.split(": ", 1) for line in text.decode().strip().splitlines())
    assert json.loads(fields["data"])["number"] == fields["id"]
    return fields["id"], json.loads(fields["data"])["id"]


@pytest.mark.parametrize("seed", range(3))
async def test_a_reader_that_resumes_at_another_gateway_each_time_misses_nothing_and_hears_nothing_twice(
    three: Stores, seed: int
) -> None:
    chance = random.Random(seed)
    feeds = [Feed(each) for each in three]
    heard: list[str] = []

    async def write(store: PostgresStore, first: int) -> None:
        for number in range(first, first + WRITTEN):
            await store.write([activity(number, CallState.SENT)])
            await store.write([activity(number)])
            await asyncio.sleep(chance.random() * 0.005)

    async with asyncio.timeout(60), AsyncExitStack() as stack:
        for each in feeds:
            await stack.enter_async_context(each.running())
        everything = await feeds[0].join({Topic.ACTIVITY}, None)  # a feed that is followed by others all the while
        assert everything is not None
        last: str | None = three[0].story.text(await three[0].story.end())
        async with asyncio.TaskGroup() as group:
            for number, each in enumerate(three):
                group.create_task(write(each, number * 1_000))
            while len(heard) < 3 * WRITTEN:
                now = await heard_at(chance.choice(feeds), last, chance.randrange(1, 9))
                heard += [activity_id for _, activity_id in now]
                last = now[-1][0] if now else last

    assert len(heard) == len(set(heard)) == 3 * WRITTEN
    for number in range(3):
        own = [each for each in heard if each.startswith(f"act-00{number}")]
        assert own == sorted(own), "the order of each gateway is kept"


async def test_a_reader_that_is_ahead_of_a_gateway_keeps_its_place(three: Stores) -> None:
    one, other, _ = three
    await one.write([activity(1)])
    await other.write([activity(2)])
    ahead = await one.story.end()
    behind = {**ahead, "chain-b": 0}
    reader = Reader({Topic.ACTIVITY}, ahead, behind, one.story.text)
    await one.write([activity(3)])
    (entry,) = await one.story.entries(ahead, 10)
    event = event_of(entry, {**behind, "chain-a": 2})
    assert event is not None
    reader.put(event)
    waiting = await reader.next(5.0)
    assert waiting is not None
    place, _ = said(reader.text_of(waiting))

    assert await one.story.mark(place) == {**ahead, "chain-a": 2}
