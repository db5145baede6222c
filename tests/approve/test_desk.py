"""Where a call waits for its second key: who asks, who attaches, who is told what, and when nobody waits any more."""

import asyncio

import pytest
from msgspec.structs import replace

from interlock.approve import desk as module
from interlock.approve.desk import SHUTDOWN, Approved, Held
from interlock.approve.register import DISCONNECTED
from interlock.core.canonical import argument_digest
from interlock.core.lifecycle import ApprovalState, CallEvent
from interlock.core.model import Call, HoldTerms, Variant
from interlock.core.policy import Patience
from interlock.core.times import iso
from interlock.errors import Code
from interlock.kept import Unapproved
from interlock.store.protocol import StoreUnavailable
from tests.approve.rooms import AT_ONCE, BOB, NEVER, Answer, Waiting, call, held, later, until
from tests.stores import allow, forbid


def waits(room: Waiting, wanted: Held) -> "asyncio.Future[Answer]":
    return asyncio.ensure_future(room.room.desk.hold(wanted))


def told(answer: Answer) -> tuple[CallEvent, Code | None, str]:
    assert isinstance(answer, Unapproved)
    return answer.event, answer.reason.code, answer.reason.text


# Asking -----------------------------------------------------------------------------------------------------------


async def test_a_question_shows_reviewers_what_the_caller_wants_and_nothing_secret(room: Waiting) -> None:
    secret = {"password": "hunter2-hunter2", "n": 1}
    wanted = replace(call(reason="my token is ghp_0123456789abcdefghijABCDEFGHIJ012345"), arguments=secret)
    wanted = replace(wanted, digest=argument_digest(secret))
    waiting = waits(room, replace(held(wanted), workspace_name="Production"))
    (asked,) = await room.asked()
    waiting.cancel()

    assert "hunter2" not in str(asked.asked)
    assert "ghp_" not in str(asked.asked)
    assert asked.key.digest == argument_digest(secret)
    assert (asked.asked["workspace_name"], asked.asked["request_client_type"]) == ("Production", "a-client")
    assert (asked.tool_name, asked.rule_id, asked.requester) == ("up__run_job", "ask", "agent")
    assert asked.expires_at - asked.created_at == 300_000_000


@pytest.mark.parametrize("reason", [None, "", "  ", 5])
@pytest.mark.parametrize(
    ("variant", "field"), [(Variant.DIRECT, "`_justification`"), (Variant.DESTRUCTIVE, "`intent.reason`")]
)
async def test_without_a_reason_nobody_is_asked(room: Waiting, reason: object, variant: Variant, field: str) -> None:
    wanted = held(call(reason="because"))
    without = replace(wanted.call, variant=variant, declaration=replace(wanted.call.declaration, reason=reason))
    event, code, text = told(await room.room.desk.hold(replace(wanted, call=without)))

    assert (event, code) == (CallEvent.REFUSE, Code.JUSTIFICATION_REQUIRED)
    assert field in text
    assert await room.rows() == []


async def test_a_client_that_can_be_asked_is_asked_for_its_reason(room: Waiting) -> None:
    async def reason() -> str:
        return " because I say so "

    waiting = waits(room, held(call(reason=None), ask_reason=reason))
    (asked,) = await room.asked()
    waiting.cancel()

    assert asked.asked["justification"] == "because I say so"


async def test_a_reason_that_is_too_long_is_refused(room: Waiting) -> None:
    async def reason() -> str:
        return "x" * 1001

    _, code, _ = told(await room.room.desk.hold(held(call(reason=None), ask_reason=reason)))

    assert code is Code.REASON_TOO_LONG


async def test_who_gives_its_reason_late_attaches_to_the_same_call_that_came_meanwhile(room: Waiting) -> None:
    go_on = asyncio.Event()

    async def reason() -> str:
        await go_on.wait()
        return "because"

    slow, fast = waits(room, held(call(reason=None), ask_reason=reason)), waits(room, held(call()))
    (asked,) = await room.asked()
    go_on.set()
    pending = room.register.board.find(asked.id)
    assert pending is not None
    await until(lambda: pending.callers == 2)
    await room.room.approvers.approve(asked.id, BOB)

    assert await slow == await fast
    assert len(await room.rows()) == 1


async def test_a_quota_counts_those_who_came_while_somebody_gave_its_reason(room: Waiting) -> None:
    one_each = Patience(answer_after=None, max_pending=1)
    waiting = waits(room, held(call(1), one_each))
    await room.asked()
    event, code, text = told(await room.room.desk.hold(held(call(2), one_each)))
    other = waits(room, held(call(2, "somebody"), one_each))
    await room.asked(2)
    for each in (waiting, other):
        each.cancel()

    assert (event, code) == (CallEvent.REFUSE, Code.QUOTA)
    assert "(1)" in text


async def test_a_full_desk_refuses_whoever_comes(room: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PENDING", 0)
    _, code, text = told(await room.room.desk.hold(held(call())))

    assert code is Code.QUOTA
    assert "of all callers" in text


# Waiting ----------------------------------------------------------------------------------------------------------


async def test_a_yes_lets_whoever_waits_go_on_with_the_grant(room: Waiting) -> None:
    waiting = waits(room, held(call()))
    (asked,) = await room.asked()
    await room.room.approvers.approve(asked.id, BOB)
    answer = await waiting

    assert isinstance(answer, Approved)
    assert (answer.approval, answer.grant.uses_left) == (asked.id, 1)


@pytest.mark.parametrize(
    ("said", "text"), [("too risky", "Reason: too risky"), ("", "Reason: no reason given")], ids=["why", "nothing"]
)
async def test_a_no_is_told_with_its_reason(room: Waiting, said: str, text: str) -> None:
    waiting = waits(room, held(call()))
    (asked,) = await room.asked()
    await room.room.approvers.deny(asked.id, BOB, said)
    event, code, answer = told(await waiting)

    assert (event, code) == (CallEvent.DENY, Code.DENIED)
    assert answer.endswith(text)


async def test_when_its_time_is_over_a_call_is_told_so(room: Waiting) -> None:
    async with room.room.desk.running():
        waiting = waits(room, held(call(), terms=HoldTerms(approval_timeout=7)))
        await room.asked()
        room.clock.forward(7_000_000)
        event, code, text = told(await waiting)

    assert (event, code, text) == (CallEvent.EXPIRE, Code.TIMEOUT, "Tool call denied. Reason: timed out")
    assert (await room.row()).status is ApprovalState.TIMEOUT


async def test_a_caller_that_would_lose_patience_is_told_to_come_again_and_its_approval_stays_open(
    room: Waiting,
) -> None:
    answer = await room.room.desk.hold(held(call(), AT_ONCE))
    asked = await room.row()

    assert isinstance(answer, Unapproved)
    assert (answer.reason.code, answer.approval, answer.come_again) == (Code.PENDING, asked.id, later(300))
    assert iso(later(300)) in answer.reason.text
    assert (asked.status, asked.answered) == (ApprovalState.PENDING, True)


async def test_each_client_has_its_own_patience(room: Waiting) -> None:
    patience = Patience(answer_after=None, clients={"a-client": 0.0})

    assert told(await room.room.desk.hold(held(call(), patience)))[1] is Code.PENDING


async def test_while_it_waits_a_caller_hears_of_it(room: Waiting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROGRESS_SECONDS", 0.001)
    heard: list[tuple[float, str]] = []
    enough = asyncio.Event()

    def tell(seconds: float, sentence: str) -> None:
        heard.append((seconds, sentence))
        if len(heard) == 3:
            enough.set()

    waiting = waits(room, held(call(), Patience(answer_after=60.0), progress=tell))
    async with asyncio.timeout(20):
        await enough.wait()
    waiting.cancel()

    assert heard[0][1] == f"Waiting for approval {(await room.row()).id}"
    assert heard[0][0] < heard[1][0] < heard[2][0]


async def test_a_repeat_attaches_and_both_go_on_by_one_answer(room: Waiting) -> None:
    first = waits(room, held(call()))
    (asked,) = await room.asked()
    second = waits(room, held(call(), attach_to=room.register))
    pending = room.register.board.find(asked.id)
    assert pending is not None
    await until(lambda: pending.callers == 2)
    await room.room.approvers.approve(asked.id, BOB)

    assert await first == await second
    assert len(await room.rows()) == 1


# Leaving ----------------------------------------------------------------------------------------------------------


async def test_when_nobody_waits_any_more_the_approval_is_cancelled(room: Waiting) -> None:
    first = waits(room, held(call()))
    (asked,) = await room.asked()
    second = waits(room, held(call(), attach_to=room.register))
    pending = room.register.board.find(asked.id)
    assert pending is not None
    await until(lambda: pending.callers == 2)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    assert (await room.row()).status is ApprovalState.PENDING
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    found = await room.row()

    assert (found.status, found.resolution) == (ApprovalState.CANCELLED, DISCONNECTED)
    assert room.register.board.count("agent") == 0


async def test_an_approval_that_somebody_was_told_to_come_again_for_outlives_its_callers(room: Waiting) -> None:
    await room.room.desk.hold(held(call(), AT_ONCE))
    second = waits(room, held(call(), attach_to=room.register))
    pending = next(iter(room.register.board))
    await until(lambda: pending.callers == 1)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)

    assert (await room.row()).status is ApprovalState.PENDING


async def test_whoever_leaves_when_the_store_is_gone_still_leaves(room: Waiting) -> None:
    waiting = waits(room, held(call()))
    await room.asked()
    await room.store.close()
    waiting.cancel()

    assert isinstance((await asyncio.gather(waiting, return_exceptions=True))[0], asyncio.CancelledError)


async def test_at_the_end_nobody_waits_any_more_but_what_was_answered_stays_open(room: Waiting) -> None:
    async with room.room.desk.running():
        await room.room.desk.hold(held(call(1), AT_ONCE))
        room.clock.forward(1)
        waiting = waits(room, held(call(2)))
        await room.asked(2)
    event, code, text = told(await waiting)
    open_still, ended = await room.rows()
    late = await room.room.desk.hold(held(call(3)))

    assert (event, code, text) == (CallEvent.CANCEL, Code.CANCELLED, f"Tool call cancelled. Reason: {SHUTDOWN}")
    assert (open_still.status, ended.status) == (ApprovalState.PENDING, ApprovalState.CANCELLED)
    assert told(late)[1] is Code.CANCELLED


async def test_the_desk_can_be_closed_when_the_store_is_gone(room: Waiting) -> None:
    waiting = waits(room, held(call()))
    await room.asked()
    await room.store.close()
    await room.room.desk.close()
    waiting.cancel()

    assert (await asyncio.gather(waiting, return_exceptions=True))[0] is not None


# Coming back ------------------------------------------------------------------------------------------------------


async def test_whoever_names_its_approval_gets_what_became_of_it(room: Waiting) -> None:
    await room.room.desk.hold(held(call(), AT_ONCE))
    asked = await room.row()
    again = held(replace(call(), approval_id=asked.id))
    still = await room.room.desk.hold(replace(again, patience=AT_ONCE))
    await room.room.approvers.approve(asked.id, BOB)
    after = await room.room.desk.hold(again)

    assert told(still)[1] is Code.PENDING
    assert isinstance(after, Approved)


@pytest.mark.parametrize("name", ["ap_none", "x" * 65])
async def test_an_approval_that_there_is_not_and_somebody_elses_are_answered_alike(room: Waiting, name: str) -> None:
    await room.room.desk.hold(held(call(), AT_ONCE))
    asked = await room.row()
    unknown = await room.room.desk.hold(held(replace(call(), approval_id=name)))
    others = await room.room.desk.hold(held(replace(call(caller="somebody"), approval_id=asked.id)))

    assert told(unknown) == told(others)
    assert told(unknown)[1] is Code.NOT_FOUND


@pytest.mark.parametrize(
    ("other", "what"), [(call(2), "the arguments"), (call(tool="run_other"), "the tool")], ids=["arguments", "tool"]
)
async def test_an_approval_of_another_call_is_stale(room: Waiting, other: Call, what: str) -> None:
    await room.room.desk.hold(held(call(), AT_ONCE))
    asked = await room.row()
    _, code, text = told(await room.room.desk.hold(held(replace(other, approval_id=asked.id))))

    assert code is Code.STALE_APPROVAL
    assert f"{what} changed" in text


async def test_what_is_open_in_the_store_and_unknown_here_is_no_answer(room: Waiting) -> None:
    await room.room.desk.hold(held(call(), AT_ONCE))
    asked = await room.row()
    with pytest.raises(StoreUnavailable):
        await room.again().room.desk.hold(held(replace(call(), approval_id=asked.id), NEVER))


async def test_whoever_watches_hears_of_it_and_keeps_nothing_open(room: Waiting) -> None:
    waiting = waits(room, held(call()))
    (asked,) = await room.asked()
    await room.room.desk.watch(asked, 0.0)
    watching = asyncio.ensure_future(room.room.desk.watch(asked, None))
    pending = room.register.board.find(asked.id)
    assert pending is not None
    await until(lambda: len(pending.waiters) == 2)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await watching
    await room.room.desk.watch(await room.row(), None)

    assert (await room.row()).status is ApprovalState.CANCELLED


# Bad luck -----------------------------------------------------------------------------------------------------------


async def test_a_repeat_that_comes_while_the_approval_ends_because_its_caller_left_is_asked_about_anew(
    room: Waiting,
) -> None:
    left = waits(room, held(call()))
    await room.asked()
    left.cancel()
    await asyncio.sleep(0)
    room.clock.forward(1)
    repeat = waits(room, held(call(), attach_to=room.register))
    _, again = await room.asked(2)
    await room.room.approvers.approve(again.id, BOB)

    assert isinstance(await repeat, Approved)
    assert [each.status for each in await room.rows()] == [ApprovalState.CANCELLED, ApprovalState.APPROVED]


async def test_the_approval_of_a_caller_that_was_refused_instead_of_told_to_come_again_ends_as_soon_as_it_can(
    room: Waiting, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(pending: object) -> bool:
        forbid(room.folder)
        raise StoreUnavailable("broken")

    monkeypatch.setattr(room.register, "mark_answered", broken)
    with pytest.raises(StoreUnavailable):
        await room.room.desk.hold(held(call(), AT_ONCE))
    with pytest.raises(StoreUnavailable):
        await room.register.expire(room.clock.now())
    before = await room.row()
    allow(room.folder)
    await room.register.expire(room.clock.now())
    after = await room.row()

    assert before.status is ApprovalState.PENDING
    assert (after.status, after.resolution) == (ApprovalState.CANCELLED, module.UNRECORDED)
    assert len(room.register.board) == 0


async def test_an_approval_that_could_not_be_ended_stays_open_for_a_repeat_that_comes_meanwhile(room: Waiting) -> None:
    waiting = waits(room, held(call()))
    (asked,) = await room.asked()
    await until(lambda: any(each.waiters for each in room.register.board))
    forbid(room.folder)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    repeat = waits(room, held(call(), attach_to=room.register))
    await until(lambda: any(each.callers == 1 for each in room.register.board))
    allow(room.folder)
    await room.register.expire(room.clock.now())
    await room.room.approvers.approve(asked.id, BOB)

    assert isinstance(await repeat, Approved)


@pytest.mark.parametrize("failure", [StoreUnavailable("broken"), ValueError("a defect")])
async def test_a_sweep_that_fails_is_tried_again_after_a_while_and_stops_nothing(
    room: Waiting, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    waiting = waits(room, held(call()))
    await room.asked()
    room.clock.forward(later(300) - room.clock.now())
    expire, tried, again = room.register.expire, asyncio.Event(), asyncio.Event()

    async def fails(now: int) -> None:
        (again if tried.is_set() else tried).set()
        raise failure

    monkeypatch.setattr(room.register, "expire", fails)
    told_of: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: told_of.append(context["message"]))
    async with room.room.desk.running():
        await tried.wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(again.wait(), module.SWEEP_SECONDS / 4)
        monkeypatch.setattr(room.register, "expire", expire)
        assert told(await waiting)[1] is Code.TIMEOUT
    loop.set_exception_handler(None)

    assert told_of == ([] if isinstance(failure, StoreUnavailable) else ["an approval could not be ended"])
