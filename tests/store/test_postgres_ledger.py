"""The writing end in PostgreSQL when the connection is lost at the worst moment, and when several gateways write."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from interlock.core.lifecycle import CallState
from interlock.store.approvals import Crowd
from interlock.store.postgres import PostgresStore
from interlock.store.postgres_link import Address, Patience
from interlock.store.protocol import ActivityFilter, ActivityType, Store, StoreUnavailable
from tests.postgres_server import PostgresServer
from tests.store.approval_examples import CAROL, approval, cancelled, frozen, no, why, yes
from tests.store.examples import (
    TickingClock,
    activity,
    assert_sound,
    ids_of,
    insist,
    log_of,
    token,
    told,
    write_and_be_killed,
)
from tests.store.places import CHAIN, InDatabase, opened
from tests.store.wire import At, Wire

KILLS = 40 if os.environ.get("HYPOTHESIS_PROFILE") == "torture" else 3
SHORT = Patience(connect=0.3, write=0.5, find_out=0.5, read=0.5)


@pytest.fixture
async def wire(tmp_path: Path, postgres: PostgresServer) -> AsyncIterator[Wire]:
    async with Wire(tmp_path / "w", postgres.folder) as laid:
        yield laid


@pytest.fixture
async def store(wire: Wire, database: InDatabase) -> AsyncIterator[PostgresStore]:
    """A store at the end of the wire that has written one record."""
    opened = PostgresStore(wire.address(database.name), CHAIN, TickingClock(), patience=SHORT)
    await opened.start()
    await opened.write([activity(1)])
    yield opened
    await wire.mend()
    await opened.close()


async def subjects(store: Store) -> list[str]:
    return [each.subject for each in await log_of(store)]


# A commit that nobody hears of ----------------------------------------------------------------------------------


async def test_a_commit_that_was_done_counts_though_its_answer_was_lost(store: PostgresStore, wire: Wire) -> None:
    wire.breaks = At.AFTER_COMMIT
    await store.write([activity(2)])
    await store.write([activity(3)])

    assert wire.broke.is_set()
    assert await subjects(store) == ["act-000001", "act-000002", "act-000003"]
    await assert_sound(store)


async def test_a_commit_that_was_never_heard_of_there_is_refused_and_leaves_nothing(
    store: PostgresStore, wire: Wire
) -> None:
    wire.breaks = At.BEFORE_COMMIT
    with pytest.raises(StoreUnavailable):
        await store.write([activity(2)])
    await store.write([activity(3)])

    assert await subjects(store) == ["act-000001", "act-000003"]
    await assert_sound(store)


async def test_a_commit_of_which_nothing_can_be_learned_is_refused_and_never_written_twice(
    store: PostgresStore, wire: Wire
) -> None:
    wire.breaks, wire.for_good = At.AFTER_COMMIT, True
    with pytest.raises(StoreUnavailable, match="whether it was done is not known"):
        await store.write([activity(2)])
    await wire.mend()
    await insist(lambda: store.write([activity(3)]))

    assert await subjects(store) == ["act-000001", "act-000002", "act-000003"]
    await assert_sound(store)


async def test_an_answer_whose_commit_was_not_heard_of_counts_once(store: PostgresStore, wire: Wire) -> None:
    question = approval()
    await store.approvals.add_approval(question, why())
    made = yes(question)
    wire.breaks = At.AFTER_COMMIT

    assert await store.approvals.change_approval(made.approval, why(1, "approved"), made.grant)
    assert not await store.approvals.change_approval(no(question, CAROL), why(1, "denied"))
    assert await store.approvals.get_approval("ap_0001") == made.approval


@pytest.mark.parametrize("when", [At.BEFORE_COMMIT, At.AFTER_COMMIT])
async def test_what_changes_no_entry_and_is_lost_at_its_commit_is_refused(
    store: PostgresStore, wire: Wire, when: At
) -> None:
    await store.approvals.add_approval(approval(), why())
    wire.breaks = when
    with pytest.raises(StoreUnavailable):
        await store.approvals.mark_answered("ap_0001")

    assert await store.approvals.mark_answered("ap_0001")


# A database that is gone ----------------------------------------------------------------------------------------


async def test_a_database_that_is_gone_is_refused_and_works_again_by_itself(store: PostgresStore, wire: Wire) -> None:
    wire.cut()
    with pytest.raises(StoreUnavailable):
        await store.write([activity(2)])
    with pytest.raises(StoreUnavailable):
        await store.get_activity("act-000001")
    ailed = store.ailing
    await wire.mend()
    async with asyncio.timeout(2):
        await store.write([activity(3)])
        found = await ids_of(store)

    assert ailed
    assert not store.ailing
    assert found == ["act-000003", "act-000001"]
    await assert_sound(store)


async def test_a_database_that_says_nothing_more_is_not_waited_for_long(store: PostgresStore, wire: Wire) -> None:
    wire.freeze()
    async with asyncio.timeout(20):
        with pytest.raises(StoreUnavailable, match="in time"):
            await store.write([activity(2)])
        with pytest.raises(StoreUnavailable, match="in time"):
            await store.get_activity("act-000001")
    await wire.mend()
    await insist(lambda: store.write([activity(3)]))

    # What was on its way when the wire froze may have come through, in whole or not at all.
    assert set(await subjects(store)) - {"act-000002"} == {"act-000001", "act-000003"}
    await assert_sound(store)


async def test_records_that_nobody_waited_for_are_counted_while_the_database_is_gone(
    store: PostgresStore, wire: Wire
) -> None:
    wire.cut()
    store.write_soon([activity(2)])
    with pytest.raises(StoreUnavailable):
        await store.write([activity(3)])
    await wire.mend()
    await insist(lambda: store.write([activity(4)]))

    (loss,) = (await store.list_activities(ActivityFilter(types=(ActivityType.SYSTEM,)))).items
    assert loss.body["records"] == 1


async def test_connections_that_were_lost_while_they_were_idle_are_replaced_without_a_word(
    database: InDatabase,
) -> None:
    async with opened(database, CHAIN) as store:
        await store.write([activity(1)])
        await ids_of(store)
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        await database.tell(f"{others} AND datname = '{database.name}'")
        await store.write([activity(2)])

        assert len(await ids_of(store)) == 2


async def test_a_server_that_crashes_and_comes_back_has_everything_that_was_answered_for(
    database: InDatabase, postgres: PostgresServer
) -> None:
    async with opened(database, CHAIN) as store:
        await store.write([activity(1, CallState.SENT)])
        await asyncio.to_thread(postgres.crash)
        try:
            with pytest.raises(StoreUnavailable):
                await store.write([activity(2)])
        finally:
            await asyncio.to_thread(postgres.start)
        async with asyncio.timeout(2):
            await store.write([activity(1)])

        assert await subjects(store) == ["act-000001", "act-000001"]
        await assert_sound(store)


async def test_whatever_was_acknowledged_survives_a_kill_of_the_gateway_at_any_moment(database: InDatabase) -> None:
    chosen = random.Random(11)
    acknowledged: set[str] = set()
    for life in range(KILLS):
        after = chosen.randrange(1, 60)
        acknowledged |= await asyncio.to_thread(write_and_be_killed, database.address, f"life-{life}", after)
        async with opened(database) as store:
            found = set(await ids_of(store))
            unfinished = {each.id for each in await store.open_activities()}
            await assert_sound(store)

        assert acknowledged <= found
        assert not acknowledged & unfinished


async def test_what_gathered_while_the_database_was_slow_is_written_in_transactions_of_bounded_size(
    database: InDatabase,
) -> None:
    async with opened(database) as store:
        for number in range(0, 9_000, 3):
            store.write_soon([activity(number), activity(number + 1), activity(number + 2)])
        await store.write([])
        log = await log_of(store)

    # The clock is read once in a transaction.
    sizes = Counter(entry.at for entry in log)
    assert len(log) == 9_000
    assert max(sizes.values()) <= 2_000


# Several gateways -----------------------------------------------------------------------------------------------


async def test_gateways_that_write_at_once_have_a_chain_each_and_one_list(database: InDatabase) -> None:
    async with opened(database, "one") as one, opened(database, "two") as two:
        story = ([activity(number, CallState.SENT), activity(number)] for number in range(60))
        await asyncio.gather(*((one, two)[at % 2].write(told) for at, told in enumerate(story)))
        logs = [await log_of(each) for each in (one, two)]

        assert [len(each) for each in logs] == [60, 60]
        assert [{entry.chain for entry in each} for each in logs] == [{"one"}, {"two"}]
        assert len(await ids_of(one)) == 60
        assert await ids_of(one) == await ids_of(two)


async def test_what_one_gateway_left_open_is_nothing_to_the_other(database: InDatabase) -> None:
    async with opened(database, "one") as one, opened(database, "two") as two:
        await one.write([activity(1, CallState.SENT)])

        assert await two.open_activities() == []
        assert [each.id for each in await one.open_activities()] == ["act-000001"]


async def test_of_answers_at_two_gateways_at_once_one_counts_whatever_their_order(database: InDatabase) -> None:
    numbers = range(1, 21)
    async with opened(database, "one") as one, opened(database, "two") as two:
        for number in numbers:
            await one.approvals.add_approval(approval(number), why(number))

        async def deny(number: int) -> bool:
            return await one.approvals.change_approval(no(approval(number), CAROL), why(number, "denied"))

        async def cancel(number: int) -> bool:
            return await two.approvals.change_approval(cancelled(approval(number)), why(number, "cancelled"))

        # In opposite orders, each gateway all at once: batches that would wait for each other.
        denied, gone = await asyncio.gather(
            asyncio.gather(*map(deny, numbers)), asyncio.gather(*map(cancel, reversed(numbers)))
        )
        both = zip(denied, reversed(gone), strict=True)
        assert [first + second for first, second in both] == [1] * len(numbers)


async def test_one_question_is_asked_once_at_whichever_gateway(database: InDatabase) -> None:
    async with opened(database, "one") as one, opened(database, "two") as two:
        asked = [each.approvals.add_approval(approval(1), why(1)) for each in (one, two)]

        assert sorted(await asyncio.gather(*asked)) == [False, True]


async def test_no_more_wait_than_may_at_however_many_gateways_they_are_asked_at_once(database: InDatabase) -> None:
    async with opened(database, "one") as one, opened(database, "two") as two, opened(database, "three") as three:
        numbers, stores = range(1, 61), (one, two, three)
        asking = [
            stores[each % 3].approvals.add_approval(approval(each), why(each), Crowd(20, 100)) for each in numbers
        ]

        assert (await asyncio.gather(*asking)).count(True) == 20
        assert await one.shared.crowd("agent") == Crowd(20, 20)


async def test_a_gateway_that_froze_in_the_middle_of_a_change_does_not_stop_the_others(database: InDatabase) -> None:
    async with opened(database, "one") as one:
        await one.add_token(token(1), told(1))
        # A connection as a gateway has it, in a transaction, which says nothing more.
        stuck = await Address(database.address, Patience()).connect()
        await stuck.execute("BEGIN")
        await stuck.execute("UPDATE token SET kind = kind")
        try:
            assert await one.revoke_token("tok-1", 5, told(2))
        finally:
            stuck.terminate()


# The clock ------------------------------------------------------------------------------------------------------


async def test_deadlines_are_compared_with_the_time_of_the_database_whatever_a_gateway_thinks(
    database: InDatabase,
) -> None:
    question = approval()
    made = yes(question)
    async with opened(database, "one") as store:
        await store.approvals.add_approval(question, why())
        await database.turn_clock(question.expires_at)
        too_late = await store.approvals.change_approval(made.approval, why(1, "approved"), made.grant)
        await database.turn_clock(question.expires_at - 1)
        in_time = await store.approvals.change_approval(made.approval, why(1, "approved"), made.grant)
        live = await store.approvals.live_grants()
        await database.turn_clock(2**60)

        assert (too_late, in_time) == (False, True)
        assert [each.approval for each in live] == ["ap_0001"]
        assert await store.approvals.live_grants() == []


async def test_the_time_of_the_database_is_the_time(postgres: PostgresServer) -> None:
    async with InDatabase(postgres, turned=False) as database:
        connection = await database.connect()
        found = await connection.fetchval("SELECT now_micros() - (extract(epoch FROM now()) * 1000000)::bigint")
        await connection.close()

    assert 0 <= found < 60_000_000


# Following ------------------------------------------------------------------------------------------------------


async def test_whoever_follows_is_told_of_a_change_that_another_process_wrote(
    database: InDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.store.postgres.LOOK_SECONDS", 600.0)
    async with opened(database, CHAIN) as reader, opened(database, CHAIN) as writer, asyncio.timeout(20):
        following = asyncio.ensure_future(reader.next_entries(0, 10))
        await database.listened_to()
        await writer.approvals.put_freeze(frozen().what, frozen(), why(1, "frozen"))
        await following

    assert [each.subject for each in following.result()] == ["ap_0001"]


async def test_whoever_follows_finds_by_looking_what_nobody_told(
    database: InDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlock.store.postgres.LOOK_SECONDS", 0.05)
    async with opened(database, CHAIN) as reader, opened(database, CHAIN) as writer, asyncio.timeout(20):
        following = asyncio.ensure_future(reader.next_entries(0, 10))
        await database.listened_to()
        await writer.write([activity(1)])
        await following

    assert [each.subject for each in following.result()] == ["act-000001"]
