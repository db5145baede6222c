"""What is refused before anybody else sees it."""

import asyncio
from collections.abc import Sequence

import pytest
from starlette.types import Message, Receive, Scope

from interlock import errors
from interlock.errors import Reason
from interlock.receive.edge import Edge, Refused, nobody, own_hosts, send_refusal

EDGE = Edge(own_hosts("127.0.0.1", 7373), max_body=100)


def scope(*headers: tuple[str, str]) -> Scope:
    return {"type": "http", "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers]}


@pytest.mark.parametrize("host", ["127.0.0.1:7373", "localhost:7373", "[::1]:7373"])
def test_our_own_names_are_served(host: str) -> None:
    assert EDGE.check(scope(("host", host)))["host"] == host


def test_white_space_around_a_value_is_no_part_of_it() -> None:
    headers = EDGE.check(scope(("host", " localhost:7373\t "), ("mcp-name", "  a b  ")))

    assert (headers["host"], headers["mcp-name"]) == ("localhost:7373", "a b")


@pytest.mark.parametrize(
    "host",
    [
        "evil.test",
        "evil.test:7373",
        "localhost.evil.test:7373",
        "127.0.0.1.evil.test:7373",
        "127.0.0.1",
        "127.0.0.1:7374",
        "localhost:73730",
        "",
    ],
)
def test_any_other_host_is_misdirected(host: str) -> None:
    with pytest.raises(Refused) as refused:
        EDGE.check(scope(("host", host)))

    assert refused.value.status == 421


def test_a_request_without_host_is_misdirected() -> None:
    with pytest.raises(Refused) as refused:
        EDGE.check(scope())

    assert refused.value.status == 421


@pytest.mark.parametrize("origin", ["http://127.0.0.1:7373", "http://localhost:7373", "https://localhost:7373"])
def test_our_own_pages_may_ask(origin: str) -> None:
    assert EDGE.check(scope(("host", "localhost:7373"), ("origin", origin)))


@pytest.mark.parametrize("origin", ["null", "http://localhost:1234", "http://evil.test", "file://localhost:7373", ""])
def test_other_pages_may_not(origin: str) -> None:
    with pytest.raises(Refused) as refused:
        EDGE.check(scope(("host", "localhost:7373"), ("origin", origin)))

    assert refused.value.status == 403


def test_an_origin_that_the_operator_named_may_ask() -> None:
    edge = Edge(own_hosts("127.0.0.1", 7373), ["https://desk.example"])

    assert edge.check(scope(("host", "localhost:7373"), ("origin", "https://desk.example")))


@pytest.mark.parametrize("name", ["host", "origin", "authorization", "mcp-session-id", "content-length"])
def test_a_header_that_decides_something_may_not_stand_twice(name: str) -> None:
    with pytest.raises(Refused) as refused:
        EDGE.check(scope(("host", "localhost:7373"), (name, "localhost:7373"), (name, "x")))

    assert refused.value.status == 400


def arriving(messages: Sequence[Message]) -> Receive:
    waiting = list(messages)

    async def receive() -> Message:
        return waiting.pop(0)

    return receive


def part(body: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


async def test_a_body_in_parts_is_put_together() -> None:
    assert await EDGE.body({}, arriving([part(b"ab", more=True), part(b"cd", more=False)])) == b"abcd"


@pytest.mark.parametrize(
    ("headers", "messages", "status"),
    [
        ({"content-length": "101"}, [], 413),
        ({"content-length": "x"}, [], 400),
        ({"content-length": "-1"}, [], 400),
        ({"content-length": "9" * 5000}, [], 400),
        ({}, [part(b"x" * 60, more=True), part(b"x" * 60, more=True)], 413),
        ({"content-length": "1"}, [part(b"x" * 101, more=False)], 413),
        ({}, [{"type": "http.disconnect"}], 400),
    ],
)
async def test_a_body_that_is_too_long_or_never_comes_is_refused(
    headers: dict[str, str], messages: list[Message], status: int
) -> None:
    with pytest.raises(Refused) as refused:
        await EDGE.body(headers, arriving(messages))

    assert refused.value.status == status


async def test_a_body_that_never_ends_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.edge.READ_SECONDS", 0.01)

    async def never() -> Message:
        await asyncio.Event().wait()
        return {}

    with pytest.raises(Refused) as refused:
        await EDGE.body({}, never)

    assert refused.value.status == 408


async def test_a_refusal_is_a_small_json_answer() -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await send_refusal(send, Refused(413, 'The "body" is too long.'))

    assert sent[0]["status"] == 413
    assert sent[1]["body"] == b'{"error":"The \'body\' is too long."}'


@pytest.mark.parametrize(("origin", "let"), [(None, True), ("http://other:1", True), ("http://evil", False)])
def test_beyond_loopback_any_name_is_served_and_only_its_own_pages_may_ask(origin: str | None, let: bool) -> None:
    edge = Edge(own_hosts("0.0.0.0", 1))  # noqa: S104 - that is the point
    headers = [(b"host", b"other:1")] + ([] if origin is None else [(b"origin", origin.encode())])

    if let:
        assert edge.check({"headers": headers})["host"] == "other:1"
    else:
        with pytest.raises(Refused) as caught:
            edge.check({"headers": headers})
        assert caught.value.status == 403


def test_an_origin_that_is_no_address_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        Edge(own_hosts("127.0.0.1", 1)).check({"headers": [(b"host", b"127.0.0.1:1"), (b"origin", b"http://[::1")]})

    assert caught.value.status == 403


@pytest.mark.parametrize(
    ("reason", "status"), [(errors.JWT_EXPIRED(), 401), (errors.JWT_NO_ROLE(), 403), (Reason("Who is that?"), 401)]
)
def test_whoever_is_nobody_is_told_so_with_the_status_of_the_reason(reason: Reason, status: int) -> None:
    refused = nobody(reason)

    assert (refused.status, refused.why) == (status, f"{reason.text} {reason.fix}")
