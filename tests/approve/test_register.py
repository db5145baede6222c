"""The row decides, and whoever waits hears of it, whatever becomes of whoever changed it."""

import asyncio

import pytest
from msgspec.structs import replace

from interlock.approve.board import Pending
from interlock.approve.desk import Approved
from interlock.approve.register import DISCONNECTED, RESTARTED
from interlock.core.approvals import Answered, Approval, Wish, approved, denied
from interlock.core.grants import GrantKey, GrantScope
from interlock.core.lifecycle import ApprovalEvent, ApprovalState
from interlock.core.model import HoldTerms
from interlock.store.protocol import ActivityType, StoreUnavailable
from tests.approve.rooms import BOB, NOW, Waiting, call, held, later, until
from tests.stores import allow, forbid, run_elsewhere


def question(number: int = 1, expires_in: float = 300, needed: int = 1) -> Approval:
    key = GrantKey("agent", "up", "run_job", "f", f"d{number}", "h", "subprocess")
    terms = HoldTerms(approvals_needed=needed, max_grant=60)
    return Approval(f"ap_{number}", key, "up__run_job", "ask", terms, NOW, later(expires_in), "gw_1")


def yes(asked: Approval, wish: Wish | None = None) -> Answered:
    made = approved(asked, BOB, wish or Wish(), "fine", NOW)
    assert isinstance(made, Answered)
    return made


def no(asked: Approval) -> Answered:
    made = denied(asked, BOB, "no", NOW)
    assert isinstance(made, Answered)
    return made


async def status(room: Waiting, approval: str = "ap_1") -> tuple[str, str]:
    found = await room.register.get(approval)
    assert found is not None
    return found.status.value, found.resolution


# Questions --------------------------------------------------------------------------------------------------------


async def test_a_question_is_on_the_board_in_the_store_and_on_record(room: Waiting) -> None:
    pending = await room.register.add(question())

    assert room.register.board.find("ap_1") is pending
    assert (pending.kept, pending.callers) == (True, 0)
    assert await room.register.get("ap_1") == question()
    assert [each.status for each in await room.activities(ActivityType.APPROVAL)] == ["held"]
    assert room.told == [("ap_1", "created")]


async def test_a_question_that_cannot_be_kept_is_none(room: Waiting) -> None:
    await room.store.close()
    with pytest.raises(StoreUnavailable):
        await room.register.add(question())

    assert (len(room.register.board), room.told) == (0, [])


async def test_a_question_that_no_database_could_hold_does_not_stay_on_the_board(room: Waiting) -> None:
    wanted = replace(question(), gateway="\ud800")
    with pytest.raises(ValueError, match="surrogates"):
        await room.register.add(wanted)

    assert len(room.register.board) == 0


async def test_the_same_call_that_waits_elsewhere_is_not_asked_about_again(room: Waiting) -> None:
    await room.register.add(question())
    with pytest.raises(StoreUnavailable, match="elsewhere"):
        await room.again().register.add(replace(question(2), key=question().key))


async def test_whoever_goes_away_while_its_question_is_written_leaves_no_open_question(room: Waiting) -> None:
    asking = asyncio.ensure_future(room.register.add(question()))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await until(lambda: not len(room.register.board))

    assert await status(room) == ("cancelled", DISCONNECTED)
    assert [change for _, change in room.told] == ["created", "cancelled"]


async def test_others_who_wait_for_a_question_keep_it_open_when_whoever_asked_goes_away(room: Waiting) -> None:
    asking = asyncio.ensure_future(room.register.add(question()))
    await asyncio.sleep(0)
    pending = room.register.board.find("ap_1")
    assert pending is not None
    pending.callers += 1
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    await until(lambda: pending.kept)

    assert (await status(room))[0] == "pending"
    assert room.told == [("ap_1", "created")]


async def test_somebody_who_attached_and_leaves_does_not_end_the_question_of_whoever_is_asking(room: Waiting) -> None:
    asking = asyncio.ensure_future(room.register.add(question()))
    await asyncio.sleep(0)
    pending = room.register.board.find("ap_1")
    assert pending is not None
    await room.register.leave(pending)
    await asking

    assert (await status(room))[0] == "pending"
    assert pending.resolved is None


async def test_what_is_ended_before_it_is_written_is_ended_in_the_store_too(room: Waiting) -> None:
    asking = asyncio.ensure_future(room.register.add(question()))
    await asyncio.sleep(0)
    pending = room.register.board.find("ap_1")
    assert pending is not None
    await asyncio.gather(asking, room.register.end_all(["ap_1"], ApprovalEvent.CANCEL, "server shutdown"))

    assert await status(room) == ("cancelled", "server shutdown")
    assert pending.resolved is not None
    assert (pending.resolved.resolution, len(room.register.board)) == ("server shutdown", 0)


async def test_an_answer_that_comes_before_that_end_is_what_counts(room: Waiting) -> None:
    asking = asyncio.ensure_future(room.register.add(question()))
    await asyncio.sleep(0)
    pending = room.register.board.find("ap_1")
    assert pending is not None
    pending.to_end = "server shutdown"
    answered, _ = await asyncio.gather(room.register.change(no(question())), asking)

    assert answered
    assert await status(room) == ("denied", "no")
    assert pending.resolved is not None
    assert pending.resolved.resolution == "no"


async def test_a_deadline_that_passes_before_there_is_a_row_is_looked_at_again(room: Waiting) -> None:
    unwritten = Pending("ap_1", question().key, NOW)
    room.register.board.add(unwritten)
    await room.register.expire(room.clock.now())

    assert (unwritten.resolved, unwritten.to_end, len(room.register.board)) == (None, None, 1)


# Changes ----------------------------------------------------------------------------------------------------------


async def test_a_yes_wakes_who_waits_and_puts_the_grant_on_the_board(room: Waiting) -> None:
    pending = await room.register.add(question())
    made = yes(question())

    assert await room.register.change(made)
    assert pending.resolved is not None
    assert (pending.resolved.grant, len(room.register.board)) == (made.grant, 0)
    assert room.register.board.grants() == (made.grant,)
    assert room.told[-1] == ("ap_1", "approved")
    assert [each.status for each in await room.activities(ActivityType.APPROVAL)] == ["success"]


async def test_a_vote_that_is_not_the_last_wakes_nobody(room: Waiting) -> None:
    asked = question(needed=2)
    pending = await room.register.add(asked)

    assert await room.register.change(yes(asked))
    assert (pending.resolved, len(room.register.board), room.told[-1]) == (None, 1, ("ap_1", "voted"))


async def test_who_comes_second_changes_nothing_and_nobody_is_told(room: Waiting) -> None:
    await room.register.add(question())
    await room.register.change(no(question()))

    assert not await room.register.change(yes(question()))
    assert room.register.board.grants() == ()
    assert [change for _, change in room.told] == ["created", "denied"]


async def test_an_answer_counts_even_if_its_giver_goes_away_in_that_moment(room: Waiting) -> None:
    pending = await room.register.add(question())
    made = yes(question())
    answering = asyncio.ensure_future(room.register.change(made))
    await asyncio.sleep(0)
    answering.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answering
    await until(lambda: pending.resolved is not None)

    assert await status(room) == ("approved", "fine")
    assert room.register.board.grants() == (made.grant,)


async def test_a_change_that_fails_when_nobody_hears_it_any_more_leaves_everything_as_it_was(
    room: Waiting,
) -> None:
    pending = await room.register.add(question())
    forbid(room.folder)
    answering = asyncio.ensure_future(room.register.change(yes(question())))
    await asyncio.sleep(0)
    answering.cancel()
    await asyncio.gather(answering, return_exceptions=True)
    await until(lambda: room.store.ailing)
    allow(room.folder)

    assert await status(room) == ("pending", "")
    assert pending.resolved is None
    assert await room.register.change(yes(question()))


async def test_what_became_of_an_approval_is_what_its_row_says(room: Waiting) -> None:
    await room.register.add(question(1))
    await room.register.add(question(2))
    made = yes(question(1))
    await room.register.change(made)
    found = await room.register.resolved("ap_1")

    assert found is not None
    assert (found.status, found.grant) == (ApprovalState.APPROVED, made.grant)
    assert await room.register.resolved("ap_2") is None
    assert await room.register.resolved("ap_none") is None


async def test_what_was_resolved_where_it_was_not_seen_wakes_who_waits_with_what_it_became(room: Waiting) -> None:
    pending = await room.register.add(question())
    made = yes(question())
    await room.again().register.change(made)
    await room.register.end_all(["ap_1"], ApprovalEvent.CANCEL, "too late")

    assert pending.resolved is not None
    assert (pending.resolved.status, pending.resolved.grant) == (ApprovalState.APPROVED, made.grant)


async def test_one_that_cannot_be_ended_keeps_none_of_the_others_from_it(room: Waiting) -> None:
    await room.register.add(question(1))
    broken, other = question(2), await room.register.add(question(3))
    await room.register.add(broken)
    run_elsewhere(room.folder, "UPDATE approval SET body = '{}' WHERE id = 'ap_2'")
    with pytest.raises(StoreUnavailable, match="ap_2"):
        await room.register.end_all(["ap_1", "ap_2", "ap_3"], ApprovalEvent.CANCEL, "over")

    assert await status(room, "ap_1") == ("cancelled", "over")
    assert other.resolved is not None


async def test_what_is_over_is_ended_and_what_is_not_stays(room: Waiting) -> None:
    over, still = await room.register.add(question(1, 5)), await room.register.add(question(2, 6))
    room.clock.forward(5_000_000)
    await room.register.expire(room.clock.now())

    assert over.resolved is not None
    assert over.resolved.status is ApprovalState.TIMEOUT
    assert still.resolved is None
    assert [each.id for each in room.register.board] == ["ap_2"]


# After a restart --------------------------------------------------------------------------------------------------


async def test_what_somebody_was_told_to_come_again_for_stays_open_and_the_rest_is_cancelled(room: Waiting) -> None:
    for number in (1, 2):
        await room.register.add(question(number))
    pending = room.register.board.find("ap_2")
    assert pending is not None
    assert await room.register.mark_answered(pending)
    after = room.again()

    assert await after.register.load() == 1
    assert await status(room, "ap_1") == ("cancelled", RESTARTED)
    assert [each.id for each in after.register.board] == ["ap_2"]


async def test_grants_and_denials_outlive_a_restart(room: Waiting) -> None:
    for number in (1, 2):
        await room.register.add(question(number))
    await room.register.change(yes(question(1)))
    await room.register.change(no(question(2)))
    after = room.again()
    await after.register.load()

    assert [each.approval for each in after.register.board.grants()] == ["ap_1"]
    denied_call = replace(call(), digest="d2")
    assert after.register.board.known(denied_call, NOW).recent_denial == "no"


async def test_all_pages_of_what_waits_are_taken_up(room: Waiting) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(501):
            group.create_task(room.register.add(question(number)))
    after = room.again()

    assert await after.register.load() == 501
    assert len(after.register.board) == 0


# Grants -----------------------------------------------------------------------------------------------------------


async def test_of_two_who_take_the_last_use_one_gets_it_and_it_can_be_given_back(room: Waiting) -> None:
    await room.register.add(question())
    made = yes(question())
    await room.register.change(made)
    assert made.grant is not None

    assert room.register.take(made.grant.id) == made.grant
    assert room.register.take(made.grant.id) is None
    room.register.give_back(made.grant)
    assert room.register.take(made.grant.id) == made.grant


async def test_a_standing_grant_is_taken_again_and_again(room: Waiting) -> None:
    await room.register.add(question())
    made = yes(question(), Wish(GrantScope.IDENTICAL))
    await room.register.change(made)
    assert made.grant is not None

    assert room.register.take(made.grant.id) == room.register.take(made.grant.id) == made.grant
    assert await room.register.used_by("ap_1") is None
    assert await room.register.used_by("ap_none") is None


async def test_a_grant_is_revoked_once_and_on_record(room: Waiting) -> None:
    await room.register.add(question())
    made = yes(question())
    await room.register.change(made)
    assert made.grant is not None

    assert await room.register.revoke(made.grant.id, "olga") == made.grant
    assert await room.register.revoke(made.grant.id, "olga") is None
    assert await room.store.approvals.live_grants() == []
    (told,) = [each for each in await room.activities(ActivityType.APPROVAL) if each.caller == "olga"]
    assert told.body == {"change": "grant revoked", "grant": made.grant.id, "scope": "once", "by": "olga"}


async def test_a_grant_that_was_used_elsewhere_cannot_be_revoked_any_more(room: Waiting) -> None:
    await room.register.add(question())
    made = yes(question())
    await room.register.change(made)
    assert made.grant is not None
    await room.again().store.approvals.revoke_grant(
        made.grant.id, NOW, (await room.activities(ActivityType.APPROVAL))[0]
    )

    assert await room.register.revoke(made.grant.id, "olga") is None


async def test_the_desk_and_the_register_are_about_the_same_rows(room: Waiting) -> None:
    waiting = asyncio.ensure_future(room.room.desk.hold(held(call())))
    (asked,) = await room.asked()
    await room.register.change(yes(asked))

    assert isinstance(await waiting, Approved)
