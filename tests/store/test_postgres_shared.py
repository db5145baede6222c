"""Gateways that see each other in one database: who lives, what has changed, and what the dead have left."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import asyncpg
import pytest
from msgspec.structs import replace

from interlock.core.grants import GrantScope
from interlock.core.lifecycle import CallState
from interlock.core.safety import SafetyClass
from interlock.store.postgres import PostgresStore
from interlock.store.postgres_link import turn_of
from interlock.store.protocol import KeptServer, StoreUnavailable
from interlock.store.shared import Kind, Run
from tests.store.approval_examples import ALL, approval, frozen, key, sent, why, yes
from tests.store.examples import activity, token, told
from tests.store.places import InDatabase, opened

LATE = """
INSERT INTO activity (id, at, type, status, body, chain) VALUES ('late', 1, 'tool_call', 'sent', '{}', 'chain-1')
"""
Stores = tuple[PostgresStore, PostgresStore]


@pytest.fixture
async def two(database: InDatabase) -> AsyncIterator[Stores]:
    """Two gateways of one database, in their first runs."""
    async with AsyncExitStack() as stack:
        made = [await stack.enter_async_context(opened(database, chain)) for chain in ("chain-1", "chain-2")]
        for number, each in enumerate(made, 1):
            await each.shared.begin(f"gw_{number}")
        yield made[0], made[1]


# Who lives --------------------------------------------------------------------------------------------------------


async def test_each_gateway_sees_the_beat_of_the_others(two: Stores) -> None:
    one, other = two
    before = await other.shared.look("gw_2", beat=False)
    await one.shared.look("gw_1", beat=True)
    await one.shared.look("gw_1", beat=False)
    after = await other.shared.look("gw_2", beat=True)

    assert (before.ours, before.others) == (True, [Run("gw_1", "chain-1", 0)])
    assert after.others == [Run("gw_1", "chain-1", 1)]


async def test_of_all_who_find_a_beat_standing_still_one_takes_over_and_the_dead_one_learns_of_it(two: Stores) -> None:
    one, other = two
    gone = Run("gw_1", "chain-1", 0)
    won = await asyncio.gather(*(other.shared.take_over(gone, f"gw_2{each}") for each in "abc"))
    back = await one.shared.look("gw_1", beat=True)

    assert sorted(won) == [False, False, True]
    assert (back.ours, [each.name for each in back.others]) == (False, ["gw_2"])


async def test_who_has_beaten_meanwhile_is_not_taken_over(two: Stores) -> None:
    one, other = two
    (seen,) = (await other.shared.look("gw_2", beat=False)).others
    await one.shared.look("gw_1", beat=True)

    assert not await other.shared.take_over(seen, "gw_2")
    assert (await one.shared.look("gw_1", beat=False)).ours


async def test_a_run_that_has_ended_never_lives_again(two: Stores, database: InDatabase) -> None:
    one, other = two
    await one.shared.end("gw_1")

    assert (await other.shared.look("gw_2", beat=False)).others == []
    by_hand = await database.connect()
    with pytest.raises(asyncpg.PostgresError, match="stays as it is"):
        await by_hand.execute("UPDATE gateway SET ended_at = NULL WHERE run = 'gw_1'")
    await by_hand.close()


async def test_a_gateway_that_starts_anew_ends_its_own_last_run_and_no_others(two: Stores) -> None:
    one, other = two
    begun = await one.shared.begin("gw_1b")
    seen = await other.shared.look("gw_2", beat=False)

    assert (begun.ours, [each.name for each in begun.others]) == (True, ["gw_2"])
    assert (seen.ours, [each.name for each in seen.others]) == (True, ["gw_1b"])


# What has changed -------------------------------------------------------------------------------------------------


async def freeze(store: PostgresStore) -> None:
    await store.approvals.put_freeze(ALL, frozen(), told(1))


async def thaw(store: PostgresStore) -> None:
    await store.approvals.put_freeze(ALL, None, told(1))


async def revoke(store: PostgresStore) -> None:
    await store.add_token(token(1), told(1))
    await store.revoke_token("tok-1", 5, told(2))


async def override(store: PostgresStore) -> None:
    await store.put_override("up", "tool", SafetyClass.READ_ONLY, told(1))


async def begin(store: PostgresStore) -> None:
    await store.begin_baseline("up", {}, told(1))


async def add_server(store: PostgresStore) -> None:
    await store.put_server("up", KeptServer(enabled=True), told(1))


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (freeze, Kind.FREEZE),
        (thaw, Kind.FREEZE),
        (revoke, Kind.TOKEN),
        (override, Kind.OVERRIDE),
        (begin, Kind.REVIEW),
        (add_server, Kind.SERVER),
    ],
)
async def test_a_change_takes_the_next_number_of_its_kind_and_of_no_other(
    two: Stores, change: Callable[[PostgresStore], Awaitable[None]], kind: Kind
) -> None:
    one, other = two
    before = (await other.shared.look("gw_2", beat=False)).changes
    await change(one)
    after = (await other.shared.look("gw_2", beat=False)).changes

    assert {each for each in Kind if after[each] > before[each]} == {kind}


async def test_records_of_calls_change_nothing_that_others_have_to_look_at(two: Stores) -> None:
    one, other = two
    before = (await other.shared.look("gw_2", beat=False)).changes
    await one.write([activity(1), activity(2)])

    assert (await other.shared.look("gw_2", beat=False)).changes == before


async def test_only_approvals_that_have_changed_since_are_read(two: Stores) -> None:
    one, other = two
    for number in (1, 2, 3):
        await one.approvals.add_approval(approval(number), why(number))
    seen = (await other.shared.look("gw_2", beat=False)).changes[Kind.APPROVAL]
    await one.approvals.mark_answered("ap_0003")
    await one.approvals.change_approval(yes(approval(1)).approval, why(1, "approved"), yes(approval(1)).grant)
    changed = await other.shared.changed_approvals(seen)

    assert [(each.id, each.status, each.answered) for each in changed] == [
        ("ap_0003", "pending", True),
        ("ap_0001", "approved", False),
    ]
    assert [each.approval for each in await other.shared.changed_grants(0)] == ["ap_0001"]


async def test_a_grant_that_is_spent_has_changed_and_a_standing_one_that_is_used_has_not(two: Stores) -> None:
    one, other = two
    for number, scope in ((1, GrantScope.ONCE), (2, GrantScope.IDENTICAL)):
        await one.approvals.add_approval(approval(number), why(number))
        made = yes(approval(number), scope=scope)
        await one.approvals.change_approval(made.approval, why(number, "approved"), made.grant)
    seen = (await other.shared.look("gw_2", beat=False)).changes[Kind.GRANT]
    await one.approvals.use_grant("gr_0002", sent(2, "d2"))
    standing = await other.shared.changed_grants(seen)
    await one.approvals.use_grant("gr_0001", sent(1))

    assert standing == []
    assert [(each.id, each.uses_left) for each in await other.shared.changed_grants(seen)] == [("gr_0001", 0)]


async def test_what_somebody_changes_by_hand_is_followed_too(two: Stores, database: InDatabase) -> None:
    one, other = two
    await one.approvals.put_freeze(ALL, frozen(), told(1))
    seen = (await other.shared.look("gw_2", beat=False)).changes[Kind.FREEZE]
    await database.tell('DELETE FROM interlock."freeze"')

    assert (await other.shared.look("gw_2", beat=False)).changes[Kind.FREEZE] == seen + 1


async def test_who_waits_for_news_is_woken_by_a_change_of_another(two: Stores, database: InDatabase) -> None:
    one, other = two
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(other.shared.told(60))
        await database.listened_to()
        await freeze(one)


async def test_the_approval_that_waits_for_a_call_is_found_whoever_asked(two: Stores) -> None:
    one, other = two
    await one.approvals.add_approval(approval(1), why(1))
    found = await other.shared.waiting(key(1))

    assert found is not None
    assert (found.id, await other.shared.waiting(key(2))) == ("ap_0001", None)


# What the dead have left ------------------------------------------------------------------------------------------


async def test_what_waits_at_a_living_gateway_is_not_left(two: Stores) -> None:
    one, other = two
    await one.approvals.add_approval(approval(1), why(1))
    await one.write([activity(1, CallState.SENT)])
    left = await other.shared.left(())

    assert (left.approvals, left.calls) == ([], [])


async def test_a_dead_gateway_leaves_what_it_waited_with_and_its_calls_and_not_what_is_to_be_asked_again(
    two: Stores,
) -> None:
    one, other = two
    for number in (1, 2):
        await one.approvals.add_approval(approval(number), why(number))
    await one.approvals.add_approval(replace(approval(3), gateway="gw_2"), why(3))
    await one.approvals.mark_answered("ap_0002")
    await one.write([activity(1, CallState.SENT), activity(2)])
    await other.write([activity(3, CallState.SENT)])
    await other.shared.take_over(Run("gw_1", "chain-1", 0), "gw_2")
    left = await other.shared.left(("chain-1",))

    assert left.approvals == ["ap_0001"]
    assert [each.id for each in left.calls] == ["act-000001"]


async def test_a_call_whose_outcome_came_meanwhile_keeps_it(two: Stores) -> None:
    one, other = two
    await one.write([activity(1, CallState.SENT), activity(2, CallState.SENT)])
    await one.write([activity(1)])
    unknown = [replace(activity(number), status=CallState.INDETERMINATE) for number in (1, 2)]
    settled = [await other.shared.settle(each) for each in unknown]

    assert settled == [False, True]
    assert [found.status for number in (1, 2) if (found := await one.get_activity(f"act-00000{number}"))] == [
        CallState.SUCCESS,
        CallState.INDETERMINATE,
    ]


async def test_who_asks_what_is_left_waits_for_the_last_write_of_the_dead_gateway(
    two: Stores, database: InDatabase
) -> None:
    one, other = two
    await one.shared.end("gw_1")
    writing = await database.connect()
    async with asyncio.TaskGroup() as group, writing.transaction():
        await writing.execute("SELECT pg_advisory_xact_lock($1)", turn_of("chain chain-1"))
        asking = group.create_task(other.shared.left(("chain-1",)))
        await _waits_for_a_lock(writing)
        await writing.execute(LATE)
    await writing.close()

    assert [each.id for each in asking.result().calls] == ["late"]


async def _waits_for_a_lock(connection: asyncpg.Connection) -> None:
    sql = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"
    async with asyncio.timeout(20):
        while not await connection.fetchval(sql):  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)


# The time, and a database that is gone ----------------------------------------------------------------------------


async def test_a_look_brings_the_time_of_the_database(two: Stores, database: InDatabase) -> None:
    one, _ = two
    await database.turn_clock(4_000_000_000_000_000)
    await one.shared.look("gw_1", beat=False)

    assert abs(one.clock.now() - 4_000_000_000_000_000) < 1_000


async def test_a_database_that_is_gone_cannot_be_looked_at(two: Stores, database: InDatabase) -> None:
    one, _ = two
    await one.close()
    with pytest.raises(StoreUnavailable):
        await PostgresStore(f"{database.address}_gone", "chain-9", one.clock).shared.look("gw_9", beat=True)
