"""Asking a legacy client in the stream of its call."""

import asyncio
import json
from typing import Any

import pytest

from interlock.core.questions import Answerable, Question
from interlock.pipeline import Answer
from interlock.receive import asking
from interlock.receive.asking import Account, LiveAsker
from interlock.receive.decode import Response
from interlock.receive.sessions import Session

FORM = Question("elicitation/create", {"message": "Sure?", "requestedSchema": {}})
URL = Question("elicitation/create", {"mode": "url", "message": "Sign in", "url": "https://example.com"})
ROOTS = Question("roots/list", {})
ALL = Answerable(form=True, url=True, sampling=True, roots=True)


class Client:
    """A session whose client hears everything, and answers when it is told to."""

    def __init__(self, can: Answerable = ALL, *, reads: bool = True) -> None:
        self.session = Session("s", "ada", None, 0, can=can)
        self.heard: list[dict[str, Any]] = []
        self.news = asyncio.Event()
        self.asker = LiveAsker(self.session, self._tell, Account(can, "up"))
        self._reads = reads

    def _tell(self, message: bytes) -> bool:
        self.heard.append(json.loads(message))
        self.news.set()
        return self._reads

    async def asked(self) -> dict[str, Any]:
        await self.news.wait()
        self.news.clear()
        return self.heard[-1]

    def answer(self, number: Any, **members: Any) -> bool:
        return self.session.answered(Response(number, members))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def ask(client: Client, question: Question = FORM, **members: Any) -> Answer:
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(client.asker.ask({"q": question}))
        client.answer((await client.asked())["id"], **members)
    return task.result()["q"]


async def test_a_question_has_an_id_of_ours_and_its_answer_comes_back() -> None:
    client = Client()
    answer = await ask(client, result={"action": "accept", "content": {"a": 1}, "_meta": {}})
    (asked,) = client.heard

    assert (asked["method"], asked["params"]) == (FORM.method, FORM.params)
    assert asked["id"].startswith("interlock-")
    assert json.loads(answer.result) == {"action": "accept", "content": {"a": 1}}
    assert client.session.asked == {}
    assert client.asker.asked == {"elicitation": 1}


async def test_a_link_gets_the_id_that_legacy_clients_want() -> None:
    client = Client()
    await ask(client, URL, result={"action": "accept"})

    assert client.heard[0]["params"]["elicitationId"]


async def test_questions_without_params_are_sent_without() -> None:
    client = Client()
    await ask(client, ROOTS, result={"roots": []})

    assert "params" not in client.heard[0]


async def test_several_questions_are_asked_one_after_another() -> None:
    client = Client()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(client.asker.ask({"a": FORM, "b": ROOTS}))
        client.answer((await client.asked())["id"], result={"action": "decline"})
        assert len(client.heard) == 1
        client.answer((await client.asked())["id"], result={"roots": []})

    assert [json.loads(each.result) for each in task.result().values()] == [{"action": "decline"}, {"roots": []}]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        ({"code": -1, "message": "no", "data": {"secret": 1}}, -1, "no"),
        ({"code": "x", "message": 5}, -32603, ""),
        ("no", -32603, ""),
        ({"code": -1, "message": "x" * 5000}, -1, "x" * 1000),
    ],
)
async def test_an_error_of_the_client_is_passed_on_in_short(error: Any, code: int, message: str) -> None:
    answer = await ask(Client(), error=error)

    assert answer.error is not None
    assert (answer.error.code, answer.error.message, answer.error.data) == (code, message, b"")


async def test_an_answer_that_is_none_is_an_error() -> None:
    answer = await ask(Client(), result={"action": "maybe"})

    assert answer.error is not None
    assert answer.error.code == -32603


async def test_what_the_client_cannot_be_asked_is_not_asked_and_kept_as_a_problem() -> None:
    client = Client(Answerable(form=True))
    answers = await client.asker.ask({"a": FORM, "b": ROOTS})

    assert client.heard == []
    assert {each.error.code for each in answers.values() if each.error} == {-32601}
    assert client.asker.account.problem is not None
    assert client.asker.account.problem.data == {"requiredCapabilities": {"roots": {}}}
    assert client.asker.asked == {"elicitation": 1, "roots": 1}


async def test_a_client_that_does_not_read_is_not_waited_for() -> None:
    answers = await Client(reads=False).asker.ask({"q": FORM})

    assert answers["q"].error is not None


async def test_a_question_that_is_given_up_is_withdrawn() -> None:
    client = Client()
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        task = group.create_task(client.asker.ask({"q": FORM}))
        own = (await client.asked())["id"]
        task.cancel()

    assert client.heard[-1]["method"] == "notifications/cancelled"
    assert client.heard[-1]["params"] == {"requestId": own}
    assert client.answer(own, result={"action": "accept"}) is False


async def test_whoever_did_not_answer_in_time_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "ASK_SECONDS", 0)
    client = Client()
    first = await client.asker.ask({"q": FORM})
    second = await client.asker.ask({"q": FORM})

    assert [each["q"].error is not None for each in (first, second)] == [True, True]
    assert [each["method"] for each in client.heard] == [FORM.method, "notifications/cancelled"]
