"""Questions of servers, in every combination of eras: they reach the client of the call that caused them, or nobody."""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError

from interlock.core.lifecycle import CallState
from interlock.receive import asking as asking_module
from interlock.receive import parked
from interlock.store.protocol import Activity, ActivityFilter
from tests.asking import ALL, WORD, Legacy, Modern, Person, asking, connected, token_for
from tests.behaviours.test_stdio import until
from tests.clients import typescript
from tests.clients.script import call
from tests.fakes import FakeClock
from tests.running import server_yaml, serving
from tests.stores import store_of
from tests.talking import NO_TLS, argv, clean
from tests.upstream.everything import everything_argv
from tests.upstream.running import events, received

MODES = ("legacy", "2026-07-28", "auto")
KINDS = ("form", "url", "sampling", "roots")
ANSWERS: dict[str, Any] = {
    "form": {"action": "accept", "content": {"word": f"{WORD} Sure?"}},
    "url": {"action": "accept"},
    "sampling": {
        "role": "assistant",
        "content": {"type": "text", "text": WORD},
        "model": "m",
        "stopReason": "endTurn",
    },
    "roots": {"roots": [{"uri": "file:///here", "name": WORD}]},
}
each_cell = pytest.mark.parametrize(
    ("mode", "era", "transport"),
    [(mode, era, transport) for mode in MODES for era in ("legacy", "modern") for transport in ("stdio", "http")],
)


@pytest.fixture
async def http() -> AsyncGenerator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as client:
        yield client


async def answers(client: Client, **arguments: Any) -> list[Any]:
    """What the server was answered when it asked."""
    result = await client.call_tool("up__ask", arguments)
    assert result.structured_content is not None, result
    return result.structured_content["answers"]


def metadata(record: Activity) -> Any:
    return record.body["metadata"]


# Every cell -----------------------------------------------------------------------------------------------------


@each_cell
async def test_each_kind_of_question_reaches_the_client_and_its_answer_the_server(
    tmp_path: Path, mode: str, era: str, transport: str
) -> None:
    person = Person()
    async with asking(tmp_path, era, transport) as stage, connected(person, stage.running, mode) as client:
        heard = {kind: await answers(client, kind=kind, message="Sure?") for kind in KINDS}

    assert heard == {kind: [ANSWERS[kind]] for kind in KINDS}
    assert [each.get("message") for each in person.seen] == ["Sure?", "Sure?", None, None]


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_call_that_asks_is_decided_recorded_and_begun_once(tmp_path: Path, mode: str, era: str) -> None:
    async with asking(tmp_path, era) as stage, connected(Person(), stage.running, mode) as client:
        heard = await answers(client, kind="form,roots", times=3, message="Sure?")
        await stage.running.gateway.store.write([])
        (record,) = await stage.running.activities()

    assert heard == [ANSWERS["form"], ANSWERS["roots"]] * 3
    assert record.status is CallState.SUCCESS
    assert metadata(record)["questions"] == {"elicitation": 3, "roots": 3}
    assert WORD not in json.dumps(metadata(record))
    # A modern server is asked again after each of three rounds; that is its way, and still one call.
    assert stage.sends() == (1 if era == "legacy" else 4)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_call_that_waits_for_its_client_is_open_on_record(
    tmp_path: Path, http: httpx2.AsyncClient, era: str
) -> None:
    async with asking(tmp_path, era, top="record: {wait: all}") as stage:
        client = Modern(http, stage.running)
        given = await parked_call(client)
        (meanwhile,) = await stage.running.activities()
        await client.call({}, given)
        (after,) = await stage.running.activities()

    assert (meanwhile.status, after.status) == (CallState.SENT, CallState.SUCCESS)
    assert meanwhile.id == after.id


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_questions_pass_through_interlock_stdio_too(tmp_path: Path, mode: str, era: str) -> None:
    command, *rest = argv(tmp_path)
    parameters = StdioServerParameters(command=command, args=rest, env=clean(), cwd=tmp_path)
    async with asking(tmp_path, era), asyncio.timeout(30):
        with (tmp_path / "stderr").open("w") as errors:
            async with Person().client(stdio_client(parameters, errors), mode) as client:
                heard = {kind: await answers(client, kind=kind, message="Sure?") for kind in KINDS}

    assert heard == {kind: [ANSWERS[kind]] for kind in KINDS}


@pytest.mark.parametrize(("era", "transport"), [("legacy", "stdio"), ("legacy", "http"), ("modern", "stdio")])
@pytest.mark.parametrize("door", ["http", "stdio"])
async def test_the_official_typescript_client_answers(tmp_path: Path, door: str, era: str, transport: str) -> None:
    steps = [call("up__ask", {"kind": kind, "message": "Sure?"}) for kind in KINDS]
    async with asking(tmp_path, era, transport) as stage, asyncio.timeout(30):
        address = stage.running.url if door == "http" else tuple(argv(tmp_path))
        transcript = await typescript.play(address, steps)
    heard = [each.result["structuredContent"]["answers"] for each in transcript.outcomes if each.result]

    assert json.dumps(heard) == json.dumps([[ANSWERS[kind]] for kind in KINDS]).replace(WORD, "typescript")
    assert transcript.complaints == []


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_example_server_gets_its_answer(tmp_path: Path, mode: str) -> None:
    text = "posture: open\nexpose: direct\nservers:\n"
    text += server_yaml("up", everything_argv(tmp_path / "up.log"), sessions="per-caller")
    person = Person(word="Ada")
    async with serving(tmp_path, text) as running, connected(person, running, mode) as client:
        asked = await client.call_tool("up__trigger-elicitation-request", {})
        sampled = await client.call_tool("up__trigger-sampling-request", {"prompt": "Say a word."})

    assert "Ada" in str(asked.content)
    assert "Ada" in str(sampled.content)


@pytest.mark.parametrize(
    ("mode", "era", "transport"),
    [("legacy", "legacy", "stdio"), ("2026-07-28", "legacy", "http"), ("legacy", "modern", "stdio")],
)
async def test_the_time_of_a_call_stands_still_while_a_person_is_asked(
    tmp_path: Path, mode: str, era: str, transport: str
) -> None:
    person = Person(before=lambda: asyncio.sleep(1.5))
    served = asking(tmp_path, era, transport, more=", call_timeout: 1s")
    async with served as stage, connected(person, stage.running, mode) as client:
        heard = await answers(client, message="Sure?")

    assert heard == [ANSWERS["form"]]


# Clients that cannot be asked, and questions that are not passed on ---------------------------------------------


NEEDED: dict[str, Any] = {
    "form": {"elicitation": {"form": {}}},
    "url": {"elicitation": {"url": {}}},
    "sampling": {"sampling": {}},
    "roots": {"roots": {}},
}


async def test_a_modern_client_without_the_capability_is_told_which(tmp_path: Path, http: httpx2.AsyncClient) -> None:
    async with asking(tmp_path, "modern") as stage:
        client = Modern(http, stage.running, {})
        errors = {kind: (await client.call({"kind": kind}))["error"] for kind in KINDS}

    assert {each["code"] for each in errors.values()} == {-32021}
    assert {kind: each["data"]["requiredCapabilities"] for kind, each in errors.items()} == NEEDED
    assert {each["data"]["code"] for each in errors.values()} == {"BAD_REQUEST"}
    assert stage.sends() == 4


async def test_a_client_that_cannot_be_asked_has_the_question_refused_and_the_call_goes_on(tmp_path: Path) -> None:
    async with asking(tmp_path, "legacy") as stage, Client(stage.running.url, mode="legacy") as client:
        heard = [await answers(client, kind=kind) for kind in KINDS]

    assert [each["code"] for (each,) in heard] == [-32601] * 4
    assert stage.sends() == 4


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_call_that_fails_because_its_client_cannot_be_asked_says_so(
    tmp_path: Path, http: httpx2.AsyncClient, transport: str
) -> None:
    async with asking(tmp_path, "legacy", transport) as stage:
        modern = await Modern(http, stage.running, {}).call({"strict": True})
        async with Client(stage.running.url, mode="legacy") as client:
            legacy = await client.call_tool("up__ask", {"strict": True})
    refused = [each["error"]["code"] for each in stage.replies()]

    assert modern["error"]["code"] == -32021
    assert modern["error"]["data"]["requiredCapabilities"] == NEEDED["form"]
    assert legacy.is_error
    assert "without an answer" in str(legacy.content)
    assert refused == [-32601, -32601]


async def test_a_client_of_forms_only_is_not_sent_to_a_page(tmp_path: Path, http: httpx2.AsyncClient) -> None:
    async with asking(tmp_path, "legacy") as stage:
        heard = await Modern(http, stage.running, {"elicitation": {}}).call({"kind": "url"})

    assert heard["result"]["structuredContent"]["answers"][0]["code"] == -32602


async def test_a_legacy_client_that_a_modern_server_cannot_ask_gets_a_refusal(tmp_path: Path) -> None:
    async with asking(tmp_path, "modern") as stage, Client(stage.running.url, mode="legacy") as client:
        result = await client.call_tool("up__ask", {})

    assert result.is_error
    assert result.structured_content is not None
    assert result.structured_content["code"] == "BAD_REQUEST"


@pytest.mark.parametrize(("kind", "code"), [("evil", -32602), ("huge", -32602), ("unknown", -32601)])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_what_may_not_be_asked_reaches_nobody(tmp_path: Path, mode: str, kind: str, code: int) -> None:
    person = Person()
    async with asking(tmp_path, "legacy") as stage, connected(person, stage.running, mode) as client:
        (refused,) = await answers(client, kind=kind)

    assert refused["code"] == code
    assert person.seen == []


@pytest.mark.parametrize("kind", ["evil", "huge", "unknown"])
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_what_a_modern_server_may_not_ask_reaches_nobody(tmp_path: Path, mode: str, kind: str) -> None:
    person = Person()
    async with asking(tmp_path, "modern") as stage, connected(person, stage.running, mode) as client:
        with pytest.raises(MCPError, match="not passed on"):
            await client.call_tool("up__ask", {"kind": kind})

    assert person.seen == []


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_server_whose_session_is_shared_may_not_ask(tmp_path: Path, mode: str) -> None:
    person = Person()
    async with asking(tmp_path, "legacy", sessions="shared") as stage, connected(person, stage.running, mode) as client:
        (refused,) = await answers(client)
    opened = [each.message["params"] for each in received(stage.log) if each.method == "initialize"]

    assert refused["code"] == -32601
    assert [each["capabilities"] for each in opened] == [{}]
    assert person.seen == []


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_modern_server_whose_session_is_shared_may_not_ask(tmp_path: Path, mode: str) -> None:
    served = asking(tmp_path, "modern", sessions="shared")
    async with served as stage, connected(Person(), stage.running, mode) as client:
        with pytest.raises(MCPError, match="may not here"):
            await client.call_tool("up__ask", {})


async def test_a_server_that_may_ask_knows_what_its_client_can_be_asked(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    async with asking(tmp_path, "modern") as stage:
        await Modern(http, stage.running, {"roots": {}}).call({}, tool="echo")
    (sent,) = [each for each in received(stage.log) if each.method == "tools/call"]

    assert sent.message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}


# Whose question it is -------------------------------------------------------------------------------------------


async def test_a_question_outside_of_any_call_is_refused(tmp_path: Path) -> None:
    person = Person()
    async with asking(tmp_path, "legacy") as stage, connected(person, stage.running, "legacy") as client:
        await client.call_tool("up__ask_later", {})
        await until(lambda: events(stage.log, "answered"))

    assert [each["answer"]["error"]["code"] for each in events(stage.log, "answered")] == [-32601]
    assert person.seen == []


async def test_over_stdio_nobody_is_asked_while_two_calls_could_be_meant(tmp_path: Path) -> None:
    person = Person()
    async with asking(tmp_path, "legacy") as stage, connected(person, stage.running, "legacy") as client:
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(client.call_tool("up__slow", {"seconds": 1}))
            await until(stage.sends)
            refused = group.create_task(answers(client))
        alone = await answers(client, message="Sure?")

    assert refused.result()[0]["code"] == -32600
    assert not slow.result().is_error
    assert alone == [ANSWERS["form"]]


async def test_over_http_each_of_two_calls_gets_its_own_question(tmp_path: Path) -> None:
    person = Person()
    async with asking(tmp_path, "legacy", "http") as stage, connected(person, stage.running, "legacy") as client:
        heard = await asyncio.gather(*(answers(client, message=f"<{each}>") for each in range(10)))

    assert [each["content"]["word"] for (each,) in heard] == [f"{WORD} <{each}>" for each in range(10)]


async def test_over_stdio_a_process_that_may_still_ask_about_a_call_that_was_given_up_is_not_used_again(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    async with asking(tmp_path, "legacy") as stage:
        client = Legacy(http, stage.running)
        await client.open(ALL)
        async with client.calling({}) as messages:
            await anext(messages)
            await client.post({"method": "notifications/cancelled", "params": {"requestId": 1}})
            async for _ in messages:
                pass
        await until(stage.cancelled)
        before = len(events(stage.log, "started"))
        async with client.calling({}, 2) as messages:
            question = await anext(messages)
            await client.post({"id": question["id"], "result": {"action": "decline"}})
            (answer,) = [each async for each in messages]

    assert answer["result"]["structuredContent"]["answers"] == [{"action": "decline"}]
    assert len(events(stage.log, "started")) == before + 1


async def test_only_the_caller_who_was_asked_can_answer(tmp_path: Path, http: httpx2.AsyncClient) -> None:
    async with asking(tmp_path, "legacy") as stage:
        mallory = await token_for(stage.running, "mallory")
        ada, other = Legacy(http, stage.running), Legacy(http, stage.running, mallory)
        await ada.open(ALL)
        await other.open(ALL)
        async with ada.calling({}) as messages:
            question = await anext(messages)
            forged = {"id": question["id"], "result": {"action": "accept", "content": {"word": "forged"}}}
            in_own_session = await other.post(forged)
            in_hers = await ada.post(forged, **mallory)
            await ada.post({"id": question["id"], "result": {"action": "decline"}})
            again = await ada.post(forged)
            (answer,) = [each async for each in messages]

    assert answer["result"]["structuredContent"]["answers"] == [{"action": "decline"}]
    assert in_hers.status_code == 404
    assert {in_own_session.status_code, again.status_code} == {202}


# Giving up ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("way", ["cancelled", "delete", "leave"])
async def test_a_legacy_client_that_gives_up_while_it_is_asked_ends_both_sides(
    tmp_path: Path, http: httpx2.AsyncClient, transport: str, way: str
) -> None:
    async with asking(tmp_path, "legacy", transport) as stage:
        client = Legacy(http, stage.running)
        await client.open(ALL)
        async with client.calling({}) as messages:
            question = await anext(messages)
            if way == "cancelled":
                await client.post({"method": "notifications/cancelled", "params": {"requestId": 1}})
            elif way == "delete":
                await client.delete()
            rest = [] if way == "leave" else [each async for each in messages]
        await until(stage.cancelled)
        await stage.running.gateway.store.write([])
        (record,) = await stage.running.activities()

    assert [each.method for each in received(stage.log)].count("notifications/cancelled") == 1
    assert record.status is CallState.CANCELLED
    assert metadata(record)["questions"] == {"elicitation": 1}
    if way != "leave":
        assert rest[0]["params"] == {"requestId": question["id"]}


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_modern_client_that_leaves_a_call_it_came_back_to_ends_both_sides(
    tmp_path: Path, http: httpx2.AsyncClient, transport: str
) -> None:
    async with asking(tmp_path, "legacy", transport) as stage:
        client = Modern(http, stage.running)
        given = await parked_call(client, then_ms=60_000)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(client.call({"then_ms": 60_000}, given))
            await until(stage.replies)
            task.cancel()
        await until(stage.cancelled)
        await stage.running.gateway.store.write([])
        (record,) = await stage.running.activities()

    assert record.status is CallState.CANCELLED
    assert stage.sends() == 1


async def test_a_modern_client_that_leaves_before_it_is_asked_ends_both_sides(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    async with asking(tmp_path, "legacy") as stage:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(Modern(http, stage.running).call({"after_ms": 60_000}))
            await until(stage.sends)
            task.cancel()
        await until(stage.cancelled)
        await stage.running.gateway.store.write([])
        (record,) = await stage.running.activities()

    assert record.status is CallState.CANCELLED


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_call_whose_client_does_not_come_back_ends(
    tmp_path: Path, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch, transport: str
) -> None:
    monkeypatch.setattr(parked, "ASK_SECONDS", 0.2)
    async with asking(tmp_path, "legacy", transport) as stage:
        client = Modern(http, stage.running)
        asked = (await client.call({}))["result"]
        await until(stage.cancelled)
        late = await client.call({}, {"requestState": asked["requestState"], "inputResponses": {"question": {}}})
        await stage.running.gateway.store.write([])
        first, _ = await stage.running.activities()

    assert first.status is CallState.CANCELLED
    assert late["error"]["data"]["code"] == "BAD_REQUEST"
    assert stage.sends() == 1


async def test_a_legacy_client_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_module, "ASK_SECONDS", 0.1)
    async with asking(tmp_path, "legacy") as stage:
        client = Legacy(http, stage.running)
        await client.open(ALL)
        async with client.calling({"times": 2}) as messages:
            question, withdrawn, answer = [each async for each in messages]

    assert withdrawn["params"] == {"requestId": question["id"]}
    assert [each["code"] for each in answer["result"]["structuredContent"]["answers"]] == [-32600] * 2


async def test_a_gateway_that_stops_ends_the_calls_that_wait(tmp_path: Path, http: httpx2.AsyncClient) -> None:
    async with asking(tmp_path, "legacy") as stage:
        await Modern(http, stage.running).call({})
    store = store_of(stage.running.folder.path, FakeClock())
    await store.start()
    page = await store.list_activities(ActivityFilter(limit=50))
    await store.close()

    assert [each.status for each in page.items if each.tool == "ask"] == [CallState.CANCELLED]
    assert stage.cancelled() == 1


async def test_a_caller_has_a_limited_number_of_calls_that_wait(
    tmp_path: Path, http: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parked, "MAX_WAITING", 2)
    async with asking(tmp_path, "modern") as stage:
        client = Modern(http, stage.running)
        asked = [(await client.call({"message": f"{each}"})) for each in range(3)]

    assert ["result" in each for each in asked] == [True, True, False]
    assert asked[2]["error"]["data"]["code"] == "QUOTA"


# States ---------------------------------------------------------------------------------------------------------


async def parked_call(client: Modern, **arguments: Any) -> Any:
    """What a client needs to go on with a call that asked for a form."""
    asked = (await client.call(arguments))["result"]
    assert asked["resultType"] == "input_required"
    (key,) = asked["inputRequests"]
    return {"requestState": asked["requestState"], "inputResponses": {key: {"action": "accept", "content": {}}}}


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_state_is_good_for_its_own_call_only_and_once(
    tmp_path: Path, http: httpx2.AsyncClient, era: str
) -> None:
    async with asking(tmp_path, era) as stage:
        client = Modern(http, stage.running)
        mallory = await token_for(stage.running, "mallory")
        given = await parked_call(client, message="Sure?")
        state, sends = given["requestState"], stage.sends()
        sure = {"message": "Sure?"}
        refused = {
            "other arguments": await client.call({"message": "Sure!"}, given),
            "other tool": await client.call(sure, given, "echo"),
            "other caller": await client.call(sure, given, **mallory),
            "altered": await client.call(sure, {**given, "requestState": _altered(state)}),
            "made up": await client.call(sure, {**given, "requestState": secrets.token_urlsafe(56)}),
            "no text": await client.call(sure, {**given, "requestState": {"a": 1}}),
        }
        before = stage.sends()
        passed = await client.call(sure, given)
        refused["used"] = await client.call(sure, given)
        statuses = [each.status for each in await stage.running.activities() if each.tool != "ask"]
        codes = {case: (each["error"]["code"], each["error"]["data"]["code"]) for case, each in refused.items()}

    assert codes == dict.fromkeys(refused, (-32602, "BAD_REQUEST"))
    assert all(each["error"]["data"]["fix"] for each in refused.values())
    assert before == sends
    assert passed["result"]["structuredContent"]["answers"] == [{"action": "accept", "content": {}}]
    assert statuses == [CallState.BLOCKED] * len(refused)


def _altered(state: str) -> str:
    return ("B" if state[0] == "A" else "A") + state[1:]


async def test_answers_to_what_was_not_asked_are_passed_over(tmp_path: Path, http: httpx2.AsyncClient) -> None:
    async with asking(tmp_path, "modern") as stage:
        asked = await Modern(http, stage.running).call({}, {"inputResponses": {"other": {"action": "accept"}}})

    assert asked["result"]["resultType"] == "input_required"
    assert b"inputResponses" not in b"".join(each.raw for each in received(stage.log))


async def test_an_answer_may_come_before_its_question(tmp_path: Path, http: httpx2.AsyncClient) -> None:
    async with asking(tmp_path, "modern") as stage:
        done = await Modern(http, stage.running).call({}, {"inputResponses": {"q0": {"action": "accept"}}})

    assert done["result"]["resultType"] == "complete"


async def test_an_answer_that_is_none_is_refused_and_the_call_goes_on_waiting(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    async with asking(tmp_path, "legacy") as stage:
        client = Modern(http, stage.running)
        given = await parked_call(client)
        bad = await client.call({}, {**given, "inputResponses": {"question": {"action": "maybe"}}})
        missing = await client.call({}, {"requestState": given["requestState"]})
        passed = await client.call({}, given)

    assert bad["error"]["data"]["code"] == "BAD_REQUEST"
    assert missing["result"]["requestState"] == given["requestState"]
    assert "structuredContent" in passed["result"]


async def test_what_a_server_gives_as_its_state_never_leaves_the_gateway(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    async with asking(tmp_path, "modern") as stage:
        asked = await Modern(http, stage.running).call({})

    assert asked["result"]["requestState"] != "[]"
    assert types.InputRequiredResult.model_validate(asked["result"]).input_requests is not None
