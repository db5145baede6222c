"""Those who turn the second key: who may, what counts, and what is on record of those who may not."""

import asyncio

import pytest

from interlock.approve.approvers import Refused
from interlock.core.approvals import Approver, ApproverType, Wish
from interlock.core.grants import GrantScope
from interlock.core.lifecycle import ApprovalState
from interlock.core.lineage import Lineage, Minted
from interlock.core.model import HoldTerms
from interlock.errors import Code
from interlock.store.protocol import ActivityType
from tests.approve.rooms import AT_ONCE, BOB, CAROL, NOW, Waiting, call, caught, held

TWO = HoldTerms(approval_timeout=300, approvals_needed=2)


async def asked(room: Waiting, terms: HoldTerms | None = None) -> str:
    """An approval that waits."""
    await room.room.desk.hold(held(call(), AT_ONCE, terms=terms))
    return (await room.row()).id


async def test_a_yes_and_a_no_are_what_the_row_becomes(room: Waiting) -> None:
    approvers = room.room.approvers
    done = await approvers.approve(await asked(room), BOB, Wish(GrantScope.IDENTICAL, 5), "fine")
    grant = await room.store.approvals.get_grant(done.id)

    assert (done.status, done.approver, done.resolution) == (ApprovalState.APPROVED, "bob", "fine")
    assert grant is not None
    assert (grant.scope, grant.expires_at) == (GrantScope.IDENTICAL, NOW + 5_000_000)
    assert await room.row() == done


async def test_what_was_approved_once_may_be_brought_for_as_long_as_is_set(room: Waiting) -> None:
    room.room.approvers.use_within = 7
    done = await room.room.approvers.approve(await asked(room), BOB)
    grant = await room.store.approvals.get_grant(done.id)

    assert grant is not None
    assert grant.expires_at == NOW + 7_000_000


async def test_two_names_of_one_hand_are_one_approver(room: Waiting) -> None:
    minted = [Minted("bot", "agent", None), Minted("kid", "human", "bot"), Minted("other", "agent", None)]
    room.room.approvers.lineage = lambda: Lineage(minted)
    approval = await asked(room, TWO)
    await room.room.approvers.approve(approval, Approver("bot", ApproverType.MCP_AGENT))
    refused = await caught(room.room.approvers.approve(approval, Approver("kid", ApproverType.CLI)), Refused)

    assert refused.reason.code is Code.SELF_APPROVAL
    assert (await room.row()).status is ApprovalState.PENDING
    done = await room.room.approvers.approve(approval, Approver("other", ApproverType.MCP_AGENT))
    assert done.status is ApprovalState.APPROVED


async def test_what_a_reviewer_says_is_kept_without_secrets(room: Waiting) -> None:
    said = "the key is ghp_0123456789abcdefghijABCDEFGHIJ012345"
    done = await room.room.approvers.deny(await asked(room), BOB, said)

    assert "ghp_" not in done.resolution


async def test_an_approval_that_there_is_not_cannot_be_answered(room: Waiting) -> None:
    refused = await caught(room.room.approvers.approve("ap_none", BOB), Refused)

    assert refused.reason.code is Code.NOT_FOUND


@pytest.mark.parametrize("door", ApproverType)
async def test_nobody_answers_for_its_own_call_through_any_door_and_that_is_on_record(
    room: Waiting, door: ApproverType
) -> None:
    room.room.approvers.lineage = lambda: Lineage([Minted("agent", "agent", None), Minted("kid", "human", "agent")])
    approval = await asked(room)
    for name in ("agent", "kid"):
        approver = Approver(name, door, person=True)
        for answer in (room.room.approvers.approve, room.room.approvers.deny):
            refused = await caught(answer(approval, approver), Refused)
            assert refused.reason.code is Code.SELF_APPROVAL
    notes = [each for each in await room.activities(ActivityType.APPROVAL) if each.status == "blocked"]
    tried = sorted((each.caller, each.body["door"], each.body["code"]) for each in notes)

    assert tried == sorted((name, door, Code.SELF_APPROVAL) for name in ("agent", "kid", "agent", "kid"))
    assert (await room.row()).status is ApprovalState.PENDING


async def test_who_comes_second_hears_who_was_faster(room: Waiting) -> None:
    approval = await asked(room)
    await room.room.approvers.deny(approval, CAROL)
    refused = await caught(room.room.approvers.approve(approval, BOB), Refused)

    assert refused.reason.code is Code.ALREADY_RESOLVED
    assert refused.approval.approver == "carol"


async def test_of_many_answers_at_once_one_counts_and_the_others_hear_of_it(room: Waiting) -> None:
    approval, approvers = await asked(room), room.room.approvers
    names = [Approver(f"r{number}", ApproverType.CLI) for number in range(20)]
    answers = [approvers.approve(approval, each) if number % 2 else approvers.deny(approval, each)
               for number, each in enumerate(names)]  # fmt: skip
    ended = await asyncio.gather(*answers, return_exceptions=True)
    refusals = [each for each in ended if isinstance(each, Refused)]
    row = await room.row()

    assert len(refusals) == 19
    assert {each.reason.code for each in refusals} == {Code.ALREADY_RESOLVED}
    assert all(each.approval == row for each in refusals)


async def test_votes_that_come_at_once_all_count(room: Waiting) -> None:
    approval, approvers = await asked(room, HoldTerms(approval_timeout=300, approvals_needed=5)), room.room.approvers
    names = [f"r{number}" for number in range(5)]
    answers = (approvers.approve(approval, Approver(each, ApproverType.CLI)) for each in names)
    found = await asyncio.gather(*answers)

    assert sorted(each.approver for each in (await room.row()).votes) == names
    assert [each.status for each in found].count(ApprovalState.APPROVED) == 1


async def test_a_second_vote_of_the_same_is_refused(room: Waiting) -> None:
    approval = await asked(room, TWO)
    first = await room.room.approvers.approve(approval, BOB)
    refused = await caught(room.room.approvers.approve(approval, BOB), Refused)

    assert (first.status, len(first.votes)) == (ApprovalState.PENDING, 1)
    assert refused.reason.code is Code.ALREADY_RESOLVED
    assert "1 of 2" in refused.reason.text


async def test_the_vote_of_somebody_who_may_not_answer_any_more_does_not_count(room: Waiting) -> None:
    approval = await asked(room, TWO)
    await room.room.approvers.approve(approval, BOB)
    room.register.board.may_still = "bob".__ne__
    second = await room.room.approvers.approve(approval, CAROL)

    assert (second.status, [each.approver for each in second.votes]) == (ApprovalState.PENDING, ["carol"])


async def test_a_yes_to_something_else_than_was_looked_at_is_refused(room: Waiting) -> None:
    approval = await asked(room)
    refused = await caught(room.room.approvers.approve(approval, BOB, digest="another"), Refused)
    done = await room.room.approvers.approve(approval, BOB, digest=call().digest)

    assert refused.reason.code is Code.STALE_APPROVAL
    assert done.status is ApprovalState.APPROVED


async def test_an_answer_after_the_deadline_finds_it_timed_out(room: Waiting) -> None:
    approval = await asked(room)
    room.clock.forward(300_000_000)
    refused = await caught(room.room.approvers.approve(approval, BOB), Refused)

    assert refused.reason.code is Code.ALREADY_RESOLVED
    assert (await room.row()).status is ApprovalState.TIMEOUT
