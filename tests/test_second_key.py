"""What lies between the desk and the path: whether an approved call still fits, and what came of one that ran."""

import dataclasses
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from interlock.approve.desk import Approved
from interlock.core.approvals import Wish
from interlock.core.classify import classify, read_descriptor
from interlock.core.decide import Facts, KnownTool, decide, grant_key
from interlock.core.grants import Grant, GrantScope
from interlock.core.lifecycle import CallState
from interlock.core.model import Allow, Call, Caller, Deny, Hold, Tool
from interlock.core.policy import Policy
from interlock.core.questions import Answerable, Question
from interlock.core.rules import RuleBook
from interlock.errors import Code
from interlock.forward.link import LinkDown
from interlock.kept import MAX_CONTENT, Unapproved
from interlock.pipeline import Answer, Notification, Reply, RpcError, Way
from interlock.record import Recorder
from interlock.second_key import SecondKey, progress_of, reason_asker, recorded, still_fits, unspent
from interlock.store.protocol import Activity, ActivityType, StoreUnavailable
from tests.approve import rooms
from tests.fakes import FakeClock
from tests.stores import clocked_store_of

NOW = 1_000
TOOL = Tool("up", "up", "delete_x", "f1")
FOUND = KnownTool(TOOL, classify(read_descriptor({"name": "delete_x"})))
CALL = Call(Caller("ci"), "up", "delete_x", {}, "d1")
FACTS = Facts(call=CALL, found=FOUND, rules=RuleBook(), now=NOW)
GRANT = Grant(
    "gr_1",
    grant_key(CALL, FOUND, decide(FACTS).ground, None),
    GrantScope.ONCE,
    NOW + 10,
    uses_left=1,
    approval="ap_1",
    given_by=("boss",),
)


def fits(facts: Facts, grant: Grant = GRANT, *, may: bool = True) -> Any:
    facts = msgspec.structs.replace(facts, grants=(unspent(grant),))
    return still_fits(decide(facts), grant, facts, lambda name: may)


def code(verdict: Any) -> Code | None:
    assert isinstance(verdict, Deny)
    return verdict.reasons[0].code


def test_what_is_as_it_was_passes_by_its_grant() -> None:
    verdict = fits(FACTS)

    assert isinstance(verdict, Allow)
    assert (verdict.grant, verdict.approval) == ("gr_1", "ap_1")


def test_a_grant_that_was_used_by_a_companion_still_tells_that_the_call_fits() -> None:
    assert isinstance(fits(FACTS, dataclasses.replace(GRANT, uses_left=0)), Allow)


def test_a_fresh_refusal_comes_before_a_stale_approval() -> None:
    assert code(fits(msgspec.structs.replace(FACTS, frozen="everything"))) is Code.FROZEN


@pytest.mark.parametrize(
    ("grant", "words"),
    [
        (dataclasses.replace(GRANT, expires_at=NOW), "was not used"),
        (dataclasses.replace(GRANT, revoked=True), "was not used"),
        (dataclasses.replace(GRANT, key=dataclasses.replace(GRANT.key, fingerprint="f0")), "the tool's definition"),
        (dataclasses.replace(GRANT, key=dataclasses.replace(GRANT.key, rule_hash="r0")), "the rule"),
        (dataclasses.replace(GRANT, key=dataclasses.replace(GRANT.key, workspace="w0")), "the workspace"),
        (dataclasses.replace(GRANT, key=dataclasses.replace(GRANT.key, auth_scope="a0")), "the credentials"),
    ],
)
def test_what_changed_is_named(grant: Grant, words: str) -> None:
    verdict = fits(FACTS, grant)

    assert code(verdict) is Code.STALE_APPROVAL
    assert words in verdict.reasons[0].text


def test_a_word_whose_giver_may_not_give_it_any_more_is_void() -> None:
    assert code(fits(FACTS, may=False)) is Code.STALE_APPROVAL


# While it waits -------------------------------------------------------------------------------------------------


def test_waiting_is_progress_that_leaves_room_for_that_of_the_server() -> None:
    heard: list[Notification] = []
    tell = progress_of(heard.append)
    assert tell is not None
    tell(300.0, "still waiting")

    (told,) = heard
    assert told.method == "notifications/progress"
    assert json.loads(told.params)["progress"] < 0.001
    assert progress_of(None) is None


class Person:
    """A client that can be asked, or not, and what it says."""

    def __init__(self, answer: Answer, can: Answerable | None = None) -> None:
        self.can = can or Answerable(form=True)
        self.asked: dict[str, int] = {}
        self._answer = answer

    async def ask(self, questions: Any) -> dict[str, Answer]:
        assert all(isinstance(each, Question) for each in questions.values())
        return dict.fromkeys(questions, self._answer)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(b'{"action":"accept","content":{"justification":"because"}}'), "because"),
        (Answer(b'{"action":"accept","content":{"justification":5}}'), ""),
        (Answer(b'{"action":"accept"}'), ""),
        (Answer(b'{"action":"decline","content":{"justification":"no"}}'), ""),
        (Answer(b'{"action":"cancel"}'), ""),
        (Answer(b"[]"), ""),
        (Answer(error=RpcError(-32601, "no")), ""),
    ],
)
async def test_a_person_is_asked_for_the_reason(answer: Answer, reason: str) -> None:
    ask = reason_asker(Person(answer), wanted=True)
    assert ask is not None

    assert await ask() == reason


def test_whoever_cannot_be_asked_or_need_not_is_not() -> None:
    person = Person(Answer(b"{}"))

    assert reason_asker(person, wanted=False) is None
    assert reason_asker(None, wanted=True) is None
    assert reason_asker(Person(Answer(b"{}"), Answerable(url=True)), wanted=True) is None


# After it ran ---------------------------------------------------------------------------------------------------


def ran(status: CallState, **result: Any) -> Activity:
    return Activity("a1", NOW, ActivityType.TOOL_CALL, status, {"result": result} if result else {})


def shown(activity: Activity, *, has_schema: bool = False) -> dict[str, Any]:
    reply = recorded(activity, "ap_1", has_schema=has_schema)
    assert reply.answer is not None
    return json.loads(reply.answer.result)


def test_a_result_that_was_kept_whole_comes_back_as_it_was() -> None:
    text = '{"content":[],"structuredContent":{"a":1},"_meta":{"x":1}}'
    whole = shown(ran(CallState.SUCCESS, content=text, size=len(text)), has_schema=True)

    assert whole["structuredContent"] == {"a": 1}
    assert whole["_meta"]["x"] == 1
    assert whole["_meta"]["interlock/recorded"]["status"] == "success"
    assert "isError" not in whole


@pytest.mark.parametrize(
    ("activity", "has_schema", "is_error"),
    [
        (ran(CallState.SUCCESS, content='{"content":', size=MAX_CONTENT + 1), False, False),
        (ran(CallState.SUCCESS, content='{"content":', size=MAX_CONTENT + 1), True, True),
        (ran(CallState.SUCCESS, content="[1]", size=3), False, False),
        (ran(CallState.SUCCESS, size=3), False, False),
        (ran(CallState.ERROR, error="it broke", size=8), False, True),
    ],
)
def test_what_was_not_kept_whole_is_told_of(activity: Activity, *, has_schema: bool, is_error: bool) -> None:
    told = shown(activity, has_schema=has_schema)

    assert told["isError"] is is_error
    assert told["content"][0]["text"].startswith("The call has run already and ended with")


@pytest.mark.parametrize(
    ("activity", "code"),
    [
        (None, Code.STALE_APPROVAL),
        (ran(CallState.SENT), Code.PENDING),
        (ran(CallState.INDETERMINATE), Code.INDETERMINATE),
        (ran(CallState.CANCELLED), Code.INDETERMINATE),
    ],
)
def test_what_has_no_outcome_is_said_to_have_none(activity: Activity | None, code: Code) -> None:
    reply = recorded(activity, "ap_1", has_schema=False)

    assert reply.refusal is not None
    assert reply.refusal.code is code


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[rooms.Waiting]:
    clock = FakeClock(rooms.NOW)
    store = clocked_store_of(tmp_path, clock)
    await store.start()
    yield rooms.waiting_in(store, clock, tmp_path)
    await store.close()


def key_of(room: rooms.Waiting) -> SecondKey:
    async def down(server: str) -> None:
        raise LinkDown("it crashed", sent=False)

    return SecondKey(room.room.desk, Recorder(room.store, room.clock), down)


async def test_whoever_names_its_approval_does_not_need_the_server_to_learn_what_became_of_it(
    room: rooms.Waiting,
) -> None:
    asked = rooms.held(rooms.call(), rooms.AT_ONCE)
    await room.room.desk.hold(asked)
    done = await room.room.approvers.approve((await room.row()).id, rooms.BOB)
    named = msgspec.structs.replace(asked.call, approval_id=done.id)
    assert isinstance(asked.verdict, Hold)
    by_id = await key_of(room).turned(named, asked.found, asked.verdict, Way(asked.origin), Policy())
    anew = await key_of(room).turned(asked.call, asked.found, asked.verdict, Way(asked.origin), Policy())

    assert isinstance(by_id, Approved)
    assert isinstance(anew, Unapproved)
    assert anew.reason.code is Code.UPSTREAM_DOWN


async def test_a_standing_grant_that_was_revoked_while_the_store_failed_stays_revoked(room: rooms.Waiting) -> None:
    asked = rooms.held(rooms.call(), rooms.AT_ONCE)
    await room.room.desk.hold(asked)
    done = await room.room.approvers.approve((await room.row()).id, rooms.BOB, Wish(GrantScope.IDENTICAL))
    (grant,) = room.register.board.grants()
    intent = asked.verdict.intent
    verdict = Allow((), asked.verdict.ground, intent, grant=grant.id, approval=done.id)

    async def forward() -> Reply:
        await room.register.revoke(grant.id, "bob")
        raise StoreUnavailable("broken")

    with pytest.raises(StoreUnavailable):
        await key_of(room).use(asked.call, verdict, forward, waited=False)

    assert room.register.board.grants() == ()


async def test_a_grant_that_is_seen_again_while_a_call_runs_by_it_lets_no_other_run_and_harms_the_first_in_nothing(
    room: rooms.Waiting,
) -> None:
    asked = rooms.held(rooms.call(), rooms.AT_ONCE)
    await room.room.desk.hold(asked)
    done = await room.room.approvers.approve((await room.row()).id, rooms.BOB)
    (grant,) = room.register.board.grants()
    verdict = Allow((), asked.verdict.ground, asked.verdict.intent, grant=grant.id, approval=done.id)
    key, ran = key_of(room), Reply("act_1")

    async def second() -> Reply:
        pytest.fail("it was let run")

    async def first() -> Reply:
        room.register.take_up_grants([grant])  # as one that reads what other gateways have changed may do too late
        assert await key.use(asked.call, verdict, second, waited=False) is None
        return ran

    assert await key.use(asked.call, verdict, first, waited=False) is ran


async def test_a_grant_whose_call_was_stopped_before_it_left_is_there_for_the_next(room: rooms.Waiting) -> None:
    asked = rooms.held(rooms.call(), rooms.AT_ONCE)
    await room.room.desk.hold(asked)
    done = await room.room.approvers.approve((await room.row()).id, rooms.BOB)
    (grant,) = room.register.board.grants()
    verdict = Allow((), asked.verdict.ground, asked.verdict.intent, grant=grant.id, approval=done.id)

    async def stopped() -> Reply:
        return Reply("act_1", unsent=True)

    await key_of(room).use(asked.call, verdict, stopped, waited=False)

    assert room.register.board.grants() == (grant,)
