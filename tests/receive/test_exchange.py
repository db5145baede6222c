"""One HTTP request under way: plain JSON, an event stream, or a client that went away."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Message

from interlock.alarms import Alarms
from interlock.receive import replies
from interlock.receive.exchange import MAX_UNREAD, HttpExchange

ANSWER, CANCELLED = b'{"answer":1}', b'{"cancelled":1}'


class Client:
    """The other end of an exchange: what was sent to it, and a way to go away."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.leaves = asyncio.Event()

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def receive(self) -> Message:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


async def run(client: Client, work: Callable[[HttpExchange], Awaitable[bytes]]) -> None:
    async with asyncio.timeout(5), asyncio.TaskGroup() as side:
        exchange = HttpExchange(client.receive, client.send, side, Alarms())
        await exchange.run(work(exchange), lambda: CANCELLED)


async def test_an_answer_without_anything_before_it_is_plain_json() -> None:
    client = Client()

    async def work(exchange: HttpExchange) -> bytes:
        return ANSWER

    await run(client, work)

    assert client.sent[0]["status"] == 200
    assert (b"content-type", b"application/json") in client.sent[0]["headers"]
    assert client.body == ANSWER


@pytest.mark.parametrize(("code", "status"), [(-32602, 400), (-32011, 200)])
async def test_an_error_goes_out_with_the_status_of_its_code(code: int, status: int) -> None:
    client = Client()

    async def work(exchange: HttpExchange) -> bytes:
        return replies.error_response(1, code, "no")

    async with asyncio.timeout(5), asyncio.TaskGroup() as side:
        exchange = HttpExchange(client.receive, client.send, side, Alarms(), {-32602: 400})
        await exchange.run(work(exchange), lambda: CANCELLED)

    assert client.sent[0]["status"] == status


async def test_the_first_notification_turns_the_answer_into_an_event_stream() -> None:
    client = Client()

    async def work(exchange: HttpExchange) -> bytes:
        exchange.tell(b'{"progress":1}')
        exchange.tell(b'{"progress":2}')
        return ANSWER

    await run(client, work)

    assert (b"content-type", b"text/event-stream") in client.sent[0]["headers"]
    assert client.body.split(b"\r\n\r\n")[:3] == [
        b'event: message\r\ndata: {"progress":1}',
        b'event: message\r\ndata: {"progress":2}',
        b"event: message\r\ndata: " + ANSWER,
    ]
    assert not client.sent[-1].get("more_body", False)


async def test_a_client_that_does_not_read_costs_no_memory() -> None:
    client = Client()

    async def work(exchange: HttpExchange) -> bytes:
        for _ in range(MAX_UNREAD * 3):
            exchange.tell(b"{}")
        return ANSWER

    await run(client, work)

    assert client.body.count(b"event: message") == MAX_UNREAD + 1


async def test_a_client_that_goes_away_cancels_its_call_and_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.exchange.WATCH_AFTER", 0)
    client = Client()
    cancelled = asyncio.Event()

    async def work(exchange: HttpExchange) -> bytes:
        client.leaves.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ANSWER

    await run(client, work)

    assert cancelled.is_set()
    assert client.sent == []


@pytest.mark.parametrize("heard", [0, 1])
async def test_nothing_goes_on_running_for_a_client_that_went_away_while_it_was_told_something(
    monkeypatch: pytest.MonkeyPatch, heard: int
) -> None:
    monkeypatch.setattr("interlock.receive.exchange.WATCH_AFTER", 0)
    client = Client()

    async def work(exchange: HttpExchange) -> bytes:
        exchange.tell(b'{"progress":1}')
        for _ in range(heard * 3):
            await asyncio.sleep(0)
        client.leaves.set()
        await asyncio.Event().wait()
        return ANSWER

    # It ends only when the group of what runs beside the call is empty.
    await run(client, work)

    assert ANSWER not in client.body
    assert CANCELLED not in client.body


async def test_a_call_that_fails_while_it_says_something_leaves_nothing_running() -> None:
    async def work(exchange: HttpExchange) -> bytes:
        exchange.tell(b'{"progress":1}')
        await asyncio.sleep(0)
        raise ZeroDivisionError

    client = Client()
    async with asyncio.timeout(5), asyncio.TaskGroup() as side:
        exchange = HttpExchange(client.receive, client.send, side, Alarms())
        with pytest.raises(ZeroDivisionError):
            await exchange.run(work(exchange), lambda: CANCELLED)

    assert ANSWER not in client.body


async def test_what_waits_for_a_slow_reader_is_bounded_in_number_and_in_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.exchange.MAX_UNREAD_BYTES", 100)
    client = Client()

    async def work(exchange: HttpExchange) -> bytes:
        for number in range(50):
            exchange.tell(b'{"progress":%d}' % number)
        return ANSWER

    await run(client, work)

    assert client.body.count(b'"progress"') == 7
    assert ANSWER in client.body


async def test_a_call_that_is_cancelled_from_outside_is_answered_so() -> None:
    client = Client()

    async def work(exchange: HttpExchange) -> bytes:
        asyncio.get_running_loop().call_soon(exchange.cancel)
        await asyncio.Event().wait()
        return ANSWER

    await run(client, work)

    assert client.body == CANCELLED


async def test_cancelling_what_has_ended_does_nothing() -> None:
    client = Client()
    kept: list[HttpExchange] = []

    async def work(exchange: HttpExchange) -> bytes:
        kept.append(exchange)
        return ANSWER

    await run(client, work)
    kept[0].cancel()

    assert client.body == ANSWER


async def test_a_shutdown_is_not_mistaken_for_a_cancelled_call() -> None:
    client = Client()
    began = asyncio.Event()

    async def work(exchange: HttpExchange) -> bytes:
        began.set()
        await asyncio.Event().wait()
        return ANSWER

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run(client, work))
        await began.wait()
        task.cancel()

    assert task.cancelled()
    assert client.sent == []
