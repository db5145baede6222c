"""Places in the story of one gateway, which are numbers."""

import pytest

from interlock.store.protocol import Store
from interlock.store.story import farther, is_within
from tests.store.examples import activity


async def test_the_story_of_one_gateway_is_its_log(store: Store) -> None:
    begin = await store.story.end()
    await store.write([activity(number) for number in range(5)])
    first = await store.story.entries(begin, 2)
    rest = await store.story.next_entries({first[-1].chain: first[-1].seq}, 10)

    assert [each.subject for each in (*first, *rest)] == [f"act-{number:06}" for number in range(5)]
    assert await store.story.end() == {rest[-1].chain: 5}


async def test_a_place_is_read_as_it_was_written(store: Store) -> None:
    await store.write([activity(1)])
    end = await store.story.end()

    assert await store.story.mark(store.story.text(end)) == end


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5.2", "١", "9" * 30, "1.2-", "1.2--3.4"])
async def test_what_is_no_place_is_refused(store: Store, text: str) -> None:
    with pytest.raises(ValueError, match="must be the id of an event"):
        await store.story.mark(text)


def test_one_place_is_within_another_when_it_is_in_each_chain() -> None:
    assert is_within({"a": 1}, {"a": 1, "b": 2})
    assert not is_within({"a": 1, "c": 1}, {"a": 1, "b": 2})
    assert farther({"a": 1, "b": 5}, {"a": 3, "c": 2}) == {"a": 3, "b": 5, "c": 2}
