"""Calls that wait for their modern client: how they go on, and how they end."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

import pytest

from interlock.core.canonical import argument_digest
from interlock.core.model import Call, Caller, JsonObject
from interlock.core.questions import Answerable, Question
from interlock.pipeline import Answer, Notification, Reply
from interlock.receive import parked as module
from interlock.receive.asking import Account
from interlock.receive.decode import Request
from interlock.receive.parked import BadAnswer, BadState, ParkedCall, Parking, Required
from interlock.receive.sealed import Seal
from tests.fakes import FakeClock

CALL = Call(Caller("ada"), "up", "ask", {}, argument_digest({}))
FORM = Question("elicitation/create", {"message": "Sure?", "requestedSchema": {}})
OTHER = Question("elicitation/create", {"message": "Delete all?", "requestedSchema": {}})
ROOTS = Question("roots/list", {})
YES: dict[str, Any] = {"action": "accept", "content": {}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def parking() -> AsyncGenerator[Parking]:
    lot = Parking(Seal(FakeClock()))
    async with asyncio.timeout(10), lot.running():
        yield lot


def begin(parking: Parking, run: Callable[[ParkedCall], Any], early: JsonObject | None = None) -> ParkedCall:
    return parking.begin(CALL, Account(Answerable(form=True, roots=True), "up"), run, early or {})


def answering(state: str, answers: Any = None) -> Request:
    return Request(
        2, "tools/call", {"requestState": state, "inputResponses": {"q": YES} if answers is None else answers}
    )


async def asks_once(parked: ParkedCall) -> Reply:
    answers = await parked.ask({"q": FORM})
    return Reply("id", Answer(answers["q"].result))


async def required(parking: Parking, parked: ParkedCall) -> Required:
    outcome = await parking.outcome(parked, None)
    assert isinstance(outcome, Required)
    return outcome


async def test_a_call_that_asks_nothing_ends_at_once(parking: Parking) -> None:
    async def run(parked: ParkedCall) -> Reply:
        return Reply("id", Answer(b"{}"))

    assert await parking.outcome(begin(parking, run), None) == Reply("id", Answer(b"{}"))


async def test_a_call_goes_on_with_the_answer(parking: Parking) -> None:
    parked = begin(parking, asks_once)
    asked = await required(parking, parked)
    found = parking.find(CALL, answering(asked.state))
    reply = await parking.outcome(parked, None)

    assert found is parked
    assert isinstance(reply, Reply)
    assert reply.answer is not None
    assert json.loads(reply.answer.result) == YES
    assert json.loads(asked.result()) == {
        "resultType": "input_required",
        "inputRequests": {"q": {"method": FORM.method, "params": FORM.params}},
        "requestState": asked.state,
    }


async def test_an_answer_that_came_before_the_question_is_taken_if_it_is_one(parking: Parking) -> None:
    reply = await parking.outcome(begin(parking, asks_once, {"q": YES, "other": 1}), None)

    assert reply == Reply("id", Answer(json.dumps(YES, separators=(",", ":")).encode()))


@pytest.mark.parametrize("early", [{"other": YES}, {"q": 7}, {"q": {"action": "perhaps"}}])
async def test_an_answer_that_came_before_the_question_and_is_none_is_passed_over(
    parking: Parking, early: JsonObject
) -> None:
    asked = await required(parking, begin(parking, asks_once, early))

    assert asked.questions == {"q": FORM}


async def test_an_answer_that_came_before_the_question_is_good_for_the_first_one_only(parking: Parking) -> None:
    async def asks_twice(parked: ParkedCall) -> Reply:
        await parked.ask({"q": FORM})
        return await asks_once(parked)

    asked = await required(parking, begin(parking, asks_twice, {"q": YES}))

    assert asked.questions == {"q": FORM}


async def test_rounds_follow_one_another_each_with_a_state_of_its_own(parking: Parking) -> None:
    async def run(parked: ParkedCall) -> Reply:
        await asyncio.gather(parked.ask({"q": FORM}), parked.ask({"q": ROOTS}))
        return Reply("id")

    parked = begin(parking, run)
    first = await required(parking, parked)
    parking.find(CALL, answering(first.state))
    second = await required(parking, parked)
    parking.find(CALL, answering(second.state, {"q": {"roots": []}}))

    assert await parking.outcome(parked, None) == Reply("id")
    assert (first.questions, second.questions) == ({"q": FORM}, {"q": ROOTS})
    assert first.state != second.state


async def test_a_state_is_good_once(parking: Parking) -> None:
    parked = begin(parking, asks_once)
    state = (await required(parking, parked)).state
    parking.find(CALL, answering(state))
    with pytest.raises(BadState):
        parking.find(CALL, answering(state))


@pytest.mark.parametrize("answers", [{}, {"other": YES}, [], "yes"])
async def test_whoever_does_not_answer_everything_is_asked_the_same_again(parking: Parking, answers: Any) -> None:
    asked = await required(parking, begin(parking, asks_once))

    assert parking.find(CALL, answering(asked.state, answers)) == asked
    assert len(parking) == 1


async def test_an_answer_that_is_none_leaves_the_call_waiting(parking: Parking) -> None:
    asked = await required(parking, begin(parking, asks_once))
    with pytest.raises(BadAnswer):
        parking.find(CALL, answering(asked.state, {"q": {"action": "maybe"}}))

    assert len(parking) == 1


async def test_whoever_leaves_ends_the_call(parking: Parking) -> None:
    ended = asyncio.Event()

    async def run(parked: ParkedCall) -> Reply:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Reply("id")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(parking.outcome(begin(parking, run), None))
        await asyncio.sleep(0)
        task.cancel()

    assert ended.is_set()


async def test_a_call_that_nobody_comes_back_to_ends(parking: Parking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ASK_SECONDS", 0.01)
    parked = begin(parking, asks_once)
    state = (await required(parking, parked)).state
    assert parked.task is not None
    await asyncio.wait({parked.task})

    assert parked.task.cancelled()
    with pytest.raises(BadState):
        parking.find(CALL, answering(state))


async def test_a_gateway_that_stops_ends_every_call() -> None:
    parking = Parking(Seal(FakeClock()))
    async with parking.running():
        parked = begin(parking, asks_once)
        await required(parking, parked)

    assert parked.task is not None
    assert parked.task.cancelled()


async def test_whoever_waits_for_a_call_that_is_ended_is_told_so(parking: Parking) -> None:
    parked = begin(parking, asks_once)
    state = (await required(parking, parked)).state
    assert parked.task is not None
    parked.task.cancel()
    parking.find(CALL, answering(state))
    with pytest.raises(BadState):
        await parking.outcome(parked, None)


async def test_a_result_that_came_meanwhile_waits_for_the_client(parking: Parking) -> None:
    async def run(parked: ParkedCall) -> Reply:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await parked.ask({"q": FORM})
        return Reply("late")

    parked = begin(parking, run)
    asked = await required(parking, parked)
    assert parked.task is not None
    await asyncio.wait({parked.task})
    parking.find(CALL, answering(asked.state, {}))

    assert await parking.outcome(parked, None) == Reply("late")


async def test_what_is_told_goes_to_the_client_that_is_connected_now(parking: Parking) -> None:
    heard: list[str] = []

    async def run(parked: ParkedCall) -> Reply:
        parked.hear(Notification("before"))
        await parked.ask({"q": FORM})
        await parked.ask({"q": FORM})
        parked.hear(Notification("after"))
        return Reply("id")

    parked = begin(parking, run)
    first = await parking.outcome(parked, lambda told: heard.append(f"first {told.method}"))
    parked.hear(Notification("nobody"))
    assert isinstance(first, Required)
    parking.find(CALL, answering(first.state))
    second = await parking.outcome(parked, None)
    assert isinstance(second, Required)
    parking.find(CALL, answering(second.state))
    await parking.outcome(parked, lambda told: heard.append(f"last {told.method}"))

    assert heard == ["first before", "last after"]


async def test_an_answer_is_never_taken_for_one_to_another_question(parking: Parking) -> None:
    answers: list[Any] = []

    async def run(parked: ParkedCall) -> Reply:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await parked.ask({"q": FORM})
        answers.append((await parked.ask({"q": OTHER}))["q"].result)
        return Reply("id")

    parked = begin(parking, run)
    first = await required(parking, parked)
    async with asyncio.timeout(10):
        while parked.questions != {"q": OTHER}:  # noqa: ASYNC110 - there is no event for what a server changes its mind to
            await asyncio.sleep(0.01)
    parking.find(CALL, answering(first.state))
    second = await required(parking, parked)

    assert answers == []
    assert second.questions == {"q": OTHER}
    parking.find(CALL, answering(second.state, {"q": {"action": "decline"}}))
    await parking.outcome(parked, None)
    assert answers == [b'{"action":"decline"}']


async def test_a_defect_belongs_to_the_client_that_waits_and_to_nobody_else(parking: Parking) -> None:
    async def run(parked: ParkedCall) -> Reply:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await parking.outcome(begin(parking, run), None)
    other = begin(parking, asks_once)

    assert isinstance(await parking.outcome(other, None), Required)


async def test_a_caller_has_room_for_so_many(parking: Parking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 1)
    refused: list[Mapping[str, Answer]] = []

    async def run(parked: ParkedCall) -> Reply:
        refused.append(await parked.ask({"q": FORM}))
        return Reply("id")

    await required(parking, begin(parking, asks_once))
    second = begin(parking, run)
    await parking.outcome(second, None)

    assert refused[0]["q"].error is not None
    assert second.account.problem is not None
    assert parking.has_room("somebody else")


async def test_calls_that_ask_at_the_same_time_share_the_room(
    parking: Parking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    calls = [begin(parking, asks_once) for _ in range(5)]
    outcomes = await asyncio.gather(*(parking.outcome(each, None) for each in calls))

    assert [isinstance(each, Required) for each in outcomes] == [True, True, False, False, False]


async def test_what_the_client_cannot_be_asked_does_not_park_the_call(parking: Parking) -> None:
    async def run(parked: ParkedCall) -> Reply:
        answers = await parked.ask({"q": Question("sampling/createMessage", {})})
        assert answers["q"].error is not None
        return Reply("id")

    parked = begin(parking, run)

    assert await parking.outcome(parked, None) == Reply("id")
    assert parked.asked == {"sampling": 1}
    assert parked.can == Answerable(form=True, roots=True)
