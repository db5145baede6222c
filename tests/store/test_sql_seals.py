"""What seals in the store do: they name entries that are there, bound what may go, and go with it in small steps."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.core.lifecycle import CallState
from interlock.store.audit.keys import open_key
from interlock.store.audit.seal import SealKind
from interlock.store.audit.seals import Keep
from interlock.store.protocol import ActivityFilter, StoreUnavailable
from tests.store.audit.logs import Office, call
from tests.store.examples import TickingClock, told
from tests.store.places import Place

pytestmark = pytest.mark.anyio
LAST = 40
"""Two entries for each of twenty calls; a checkpoint on every tenth entry."""


@pytest.fixture
async def office(tmp_path: Path, place: Place) -> AsyncIterator[Office]:
    """A log that is sealed to its end, opened again."""
    async with Office(tmp_path, store=place.store(TickingClock())) as first:
        await first.fill(1, 20, every=5)
    async with Office(tmp_path, store=place.store(TickingClock())) as opened:
        yield opened


async def prune(office: Office, upto: int) -> None:
    """Say that everything up to an entry was removed, and remove it."""
    seals = office.store.seals
    entry = await seals.place(upto)
    assert entry is not None
    await seals.add(open_key(office.folder).seal(SealKind.PRUNED, seals.chain, upto, entry.hash, 1), told(99))
    await seals.forget(await seals.doomed(upto, 100))
    await seals.shed(upto, 100)


async def cut(office: Office, keep: Keep) -> int | None:
    """The entry up to which everything may go."""
    found = await office.store.seals.cut(keep)
    return None if found is None else found.seq


# Places and seals -----------------------------------------------------------------------------------------------


async def test_a_place_is_the_entry_with_this_number_or_the_last_one(office: Office) -> None:
    (entry,) = await office.store.log_entries(6, 1)
    place, last = await office.store.seals.place(7), await office.store.seals.place()

    assert place is not None
    assert (place.seq, place.hash, place.at) == (7, entry.hash, entry.at)
    assert last is not None
    assert last.seq == LAST
    assert [await office.store.seals.place(each) for each in (0, LAST + 1, 2**80)] == [None] * 3


async def test_a_log_without_entries_has_no_place_and_no_seal(tmp_path: Path, place: Place) -> None:
    async with Office(tmp_path, store=place.store(TickingClock())) as empty:
        seals = empty.store.seals

        assert await seals.place() is None
        assert [await seals.last(each) for each in SealKind] == [None, None]
        assert (list(await seals.listed(5)), await seals.cut(Keep(records=1))) == ([], None)


async def test_seals_are_listed_newest_first_and_no_more_than_asked_for(office: Office) -> None:
    await prune(office, 20)
    listed = await office.store.seals.listed(4)

    assert [(each.kind, each.seq) for each in listed] == [
        (SealKind.CHECKPOINT, 40),
        (SealKind.CHECKPOINT, 30),
        (SealKind.CHECKPOINT, 20),
        (SealKind.PRUNED, 20),
    ]
    assert [await office.store.seals.last(each) for each in SealKind] == [listed[0], listed[3]]


async def test_a_seal_that_the_database_refuses_leaves_nothing_of_what_tells_of_it(office: Office) -> None:
    key, seals = open_key(office.folder), office.store.seals
    nowhere = key.seal(SealKind.CHECKPOINT, seals.chain, LAST + 9, bytes(32), 1)
    no_stretch = key.seal(SealKind.PRUNED, seals.chain, 15, bytes(32), 1)
    for number, seal in enumerate((nowhere, no_stretch)):
        with pytest.raises(StoreUnavailable):
            await seals.add(seal, told(number))

    assert await office.store.log_end() == LAST
    assert [await office.store.get_activity(f"change-{each}") for each in (0, 1)] == [None, None]


async def test_a_seal_and_what_tells_of_it_are_kept_together(office: Office) -> None:
    seals = office.store.seals
    place = await seals.place(20)
    assert place is not None
    await seals.add(open_key(office.folder).seal(SealKind.PRUNED, seals.chain, 20, place.hash, 1), told(1))

    assert await office.store.get_activity("change-1") == told(1)
    assert (await seals.last(SealKind.PRUNED)) is not None


# Growth ---------------------------------------------------------------------------------------------------------


async def test_whoever_waits_for_an_entry_is_woken_by_it_and_not_before(office: Office) -> None:
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        await office.store.seals.grown(LAST)
        waiting = group.create_task(office.store.seals.grown(LAST + 2))
        await office.store.write([call(21, CallState.SENT)])
        early = waiting.done()
        await office.store.write([call(21)])

    assert not early
    assert waiting.done()


# What may go ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("records", "upto"), [(1, 30), (10, 30), (11, 20), (15, 20), (30, 10), (31, None), (LAST, None), (10**9, None)]
)
async def test_of_so_many_records_none_goes(office: Office, records: int, upto: int | None) -> None:
    assert await cut(office, Keep(records=records)) == upto


@pytest.mark.parametrize(("since_entry", "upto"), [(1, None), (10, None), (11, 10), (20, 10), (21, 20), (40, 30)])
async def test_nothing_that_is_young_enough_goes(office: Office, since_entry: int, upto: int | None) -> None:
    place = await office.store.seals.place(since_entry)
    assert place is not None

    assert await cut(office, Keep(since=place.at)) == upto


async def test_the_newest_stretch_stays_however_old_it_is(office: Office) -> None:
    assert [await cut(office, Keep(since=each)) for each in (2**62, 2**80)] == [30, 30]


@pytest.mark.parametrize(("entries", "upto"), [(1, 30), (10, 30), (11, 20), (20, 20), (21, 10), (31, None)])
async def test_so_many_bytes_of_the_newest_texts_stay(office: Office, entries: int, upto: int | None) -> None:
    texts = [each.text.encode() for each in await office.store.log_entries(LAST - entries, entries)]

    assert await cut(office, Keep(size=sum(map(len, texts)))) == upto


async def test_an_entry_of_which_one_byte_is_too_many_need_not_stay(office: Office) -> None:
    texts = [each.text.encode() for each in await office.store.log_entries(LAST - 11, 11)]

    assert await cut(office, Keep(size=sum(map(len, texts)) - 1)) == 30


async def test_of_several_wishes_the_one_that_keeps_less_counts(office: Office) -> None:
    assert await cut(office, Keep(since=0, records=15, size=10**9)) == 20
    assert await cut(office, Keep()) is None


@pytest.mark.parametrize("state", [CallState.SENT, CallState.HELD])
async def test_a_call_under_way_keeps_everything_since_it_began(office: Office, state: CallState) -> None:
    await office.store.write([call(50, state)])
    await office.fill(21, 30, every=5)

    assert await cut(office, Keep(records=1)) == LAST
    await office.store.write([call(50)])
    assert await cut(office, Keep(records=1)) == 61


async def test_what_was_removed_is_not_found_again(office: Office) -> None:
    await prune(office, 20)

    assert await cut(office, Keep(records=15)) is None


# Removing -------------------------------------------------------------------------------------------------------


async def test_nothing_goes_before_a_seal_says_so(office: Office) -> None:
    with pytest.raises(StoreUnavailable):
        await office.store.seals.shed(20, 5)

    assert (await office.store.log_entries(0, 1))[0].seq == 1


async def test_entries_go_oldest_first_and_in_steps(office: Office) -> None:
    seals = office.store.seals
    place = await seals.place(20)
    assert place is not None
    await seals.add(open_key(office.folder).seal(SealKind.PRUNED, seals.chain, 20, place.hash, 1))
    steps: list[tuple[int, int]] = []
    while shed := await seals.shed(20, 8):
        steps.append((shed, (await office.store.log_entries(0, 1))[0].seq))

    assert steps == [(8, 9), (8, 17), (4, 21)]


async def test_only_activities_of_which_nothing_newer_tells_leave_the_list(office: Office) -> None:
    await office.store.write([call(3, CallState.SUCCESS)])
    doomed = await office.store.seals.doomed(10, 50)
    few = await office.store.seals.doomed(10, 2)
    await office.store.seals.forget(doomed)
    left = {each.id for each in (await office.store.list_activities(ActivityFilter(limit=500))).items}

    assert sorted(doomed) == [f"call-{each:05}" for each in (1, 2, 4, 5)]
    assert len(few) == 2
    assert left == {f"call-{each:05}" for each in range(1, 21)} - set(doomed)
    assert list(await office.store.seals.doomed(10, 50)) == []
