"""What an upstream asks, on its way to the asker of the call and back."""

import asyncio
import json
from typing import Any

import pytest

from interlock.core.questions import Question
from interlock.forward import questions as module
from interlock.forward.envelope import Question as Request
from interlock.forward.link import Answer, LinkDown, LinkTimeout, RpcError
from interlock.forward.questions import MAX_AT_ONCE, MAX_QUESTIONS, MAX_ROUNDS, Again, Inquiries, Timer
from tests.forward.askers import Asker

FORM: dict[str, Any] = {"message": "Sure?", "requestedSchema": {}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def request(number: int, method: str = "elicitation/create", params: Any = FORM) -> Request:
    return Request(b"%d" % number, method, json.dumps(params).encode())


# Requests of a legacy upstream ----------------------------------------------------------------------------------


class Talk:
    """Inquiries around a request that ends when it is told to."""

    def __init__(self, asker: Asker) -> None:
        self.replies: list[dict[str, Any]] = []
        self.inquiries = Inquiries(asker, self._reply)
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._news = asyncio.Event()

    def _reply(self, text: bytes) -> None:
        self.replies.append(json.loads(text))
        self._news.set()

    async def replied(self, times: int) -> None:
        async with asyncio.timeout(10):
            while len(self.replies) < times:
                self._news.clear()
                await self._news.wait()


async def test_a_question_goes_to_the_asker_and_its_answer_back_under_its_own_id() -> None:
    asker = Asker()
    talk = Talk(asker)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(talk.inquiries.during(talk.answer))
        await asyncio.sleep(0)
        talk.inquiries.take(Request(b'"own"', "elicitation/create", json.dumps(FORM).encode()))
        await talk.replied(1)
        talk.answer.set_result(Answer(b"{}"))

    assert task.result() == Answer(b"{}")
    assert talk.replies == [{"jsonrpc": "2.0", "id": "own", "result": {"action": "accept"}}]
    assert asker.heard == [{"question": Question("elicitation/create", FORM)}]


async def test_an_error_is_passed_on_without_its_data() -> None:
    talk = Talk(Asker(Answer(error=RpcError(-5, "no", b'{"a":1}'))))
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.inquiries.during(talk.answer))
        await asyncio.sleep(0)
        talk.inquiries.take(request(1))
        await talk.replied(1)
        talk.answer.set_result(Answer(b"{}"))

    assert talk.replies[0]["error"] == {"code": -5, "message": "no"}


async def test_what_may_not_be_asked_is_refused_and_nobody_hears_of_it() -> None:
    asker = Asker()
    talk = Talk(asker)
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.inquiries.during(talk.answer))
        await asyncio.sleep(0)
        talk.inquiries.take(request(1, "tasks/list"))
        talk.inquiries.take(request(2, params={}))
        await talk.replied(2)
        talk.answer.set_result(Answer(b"{}"))

    assert [each["error"]["code"] for each in talk.replies] == [-32601, -32602]
    assert asker.heard == []


async def test_what_is_not_answered_when_the_request_ends_is_withdrawn() -> None:
    asker = Asker()
    asker.go_on.clear()
    talk = Talk(asker)
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.inquiries.during(talk.answer))
        await asyncio.sleep(0)
        talk.inquiries.take(request(1))
        await asyncio.sleep(0)
        talk.answer.set_result(Answer(b"{}"))

    assert asker.withdrawn == 1
    assert talk.replies == []


async def test_what_the_upstream_takes_back_is_withdrawn_and_the_request_goes_on() -> None:
    asker = Asker()
    asker.go_on.clear()
    talk = Talk(asker)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(talk.inquiries.during(talk.answer))
        await asyncio.sleep(0)
        talk.inquiries.take(request(1))
        await asyncio.sleep(0)
        talk.inquiries.withdraw(b"2")
        talk.inquiries.withdraw(b"1")
        await asyncio.sleep(0)
        talk.answer.set_result(Answer(b"{}"))

    assert asker.withdrawn == 1
    assert task.result() == Answer(b"{}")


async def test_a_failure_of_the_request_is_raised_as_it_is() -> None:
    talk = Talk(Asker())
    talk.answer.set_exception(LinkDown("gone", sent=True))
    with pytest.raises(LinkDown, match="gone"):
        await talk.inquiries.during(talk.answer)


async def test_there_are_only_so_many_questions_in_one_request_and_each_has_its_own_id() -> None:
    asker = Asker()
    asker.go_on.clear()
    talk = Talk(asker)
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.inquiries.during(talk.answer))
        await asyncio.sleep(0)
        talk.inquiries.take(request(0))
        talk.inquiries.take(request(0))
        for number in range(1, MAX_QUESTIONS + 5):
            talk.inquiries.take(request(number))
        await talk.replied(6)
        asker.go_on.set()
        await talk.replied(6 + MAX_QUESTIONS)
        talk.answer.set_result(Answer(b"{}"))

    assert len(asker.heard) == MAX_QUESTIONS


async def test_a_timer_does_not_count_while_it_is_stopped() -> None:
    due = asyncio.Event()
    timer = Timer(0.05, due.set)
    with timer.stopped(), timer.stopped():
        await asyncio.sleep(0.15)
        assert not due.is_set()
    async with asyncio.timeout(10):
        await due.wait()


async def test_a_timer_that_is_cancelled_while_it_is_stopped_stays_so() -> None:
    due: list[int] = []
    timer = Timer(0.01, lambda: due.append(1))
    with timer.stopped():
        timer.cancel()
    timer.cancel()
    await asyncio.sleep(0.03)

    assert due == []


# A modern upstream ----------------------------------------------------------------------------------------------


def wants(*keys: str, state: str | None = "s", method: str = "roots/list", **more: Any) -> Answer:
    requests = {key: {"method": method} for key in keys}
    result = {"resultType": "input_required", "inputRequests": requests, **more}
    return Answer(json.dumps({**result, **({} if state is None else {"requestState": state})}).encode())


class Upstream:
    """Gives one answer after another; the last one again and again."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.sent: list[bytes] = []

    async def send(self, more: bytes, seconds: float) -> Answer:
        self.sent.append(more)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


async def answered(first: Answer, *then: Answer, asker: Asker | None = None, seconds: float = 10) -> tuple[Answer, Any]:
    upstream = Upstream(*then)
    answer = await Again(upstream.send, asker, "up").until_answered(first, seconds)
    return answer, [json.loads(b"{" + each.removeprefix(b",") + b"}") for each in upstream.sent]


DONE = Answer(b'{"resultType":"complete"}')


async def test_a_modern_upstream_is_asked_again_with_the_answers_and_its_own_state() -> None:
    asker = Asker()
    answer, sent = await answered(wants("a", "b", state="one"), wants("c", state=None), DONE, asker=asker)

    assert answer == DONE
    assert sent == [
        {"inputResponses": {"a": {"action": "accept"}, "b": {"action": "accept"}}, "requestState": "one"},
        {"inputResponses": {"c": {"action": "accept"}}},
    ]
    assert [list(each) for each in asker.heard] == [["a", "b"], ["c"]]


async def test_one_that_only_wants_to_be_asked_again_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0)
    asker = Asker()
    answer, sent = await answered(wants(state="later"), DONE, asker=asker)

    assert answer == DONE
    assert sent == [{"requestState": "later"}]
    assert asker.heard == []


@pytest.mark.parametrize(
    "text", [b'{"a":"input_required"}', b'{"resultType":5,"a":"input_required"}', b'"input_required"']
)
async def test_a_result_that_only_looks_like_a_question_is_a_result(text: bytes) -> None:
    answer, sent = await answered(Answer(text), DONE, asker=Asker())

    assert answer == Answer(text)
    assert sent == []


@pytest.mark.parametrize(
    "first",
    [
        wants("a", method="tasks/list"),
        wants("a", method="elicitation/create"),
        wants(*(str(number) for number in range(MAX_AT_ONCE + 1))),
        wants("x" * 201),
        wants("a", padding="x" * 200_000),
        Answer(b'{"resultType":"input_required","inputRequests":[]}'),
        Answer(b'{"resultType":"input_required","inputRequests":{"a":5}}'),
        Answer(b'{"resultType":"input_required","requestState":5}'),
    ],
)
async def test_what_a_modern_upstream_may_not_ask_ends_the_call(first: Answer) -> None:
    asker = Asker()
    answer, sent = await answered(first, DONE, asker=asker)

    assert answer.error is not None
    assert "not passed on" in answer.error.message
    assert (sent, asker.heard) == ([], [])


async def test_without_an_asker_it_may_not_ask() -> None:
    answer, sent = await answered(wants("a"), DONE)

    assert answer.error is not None
    assert "per-caller" in answer.error.message
    assert sent == []


async def test_a_refused_question_ends_the_call_with_the_refusal() -> None:
    refusal = Answer(error=RpcError(-32601, "no"))
    answer, sent = await answered(wants("a"), DONE, asker=Asker(refusal))

    assert answer == refusal
    assert sent == []


async def test_it_is_not_asked_for_ever() -> None:
    asker = Asker()
    answer, sent = await answered(wants("a"), wants("a"), asker=asker)

    assert answer.error is not None
    assert len(sent) == len(asker.heard) == MAX_ROUNDS


async def test_the_time_ends_it() -> None:
    with pytest.raises(LinkTimeout):
        await answered(wants("a"), DONE, asker=Asker(), seconds=0)
