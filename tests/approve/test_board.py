"""What the desk knows without asking the store."""

import asyncio

import pytest

from interlock.approve import board as module
from interlock.approve.board import DENIAL_MEMORY, MAX_DENIALS, Board, Known, Pending, Resolved
from interlock.core.decide import Waiting
from interlock.core.grants import Grant, GrantKey, GrantScope
from interlock.core.lifecycle import ApprovalState
from tests.approve.rooms import NOW, call

CALL = call()


def key(caller: str = "agent", digest: str = CALL.digest) -> GrantKey:
    return GrantKey(caller, "up", "run_job", "f", digest, "h")


def pending(number: int, caller: str = "agent", digest: str = CALL.digest) -> Pending:
    return Pending(f"ap_{number}", key(caller, digest), NOW + number)


def grant(number: int, expires_at: int = NOW + 9, given_by: tuple[str, ...] = ("bob",)) -> Grant:
    return Grant(f"gr_{number}", key(), GrantScope.ONCE, expires_at, 1, given_by=given_by)


def test_nothing_is_known_of_a_call_that_nobody_has_brought() -> None:
    assert Board().known(CALL, NOW) == Known()


def test_a_call_knows_what_waits_for_it_and_how_much_waits_for_its_caller() -> None:
    board = Board()
    for each in (pending(1), pending(2, digest="other"), pending(3, caller="somebody")):
        board.add(each)
    known = board.known(CALL, NOW)

    assert known.waiting == (Waiting("ap_1", key()),)
    assert (known.pending_count, len(board), board.count("somebody"), board.count("nobody")) == (2, 3, 1, 0)
    assert board.same(key()) is board.find("ap_1")
    assert board.same(key("nobody")) is None


def test_what_is_removed_is_counted_once_and_leaves_nothing_behind() -> None:
    board = Board()
    first, second = pending(1), pending(2)
    board.add(first)
    board.add(second)
    board.remove(first)
    board.remove(first)

    assert [each.id for each in board] == ["ap_2"]
    assert board.count("agent") == 1
    board.remove(second)
    assert (len(board), board.count("agent"), board.known(CALL, NOW)) == (0, 0, Known())


def test_a_full_board_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PENDING", 1)
    board = Board()
    board.add(pending(1, "somebody"))

    assert board.known(CALL, NOW).full


def test_a_grant_is_known_until_it_is_dropped_or_over_or_its_giver_may_not_give_it() -> None:
    trusted = {"bob"}
    board = Board(lambda name: name in trusted)
    board.grant(grant(1))
    board.grant(grant(2, given_by=("bob", "carol")))

    assert board.known(CALL, NOW).grants == (grant(1),)
    trusted.clear()
    assert board.known(CALL, NOW).grants == ()
    board.drop_grant(grant(1))
    assert board.grants() == (grant(2, given_by=("bob", "carol")),)
    board.tidy(NOW + 9)
    assert board.grants() == ()
    assert board.find_grant("gr_2") is None


def test_a_denial_is_remembered_for_a_minute_and_the_last_one_counts() -> None:
    board = Board()
    board.denied(key(), "first", NOW)
    board.denied(key(), "second", NOW + 10)
    board.tidy(NOW + DENIAL_MEMORY)

    assert board.known(CALL, NOW + DENIAL_MEMORY).recent_denial == "second"
    assert board.known(CALL, NOW + 10 + DENIAL_MEMORY).recent_denial is None
    board.tidy(NOW + 10 + DENIAL_MEMORY)
    assert board.known(CALL, NOW) == Known()


def test_denials_are_bounded() -> None:
    board = Board()
    for number in range(MAX_DENIALS + 5):
        board.denied(key(digest=str(number)), "no", NOW)

    assert board.known(call(), NOW).recent_denial is None
    assert len(board._denied) == MAX_DENIALS  # pyright: ignore[reportPrivateUsage]


@pytest.mark.anyio
async def test_all_who_wait_are_woken_and_what_was_told_first_stands() -> None:
    waits = pending(1)
    loop = asyncio.get_running_loop()
    waits.waiters = dict.fromkeys((loop.create_future(), loop.create_future()))
    done = loop.create_future()
    done.set_result(None)
    waits.waiters[done] = None
    waits.wake(Resolved(ApprovalState.DENIED, "no"))
    waits.wake(Resolved(ApprovalState.APPROVED, ""))

    assert all(each.done() for each in waits.waiters)
    assert waits.resolved == Resolved(ApprovalState.DENIED, "no")
