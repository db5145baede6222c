"""Gateways that keep in step: what is answered, stopped or left at one is known at the others."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack

import pytest
from msgspec.structs import replace

from interlock.approve import follow
from interlock.approve.board import DENIAL_MEMORY
from interlock.approve.desk import Approved
from interlock.core.approvals import SECOND, Wish
from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.grants import GrantScope
from interlock.core.lifecycle import ApprovalState, CallState
from interlock.core.policy import Patience
from interlock.errors import Code
from interlock.kept import Unapproved
from interlock.store.protocol import OutOfTouch, StoreUnavailable
from interlock.store.shared import BEAT, LEASE
from tests.approve.joined import Company, Joined, waits
from tests.approve.rooms import AT_ONCE, BOB, NEVER, NOW, call, caught, held, until
from tests.store.approval_examples import sent

ALL = Frozen(FreezeKind.ALL)


# Answers ----------------------------------------------------------------------------------------------------------


async def test_a_call_that_waits_at_one_gateway_is_answered_at_another(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        (asked,) = await other.rows()
        await other.room.approvers.approve(asked.id, BOB)
        await one.looks()
        answer = await waiting

    assert isinstance(answer, Approved)
    assert answer.approval == asked.id
    assert one.board.find_grant(answer.grant.id) == answer.grant
    assert len(one.board) == 0


async def test_who_was_told_of_an_answer_by_one_gateway_is_not_told_by_another(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        (asked,) = await other.rows()
        await other.room.approvers.approve(asked.id, BOB)
        await one.looks()
        await other.looks()
        await waiting

    assert (one.told, other.told) == ([(asked.id, "created")], [(asked.id, "approved")])


async def test_without_any_word_from_the_other_gateway_a_look_wakes_who_waits(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        (asked,) = await other.rows()
        await other.room.approvers.approve(asked.id, BOB)
        one.store._told = lambda: None  # type: ignore[method-assign] # whatever is told, nobody here hears it
        async with one.follow.running():
            answer = await waiting

    assert isinstance(answer, Approved)


async def test_a_repeat_at_another_gateway_attaches_to_the_question_that_waits(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        await other.looks()
        repeated = held(call(), attach_to=other.register)
        assert repeated.verdict.attach_to is not None  # type: ignore[union-attr]
        again = group.create_task(other.room.desk.hold(repeated))
        (asked,) = await other.rows()
        await until(lambda: all(each.waiters for each in other.board))
        await one.room.approvers.deny(asked.id, BOB, "no")
        await other.looks()
        answers = [await waiting, await again]

    assert [each.reason.code for each in answers if isinstance(each, Unapproved)] == [Code.DENIED] * 2


async def test_the_same_call_at_two_gateways_at_once_is_asked_about_once(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = [group.create_task(each.room.desk.hold(held(call()))) for each in two]
        (asked,) = await one.asked()
        await until(lambda: all(len(each.board) == 1 and all(p.waiters for p in each.board) for each in two))
        await one.room.approvers.approve(asked.id, BOB)
        await one.looks()
        await other.looks()
        answers = [await each for each in waiting]

    assert len(await one.rows()) == 1
    assert [each.approval for each in answers if isinstance(each, Approved)] == [asked.id] * 2


async def test_those_who_come_together_to_a_gateway_that_has_not_heard_of_the_question_all_wait_for_it(
    two: tuple[Joined, Joined],
) -> None:
    one, other = two
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        waiting = [await waits(group, one)]
        waiting += [group.create_task(other.room.desk.hold(held(call()))) for _ in range(3)]
        await until(lambda: sum(each.callers for each in other.board if each.kept) == 3)
        (asked,) = await one.rows()
        await one.room.approvers.approve(asked.id, BOB)
        await other.looks()
        answers = [await each for each in waiting]

    assert [each.approval for each in answers if isinstance(each, Approved)] == [asked.id] * 4


async def test_a_repeat_that_names_its_approval_waits_where_nobody_has_heard_of_it_yet(
    two: tuple[Joined, Joined],
) -> None:
    one, other = two
    await one.room.desk.hold(held(call(), AT_ONCE))
    (asked,) = await one.rows()
    named = held(replace(call(), approval_id=asked.id), NEVER)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(other.room.desk.hold(named))
        await until(lambda: any(each.waiters for each in other.board))
        await one.room.approvers.approve(asked.id, BOB)
        await other.looks()

    assert isinstance(waiting.result(), Approved)


async def test_an_approval_that_is_resolved_while_it_is_attached_to_keeps_nobody_waiting(
    two: tuple[Joined, Joined],
) -> None:
    one, other = two
    await one.room.desk.hold(held(call(), AT_ONCE))
    (asked,) = await one.rows()
    await one.room.approvers.deny(asked.id, BOB, "no")
    await other.looks()
    pending = await other.register.attach(asked)  # as it was read before

    assert pending is not None
    assert (pending.resolved is not None, len(other.board)) == (True, 0)


async def test_a_grant_that_is_given_spent_or_revoked_at_one_gateway_is_so_at_the_others(
    two: tuple[Joined, Joined],
) -> None:
    one, other = two
    for number, scope in ((1, GrantScope.ONCE), (2, GrantScope.IDENTICAL)):
        await one.room.desk.hold(held(call(number), AT_ONCE))
        asked = (await one.rows())[-1]
        await one.room.approvers.approve(asked.id, BOB, Wish(scope))
    await other.looks()
    given = {each.scope: each for each in other.board.grants()}
    await other.store.approvals.use_grant(given[GrantScope.ONCE].id, sent(1, call(1).digest))
    await other.register.revoke(given[GrantScope.IDENTICAL].id, "operator")
    await one.looks()

    assert len(given) == 2
    assert one.board.grants() == ()


async def test_what_was_denied_at_one_gateway_is_denied_at_the_others_without_asking(
    company: Company, two: tuple[Joined, Joined]
) -> None:
    one, other = two
    await one.room.desk.hold(held(call(), AT_ONCE))
    (asked,) = await one.rows()
    await one.room.approvers.deny(asked.id, BOB, "no")
    await other.looks()
    known = other.board.known(call(), other.store.clock.now())
    await company.forward(DENIAL_MEMORY)
    await other.looks()

    assert known.recent_denial == "no"
    assert other.board.known(call(), other.store.clock.now()).recent_denial is None


async def test_what_waits_anywhere_counts_for_the_quota_everywhere(two: tuple[Joined, Joined]) -> None:
    one, other = two
    for number in range(3):
        await one.room.desk.hold(held(call(number), AT_ONCE))
    await other.looks()
    known = other.board.known(call(9), 0)
    refused = await other.room.desk.hold(held(call(9), Patience(answer_after=0.0, max_pending=3)))

    assert known.pending_count == 3
    assert isinstance(refused, Unapproved)
    assert refused.reason.code is Code.QUOTA


async def test_no_more_wait_than_may_when_one_caller_asks_at_several_gateways_at_once(
    two: tuple[Joined, Joined],
) -> None:
    one, other = two
    patience = Patience(answer_after=0.0, max_pending=20)
    asking = [
        at.room.desk.hold(held(call(number + more), patience))
        for number in range(20)
        for at, more in ((one, 0), (other, 20))
    ]
    codes = Counter(each.reason.code for each in await asyncio.gather(*asking) if isinstance(each, Unapproved))

    assert codes == {Code.PENDING: 20, Code.QUOTA: 20}
    assert len(await one.open()) == 20


async def test_who_has_as_many_as_may_wait_still_finds_them_at_a_gateway_that_has_not_heard_of_them(
    two: tuple[Joined, Joined],
) -> None:
    one, other = two
    full = Patience(answer_after=0.0, max_pending=1)
    first = await one.room.desk.hold(held(call(1), full))
    again, more = [await other.room.desk.hold(held(call(number), full)) for number in (1, 2)]

    assert again == first
    assert isinstance(more, Unapproved)
    assert more.reason.code is Code.QUOTA


# Who looks after what ---------------------------------------------------------------------------------------------


async def test_a_gateway_that_stops_cancels_what_waits_there_and_nothing_else(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        first, second = await waits(group, one, 1), await waits(group, other, 2)
        await one.looks()
        await one.room.desk.close()
        assert not second.done()
        (asked,) = await other.open()
        await other.room.approvers.approve(asked.id, BOB)
        answers = await first, await second

    assert isinstance(answers[1], Approved)
    assert isinstance(answers[0], Unapproved)
    assert answers[0].reason.code is Code.CANCELLED


async def test_a_caller_that_leaves_one_gateway_takes_nothing_from_those_who_wait_at_another(
    two: tuple[Joined, Joined],
) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        await other.looks()
        leaving = group.create_task(other.room.desk.hold(held(call(), attach_to=other.register)))
        await until(lambda: all(each.waiters for each in other.board))
        leaving.cancel()
        await asyncio.wait({leaving})
        (asked,) = await other.rows()
        await one.room.approvers.approve(asked.id, BOB)
        answer = await waiting

    assert isinstance(answer, Approved)


async def test_who_waits_with_a_caller_that_left_another_gateway_asks_for_itself(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        await other.looks()
        with_it = group.create_task(other.room.desk.hold(held(call(), attach_to=other.register)))
        await until(lambda: all(each.waiters for each in other.board))
        waiting.cancel()
        await asyncio.wait({waiting})
        await other.looks()
        await other.asked(2)
        (own,) = await other.open()
        await until(lambda: all(each.kept for each in other.board))
        await other.room.approvers.approve(own.id, BOB)
        answer = await with_it

    assert isinstance(answer, Approved)


async def test_all_who_sweep_end_an_approval_once_the_one_who_asked_first_of_all(
    company: Company, two: tuple[Joined, Joined]
) -> None:
    one, other = two
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        await other.looks()
        await company.forward(300 * SECOND)
        now = company.clock.now()
        await other.register.expire(now)
        still = len(other.board)
        await asyncio.gather(one.register.expire(now), other.register.expire(now + 2 * SECOND))
        await one.looks()  # the other may have been first
        answer = await waiting

    assert still == 1
    assert isinstance(answer, Unapproved)
    assert answer.reason.code is Code.TIMEOUT
    assert len([each for each in one.told + other.told if each[1] == "timeout"]) == 1


async def test_what_the_one_who_asked_cannot_end_any_more_is_ended_by_another(
    company: Company, two: tuple[Joined, Joined]
) -> None:
    one, other = two
    await one.room.desk.hold(held(call(), AT_ONCE))
    await other.looks()
    await company.forward(302 * SECOND)
    await other.register.expire(company.clock.now())

    assert [each.status for each in await other.rows()] == [ApprovalState.TIMEOUT]


async def test_a_deadline_is_made_from_the_time_of_the_database(company: Company) -> None:
    async with company.gateway() as one:
        company.clock.forward(600 * SECOND)  # this machine believes something else than the database
        await one.looks()
        await one.room.desk.hold(held(call(), AT_ONCE))
        (asked,) = await one.rows()

    assert abs(asked.expires_at - (NOW + 300 * SECOND)) < SECOND


# Stops ------------------------------------------------------------------------------------------------------------


async def test_a_stop_at_one_gateway_stops_the_others_and_so_does_its_end(two: tuple[Joined, Joined]) -> None:
    one, other = two
    await one.room.freezer.freeze(ALL, "operator", "incident")
    await other.looks()
    stopped = other.room.freezer.of(call())
    await other.room.freezer.thaw(ALL, "operator")
    await one.looks()

    assert stopped is not None
    assert one.room.freezer.of(call()) is None


# Out of touch -----------------------------------------------------------------------------------------------------


async def test_a_gateway_that_has_not_looked_for_too_long_lets_nothing_pass_until_it_has(
    company: Company, two: tuple[Joined, Joined]
) -> None:
    one, _ = two
    waiting = one.room.freezer.still(call())
    assert (one.room.freezer.of(call()), waiting()) == (None, None)
    await company.forward(LEASE - BEAT)
    for each in (lambda: one.room.freezer.of(call()), waiting, one.register.check):
        with pytest.raises(OutOfTouch):
            each()
    await caught(one.room.approvers.approve("ap_1", BOB), OutOfTouch)
    await one.looks()

    assert (one.room.freezer.of(call()), waiting()) == (None, None)


async def test_a_look_that_did_not_take_everything_up_is_none(company: Company, two: tuple[Joined, Joined]) -> None:
    one, other = two

    async def gone(after: int) -> None:
        raise StoreUnavailable("gone")

    await other.room.freezer.freeze(ALL, "operator", "incident")
    one.follow.keep({follow.Kind.FREEZE: gone}, {}, one.room.settle)
    await company.forward(LEASE - BEAT)
    await caught(one.looks(), StoreUnavailable)
    with pytest.raises(OutOfTouch):
        one.room.freezer.of(call())


# The dead ---------------------------------------------------------------------------------------------------------


async def silence(company: Company, *living: Joined) -> None:
    """So long that whoever does not look meanwhile is taken for dead."""
    for _ in range(LEASE // BEAT + 1):
        for each in living:
            await each.looks()
        await company.forward(BEAT)
    for each in living:
        await each.looks()


async def test_what_a_dead_gateway_left_is_settled_by_one_of_the_others(company: Company) -> None:
    async with company.gateway() as one, company.gateway() as other, AsyncExitStack() as life:
        dead = await life.enter_async_context(company.gateway())
        await dead.room.desk.hold(held(call(1), AT_ONCE))  # told to come again
        async with asyncio.TaskGroup() as group:
            waiting = await waits(group, dead, 2)
            await dead.store.write([sent(1)])
            await life.aclose()
            await silence(company, one, other)
            waiting.cancel()
        rows = await one.rows()
        left = await one.store.get_activity("call-1")

    assert [(each.status, each.resolution) for each in rows] == [
        (ApprovalState.PENDING, ""),
        (ApprovalState.CANCELLED, "gateway restarted"),
    ]
    assert left is not None
    assert left.status is CallState.INDETERMINATE
    assert len([each for each in one.told + other.told if each[1] == "cancelled"]) == 1


async def test_what_a_living_gateway_waits_with_is_left_alone_by_one_that_starts(company: Company) -> None:
    async with company.gateway() as one, asyncio.TaskGroup() as group:
        waiting = await waits(group, one)
        await one.store.write([sent(1)])
        async with company.gateway() as starting:
            await starting.room.settle()
            known = len(starting.board)
            (asked,) = await starting.rows()
            await starting.room.approvers.approve(asked.id, BOB)
        await one.looks()
        answer = await waiting
        call_ = await one.store.get_activity("call-1")

    assert known == 1
    assert isinstance(answer, Approved)
    assert call_ is not None
    assert call_.status is CallState.SENT


async def test_what_its_own_last_run_left_is_settled_by_a_gateway_that_starts(company: Company) -> None:
    async with AsyncExitStack() as life:
        before = await life.enter_async_context(company.gateway("chain-a"))
        async with asyncio.TaskGroup() as group:
            waiting = await waits(group, before)
            await life.aclose()
            waiting.cancel()
    async with company.gateway("chain-a") as after:
        rows = await after.rows()

    assert [(each.status, each.resolution) for each in rows] == [(ApprovalState.CANCELLED, "gateway restarted")]


async def test_a_gateway_that_was_frozen_learns_what_became_of_its_calls_and_goes_on_as_another_run(
    company: Company, two: tuple[Joined, Joined]
) -> None:
    frozen, other = two
    before = frozen.lease.run
    may_still = frozen.room.freezer.still(call())
    async with asyncio.TaskGroup() as group:
        waiting = await waits(group, frozen)
        await silence(company, other)
        await frozen.looks()
        answer = await waiting
    await frozen.room.desk.hold(held(call(2), AT_ONCE))

    assert isinstance(answer, Unapproved)
    assert (answer.reason.code, frozen.lease.run != before) == (Code.CANCELLED, True)
    assert {each.gateway for each in await other.rows()} == {before, frozen.lease.run}
    with pytest.raises(OutOfTouch):
        may_still()  # it was decided about in a run that has ended
    assert frozen.room.freezer.of(call()) is None


async def test_who_waits_at_a_living_gateway_for_what_a_dead_one_asked_asks_for_itself(company: Company) -> None:
    async with company.gateway() as one, AsyncExitStack() as life, asyncio.TaskGroup() as group:
        dead = await life.enter_async_context(company.gateway())
        asking = await waits(group, dead)
        await one.looks()
        waiting = group.create_task(one.room.desk.hold(held(call(), attach_to=one.register)))
        await until(lambda: all(each.waiters for each in one.board))
        await life.aclose()
        await silence(company, one)
        asking.cancel()
        await one.asked(2)
        (own,) = await one.open()
        await until(lambda: all(each.kept for each in one.board))
        await one.room.approvers.approve(own.id, BOB)
        answer = await waiting

    assert isinstance(answer, Approved)


async def test_a_gateway_that_ends_in_order_is_not_missed(two: tuple[Joined, Joined]) -> None:
    one, other = two
    async with one.follow.running():
        seen = await other.store.shared.look(other.lease.run, beat=False)
    gone = await other.store.shared.look(other.lease.run, beat=False)

    assert ([each.name for each in seen.others], gone.others) == ([one.lease.run], [])
