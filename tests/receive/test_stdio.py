"""The bridge between a client's lines and a gateway's HTTP face."""

import asyncio
import contextlib
import json
import os
import socket
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from interlock.app.gateway import Gateway
from interlock.app.listening import asgi
from interlock.receive import stdio
from interlock.receive.reach import OwnReach, Reach, RemoteReach, Unreachable
from interlock.receive.stdio import LOST, NOT_SENT, Bridge, serve_stdio
from tests.receive.scripted import Scripted
from tests.running import started

SECONDS = 10
LIMIT = 10_000
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
META: dict[str, Any] = {VERSION_KEY: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
OPERATOR = {"interlock-operator": "credential", "authorization": "Bearer token"}


@dataclass
class Client:
    """A client without pipes: what it says, and what it gets to hear."""

    saying: asyncio.Queue[bytes | None] = field(default_factory=asyncio.Queue["bytes | None"])
    heard: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue[bytes])

    async def lines(self) -> AsyncIterator[bytes | None]:
        while (line := await self.saying.get()) != b"END":
            yield line

    def raw(self, line: bytes | None) -> None:
        self.saying.put_nowait(line)

    def say(self, method: str, request_id: Any = None, *, modern: bool = False, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        message |= {} if request_id is None else {"id": request_id}
        message |= {"params": {**params, "_meta": META}} if modern else {"params": params} if params else {}
        self.raw(json.dumps(message).encode())

    async def hear(self) -> dict[str, Any]:
        async with asyncio.timeout(SECONDS):
            return json.loads(await self.heard.get())

    async def ask(self, method: str, request_id: Any, *, modern: bool = False, **params: Any) -> dict[str, Any]:
        self.say(method, request_id, modern=modern, **params)
        answer = await self.hear()
        assert answer["id"] == request_id, answer
        return answer

    async def handshake(self) -> dict[str, Any]:
        answer = await self.ask("initialize", "hello", **INITIALIZE)
        self.say("notifications/initialized")
        return answer


@dataclass
class Renewals:
    """The gateways that come next; none left is none found."""

    reaches: list[Reach] = field(default_factory=list[Reach])
    asked: int = 0

    async def __call__(self) -> Reach:
        self.asked += 1
        if not self.reaches:
            raise Unreachable("there is none")
        return self.reaches.pop(0)


@contextlib.asynccontextmanager
async def bridged(
    reach: Reach, renew: Renewals | None = None, headers: Mapping[str, str] | None = None
) -> AsyncGenerator[Client]:
    """A client of this gateway, until the block ends: then it closes its stdin."""
    client = Client()
    bridge = Bridge(reach, renew or Renewals(), headers=headers or {}, limit=LIMIT, say=client.heard.put)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        group.create_task(bridge.run(client.lines()))
        yield client
        client.raw(b"END")


def own(app: Any) -> OwnReach:
    return OwnReach(app, "127.0.0.1:7373")


def nobody() -> RemoteReach:
    """A way to a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return RemoteReach("127.0.0.1", probe.getsockname()[1])


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncGenerator[Gateway]:
    async with started(tmp_path) as running:
        yield running


# With a real gateway --------------------------------------------------------------------------------------------


async def test_a_legacy_client_is_served(gateway: Gateway) -> None:
    async with bridged(own(asgi(gateway))) as client:
        hello = await client.handshake()
        listed = await client.ask("tools/list", 1)
        called = await client.ask("tools/call", 2, name="retrieve_tools", arguments={"query": "note"})

    assert hello["result"]["protocolVersion"] == "2025-11-25"
    assert listed["result"]["tools"][0]["name"] == "retrieve_tools"
    assert "resultType" not in called["result"]
    assert called["result"]["structuredContent"]["total"] > 0


async def test_a_modern_client_is_served_without_a_handshake(gateway: Gateway) -> None:
    async with bridged(own(asgi(gateway))) as client:
        found = await client.ask("server/discover", 1, modern=True)
        listed = await client.ask("tools/list", 2, modern=True)
        called = await client.ask("tools/call", 3, modern=True, name="retrieve_tools", arguments={"query": "größe"})

    assert "2026-07-28" in found["result"]["supportedVersions"]
    assert listed["result"]["tools"][0]["name"] == "retrieve_tools"
    assert called["result"]["resultType"] == "complete"


async def test_whoever_does_not_wait_for_the_handshake_is_served_in_order_all_the_same(gateway: Gateway) -> None:
    async with bridged(own(asgi(gateway))) as client:
        client.say("initialize", 1, **INITIALIZE)
        client.say("notifications/initialized")
        client.say("tools/list", 2)
        client.say("tools/call", 3, name="retrieve_tools", arguments={"query": "note"})
        answers = [await client.hear() for _ in range(3)]

    assert sorted(answer["id"] for answer in answers) == [1, 2, 3]
    assert all("result" in answer for answer in answers)


async def test_both_eras_can_be_spoken_by_one_client(gateway: Gateway) -> None:
    async with bridged(own(asgi(gateway))) as client:
        await client.handshake()
        modern = await client.ask("tools/list", 1, modern=True)
        legacy = await client.ask("tools/list", 2)

    assert modern["result"]["resultType"] == "complete"
    assert "resultType" not in legacy["result"]


@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
async def test_a_legacy_request_before_the_handshake_is_an_error(gateway: Gateway, method: str) -> None:
    async with bridged(own(asgi(gateway))) as client:
        answer = await client.ask(method, 5, name="retrieve_tools", arguments={})

    assert "session" in answer["error"]["message"].lower()


async def test_a_version_that_nobody_speaks_is_told_so(gateway: Gateway) -> None:
    async with bridged(own(asgi(gateway))) as client:
        answer = await client.ask("tools/list", 1, _meta={**META, VERSION_KEY: "2099-01-01"})

    assert answer["error"]["code"] == -32022


async def test_a_second_handshake_takes_the_place_of_the_first(gateway: Gateway) -> None:
    async with bridged(own(asgi(gateway))) as client:
        await client.handshake()
        await client.ask("tools/list", 1)
        await client.handshake()
        answer = await client.ask("tools/list", 2)

    assert "result" in answer


# What is no message ---------------------------------------------------------------------------------------------


def call(**changes: Any) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "_meta": META}, **changes}
    return json.dumps(message).encode()


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"\x00", -32700, None),
        (call().replace(b'"id": 1', b'"id": NaN'), -32700, None),
        (call().replace(b'"name": "a"', b'"name": "a", "name": "b"'), -32700, None),
        (call().replace(b'"name": "a"', b'"name": "\\ud800"'), -32700, None),
        (call().replace(b'"a"', b"[" * 4000 + b"]" * 4000), -32700, None),
        (b"[" + call() + b"]", -32600, None),
        (call(id=1.0), -32600, None),
        (call(id=True), -32600, None),
        (call(id=None), -32600, None),
        (call(jsonrpc="1.0"), -32600, 1),
        (call(params=[1]), -32600, 1),
        (call(method=5), -32600, 1),
        (call(method="a\r\nb"), -32600, 1),
        (b'{"jsonrpc":"2.0","id":1,"Method":"tools/call"}', -32600, 1),
        (call(params={"name": 5, "_meta": META}), -32602, 1),
        (None, -32600, None),
    ],
)
async def test_what_is_no_message_is_an_error_and_reaches_nobody(
    line: bytes | None, code: int, request_id: int | None
) -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        client.raw(line)
        refused = await client.hear()
        after = await client.ask("fast", 2, modern=True)

    assert (refused["error"]["code"], refused["id"]) == (code, request_id)
    assert after["result"] == {"by": "first"}
    assert app.methods() == ["fast"]


async def test_blank_lines_are_nothing() -> None:
    async with bridged(own(Scripted())) as client:
        for line in (b"", b"\r", b"  "):
            client.raw(line)
        answer = await client.ask("fast", 1, modern=True)

    assert "result" in answer


# What goes to the gateway ---------------------------------------------------------------------------------------


async def test_every_request_says_who_we_are_and_everything_after_the_handshake_names_the_session() -> None:
    app = Scripted()
    async with bridged(own(app), headers=OPERATOR) as client:
        await client.handshake()
        await client.ask("fast", 1)
        await app.saw("GET")
    sessions = [(each.method, each.headers.get("mcp-session-id")) for each in app.seen]
    versions = {each.headers.get("mcp-protocol-version") for each in app.seen[1:]}

    assert all(OPERATOR.items() <= each.headers.items() for each in app.seen)
    assert sessions[0] == ("initialize", None)
    assert sorted(sessions[1:]) == [
        ("DELETE", "first-1"),
        ("GET", "first-1"),
        ("fast", "first-1"),
        ("notifications/initialized", "first-1"),
    ]
    assert versions == {"2025-06-18"}


async def test_what_follows_the_handshake_waits_for_it() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        client.say("initialize", 1, **INITIALIZE)
        client.say("notifications/initialized")
        client.say("fast", 2)
        await app.saw("fast")

    assert [each for each in app.methods() if each != "GET"][:3] == ["initialize", "notifications/initialized", "fast"]
    assert (await app.saw("fast")).headers["mcp-session-id"] == "first-1"


async def test_a_modern_request_carries_its_headers_and_no_session() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        await client.ask("tools/call", 1, modern=True, name="größe", arguments={})
    seen = await app.saw("tools/call")

    assert seen.headers["mcp-method"] == "tools/call"
    assert seen.headers["mcp-name"] == "=?base64?Z3LDtsOfZQ==?="
    assert seen.headers["mcp-protocol-version"] == "2026-07-28"
    assert "mcp-session-id" not in seen.headers


async def test_a_second_handshake_ends_the_first_session_and_its_questions() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        client.say("asks", 1)
        question = await client.hear()
        await client.handshake()
        client.raw(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"yes": True}}).encode())
        await client.ask("fast", 2)

    assert "answer" not in app.methods()
    assert (await app.saw("DELETE")).headers["mcp-session-id"] == "first-1"
    assert (await app.saw("fast")).headers["mcp-session-id"] == "first-1"
    assert app.methods().count("DELETE") == 2


async def test_what_the_gateway_says_of_its_own_accord_is_passed_on() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        app.news.put_nowait(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        news = await client.hear()

    assert news["method"] == "notifications/tools/list_changed"


async def test_no_stream_is_opened_before_the_client_is_ready() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.ask("initialize", 1, **INITIALIZE)
        await client.ask("fast", 2)

    assert "GET" not in app.methods()


async def test_notifications_of_nobody_go_nowhere() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        client.say("notifications/initialized")
        client.say("notifications/roots/list_changed")
        client.say("notifications/anything", modern=True)
        client.say("notifications/cancelled", requestId=77)
        client.say("notifications/cancelled", requestId=[])
        await client.ask("fast", 1, modern=True)

    assert app.methods() == ["fast"]


async def test_notifications_belong_to_the_session_and_modern_ones_to_none() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        client.say("notifications/roots/list_changed")
        client.say("notifications/anything", modern=True)
        await client.ask("fast", 1)

    told = await app.saw("notifications/roots/list_changed")
    assert told.headers["mcp-session-id"] == "first-1"
    assert "notifications/anything" not in app.methods()


async def test_a_question_of_the_gateway_is_answered_by_the_client_once() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        client.say("asks", 1)
        question = await client.hear()
        for unasked in (0, "0", 1):
            client.raw(json.dumps({"jsonrpc": "2.0", "id": unasked, "result": {"no": True}}).encode())
        answer = json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"yes": True}}).encode()
        client.raw(answer)
        client.raw(answer)
        told = await client.hear()
        await client.ask("fast", 2)

    assert question["method"] == "elicitation/create"
    assert told["result"] == {"jsonrpc": "2.0", "id": 0, "result": {"yes": True}}
    assert app.methods().count("answer") == 1


@pytest.mark.parametrize(
    ("method", "code", "words"),
    [("junk", -32603, "No answer"), ("mute", -32603, "No answer"), ("refused", -32001, "The token is not valid.")],
)
async def test_whatever_the_gateway_does_every_request_is_answered(method: str, code: int, words: str) -> None:
    async with bridged(own(Scripted())) as client:
        answer = await client.ask(method, 1, modern=True)

    assert answer["error"]["code"] == code
    assert words in answer["error"]["message"]


# Many at once ---------------------------------------------------------------------------------------------------


async def test_many_requests_run_at_once_and_each_gets_its_answer() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        for number in range(100):
            client.say("slow", number, modern=True)
        await app.saw("slow", 100)
        app.release.set()
        answers = [await client.hear() for _ in range(100)]

    assert sorted(answer["id"] for answer in answers) == list(range(100))


async def test_an_id_that_is_in_use_is_refused_without_it() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        client.say("slow", 1, modern=True)
        client.say("fast", 1, modern=True)
        refused = await client.hear()
        client.say("fast", "1", modern=True)
        other = await client.hear()
        app.release.set()
        first = await client.hear()
        again = await client.ask("fast", 1, modern=True)

    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert (other["id"], first["id"]) == ("1", 1)
    assert "result" in again
    assert app.methods() == ["slow", "fast", "fast"]


async def test_a_request_that_waits_for_its_turn_can_be_cancelled_and_is_never_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio, "IN_FLIGHT", 1)
    app = Scripted()
    async with bridged(own(app)) as client:
        client.say("slow", 1, modern=True)
        client.say("slow", 2, modern=True)
        client.say("fast", 3, modern=True)
        client.say("notifications/cancelled", modern=True, requestId=2)
        await app.saw("slow")
        app.release.set()
        answers = [await client.hear(), await client.hear()]

    assert [answer["id"] for answer in answers] == [1, 3]
    assert [each.message["id"] for each in app.seen] == [1, 3]


@pytest.mark.parametrize(("bound", "value"), [("MAX_OPEN", 2), ("MAX_OPEN_BYTES", 350)])
async def test_no_more_is_read_while_too_much_is_open(monkeypatch: pytest.MonkeyPatch, bound: str, value: int) -> None:
    monkeypatch.setattr(stdio, bound, value)
    app = Scripted()
    async with bridged(own(app)) as client:
        for number in range(4):
            client.say("slow", number, modern=True)
        await app.saw("slow", 2)
        unread, sent = client.saying.qsize(), app.methods().count("slow")
        app.release.set()
        answers = [await client.hear() for _ in range(4)]

    assert (unread, sent) == (1, 2)
    assert sorted(answer["id"] for answer in answers) == [0, 1, 2, 3]


# Cancelling and leaving -----------------------------------------------------------------------------------------


async def test_cancelling_a_modern_request_is_leaving_it() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        client.say("slow", 1, modern=True)
        await app.saw("slow")
        client.say("notifications/cancelled", modern=True, requestId=1)
        await app.until(lambda: app.left == [1])
        await client.ask("fast", 2, modern=True)
        await client.ask("fast", 1, modern=True)

    assert "notifications/cancelled" not in app.methods()


async def test_cancelling_a_legacy_request_is_told_and_nothing_is_answered() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        client.say("slow", 1)
        await app.saw("slow")
        client.say("notifications/cancelled", requestId=1, reason="enough")
        told = await app.saw("notifications/cancelled")
        await app.until(lambda: app.left == [1])
        await client.ask("fast", 2)

    assert told.message["params"] == {"requestId": 1, "reason": "enough"}


async def test_the_end_of_stdin_ends_what_is_under_way_and_then_the_session() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        client.say("slow", 1)
        client.say("slow", 2, modern=True)
        await app.saw("slow", 2)

    assert sorted(app.left) == [1, 2]
    assert app.methods()[-1] == "DELETE"
    assert client.heard.empty()


async def test_being_stopped_ends_the_session_too() -> None:
    app, client = Scripted(), Client()
    bridge = Bridge(own(app), Renewals(), headers={}, limit=LIMIT, say=client.heard.put)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        running = group.create_task(bridge.run(client.lines()))
        await client.handshake()
        client.say("slow", 1)
        await app.saw("slow")
        running.cancel()

    assert app.left == [1]
    assert app.methods()[-1] == "DELETE"


# Gateways that go away ------------------------------------------------------------------------------------------


async def test_a_session_that_has_ended_is_opened_again_and_the_client_does_not_notice() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        await client.ask("fast", 1)
        await app.saw("GET")
        app.sessions.clear()
        answer = await client.ask("fast", 2)
        await app.saw("GET", 2)

    assert answer["result"] == {"by": "first"}
    opened = [each.message for each in app.seen if each.method == "initialize"]
    assert len(opened) == 2
    assert opened[0] == opened[1]
    assert app.methods().count("notifications/initialized") == 2
    assert [each.message["id"] for each in app.seen if each.method == "fast"] == [1, 2, 2]


async def test_a_session_that_could_not_be_opened_again_is_tried_again_with_the_next_request() -> None:
    app = Scripted()
    async with bridged(own(app)) as client:
        await client.handshake()
        await client.ask("fast", 1)
        app.sessions.clear()
        app.full = True
        await client.ask("fast", 2)
        app.full = False
        await client.ask("fast", 3)
    sessions = [each.headers.get("mcp-session-id") for each in app.seen if each.method == "fast"]

    assert sessions == ["first-1", "first-1", None, "first-1"]


async def test_requests_under_way_are_answered_with_an_error_when_the_gateway_goes_away() -> None:
    first, second = Scripted(), Scripted("second")
    renewals = Renewals([own(second)])
    async with bridged(own(first), renewals) as client:
        await client.handshake()
        client.say("slow", 1)
        client.say("slow", 2, modern=True)
        await first.saw("slow", 2)
        first.dead.set()
        errors = [await client.hear(), await client.hear()]
        legacy = await client.ask("fast", 3)
        modern = await client.ask("fast", 4, modern=True)
        await second.saw("GET")

    assert sorted(error["id"] for error in errors) == [1, 2]
    assert {error["error"]["code"] for error in errors} == {LOST}
    assert "may have had its effect" in errors[0]["error"]["message"]
    assert (legacy["result"], modern["result"]) == ({"by": "second"}, {"by": "second"})
    assert renewals.asked == 1
    assert "slow" not in second.methods()
    assert (await second.saw("fast")).headers["mcp-session-id"] == "second-1"


async def test_a_gateway_that_was_left_is_not_left_again() -> None:
    first, second = Scripted(), Scripted("second")
    renewals = Renewals([own(second)])
    async with bridged(own(first), renewals) as client:
        client.say("slow", 1, modern=True)
        client.say("tough", 2, modern=True)
        await first.saw("tough")
        first.dead.set()
        soon = await client.hear()
        between = await client.ask("fast", 3, modern=True)
        first.dead_later.set()
        late = await client.hear()
        after = await client.ask("fast", 4, modern=True)

    assert [(soon["id"], soon["error"]["code"]), (late["id"], late["error"]["code"])] == [(1, LOST), (2, LOST)]
    assert (between["result"], after["result"]) == ({"by": "second"}, {"by": "second"})
    assert renewals.asked == 1


async def test_a_gateway_that_goes_away_between_requests_is_noticed_by_the_stream() -> None:
    first, second = Scripted(), Scripted("second")
    async with bridged(own(first), Renewals([own(second)])) as client:
        await client.handshake()
        await first.saw("GET")
        first.dead.set()
        await second.saw("GET")
        second.news.put_nowait(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
        news = await client.hear()

    assert news["method"] == "notifications/tools/list_changed"


@pytest.mark.parametrize("modern", [True, False])
async def test_a_request_that_could_not_leave_goes_to_the_next_gateway_once(modern: bool) -> None:
    app = Scripted()
    renewals = Renewals([nobody(), own(app)])
    async with bridged(nobody(), renewals) as client:
        if not modern:
            await client.handshake()
        answer = await client.ask("fast", 1, modern=modern)

    assert answer["result"] == {"by": "first"}
    assert app.methods().count("fast") == 1
    assert app.methods().count("initialize") == (0 if modern else 1)


async def test_when_there_is_no_gateway_the_client_is_told_and_served_once_there_is() -> None:
    app, renewals = Scripted(), Renewals()
    async with bridged(nobody(), renewals) as client:
        refused = await client.ask("fast", 1, modern=True)
        renewals.reaches.append(own(app))
        served = await client.ask("fast", 2, modern=True)

    assert refused["error"]["code"] == NOT_SENT
    assert "there is none" in refused["error"]["message"]
    assert "Nothing was sent" in refused["error"]["message"]
    assert served["result"] == {"by": "first"}


async def test_an_answer_that_arrived_stands_even_if_the_gateway_dies_of_it() -> None:
    second = Scripted("second")
    async with bridged(own(Scripted()), Renewals([own(second)])) as client:
        answer = await client.ask("answered", 1, modern=True)
        after = await client.ask("fast", 2, modern=True)

    assert answer["result"] == {"by": "first"}
    assert after["result"] == {"by": "second"}


async def test_a_question_of_a_gateway_that_went_away_is_withdrawn_and_its_answer_goes_nowhere() -> None:
    first, second = Scripted(), Scripted("second")
    async with bridged(own(first), Renewals([own(second)])) as client:
        await client.handshake()
        client.say("asks", 1)
        question = await client.hear()
        first.dead.set()
        heard = [await client.hear(), await client.hear()]
        client.raw(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"yes": True}}).encode())
        await client.ask("fast", 2)

    withdrawn = next(each for each in heard if "method" in each)
    assert withdrawn["method"] == "notifications/cancelled"
    assert withdrawn["params"] == {"requestId": question["id"]}
    assert "answer" not in second.methods()


async def test_who_waits_for_another_gateway_can_be_cancelled_without_disturbing_the_others() -> None:
    app, sought, found = Scripted(), asyncio.Event(), asyncio.Event()

    async def renew() -> Reach:
        sought.set()
        await found.wait()
        return own(app)

    client = Client()
    bridge = Bridge(nobody(), renew, headers={}, limit=LIMIT, say=client.heard.put)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        group.create_task(bridge.run(client.lines()))
        client.say("fast", 1, modern=True)
        await sought.wait()
        client.say("fast", 2, modern=True)
        client.say("notifications/cancelled", modern=True, requestId=1)
        while not client.saying.empty():  # noqa: ASYNC110 - a queue has no event for it
            await asyncio.sleep(0)
        found.set()
        answer = await client.hear()
        client.raw(b"END")

    assert answer["id"] == 2
    assert [each.message["id"] for each in app.seen] == [2]


# With descriptors -----------------------------------------------------------------------------------------------


async def test_a_client_behind_pipes_is_served_until_it_closes_them() -> None:
    from_client, to_us = os.pipe()
    from_us, to_client = os.pipe()
    os.write(to_us, call(method="fast") + b"\n" + b"x" * 20_000 + b"\n" + call(method="fast", id=2) + b"\n")
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        reach = own(Scripted())
        serving = group.create_task(
            serve_stdio(reach, Renewals(), headers={}, limit=LIMIT, stdin=from_client, stdout=to_client)
        )
        heard = b""
        while heard.count(b"\n") < 3:
            heard += await asyncio.to_thread(os.read, from_us, 10_000)
        os.close(to_us)
        await serving
    for descriptor in (from_client, from_us, to_client):
        os.close(descriptor)
    ids = [json.loads(line)["id"] for line in heard.splitlines()]

    assert sorted(ids, key=str) == [1, 2, None]


async def test_what_was_said_before_the_end_of_stdin_is_still_written() -> None:
    from_client, to_us = os.pipe()
    from_us, to_client = os.pipe()
    filler, before = filled(to_client), set(threading.enumerate())
    os.write(to_us, b"{\n" * 10)
    os.close(to_us)
    reach = own(Scripted())
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        serving = group.create_task(
            serve_stdio(reach, Renewals(), headers={}, limit=LIMIT, stdin=from_client, stdout=to_client)
        )
        while [each.name for each in set(threading.enumerate()) - before] != ["stdout"]:  # noqa: ASYNC110 - threads
            await asyncio.sleep(0)
        for _ in range(100):  # until the end of stdin has been heard of
            await asyncio.sleep(0)
        waited = not serving.done()
        heard = b""
        while len(heard) < filler or heard.count(b"\n") < 10:
            heard += await asyncio.to_thread(os.read, from_us, 100_000)
    for descriptor in (from_client, from_us, to_client):
        os.close(descriptor)

    assert waited
    assert heard.count(b"-32700") == 10


def filled(pipe: int) -> int:
    """Fill a pipe until it takes no more; how much that was."""
    os.set_blocking(pipe, False)
    size = 0
    with contextlib.suppress(BlockingIOError):
        while True:
            size += os.write(pipe, b"x" * 1000)
    os.set_blocking(pipe, True)
    return size


async def test_a_client_that_stops_listening_has_left() -> None:
    app = Scripted()
    from_client, to_us = os.pipe()
    from_us, to_client = os.pipe()
    os.close(from_us)
    os.write(to_us, call(method="slow") + b"\n" + call(method="fast", id=2) + b"\n")
    async with asyncio.timeout(SECONDS):
        await serve_stdio(own(app), Renewals(), headers={}, limit=LIMIT, stdin=from_client, stdout=to_client)
    for descriptor in (from_client, to_us, to_client):
        os.close(descriptor)

    assert app.left == [1]
