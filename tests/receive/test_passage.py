"""What the passage does by itself; the rest of it is seen through the wire in behaviours."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from interlock.core.model import Caller
from interlock.kept import Origin
from interlock.receive.catalog import Catalog
from interlock.receive.decode import Request
from interlock.receive.earshot import MAX_WATCHED, Earshot, Hearer
from interlock.receive.passage import LEGACY_ONLY, Passage
from interlock.receive.sessions import Session
from interlock.receive.turns import Context
from tests.forward.children import python
from tests.forward.fleets import SERVER
from tests.running import Running, server_yaml, serving, turns_of
from tests.upstream.running import received, stdio_argv

README = "up+note:///readme"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "upstream.log"


@pytest.fixture
async def running(tmp_path: Path, log: Path) -> AsyncGenerator[Running]:
    text = "servers:\n" + server_yaml("up", stdio_argv(log, era="legacy"))
    async with serving(tmp_path, text) as running:
        yield running


def passage_of(running: Running) -> Passage:
    return Passage(running.gateway.pipeline, Catalog(), Earshot(tools=True), turns_of(running.gateway))


def in_session() -> Context:
    session = Session("s", "agent", None, 0, hearer=Hearer(Caller("agent")))
    return Context(Caller("agent"), modern=False, origin=Origin("test"), session=session)


async def ask(passage: Passage, context: Context, method: str, **params: Any) -> Any:
    return json.loads(await passage.serve(Request(1, method, params), context, lambda _: None))


async def test_the_modern_protocol_has_fewer_methods(running: Running) -> None:
    passage = passage_of(running)

    assert all(passage.serves(method, modern=False) for method in passage.methods)
    assert [each for each in passage.methods if not passage.serves(each, modern=True)] == sorted(
        LEGACY_ONLY, key=list(passage.methods).index
    )
    assert not passage.serves("initialize", modern=False)


def told(log: Path, method: str) -> list[str]:
    return [each.message["params"]["uri"] for each in received(log) if each.method == method]


async def test_subscribing_twice_counts_once(running: Running, log: Path) -> None:
    passage, context = passage_of(running), in_session()
    for _ in range(3):
        assert (await ask(passage, context, "resources/subscribe", uri=README))["result"] == {}
    hearing = running.gateway.fleet.upstreams["up"].hearing

    assert hearing._watchers == {"note:///readme": 1}  # pyright: ignore[reportPrivateUsage]
    await ask(passage, context, "resources/unsubscribe", uri=README)
    assert hearing._watchers == {}  # pyright: ignore[reportPrivateUsage]
    assert told(log, "resources/subscribe") == ["note:///readme"]


async def test_a_client_that_goes_away_takes_its_subscriptions_along(running: Running) -> None:
    passage, context, other = passage_of(running), in_session(), in_session()
    assert context.session is not None
    assert context.session.hearer is not None
    await ask(passage, context, "resources/subscribe", uri=README)
    await ask(passage, context, "resources/subscribe", uri="up+note:///logo")
    await ask(passage, other, "resources/subscribe", uri=README)
    passage.forget(context.session.hearer)

    assert running.gateway.fleet.upstreams["up"].hearing._watchers == {  # pyright: ignore[reportPrivateUsage]
        "note:///readme": 1
    }


async def test_one_client_watches_so_many_resources_and_no_more(running: Running) -> None:
    passage, context = passage_of(running), in_session()
    assert context.session is not None
    assert context.session.hearer is not None
    context.session.hearer.watched |= {("up", f"x:{number}"): "x" for number in range(MAX_WATCHED)}
    answer = await ask(passage, context, "resources/subscribe", uri=README)

    assert answer["error"]["data"]["code"] == "QUOTA"


async def test_without_a_session_there_is_nobody_to_tell(running: Running) -> None:
    context = Context(Caller("agent"), modern=False, origin=Origin("test"))
    answer = await ask(passage_of(running), context, "resources/subscribe", uri=README)

    assert answer["error"]["code"] == -32602


POOR = """
CAN = {"resources": {}, "prompts": {}}

def answer(message):
    method = message["method"]
    if method == "initialize":
        result(message, protocolVersion="2025-11-25", capabilities=CAN, serverInfo={"name": "x", "version": "1"})
    elif method == "resources/list":
        result(message, resources=[{"uri": "a:1"}])
    elif method == "prompts/list":
        result(message, prompts=[{"name": "p"}])
    elif method == "resources/read":
        say(id=message["id"], result=json.loads(message["params"]["uri"][2:]))
    elif method == "tools/list":
        result(message, tools=[])
    else:
        refuse(message)

while message := hear():
    if "id" in message:
        answer(message)
"""
"""A server that has resources and prompts and nothing else, and answers a read with what stands in the URI."""


@pytest.fixture
async def poor(tmp_path: Path) -> AsyncGenerator[Running]:
    script = tmp_path / "poor.py"
    script.write_text(python(SERVER + POOR)[4], encoding="utf-8")
    async with serving(tmp_path, "servers:\n" + server_yaml("up", [python("")[0], str(script)])) as running:
        yield running


async def test_what_a_server_does_not_offer_is_not_asked(poor: Running) -> None:
    passage, context = passage_of(poor), in_session()
    watched = await ask(passage, context, "resources/subscribe", uri="up+a:1")
    ref = {"type": "ref/prompt", "name": "up__p"}
    completed = await ask(passage, context, "completion/complete", ref=ref, argument={"name": "x", "value": ""})

    assert watched["error"]["message"].startswith("Server 'up' does not offer subscriptions.")
    assert completed["result"]["completion"]["values"] == []
    assert await poor.activities() == []


@pytest.mark.parametrize(
    "result", ["7", "[]", '{"contents":7}', '{"contents":[7]}', '{"contents":[{"uri":7}]}', "null"]
)
async def test_an_answer_that_is_none_is_refused_and_harms_nobody(poor: Running, result: str) -> None:
    answer = await ask(passage_of(poor), in_session(), "resources/read", uri=f"up+a:{result}")

    assert answer["error"]["data"]["code"] == "UPSTREAM_DOWN"
