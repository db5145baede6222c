"""The link over HTTP, against servers that do everything that a server should not."""

import asyncio
import json
import socket
import ssl
import time
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from interlock.forward import link_http
from interlock.forward.exchange import Refused, SessionGone
from interlock.forward.link import (
    MAX_MESSAGE,
    Answer,
    BadMessage,
    Link,
    LinkDown,
    LinkTimeout,
    Notification,
    RpcError,
    TooLong,
)
from interlock.forward.link_http import HttpLink, default_tls, header_text, mirrored_line
from tests.certificates import self_signed, serving
from tests.forward.askers import Asker
from tests.forward.raw_server import (
    ACCEPTED,
    SECONDS,
    Peer,
    RawServer,
    Received,
    Script,
    chunked,
    each,
    error,
    events,
    head,
    reply,
    result,
    stream,
    told,
    whole,
)
from tests.upstream.running import http_upstream

URL = "http://127.0.0.1:9/mcp"
PING = b'{"jsonrpc":"2.0","id":"q-1","method":"ping"}'
SAMPLING = b'{"jsonrpc":"2.0","id":8,"method":"sampling/createMessage","params":{}}'


@pytest.fixture(params=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": request.param == "uvloop"}


@asynccontextmanager
async def link_to(
    server: RawServer, headers: dict[str, str] | None = None, *, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[tuple[HttpLink, list[Notification]]]:
    heard: list[Notification] = []
    link = HttpLink(server.url, headers or {}, on_notification=heard.append, tls=tls)
    async with asyncio.timeout(SECONDS):
        await link.start()
        try:
            yield link, heard
        finally:
            await link.close()


async def ask(link: Link, seconds: float = SECONDS) -> Answer:
    return await link.request("tools/call", b'{"name":"a"}', seconds=seconds, name="a")


def once(*pieces: bytes) -> Script:
    """A script that answers a request with these bytes, whatever it was, and closes."""

    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(*pieces)

    return script


def any_message(received: Received) -> bytes:
    """The plain answer to a request, and the acceptance of everything else."""
    return reply(received) if received.body and "method" in received.message and "id" in received.message else ACCEPTED


# What goes out --------------------------------------------------------------------------------------------------


def test_it_is_a_link() -> None:
    link: Link = HttpLink(URL, {}, on_notification=print)
    assert isinstance(link, HttpLink)


async def test_params_go_out_as_they_are_and_results_come_back_as_they_are() -> None:
    params = b'{ "b" : 1.0, "a":"\\u00e9\xc3\xa9","n":1e400 }'
    odd = b'{ "z" : 1.0, "a":"\\u00e9\xc3\xa9","n":1e400, "unknown":[ ] }'

    def answer(received: Received) -> bytes:
        return whole("200 OK", "application/json", b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (received.id, odd))

    async with RawServer(each(answer)) as server, link_to(server) as (link, _):
        assert await link.request("a/b", params, seconds=5) == Answer(odd)
        assert server.received[0].body == b'{"jsonrpc":"2.0","id":1,"method":"a/b","params":' + params + b"}"


async def test_every_request_has_an_id_of_its_own() -> None:
    async with RawServer(each(reply)) as server, link_to(server) as (link, _):
        for _ in range(3):
            await ask(link)
        assert [each["id"] for each in server.messages] == [1, 2, 3]


async def test_a_legacy_request_has_these_headers_and_no_others() -> None:
    async with (
        RawServer(each(reply)) as server,
        link_to(server, {"Authorization": "Bearer s3cret", "X-Team": "a, b"}) as (link, _),
    ):
        await ask(link)
        received = server.received[0]
        assert received.line == "POST /mcp HTTP/1.1"
        assert received.fields == [
            ("Host", f"127.0.0.1:{server.port}"),
            ("Accept-Encoding", "identity"),
            ("User-Agent", "interlock"),
            ("Authorization", "Bearer s3cret"),
            ("X-Team", "a, b"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Content-Length", str(len(received.body))),
        ]


async def test_a_modern_request_says_its_version_its_method_and_its_name() -> None:
    async with RawServer(each(any_message)) as server, link_to(server) as (link, _):
        link.modern, link.protocol_version = True, "2026-07-28"
        await ask(link)
        await link.request("tools/list", b"{}", seconds=5)
        await link.notify("notifications/x", b"{}")

        names = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id")
        assert [[each.field(name) for name in names] for each in server.received] == [
            ["2026-07-28", "tools/call", "a", None],
            ["2026-07-28", "tools/list", None, None],
            ["2026-07-28", "notifications/x", None, None],
        ]


@pytest.mark.parametrize(("modern", "written"), [(True, ["eu", "=?base64?w6Q=?="]), (False, [None, None])])
async def test_arguments_are_repeated_for_modern_upstreams_only(modern: bool, written: list[str | None]) -> None:
    repeated = [("Mcp-Param-Region", "eu"), ("Mcp-Param-Note", "ä")]
    async with RawServer(each(any_message)) as server, link_to(server) as (link, _):
        link.modern = modern
        await link.request("tools/call", b"{}", seconds=5, name="a", mirrored=repeated)

        assert [server.received[0].field(name) for name, _ in repeated] == written


async def test_a_legacy_request_says_its_version_once_it_is_agreed_on() -> None:
    async with RawServer(each(any_message)) as server, link_to(server) as (link, _):
        await link.request("initialize", b"{}", seconds=5)
        link.protocol_version = "2025-11-25"
        await ask(link)
        await link.request("initialize", b"{}", seconds=5)
        link.protocol_version = None
        await ask(link)
        assert [each.field("MCP-Protocol-Version") for each in server.received] == [None, "2025-11-25", None, None]
        assert server.received[1].field("Mcp-Name") is None


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("read_file", "read_file"),
        ("a b: c", "a b: c"),
        ("naïve", "=?base64?bmHDr3Zl?="),
        ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
        (" a", "=?base64?IGE=?="),
        ("a\t", "=?base64?YQk=?="),
        ("", "=?base64??="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
    ],
)
def test_a_name_is_encoded_when_it_does_not_fit_a_header(text: str, written: str) -> None:
    assert header_text(text) == written


async def test_a_name_cannot_bring_a_header_in() -> None:
    async with RawServer(each(reply)) as server, link_to(server) as (link, _):
        link.modern = True
        await link.request("x\r\nX-Evil: 1", b"{}", seconds=5, name="a\r\nX-Evil: 1")
        received = server.received[0]
        assert received.field("X-Evil") is None
        assert received.field("Mcp-Name") == "=?base64?YQ0KWC1FdmlsOiAx?="


@pytest.mark.parametrize("value", ["s3cret\r\nX: 1", "s3cret\n", "s3\rcret", "s3cret\x00", "", " s3cret", "s3crét"])
def test_a_header_that_would_leave_its_line_is_refused_without_showing_it(value: str) -> None:
    with pytest.raises(ValueError, match="header Authorization") as refused:
        HttpLink(URL, {"Authorization": value}, on_notification=print)
    assert "s3" not in str(refused.value)


@pytest.mark.parametrize(
    "name",
    ["Host", "content-length", "Transfer-Encoding", "CONNECTION", "Mcp-Session-Id", "mcp-method", "Accept", "a b"],
)
def test_headers_that_are_ours_cannot_be_configured(name: str) -> None:
    with pytest.raises(ValueError, match="header"):
        HttpLink(URL, {name: "x"}, on_notification=print)


def test_a_url_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(ValueError, match="user or password"):
        HttpLink("http://me:secret@example.org/", {}, on_notification=print)


def test_a_version_that_would_leave_its_line_is_refused() -> None:
    link = HttpLink(URL, {}, on_notification=print)
    with pytest.raises(ValueError, match="MCP-Protocol-Version"):
        link.protocol_version = "2025-11-25\r\nX-Evil: 1"
    assert link.protocol_version is None


async def test_a_configured_user_agent_takes_the_place_of_ours() -> None:
    async with RawServer(each(reply)) as server, link_to(server, {"user-agent": "mine"}) as (link, _):
        await ask(link)
        assert server.received[0].field("User-Agent") == "mine"


def own_addresses() -> dict[str, str]:
    """The loopback addresses of this machine, and how each is written in a Host header; some machines have no IPv6."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return {"127.0.0.1": "127.0.0.1"}
    return {"127.0.0.1": "127.0.0.1", "::1": "[::1]"}


@pytest.mark.parametrize("address", own_addresses())
async def test_every_kind_of_address_is_reached_and_named_in_the_host_header(address: str) -> None:
    async with RawServer(each(reply), host=address) as server, link_to(server) as (link, _):
        await ask(link)
        assert server.received[0].field("Host") == f"{own_addresses()[address]}:{server.port}"


# What comes back ------------------------------------------------------------------------------------------------


def close_delimited(kind: str, body: bytes) -> bytes:
    return head("200 OK", f"Content-Type: {kind}") + body


REPLY, EVENTS = result(1, {"a": 1}), events(told("notifications/message"), result(1, {"a": 1}))
STREAM_HEAD = head("200 OK", "Content-Type: text/event-stream; charset=utf-8", "Transfer-Encoding: chunked")
GOOD = {
    "a length": whole("200 OK", "application/json", REPLY),
    "chunks": head("200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked")
    + chunked(REPLY[:5], REPLY[5:6], REPLY[6:]),
    "the end": close_delimited("application/json", REPLY),
    "HTTP/1.0": whole("200 OK", "application/json", REPLY).replace(b"HTTP/1.1", b"HTTP/1.0"),
    "HTTP/1.0 and the end": close_delimited("application/json", REPLY).replace(b"HTTP/1.1", b"HTTP/1.0"),
    "100 Continue": head("100 Continue") + whole("200 OK", "application/json", REPLY),
    "many hints": head("103 Early Hints", "Link: </a>") * 50 + whole("200 OK", "application/json", REPLY),
    "a wish to part": whole("200 OK", "application/json", REPLY, "Connection: close"),
    "two answers": whole("200 OK", "application/json", REPLY) * 2,
    "events in chunks": STREAM_HEAD + chunked(EVENTS[:9], EVENTS[9:]),
    "events with a length": whole("200 OK", "text/event-stream", EVENTS),
    "events and the end": close_delimited("text/event-stream", EVENTS),
    "events and no end": STREAM_HEAD + chunked(EVENTS).removesuffix(b"0\r\n\r\n"),
    "two replies": STREAM_HEAD + chunked(EVENTS, EVENTS),
    "events of all kinds": STREAM_HEAD
    + chunked(b"\xef\xbb\xbf: hi\r\rid: 1\rdata:\r\n\r\nevent: x\ndata: {\n\n" + EVENTS.replace(b"\n", b"\r\n")),
}


@pytest.mark.parametrize("name", GOOD)
async def test_an_answer_has_many_shapes(name: str) -> None:
    async with RawServer(once(GOOD[name])) as server, link_to(server) as (link, _):
        assert await ask(link) == Answer(b'{"a":1}')


@pytest.mark.parametrize("name", ["chunks", "100 Continue", "events in chunks", "events of all kinds"])
async def test_an_answer_may_come_byte_by_byte(name: str) -> None:
    pieces = [GOOD[name][at : at + 1] for at in range(len(GOOD[name]))]
    async with RawServer(once(*pieces)) as server, link_to(server) as (link, _):
        assert await ask(link) == Answer(b'{"a":1}')


async def test_an_error_of_the_upstream_is_an_answer() -> None:
    async with (
        RawServer(
            each(lambda received: whole("200 OK", "application/json", error(received.id, -32602, "bad")))
        ) as server,
        link_to(server) as (link, _),
    ):
        assert await ask(link) == Answer(error=RpcError(-32602, "bad"))


BAD = {
    "garbage": b"\x00\x01\x02",
    "another protocol": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "a long head": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
    "very many headers": b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 101 + b"\r\n",
    "the id of another": whole("200 OK", "application/json", result(2)),
    "the id as text": whole("200 OK", "application/json", REPLY.replace(b'"id":1', b'"id":"1"')),
    "a notification": whole("200 OK", "application/json", told("notifications/message")),
    "a batch": whole("200 OK", "application/json", b"[" + REPLY + b"]"),
    "two objects": whole("200 OK", "application/json", REPLY + REPLY),
    "no JSON": whole("200 OK", "application/json", b"<html>"),
    "no body": whole("200 OK", "application/json", b""),
    "bytes that are no UTF-8": whole("200 OK", "application/json", b'{"jsonrpc":"2.0","id":1,"result":"\xff"}'),
    "a web page": whole("200 OK", "text/html", REPLY),
    "no type": head("200 OK", f"Content-Length: {len(REPLY)}") + REPLY,
    "acceptance": ACCEPTED,
    "nothing": head("204 No Content"),
    "compression": whole("200 OK", "application/json", REPLY, "Content-Encoding: gzip"),
    "an event that is no JSON": STREAM_HEAD + chunked(events(b"hello")),
    "an event that is no UTF-8": STREAM_HEAD + chunked(events(b'{"jsonrpc":"2.0","id":1,"result":"\xff"}')),
    "the reply to another": STREAM_HEAD + chunked(events(result(2), result(1))),
    "a broken chunk": STREAM_HEAD + b"zz\r\n",
}


@pytest.mark.parametrize("name", BAD)
async def test_a_bad_answer_is_a_bad_message(name: str) -> None:
    async with RawServer(once(BAD[name])) as server, link_to(server) as (link, _):
        with pytest.raises(BadMessage):
            await ask(link)
        assert len(server.received) == 1


BROKEN = {
    "before an answer": b"",
    "in the status": b"HTTP/1.1 2",
    "in the head": b"HTTP/1.1 200 OK\r\nContent-Ty",
    "in the body": whole("200 OK", "application/json", REPLY)[:-1],
    "in a chunk": head("200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked") + b"50\r\n{",
    "in a stream": STREAM_HEAD + chunked(events(told("a"))).removesuffix(b"0\r\n\r\n"),
    "at the end of a stream": STREAM_HEAD + chunked(events(told("a"))),
    "before the end of an event": close_delimited("text/event-stream", events(REPLY)[:-1]),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_an_answer_that_breaks_off_is_a_link_that_went_down(name: str) -> None:
    async with RawServer(once(BROKEN[name])) as server, link_to(server) as (link, _):
        with pytest.raises(LinkDown) as down:
            await ask(link)
        assert down.value.sent
        assert len(server.received) == 1, "what may have been done is not asked for again"


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("301 Moved", "redirects"),
        ("308 Permanent", "redirects"),
        ("401 Unauthorized", "credential"),
        ("403 Forbidden", "does not let us in"),
        ("404 Not Found", "check the URL"),
        ("405 Not Allowed", "check the URL"),
        ("500 Oops", "HTTP status 500"),
    ],
)
async def test_a_refusal_is_said_in_a_sentence(status: str, sentence: str) -> None:
    answer = whole(status, "text/plain", b"evil", "Location: http://127.0.0.1:9/evil")
    async with RawServer(once(answer)) as server, link_to(server) as (link, _):
        with pytest.raises(Refused, match=sentence) as refused:
            await ask(link)
        assert refused.value.why.startswith(f"http://127.0.0.1:{server.port} ")
        assert "evil" not in refused.value.why
        assert (refused.value.sent, len(server.received)) == (True, 1)


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "500 Oops"])
async def test_an_error_with_our_id_counts_more_than_the_status(status: str) -> None:
    async with (
        RawServer(once(whole(status, "application/json", error(1, -32601, "no such method")))) as server,
        link_to(server) as (link, _),
    ):
        assert await ask(link) == Answer(error=RpcError(-32601, "no such method"))


async def test_a_status_of_failure_with_a_body_that_is_no_error_of_ours_is_a_refusal() -> None:
    async with (
        RawServer(once(whole("500 Oops", "application/json", error("server-error")))) as server,
        link_to(server) as (link, _),
    ):
        with pytest.raises(Refused):
            await ask(link)


async def test_a_body_that_never_ends_is_too_long() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head("200 OK", "Content-Type: application/json", "Transfer-Encoding: chunked"))
        for _ in range(2 * MAX_MESSAGE // 65536):
            await peer.send(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await peer.closed()

    async with RawServer(script) as server, link_to(server) as (link, _):
        with pytest.raises(TooLong, match="longer than"):
            await ask(link)


async def test_an_event_that_never_ends_is_too_long() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head("200 OK", "Content-Type: text/event-stream"), b"data: ")
        for _ in range(2 * MAX_MESSAGE // 65536):
            await peer.send(b" " * 65536)
        await peer.closed()

    async with RawServer(script) as server, link_to(server) as (link, _):
        with pytest.raises(TooLong, match="longer than"):
            await ask(link)


async def test_a_flood_of_notifications_ends_the_exchange_and_nothing_else() -> None:
    flood = events(told("notifications/flood")) * 1000

    async def script(peer: Peer) -> None:
        received = await peer.request()
        if received.id == 2:
            await peer.send(stream(result(2)))
            return
        await peer.send(head("200 OK", "Content-Type: text/event-stream"))
        for _ in range(20):
            await peer.send(flood)
        await peer.closed()

    async with RawServer(script) as server, link_to(server) as (link, heard):
        with pytest.raises(BadMessage, match="too much"):
            await ask(link)
        assert len(heard) == 10_000
        assert await ask(link) == Answer(b"{}")


# What is said meanwhile -----------------------------------------------------------------------------------------


async def test_progress_goes_to_the_one_who_asked_without_our_token() -> None:
    seen = asyncio.Event()

    async def script(peer: Peer) -> None:
        received = await peer.request()
        token = received.message["params"]["_meta"]["progressToken"]
        await peer.send(STREAM_HEAD)
        text = events(
            told("notifications/progress", {"progressToken": token, "progress": 1, "total": 2}),
            told("notifications/progress", {"progressToken": "another", "progress": 1}),
            told("notifications/tools/list_changed"),
        )
        await peer.send(chunked(text).removesuffix(b"0\r\n\r\n"))
        await seen.wait()
        await peer.send(chunked(events(result(received.id))))
        await peer.closed()

    progress: list[Notification] = []

    def listen(notification: Notification) -> None:
        progress.append(notification)
        seen.set()

    async with RawServer(script) as server, link_to(server) as (link, heard):
        params = b'{"name":"a","arguments":{"n":1.0},"_meta":{"x":1.0}}'
        answer = await link.request("tools/call", params, seconds=5, listener=listen)

        assert answer == Answer(b"{}")
        assert progress == [Notification("notifications/progress", b'{"progress":1,"total":2}')]
        assert [each.method for each in heard] == ["notifications/progress", "notifications/tools/list_changed"]
        assert server.messages[0]["params"]["_meta"]["x"] == 1.0
        assert b'"arguments":{"n":1.0}' in server.received[0].body


async def test_what_a_listener_raises_is_not_lost() -> None:
    def listen(_: Notification) -> None:
        raise ZeroDivisionError

    def answer(received: Received) -> bytes:
        return stream(told("notifications/progress", {"progressToken": received.id}), result(received.id))

    async with RawServer(each(answer)) as server, link_to(server) as (link, _):
        with pytest.raises(ZeroDivisionError):
            await link.request("tools/call", b"{}", seconds=5, listener=listen)
        assert await ask(link) == Answer(b"{}")


async def test_questions_of_the_upstream_are_answered_by_a_post_of_their_own() -> None:
    replies: asyncio.Queue[Received] = asyncio.Queue()

    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            if "method" in received.message:
                await peer.send(STREAM_HEAD + chunked(events(PING, SAMPLING)).removesuffix(b"0\r\n\r\n"))
                answered = [await replies.get(), await replies.get()]
                assert sorted((each.message for each in answered), key=str) == [
                    {"jsonrpc": "2.0", "id": "q-1", "result": {}},
                    {"jsonrpc": "2.0", "id": 8, "error": {"code": -32601, "message": "Method not found"}},
                ]
                await peer.send(chunked(events(result(received.id))))
            else:
                await peer.send(ACCEPTED)
                replies.put_nowait(received)

    async with RawServer(script) as server, link_to(server) as (link, _):
        assert await ask(link) == Answer(b"{}")


def form(number: int) -> bytes:
    params: dict[str, Any] = {"message": f"Sure of {number}?", "requestedSchema": {}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": params}).encode()


def asking(replies: dict[int, asyncio.Future[Received]], *more: bytes) -> Script:
    """Asks in the stream of each request, says more, and answers once it was answered, if it is."""

    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            if received.message.get("method") == "any":
                heard = replies[received.id] = asyncio.get_running_loop().create_future()
                await peer.send(STREAM_HEAD + chunked(events(form(received.id), *more)).removesuffix(b"0\r\n\r\n"))
                if not more:
                    await heard
                await peer.send(chunked(events(result(received.id))))
            else:
                await peer.send(ACCEPTED)
                if received.message.get("id") in replies:
                    replies[received.message["id"]].set_result(received)

    return script


async def test_what_is_asked_in_the_stream_of_a_request_goes_to_its_own_asker() -> None:
    askers = [Asker() for _ in range(5)]
    replies: dict[int, asyncio.Future[Received]] = {}
    async with RawServer(asking(replies)) as server, link_to(server) as (link, _), asyncio.TaskGroup() as group:
        for each_of_them in askers:
            group.create_task(link.request("any", b"{}", seconds=10, asker=each_of_them))

    asked = [str(asker.heard[0]["question"].params["message"]) for asker in askers]
    assert sorted(asked) == sorted(f"Sure of {number}?" for number in replies)
    assert [len(each_of_them.heard) for each_of_them in askers] == [1] * 5
    assert {heard.result().message["result"]["action"] for heard in replies.values()} == {"accept"}
    assert not link.in_doubt


async def test_a_question_that_the_upstream_takes_back_is_withdrawn() -> None:
    asker = Asker()
    asker.go_on.clear()
    taken_back = told("notifications/cancelled", {"requestId": 1})
    async with (
        RawServer(asking({}, taken_back, told("notifications/other"))) as server,
        link_to(server) as (link, heard),
    ):
        await link.request("any", b"{}", seconds=10, asker=asker)

    assert asker.withdrawn == len(asker.heard)
    assert [each_of_them.method for each_of_them in heard] == ["notifications/other"]


async def test_the_time_of_a_request_stands_still_while_somebody_is_asked() -> None:
    asker = Asker()
    asker.go_on.clear()
    async with RawServer(asking({})) as server, link_to(server) as (link, _), asyncio.TaskGroup() as group:
        task = group.create_task(link.request("any", b"{}", seconds=0.5, asker=asker))
        await asker.news.wait()
        await asyncio.sleep(0.7)
        asker.go_on.set()

    assert task.result() == Answer(b"{}")


async def test_a_request_that_may_be_asked_has_its_time_too() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.request()

    async with RawServer(script) as server, link_to(server) as (link, _):
        with pytest.raises(LinkTimeout):
            await link.request("any", b"{}", seconds=0.05, asker=Asker())


async def test_a_ping_in_the_stream_of_a_request_that_may_be_asked_is_answered_by_the_link() -> None:
    replies: asyncio.Queue[Received] = asyncio.Queue()

    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            if "method" in received.message:
                await peer.send(STREAM_HEAD + chunked(events(PING)).removesuffix(b"0\r\n\r\n"))
                assert (await replies.get()).message == {"jsonrpc": "2.0", "id": "q-1", "result": {}}
                await peer.send(chunked(events(result(received.id))))
            else:
                await peer.send(ACCEPTED)
                replies.put_nowait(received)

    asker = Asker()
    async with RawServer(script) as server, link_to(server) as (link, _):
        assert await link.request("any", b"{}", seconds=10, asker=asker) == Answer(b"{}")

    assert asker.heard == []


async def test_a_modern_upstream_gets_no_reply_to_what_it_must_not_ask() -> None:
    async with (
        RawServer(each(lambda received: stream(PING, result(received.id)))) as server,
        link_to(server) as (link, _),
    ):
        link.modern = True
        assert await ask(link) == Answer(b"{}")
        await link.close()
        assert len(server.received) == 1


async def test_an_upstream_that_asks_very_much_gets_some_answers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_http, "MAX_ERRANDS", 3)
    replies = asyncio.Semaphore(0)

    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            if "method" in received.message:
                await peer.send(stream(*[PING] * 50, result(received.id)))
            else:
                await peer.send(ACCEPTED)
                replies.release()

    async with RawServer(script) as server, link_to(server) as (link, _):
        await ask(link)
        for _ in range(3):
            await replies.acquire()
        await link.close()
        assert len(server.received) == 4


# Sessions -------------------------------------------------------------------------------------------------------


class Sessions:
    """A legacy server that hands out sessions and can forget them."""

    def __init__(self) -> None:
        self.count = 0
        self.known: set[str | None] = set()

    def answer(self, received: Received) -> bytes:
        if received.line.startswith("DELETE"):
            return head("200 OK", "Content-Length: 0")
        if received.message["method"] == "initialize":
            self.count += 1
            self.known.add(f"session-{self.count}")
            return reply(received, {}, f"Mcp-Session-Id: session-{self.count}")
        if received.field("Mcp-Session-Id") not in self.known:
            return whole("404 Not Found", "application/json", error("server-error", -32600, "Session not found"))
        return reply(received) if "id" in received.message else ACCEPTED


def sessions_of(server: RawServer) -> list[str | None]:
    return [each.field("Mcp-Session-Id") for each in server.received]


async def test_a_session_begins_with_initialize_and_ends_with_delete() -> None:
    async with RawServer(each(Sessions().answer)) as server, link_to(server) as (link, _):
        await link.request("initialize", b"{}", seconds=5)
        link.protocol_version = "2025-11-25"
        await link.notify("notifications/initialized", b"{}")
        await ask(link)
        await link.close()

        assert sessions_of(server) == [None, "session-1", "session-1", "session-1"]
        last = server.received[-1]
        assert (last.line, last.field("MCP-Protocol-Version"), last.body) == ("DELETE /mcp HTTP/1.1", "2025-11-25", b"")


async def test_the_stream_of_a_session_is_heard_until_it_ends() -> None:
    sessions = Sessions()

    async def script(peer: Peer) -> None:
        with suppress(asyncio.IncompleteReadError):
            while True:
                received = await peer.request()
                if received.line.startswith("GET"):
                    await peer.send(stream(told("notifications/a")))
                    return
                await peer.send(sessions.answer(received))

    async with RawServer(script) as server, link_to(server) as (link, heard):
        await link.request("initialize", b"{}", seconds=SECONDS)
        link.protocol_version = "2025-11-25"
        with pytest.raises(LinkDown, match="ended the stream"):
            await link.hear()
        asked = next(each for each in server.received if each.line.startswith("GET"))

    assert [each.method for each in heard] == ["notifications/a"]
    assert (asked.field("Accept"), asked.field("Mcp-Session-Id")) == ("text/event-stream", "session-1")
    assert asked.field("MCP-Protocol-Version") == "2025-11-25"


@pytest.mark.parametrize(("status", "again"), [("405 No", False), ("404 No", False), ("503 No", True)])
async def test_a_server_without_such_a_stream_is_not_asked_again(status: str, again: bool) -> None:
    async with RawServer(each(lambda _: head(status, "Content-Length: 0"))) as server, link_to(server) as (link, _):
        assert await link.hear() is again


async def test_a_modern_server_has_no_such_stream() -> None:
    async with RawServer(each(any_message)) as server, link_to(server) as (link, _):
        link.modern = True
        assert await link.hear() is False
        assert server.received == []


async def test_a_session_that_is_gone_is_told_until_a_new_one_begins() -> None:
    sessions = Sessions()
    async with RawServer(each(sessions.answer)) as server, link_to(server) as (link, _):
        await link.request("initialize", b"{}", seconds=5)
        sessions.known.clear()
        for _ in range(2):
            with pytest.raises(SessionGone) as gone:
                await ask(link)
            assert not gone.value.sent
        await link.request("initialize", b"{}", seconds=5)
        assert await ask(link) == Answer(b"{}")
        assert sessions_of(server) == [None, "session-1", "session-1", None, "session-2"]

        sessions.known.clear()
        with pytest.raises(SessionGone):
            await link.notify("notifications/x", b"{}")


async def test_a_late_word_about_an_old_session_does_not_end_the_new_one() -> None:
    sessions = Sessions()
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            if received.body and received.message["method"] == "slow":
                arrived.set()
                await go_on.wait()
            await peer.send(sessions.answer(received))

    async with RawServer(script) as server, link_to(server) as (link, _):
        await link.request("initialize", b"{}", seconds=5)
        async with asyncio.TaskGroup() as group:
            slow = group.create_task(expect_session_gone(link))
            await arrived.wait()
            sessions.known.clear()
            with pytest.raises(SessionGone):
                await ask(link)
            await link.request("initialize", b"{}", seconds=5)
            go_on.set()
        assert slow.result() is None
        await ask(link)
        assert sessions_of(server)[-1] == "session-2"


async def expect_session_gone(link: HttpLink) -> None:
    with pytest.raises(SessionGone):
        await link.request("slow", b"{}", seconds=5)


async def test_404_without_a_session_is_a_refusal() -> None:
    async with RawServer(each(Sessions().answer)) as server, link_to(server) as (link, _):
        with pytest.raises(Refused, match="check the URL"):
            await ask(link)


async def test_a_session_is_only_taken_from_an_initialize_that_went_well() -> None:
    def answer(received: Received) -> bytes:
        failed = received.message["method"] == "initialize"
        text = error(received.id) if failed else result(received.id)
        return whole("200 OK", "application/json", text, "Mcp-Session-Id: evil")

    async with RawServer(each(answer)) as server, link_to(server) as (link, _):
        await link.request("initialize", b"{}", seconds=5)
        await ask(link)
        await ask(link)
        assert sessions_of(server) == [None, None, None]


async def test_a_session_id_with_odd_characters_is_a_bad_message() -> None:
    async with (
        RawServer(each(lambda received: reply(received, {}, "Mcp-Session-Id: a b"))) as server,
        link_to(server) as (link, _),
    ):
        with pytest.raises(BadMessage, match="session id"):
            await link.request("initialize", b"{}", seconds=5)


async def test_a_server_that_does_not_let_a_session_end_does_not_hold_us_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_http, "FAREWELL_SECONDS", 0.05)

    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            if received.line.startswith("DELETE"):
                return await peer.closed()
            await peer.send(reply(received, {}, "Mcp-Session-Id: s"))

    async with RawServer(script) as server, link_to(server) as (link, _):
        await link.request("initialize", b"{}", seconds=5)
        await link.close()
        assert server.received[-1].line.startswith("DELETE")


# Notifications --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        ACCEPTED,
        head("204 No Content"),
        whole("200 OK", "application/json", b"{}"),
        STREAM_HEAD,
    ],
)
async def test_a_notification_is_accepted_by_any_success(answer: bytes) -> None:
    async with RawServer(each(lambda _: answer)) as server, link_to(server) as (link, _):
        await link.notify("notifications/x", b'{"a":1.0}')
        assert server.received[0].body == b'{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1.0}}'


@pytest.mark.parametrize("answer", [b"", b"garbage", head("500 Oops", "Content-Length: 0"), head("302 Found")])
async def test_a_notification_that_is_not_accepted_is_a_link_that_is_down(answer: bytes) -> None:
    async with RawServer(once(answer)) as server, link_to(server) as (link, _):
        with pytest.raises(LinkDown) as down:
            await link.notify("notifications/x", b"{}")
        assert down.value.sent


async def test_a_notification_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_http, "NOTIFY_SECONDS", 0.05)
    async with RawServer(Peer.closed) as server, link_to(server) as (link, _):
        with pytest.raises(LinkDown, match="did not answer") as down:
            await link.notify("notifications/x", b"{}")
        assert down.value.sent


# Waiting, and not waiting any more ------------------------------------------------------------------------------


class Silence:
    """A server that answers `tools/call` with nothing, or with a stream that goes nowhere."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = pieces
        self.arrived = asyncio.Event()
        self.closed = asyncio.Event()
        self.told = asyncio.Event()

    async def script(self, peer: Peer) -> None:
        while True:
            received = await peer.request()
            if not received.body or "id" not in received.message:
                await peer.send(ACCEPTED)
                self.told.set()
            elif received.message["method"] == "initialize":
                await peer.send(reply(received, {}, "Mcp-Session-Id: s"))
            else:
                await peer.send(*self._pieces)
                self.arrived.set()
                await peer.closed()
                self.closed.set()


SILENCES = [(), (b"HTTP/1.1 200 OK\r\n",), (STREAM_HEAD,), (STREAM_HEAD, b"3\r\n:\n\n\r\n")]


@pytest.mark.parametrize("pieces", SILENCES)
async def test_an_upstream_that_does_not_answer_in_time_is_left(pieces: tuple[bytes, ...]) -> None:
    silence = Silence(*pieces)
    async with RawServer(silence.script) as server, link_to(server) as (link, _):
        link.modern = True
        with pytest.raises(LinkTimeout, match=r"did not answer within 0.05 s"):
            await ask(link, seconds=0.05)
        await silence.closed.wait()
        await link.close()
        assert len(server.received) == 1


async def test_a_stream_that_never_stops_talking_is_left_in_time() -> None:
    async def script(peer: Peer) -> None:
        await peer.request()
        await peer.send(head("200 OK", "Content-Type: text/event-stream"))
        while server.seen_closed == set():
            await peer.send(b": still here\n\n")
            with suppress(TimeoutError):
                async with asyncio.timeout(0.001):
                    await peer.closed()

    async with RawServer(script) as server, link_to(server) as (link, _):
        with pytest.raises(LinkTimeout):
            await ask(link, seconds=0.1)


@pytest.mark.parametrize("pieces", SILENCES)
async def test_a_cancelled_modern_request_closes_its_connection_and_that_is_all(pieces: tuple[bytes, ...]) -> None:
    silence = Silence(*pieces)
    async with RawServer(silence.script) as server, link_to(server) as (link, _):
        link.modern = True
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(ask(link))
            await silence.arrived.wait()
            waiting.cancel()
        await silence.closed.wait()
        await link.close()
        assert len(server.received) == 1


@pytest.mark.parametrize("pieces", SILENCES)
async def test_a_cancelled_legacy_request_is_cancelled_in_words_as_well(pieces: tuple[bytes, ...]) -> None:
    silence = Silence(*pieces)
    async with RawServer(silence.script) as server, link_to(server) as (link, _):
        await link.request("initialize", b"{}", seconds=5)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(ask(link))
            await silence.arrived.wait()
            waiting.cancel()
        await silence.closed.wait()
        await silence.told.wait()
        assert server.messages[-1] == {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 2},
        }
        assert server.received[-1].field("Mcp-Session-Id") == "s"


async def test_a_legacy_request_that_is_overdue_is_cancelled_as_well() -> None:
    silence = Silence()
    async with RawServer(silence.script) as server, link_to(server) as (link, _):
        with pytest.raises(LinkTimeout):
            await ask(link, seconds=0.05)
        await silence.told.wait()
        assert server.messages[-1]["method"] == "notifications/cancelled"


async def test_initialize_is_never_cancelled() -> None:
    async with RawServer(Peer.closed) as server, link_to(server) as (link, _):
        with pytest.raises(LinkTimeout):
            await link.request("initialize", b"{}", seconds=0.05)
        await link.close()
        assert server.connections == 1


async def test_a_cancellation_that_cannot_be_told_is_no_failure() -> None:
    arrived = asyncio.Event()

    async def script(peer: Peer) -> None:
        received = await peer.request()
        arrived.set()
        if "id" in received.message:
            await peer.closed()

    async with RawServer(script) as server, link_to(server) as (link, _):
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(ask(link))
            await arrived.wait()
            waiting.cancel()
        await link.close()


async def test_a_request_that_finds_no_free_connection_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_http, "MAX_CONNECTIONS", 1)
    silence = Silence()
    async with RawServer(silence.script) as server, link_to(server) as (link, _):
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(ask(link))
            await silence.arrived.wait()
            with pytest.raises(LinkDown, match="no connection") as down:
                await ask(link, seconds=0.05)
            assert not down.value.sent
            # The house is full, and still the upstream can be told that nobody waits any more.
            waiting.cancel()
            await silence.told.wait()
        assert [each["method"] for each in server.messages] == ["tools/call", "notifications/cancelled"]


async def test_closing_wakes_everyone_who_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_http, "MAX_CONNECTIONS", 1)
    silence = Silence()

    async def down(link: HttpLink) -> bool:
        with pytest.raises(LinkDown, match="was closed") as closed:
            await ask(link)
        return closed.value.sent

    async with RawServer(silence.script) as server, link_to(server) as (link, _):
        async with asyncio.TaskGroup() as group:
            sent = group.create_task(down(link))
            await silence.arrived.wait()
            unsent = group.create_task(down(link))
            await asyncio.sleep(0)
            await link.close()
        assert (sent.result(), unsent.result()) == (True, False)
        await silence.closed.wait()
        assert len(server.received) == 1


async def test_closing_does_not_trip_over_a_request_whose_time_has_just_run_out() -> None:
    silence = Silence()
    async with RawServer(silence.script) as server, link_to(server) as (link, _):
        closing = asyncio.Event()

        async def late() -> None:
            with pytest.raises((LinkDown, LinkTimeout)):
                await ask(link, seconds=0.1)

        async def close() -> None:
            await closing.wait()
            await link.close()

        async with asyncio.TaskGroup() as group:
            group.create_task(late())
            group.create_task(close())
            await silence.arrived.wait()
            loop = asyncio.get_running_loop()
            loop.call_later(0.05, closing.set)
            loop.call_soon(time.sleep, 0.15)  # holds the loop up, so that both fall due in the same turn


# Opening and closing --------------------------------------------------------------------------------------------


async def test_an_upstream_that_is_not_there_is_known_at_the_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/mcp?key=secret"
    link = HttpLink(url, {}, on_notification=print)
    with pytest.raises(LinkDown, match="cannot be reached") as down:
        await link.start()
    assert not down.value.sent
    assert "secret" not in down.value.why
    await link.close()


async def test_a_link_that_is_not_open_sends_nothing() -> None:
    async with RawServer(each(reply)) as server:
        link = HttpLink(server.url, {}, on_notification=print)
        with pytest.raises(LinkDown, match="not open") as down:
            await ask(link)
        assert not down.value.sent
        await link.start()
        await link.close()
        await link.close()
        with pytest.raises(LinkDown, match="not open"):
            await link.notify("notifications/x", b"{}")
        assert server.received == []


async def test_a_link_can_be_opened_again_and_by_another_task() -> None:
    async with RawServer(each(reply)) as server:
        link = HttpLink(server.url, {}, on_notification=print)
        for _ in range(2):
            async with asyncio.TaskGroup() as group:
                group.create_task(link.start())
            await link.start()
            assert await ask(link) == Answer(b"{}")
            async with asyncio.TaskGroup() as group:
                group.create_task(link.close())


# Connections ----------------------------------------------------------------------------------------------------


async def test_one_connection_serves_many_requests() -> None:
    async with RawServer(each(reply)) as server, link_to(server) as (link, _):
        for _ in range(20):
            await ask(link)
        assert server.connections == 1


async def test_a_kept_connection_that_was_closed_is_replaced_and_the_request_is_seen_once() -> None:
    closed = asyncio.Event()

    async def script(peer: Peer) -> None:
        await peer.send(reply(await peer.request()))
        if peer.number == 1:
            await peer.close()
            closed.set()
        else:
            await peer.closed()

    async with RawServer(script) as server, link_to(server) as (link, _):
        await ask(link)
        await closed.wait()
        await ask(link)
        assert [(each.connection, each.id) for each in server.received] == [(1, 1), (2, 2)]


@pytest.mark.parametrize("part", [1, 20, 300])
async def test_a_request_that_was_written_in_part_is_never_sent_again(part: int) -> None:
    parts: list[bytes] = []

    async def script(peer: Peer) -> None:
        parts.append(await peer.part(part))
        await peer.reset()

    async with RawServer(script) as server, link_to(server) as (link, _):
        with pytest.raises(LinkDown) as down:
            await link.request("tools/call", b'{"a":"' + b"x" * 10_000_000 + b'"}', seconds=5)
        assert down.value.sent
        assert (server.connections, [len(each) for each in parts]) == (1, [part])


async def test_a_thousand_requests_at_once_never_cross() -> None:
    async def script(peer: Peer) -> None:
        while True:
            received = await peer.request()
            params = received.message["params"]
            for _ in range(params["nonce"] * 7919 % 23):
                await asyncio.sleep(0)
            answer = reply(received, params)
            if params["nonce"] % 2:
                token = params["_meta"]["progressToken"]
                progress = {"progressToken": token, "nonce": params["nonce"]}
                answer = stream(told("notifications/progress", progress), result(received.id, params))
            await peer.send(answer)

    async def one(link: HttpLink, nonce: int) -> None:
        progress: list[Notification] = []
        params = json.dumps({"nonce": nonce}).encode()
        answer = await link.request("tools/call", params, seconds=SECONDS, listener=progress.append)
        assert json.loads(answer.result)["nonce"] == nonce
        assert [json.loads(each.params) for each in progress] == [{"nonce": nonce}] * (nonce % 2)

    async with RawServer(script) as server, link_to(server) as (link, heard):
        await asyncio.gather(*(one(link, nonce) for nonce in range(1000)))
        assert sorted(each["params"]["nonce"] for each in server.messages) == list(range(1000))
        assert server.connections <= 2 * link_http.MAX_CONNECTIONS
        assert heard == []


# TLS ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"))


async def test_tls_with_a_certificate_that_is_trusted(certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with (
        RawServer(each(reply), tls=serving(certificate)) as server,
        link_to(server, tls=trusting) as (link, _),
    ):
        for _ in range(3):
            assert await ask(link) == Answer(b"{}")
        await asyncio.gather(*(ask(link) for _ in range(20)))
        assert len(server.received) == 23
        assert server.connections <= 22


async def test_tls_with_a_certificate_that_nobody_vouches_for(certificate: Path) -> None:
    async with RawServer(each(reply), tls=serving(certificate)) as server:
        link = HttpLink(server.url, {"Authorization": "Bearer x"}, on_notification=print)
        with pytest.raises(LinkDown, match="its certificate is not trusted") as down:
            await link.start()
        assert not down.value.sent
        assert server.received == []


async def test_tls_to_a_server_that_speaks_none() -> None:
    async def script(peer: Peer) -> None:
        await peer.part(1)
        await peer.send(head("400 Bad Request", "Content-Length: 0"))

    async with RawServer(script) as server:
        link = HttpLink(server.url.replace("http:", "https:"), {}, on_notification=print)
        with pytest.raises(LinkDown, match="cannot be reached"):
            await link.start()


async def test_a_stream_over_tls_can_be_cancelled(certificate: Path) -> None:
    silence = Silence(STREAM_HEAD)
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with (
        RawServer(silence.script, tls=serving(certificate)) as server,
        link_to(server, tls=trusting) as (link, _),
    ):
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(ask(link))
            await silence.arrived.wait()
            waiting.cancel()
        await silence.closed.wait()
        await silence.told.wait()


def test_there_is_one_tls_context_for_all() -> None:
    assert default_tls() is default_tls()
    assert default_tls().verify_mode is ssl.CERT_REQUIRED
    assert default_tls().check_hostname


# A real upstream ------------------------------------------------------------------------------------------------

META: dict[str, object] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
CLIENT: dict[str, object] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "interlock", "version": "0"},
}


@pytest.mark.parametrize("sse", [False, True])
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_conversation_with_a_real_upstream(tmp_path: Path, era: str, sse: bool) -> None:
    meta: dict[str, object] = META if era == "modern" else {}

    def params(**members: object) -> bytes:
        return json.dumps({**members, "_meta": meta}).encode()

    progress: list[Notification] = []
    with http_upstream(tmp_path / "log", era=era, sse=sse) as upstream:
        link = HttpLink(upstream.url, {"Authorization": "Bearer x"}, on_notification=print)
        await link.start()
        link.modern, link.protocol_version = era == "modern", "2026-07-28" if era == "modern" else None
        if era == "modern":
            begun = await link.request("server/discover", params(), seconds=SECONDS)
        else:
            begun = await link.request("initialize", json.dumps(CLIENT).encode(), seconds=SECONDS)
            link.protocol_version = "2025-11-25"
            await link.notify("notifications/initialized", b"{}")
        echoed = await link.request(
            "tools/call", params(name="echo", arguments={"a": "é"}), seconds=SECONDS, name="echo"
        )
        await link.request(
            "tools/call",
            params(name="slow", arguments={"seconds": 0}),
            seconds=SECONDS,
            name="slow",
            listener=progress.append,
        )
        await link.close()
        last = upstream.received()[-1]

    assert (begun.error, echoed.error) == (None, None)
    assert json.loads(json.loads(echoed.result)["content"][0]["text"]) == {"a": "é"}
    assert [json.loads(each.params)["progress"] for each in progress] == [0, 1, 2, 3, 4]
    assert last.header("Authorization") == "Bearer x"
    assert last.http.startswith("POST" if era == "modern" else "DELETE")


def test_long_names_are_not_remembered() -> None:
    tracemalloc.start()
    try:
        for number in range(100):
            assert mirrored_line("Mcp-Name", "x" * 100_000 + str(number)).startswith(b"Mcp-Name: x")
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert kept < 1_000_000
