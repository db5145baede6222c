"""The callers of the measurements, against servers that answer in every way a peer may, right or wrong."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable

import pytest

from calling import LEGACY, Calls, Door, Load, Requests, loaded
from processes import Process

Answer = Callable[[bytes], bytes]
"""From a request to all bytes of its answer."""
SECONDS = 0.05


def echoed(request: bytes, **more: object) -> bytes:
    message = json.loads(request.partition(b"\r\n\r\n")[2])
    text = message["params"]["arguments"]["text"]
    result = {"content": [{"type": "text", "text": text}], "isError": False, **more}
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()


def whole(body: bytes, *fields: str) -> bytes:
    head = "".join(f"{field}\r\n" for field in ("HTTP/1.1 200 OK", *fields, f"Content-Length: {len(body)}"))
    return head.encode() + b"\r\n" + body


def in_events(body: bytes) -> bytes:
    """A stream of events, with a chunk that ends in the middle of the text."""
    said = b": ping\r\n\r\nevent: message\r\ndata: " + body + b"\r\n\r\n"
    middle = said.index(b'"text": "') + 30
    chunks = (said[:middle], said[middle:])
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncGenerator[Door]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                said = answer(head + await reader.readexactly(length))
                writer.write(said)
                if b"Connection: close" in said:
                    break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield Door(Process(0, server.sockets[0].getsockname()[1]))


async def called(answer: Answer, callers: int = 2) -> Load:
    async with serving(answer) as door:
        return await loaded(door, Requests(Calls(), door), SECONDS, callers)


RIGHT: dict[str, Answer] = {
    "whole": lambda request: whole(echoed(request)),
    "in events": lambda request: in_events(echoed(request)),
    "then closed": lambda request: whole(echoed(request), "Connection: close"),
}
WRONG: dict[str, Answer] = {
    "an error": lambda request: whole(echoed(request, isError=True)),
    "another id": lambda request: whole(echoed(request).replace(b'"id": 1', b'"id": 2')),
    "another text": lambda request: whole(echoed(request, content=[])),
    "another status": lambda request: whole(echoed(request)).replace(b"200 OK", b"429 Too Many Requests"),
    "nothing": lambda request: b"Connection: close",
}


@pytest.mark.parametrize("how", RIGHT)
async def test_right_answers_count_in_whatever_form_they_come(how: str) -> None:
    load = await called(RIGHT[how])

    assert (load.errors, load.problem) == (0, "")
    assert len(load.waits) > 2


@pytest.mark.parametrize("what", WRONG)
async def test_an_answer_that_is_not_the_one_to_the_call_is_an_error(what: str) -> None:
    load = await called(WRONG[what])

    assert load.waits == []
    assert load.errors > 0
    assert load.problem


async def test_every_tenth_call_writes_and_all_have_ids_and_texts_of_their_own() -> None:
    seen: list[bytes] = []
    async with serving(lambda request: whole(echoed(seen.append(request) or request))) as door:
        await loaded(door, Requests(Calls(writes_every=10), door), SECONDS, 1)
    messages = [json.loads(each.partition(b"\r\n\r\n")[2]) for each in seen]

    assert len({each["id"] for each in messages}) == len(messages)
    assert len({each["params"]["arguments"]["text"] for each in messages}) == len(messages)
    assert {each["id"] % 10 == 0 for each in messages if each["params"]["name"] == "update_echo"} == {True}
    assert {each["id"] % 10 == 0 for each in messages if each["params"]["name"] == "get_echo"} == {False}


@pytest.mark.parametrize("size", [64, 10_000])
async def test_a_text_has_the_size_that_was_asked_for(size: int) -> None:
    seen: list[bytes] = []
    async with serving(lambda request: whole(echoed(seen.append(request) or request))) as door:
        await loaded(door, Requests(Calls(size=size), door), SECONDS, 1)

    assert len(json.loads(seen[0].partition(b"\r\n\r\n")[2])["params"]["arguments"]["text"]) == size
    assert LEGACY.encode() not in seen[0]
