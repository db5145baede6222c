"""What every store does for the desk, whatever the database: one suite over all of them."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace as with_fields
from typing import Any

import pytest
from msgspec.structs import replace

from interlock.core.approvals import SECOND, Approval
from interlock.core.freezes import FreezeKind, Frozen
from interlock.core.grants import Grant, GrantScope
from interlock.core.lifecycle import ApprovalState, CallState
from interlock.store.approvals import ApprovalFilter, Approvals, Crowd
from interlock.store.protocol import Activity, Store, StoreUnavailable
from tests.store.approval_examples import (
    ALL,
    BOB,
    CAROL,
    TERMS,
    approval,
    cancelled,
    frozen,
    key,
    late,
    no,
    sent,
    timed_out,
    why,
    yes,
)
from tests.store.examples import NOW, OpenStore, assert_sound, ids_of, log_of


@pytest.fixture
def approvals(store: Store) -> Approvals:
    return store.approvals


async def asked(approvals: Approvals, question: Approval) -> Approval:
    assert await approvals.add_approval(question, why(int(question.id[3:])))
    return question


async def granted(approvals: Approvals, scope: GrantScope = GrantScope.ONCE, number: int = 1) -> Grant:
    """A grant that somebody gave."""
    made = yes(await asked(approvals, approval(number)), scope=scope)
    assert made.grant is not None
    assert await approvals.change_approval(made.approval, why(number, "approved"), made.grant)
    return made.grant


def approved_by_bob(question: Approval) -> Approval:
    return yes(question).approval


async def changes(store: Store, subject: str = "ap_0001") -> list[str]:
    """What the log tells of an approval."""
    return [json.loads(each.text)["body"]["change"] for each in await log_of(store) if each.subject == subject]


# Questions --------------------------------------------------------------------------------------------------------


async def test_a_question_comes_back_as_it_was_asked_even_after_a_restart(
    approvals: Approvals, open_store: OpenStore
) -> None:
    question = await asked(approvals, approval())

    assert await approvals.get_approval("ap_0001") == question
    assert await (await open_store()).approvals.get_approval("ap_0001") == question
    assert await approvals.get_approval("ap_9999") is None


async def test_the_same_call_is_asked_about_once_and_the_second_writes_nothing(
    approvals: Approvals, store: Store
) -> None:
    await asked(approvals, approval())
    again = replace(approval(2), key=key(1))

    assert not await approvals.add_approval(again, why(2))
    assert await approvals.get_approval("ap_0002") is None
    assert await ids_of(store) == ["ap_0001"]


async def test_a_call_that_was_answered_may_be_asked_about_again(approvals: Approvals) -> None:
    question = await asked(approvals, approval())
    await approvals.change_approval(no(question), why(1, "denied"))

    assert await approvals.add_approval(replace(approval(2), key=key(1)), why(2))


async def test_many_who_ask_the_same_at_once_make_one_question(approvals: Approvals) -> None:
    tries = (approvals.add_approval(replace(approval(each), key=key(1)), why(each)) for each in range(1, 21))

    assert sorted(await asyncio.gather(*tries)) == [*[False] * 19, True]


async def test_no_more_wait_than_may_of_one_caller_and_in_all_and_one_too_many_writes_nothing(
    approvals: Approvals, store: Store
) -> None:
    first = await asked(approvals, approval(1))
    for number in (2, 3):
        await asked(approvals, approval(number, caller="other"))
    own, total = Crowd(1, 10), Crowd(10, 3)

    assert not await approvals.add_approval(approval(4), why(4), own)
    assert not await approvals.add_approval(approval(4), why(4), total)
    assert await ids_of(store) == ["ap_0003", "ap_0002", "ap_0001"]
    await approvals.change_approval(no(first), why(1, "denied"))
    assert await approvals.add_approval(approval(4), why(4), own)
    assert not await approvals.add_approval(approval(5, caller="third"), why(5), total)


async def test_a_question_that_no_database_can_hold_is_refused_and_nothing_is_kept(
    approvals: Approvals, store: Store
) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        await approvals.add_approval(approval(caller="\ud800"), why())

    assert await ids_of(store) == []


# Lists ------------------------------------------------------------------------------------------------------------


async def test_a_list_is_newest_first_in_pages_with_the_total(approvals: Approvals) -> None:
    for number in range(1, 6):
        await asked(approvals, approval(number))
    page = await approvals.list_approvals(ApprovalFilter(limit=2, offset=1))

    assert [each.id for each in page.items] == ["ap_0004", "ap_0003"]
    assert page.total == 5


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (ApprovalFilter(status=ApprovalState.PENDING), ["ap_0002", "ap_0001"]),
        (ApprovalFilter(status=ApprovalState.DENIED), ["ap_0003"]),
        (ApprovalFilter(workspace="prod"), ["ap_0003", "ap_0002", "ap_0001"]),
        (ApprovalFilter(workspace="dev"), []),
        (ApprovalFilter(session_id="s-2"), ["ap_0002"]),
        (ApprovalFilter(not_of="agent"), ["ap_0002"]),
        (ApprovalFilter(ApprovalState.PENDING, "prod", "s-1", "other"), ["ap_0001"]),
        (ApprovalFilter(offset=2**70), []),
        (ApprovalFilter(limit=0), ["ap_0003"]),
        (ApprovalFilter(offset=-5, limit=1), ["ap_0003"]),
    ],
)
async def test_a_list_holds_what_was_wanted(approvals: Approvals, wanted: ApprovalFilter, found: list[str]) -> None:
    await asked(approvals, approval(1))
    await asked(approvals, approval(2, caller="other"))
    await approvals.change_approval(no(await asked(approvals, approval(3))), why(3, "denied"))

    assert [each.id for each in (await approvals.list_approvals(wanted)).items] == found


# Compare and set --------------------------------------------------------------------------------------------------


async def test_a_yes_is_kept_with_its_grant_and_the_story_in_one_go(approvals: Approvals, store: Store) -> None:
    made = yes(await asked(approvals, approval()))

    assert await approvals.change_approval(made.approval, why(1, "approved"), made.grant)
    assert await approvals.get_approval("ap_0001") == made.approval
    assert await approvals.get_grant("ap_0001") == made.grant
    assert await changes(store) == ["created", "approved"]
    await assert_sound(store)


@pytest.mark.parametrize("first", [no, cancelled, approved_by_bob], ids=["no", "cancel", "yes"])
@pytest.mark.parametrize("then", [no, cancelled, timed_out], ids=["no", "cancel", "timeout"])
async def test_what_is_resolved_is_never_resolved_again(
    approvals: Approvals, store: Store, first: Callable[[Approval], Approval], then: Callable[[Approval], Approval]
) -> None:
    question = await asked(approvals, approval())
    winner = first(question)
    assert await approvals.change_approval(winner, why(1, "first"))

    assert not await approvals.change_approval(then(question), why(1, "then"))
    assert await approvals.get_approval("ap_0001") == winner
    assert await changes(store) == ["created", "first"]


async def test_of_many_answers_at_once_one_counts(approvals: Approvals, store: Store) -> None:
    question = await asked(approvals, approval())
    made = yes(question)
    answers = [approvals.change_approval(made.approval, why(1, "approved"), made.grant)]
    answers += [approvals.change_approval(no(question, CAROL), why(1, "denied")) for _ in range(10)]
    answers += [approvals.change_approval(cancelled(question), why(1, "cancelled")) for _ in range(10)]
    counted = await asyncio.gather(*answers)
    found = await approvals.get_approval("ap_0001")

    assert sum(counted) == 1
    assert found is not None
    assert await changes(store) == ["created", found.status.value]
    assert (await approvals.get_grant("ap_0001") is not None) == (found.status is ApprovalState.APPROVED)


async def test_two_votes_on_one_version_are_one_vote(approvals: Approvals) -> None:
    needs_two = replace(approval(), terms=with_fields(TERMS, approvals_needed=2))
    question = await asked(approvals, needs_two)
    first, second = yes(question, BOB).approval, yes(question, CAROL).approval

    assert await approvals.change_approval(first, why(1, "voted"))
    assert not await approvals.change_approval(second, why(1, "voted"))
    final = yes(first, CAROL)
    assert await approvals.change_approval(final.approval, why(1, "approved"), final.grant)
    assert await approvals.get_approval("ap_0001") == final.approval


async def test_an_answer_that_comes_too_late_does_not_count_and_a_timeout_that_comes_too_early_neither(
    approvals: Approvals,
) -> None:
    over, open_still = await asked(approvals, late(1)), await asked(approvals, approval(2))
    made = yes(over)

    assert not await approvals.change_approval(made.approval, why(1), made.grant)
    assert not await approvals.change_approval(no(over), why(1))
    assert not await approvals.change_approval(timed_out(open_still), why(2))
    assert await approvals.change_approval(timed_out(over), why(1, "timeout"))
    assert await approvals.get_grant("ap_0001") is None


async def test_whoever_gives_up_waiting_need_not_be_in_time(approvals: Approvals) -> None:
    assert await approvals.change_approval(cancelled(await asked(approvals, late())), why(1, "cancelled"))


async def test_an_approval_that_there_is_not_cannot_be_changed(approvals: Approvals) -> None:
    assert not await approvals.change_approval(no(approval()), why(1, "denied"))


async def test_the_store_itself_refuses_that_somebody_answers_for_its_own_call(
    approvals: Approvals, store: Store
) -> None:
    question = await asked(approvals, approval(caller="bob"))
    with pytest.raises(StoreUnavailable, match=r"(?i)check constraint"):
        await approvals.change_approval(no(question, BOB), why(1, "denied"))

    assert await approvals.get_approval("ap_0001") == question
    assert await changes(store) == ["created"]


# Told to come again -----------------------------------------------------------------------------------------------


async def test_that_a_caller_was_told_to_come_again_is_remembered_and_changes_nothing_else(
    approvals: Approvals,
) -> None:
    question = await asked(approvals, approval())

    assert await approvals.mark_answered("ap_0001")
    assert await approvals.get_approval("ap_0001") == replace(question, answered=True)
    assert await approvals.change_approval(no(question), why(1, "denied"))
    found = await approvals.get_approval("ap_0001")
    assert found is not None
    assert found.answered


async def test_what_is_resolved_is_not_told_to_wait_for(approvals: Approvals) -> None:
    await approvals.change_approval(no(await asked(approvals, approval())), why(1, "denied"))

    assert not await approvals.mark_answered("ap_0001")
    assert not await approvals.mark_answered("ap_9999")


# Grants -----------------------------------------------------------------------------------------------------------


async def test_a_grant_for_one_use_is_used_once_however_many_try(approvals: Approvals, store: Store) -> None:
    grant = await granted(approvals)
    used = await asyncio.gather(*(approvals.use_grant(grant.id, sent(each)) for each in range(20)))
    found = await approvals.get_grant("ap_0001")

    assert sum(used) == 1
    assert found is not None
    assert (found.uses, found.uses_left, found.activity) == (1, 0, f"call-{used.index(True)}")
    assert [each for each in await ids_of(store) if each.startswith("call-")] == [found.activity]


async def test_a_wider_grant_is_used_often_and_remembers_the_call_that_was_asked_about(approvals: Approvals) -> None:
    grant = await granted(approvals, GrantScope.TOOL)
    for number, digest in enumerate(("d1", "other", "other"), start=1):
        assert await approvals.use_grant(grant.id, sent(number, digest))
    found = await approvals.get_grant("ap_0001")

    assert found is not None
    assert (found.uses, found.uses_left, found.activity) == (3, None, "call-1")


async def test_a_grant_that_is_over_revoked_or_not_there_is_not_used_and_nothing_is_written(
    approvals: Approvals, store: Store
) -> None:
    made = yes(await asked(approvals, approval(1)))
    assert made.grant is not None
    over = with_fields(made.grant, expires_at=NOW - 1)
    await approvals.change_approval(made.approval, why(1, "approved"), over)
    revoked = await granted(approvals, number=2)

    assert await approvals.revoke_grant(revoked.id, NOW + 50, why(3, "revoked"))
    assert not await approvals.revoke_grant(revoked.id, NOW + 51, why(3, "revoked"))
    assert not await approvals.revoke_grant(over.id, NOW + 51, why(3, "revoked"))
    assert not any([await approvals.use_grant(each, sent(1)) for each in (over.id, revoked.id, "gr_none")])
    assert "call-1" not in await ids_of(store)
    assert await approvals.live_grants() == []


async def test_live_grants_are_those_that_can_still_be_used_after_a_restart_too(
    approvals: Approvals, open_store: OpenStore
) -> None:
    unused, spent = await granted(approvals, number=1), await granted(approvals, number=2)
    standing = await granted(approvals, GrantScope.IDENTICAL, number=3)
    await approvals.use_grant(spent.id, sent(1))

    assert await (await open_store()).approvals.live_grants() == [unused, standing]


async def test_a_grant_that_was_used_cannot_be_revoked_any_more(approvals: Approvals) -> None:
    grant = await granted(approvals)
    await approvals.use_grant(grant.id, sent(1))

    assert not await approvals.revoke_grant(grant.id, NOW, why(2, "revoked"))


def stopped(number: int) -> Activity:
    """The record of a call that was stopped before it left."""
    call = sent(number)
    return replace(call, status=CallState.ERROR, body={**call.body, "result": {"size": 0, "sent": False}})


async def test_a_grant_whose_call_has_not_left_is_used_once_more_and_no_more(
    approvals: Approvals, store: Store
) -> None:
    grant = await granted(approvals)
    await approvals.use_grant(grant.id, sent(0))
    await store.write([stopped(0)])
    unused = await approvals.get_grant("ap_0001")
    used = await asyncio.gather(*(approvals.use_grant(grant.id, sent(each)) for each in range(1, 20)))
    found = await approvals.get_grant("ap_0001")

    assert unused == grant
    assert sum(used) == 1
    assert found is not None
    assert (found.uses, found.uses_left, found.activity) == (1, 0, f"call-{1 + used.index(True)}")


@pytest.mark.parametrize("result", [{"size": 0}, {"size": 0, "sent": True}, {"content": '{"sent":false}'}])
async def test_a_call_that_failed_and_may_have_left_has_used_its_grant_up(
    approvals: Approvals, store: Store, result: dict[str, Any]
) -> None:
    grant = await granted(approvals)
    await approvals.use_grant(grant.id, sent(0))
    await store.write([replace(sent(0), status=CallState.ERROR, body={"digest": "d1", "result": result})])

    assert not await approvals.use_grant(grant.id, sent(1))
    assert not await approvals.revoke_grant(grant.id, NOW, why(2, "revoked"))


async def test_a_grant_whose_call_has_not_left_can_be_revoked(approvals: Approvals, store: Store) -> None:
    grant = await granted(approvals)
    await approvals.use_grant(grant.id, sent(0))
    await store.write([stopped(0)])

    assert await approvals.revoke_grant(grant.id, NOW, why(2, "revoked"))
    assert not await approvals.use_grant(grant.id, sent(1))


# Figures ----------------------------------------------------------------------------------------------------------


async def test_figures_count_by_stretches_and_tell_how_long_the_answered_ones_waited(approvals: Approvals) -> None:
    for number in (1, 2, 3):
        await asked(approvals, approval(number))
    await approvals.change_approval(replace(no(approval(1)), decided_at=NOW + 5 * SECOND), why(1))
    await approvals.change_approval(replace(no(approval(3)), decided_at=NOW + 4 * SECOND), why(3))
    await approvals.change_approval(cancelled(approval(2)), why(2))
    figures = await approvals.figures(NOW, 2 * SECOND)
    told = [(each.at - NOW, each.status, each.count, each.waited) for each in figures.stretches]

    assert NOW % (2 * SECOND) == 0
    assert figures.waits == (1 * SECOND, 4 * SECOND)
    assert told == [
        (0, ApprovalState.DENIED, 1, 4 * SECOND),
        (2 * SECOND, ApprovalState.CANCELLED, 1, 0),
        (2 * SECOND, ApprovalState.DENIED, 1, 1 * SECOND),
    ]
    assert (await approvals.figures(NOW + 2**70, SECOND)).stretches == ()


# Freezes ----------------------------------------------------------------------------------------------------------


async def test_a_stop_is_kept_replaced_and_lifted_with_its_story(
    approvals: Approvals, store: Store, open_store: OpenStore
) -> None:
    server = Frozen(FreezeKind.SERVER, "up")
    await approvals.put_freeze(ALL, frozen(), why(1, "frozen"))
    await approvals.put_freeze(ALL, frozen("another reason"), why(1, "frozen"))
    await approvals.put_freeze(server, replace(frozen(), what=server), why(1, "frozen"))
    kept = await (await open_store()).approvals.freezes()
    await approvals.put_freeze(ALL, None, why(1, "thawed"))

    assert {what: each.reason for what, each in kept.items()} == {ALL: "another reason", server: "incident"}
    assert list(await approvals.freezes()) == [server]
    assert await changes(store) == ["frozen", "frozen", "frozen", "thawed"]


async def test_a_store_that_is_closed_refuses_everything(store: Store) -> None:
    await store.close()

    with pytest.raises(StoreUnavailable):
        await store.approvals.add_approval(approval(), why())
    with pytest.raises(StoreUnavailable):
        await store.approvals.get_approval("ap_0001")


# The last approved ----------------------------------------------------------------------------------------------
async def test_the_call_of_a_tool_that_was_approved_last_is_found_and_no_other(approvals: Approvals) -> None:
    for number in (1, 2, 3):
        await approvals.add_approval(approval(number), why(number))
    for number in (1, 2):
        made = yes(approval(number))
        await approvals.change_approval(made.approval, why(number), made.grant)
    server, tool, decided = approval(1).key.server, approval(1).key.tool, yes(approval(2)).approval.decided_at
    assert decided is not None

    async def last(server: str, tool: str, before: int, but: str) -> str | None:
        found = await approvals.last_approved(server, tool, before, but)
        return None if found is None else found.id

    assert await last(server, tool, 10**30, approval(3).id) in {approval(1).id, approval(2).id}
    assert await last(server, tool, 10**30, approval(2).id) == approval(1).id
    assert await last(server, tool, 0, approval(3).id) is None
    assert await last(server, "another", decided + 1, "") is None
    assert await last("another", tool, decided + 1, "") is None
