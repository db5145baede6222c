"""What a hostile or broken process does to its link, and that it does nothing to anybody else."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from interlock.forward import link_stdio, overlong
from interlock.forward.link import MAX_MESSAGE, BadMessage, LinkDown, LinkTimeout, Notification, TooLong
from interlock.forward.link_stdio import MAX_JUNK_LINE, MAX_JUNK_LINES
from tests.forward.children import (
    ANSWERING,
    LOOPS,
    RECORDING,
    PeakMemory,
    asked,
    called,
    end_at_once,
    linked,
    python,
    runs,
)
from tests.upstream.running import stdio_argv

FLOOD = 1_000_000 if os.environ.get("HYPOTHESIS_PROFILE") == "torture" else 30_000
"""The full count in `make torture`, a sample in `make test`."""


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


# Answers to nothing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("say(id=99, result={'wrong': 1})", id="unknown id"),
        pytest.param("say(id=str(number), result={'wrong': 1})", id="id as text"),
        pytest.param("say(id=float(number), result={'wrong': 1})", id="id as float"),
        pytest.param("say(id=None, error={'code': -32700, 'message': 'what?'})", id="no id"),
        pytest.param("say(id=number + 1, result={'wrong': 1})", id="before its request"),
    ],
)
async def test_an_answer_to_nothing_is_ignored(before: str) -> None:
    code = f"""
while request := hear():
    number = request["id"]
    {before}
    say(id=number, result={{"right": number}})
"""
    async with linked(python(code)) as link:
        assert [await asked(link), await asked(link)] == [{"right": 1}, {"right": 2}]
        assert link.ignored == 2


async def test_the_second_answer_to_a_request_is_ignored() -> None:
    code = "for line in sys.stdin:\n for n in (1, 2): say(id=json.loads(line)['id'], result={'n': n})"
    async with linked(python(code)) as link:
        assert [await asked(link) for _ in range(3)] == [{"n": 1}] * 3
        assert link.ignored >= 2


async def test_an_answer_that_comes_too_late_is_ignored() -> None:
    code = (
        "first = hear(); hear(); second = hear(); say(id=first['id'], result={}); say(id=second['id'], result={'n': 2})"
    )
    async with linked(python(code)) as link:
        with pytest.raises(LinkTimeout):
            await link.request("any", b"{}", seconds=0.05)
        assert await asked(link) == {"n": 2}
        assert link.ignored == 1


# What is no message ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["utf8", "array", "object", "broken"])
async def test_what_is_no_message_ends_this_link_and_no_other(tmp_path: Path, kind: str) -> None:
    async with linked(stdio_argv(tmp_path / "bad")) as link, linked(stdio_argv(tmp_path / "good")) as other:
        pid = link.pid or 0
        waiting = asyncio.ensure_future(called(link, "slow", seconds=60))
        with pytest.raises(BadMessage):
            await called(link, "garbage", kind=kind)
        with pytest.raises(BadMessage):
            await waiting
        with pytest.raises(LinkDown) as refused:
            await called(link, "echo")
        assert (refused.value.sent, link.alive) == (False, False)
        assert (await called(other, "echo", n=1))["arguments"] == {"n": 1}
        await link.close()

        assert not runs(pid)
    assert link.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"jsonrpc":"2.0","id":1,"result":{"a":NaN}}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}',
        b"null",
        b"{" + b"x" * 100,
        b"banner " + b"x" * MAX_JUNK_LINE,
        b"\x00" * 2000,
    ],
    ids=lambda line: line[:50].decode(),
)
async def test_a_line_that_is_no_message_fails_whoever_waits(line: bytes) -> None:
    async with linked(python(f"hear(); write({line!r} + b'\\n'); hear()" if len(line) < 5_000 else NESTED)) as link:
        with pytest.raises(BadMessage):
            await link.request("any", b"{}", seconds=30)


NESTED = """hear(); write(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}\\n"); hear()"""


async def test_a_banner_is_passed_over() -> None:
    banner = (
        "write(b'Starting...\\n[info] ready\\n\\xc3\\xa9 \\xe2\\x9c\\x93\\n123 servers\\n' + b'\\n \\r\\n' * 100)\n"
    )
    async with linked(python(banner + ANSWERING)) as link:
        assert await asked(link) == {}
        assert (link.junk, link.stray) == (4, 4)


async def test_stray_lines_are_counted_over_all_processes() -> None:
    async with linked(python("write(b'hello\\n')\n" + ANSWERING)) as link:
        await asked(link)
        await link.start()
        await asked(link)

        assert (link.junk, link.stray) == (1, 2)


async def test_only_so_many_lines_of_chatter_are_borne(tmp_path: Path) -> None:
    async with linked(stdio_argv(tmp_path / "log")) as link:
        await called(link, "garbage", kind="junk", count=MAX_JUNK_LINES)
        assert link.junk == MAX_JUNK_LINES
        with pytest.raises(BadMessage):
            await called(link, "garbage", kind="junk", count=1)


@pytest.mark.parametrize(("extra", "fits"), [(0, True), (1, False)])
async def test_a_message_may_be_as_long_as_the_limit_and_not_longer(extra: int, fits: bool) -> None:
    code = f"""
number = hear()["id"]
head, tail = b'{{"jsonrpc":"2.0","id":%d,"result":"' % number, b'"}}'
write(head + b"x" * ({MAX_MESSAGE + extra} - len(head) - len(tail)) + tail + b"\\n")
hear()
"""
    async with linked(python(code)) as link:
        request = link.request("any", b"{}", seconds=30)
        if fits:
            assert len((await request).result) > MAX_MESSAGE - 100
        else:
            with pytest.raises(TooLong, match="longer than"):
                await request
            assert link.alive


LENGTHY = """
def answer(number):
    long = "x" * 9_000_000
    members = {"jsonrpc": "2.0", "id": number, "result": long}
    if %r == "id last":
        members = {"result": long, "jsonrpc": "2.0", "id": number}
    write(json.dumps(members).encode() + b"\\n")

first, second = hear(), hear()
answer(second["id"])
say(id=first["id"], result={"first": True})
while request := hear():
    if request["method"] == "long": answer(request["id"])
    elif "id" in request: say(id=request["id"], result={"pid": os.getpid()})
"""


@pytest.mark.parametrize("order", ["id first", "id last"])
async def test_an_answer_that_is_too_long_fails_its_own_request_and_no_other(order: str) -> None:
    async with linked(python(LENGTHY % order)) as link:
        first = asyncio.ensure_future(asked(link))
        await asyncio.sleep(0)
        with pytest.raises(TooLong):
            await asked(link, "long")
        assert await first == {"first": True}
        assert await asked(link) == {"pid": link.pid}
        assert (link.alive, link.ignored) == (True, 0)


@pytest.mark.parametrize("order", ["id first", "id last"])
async def test_answers_that_are_too_long_do_not_fill_the_memory(order: str) -> None:
    async with linked(python(LENGTHY % order)) as link:
        first = asyncio.ensure_future(asked(link))
        await asyncio.sleep(0)
        memory = PeakMemory()
        for _ in range(5):
            with pytest.raises(TooLong):
                await asked(link, "long")
        await first

    assert memory.growth() < 16


async def test_an_answer_that_is_too_long_and_too_late_is_ignored() -> None:
    code = """
first = hear(); hear()
say(id=first["id"], result="x" * 5_000_000)
say(id=hear()["id"], result={})
"""
    async with linked(python(code)) as link:
        with pytest.raises(LinkTimeout):
            await link.request("any", b"{}", seconds=0.05)
        assert await asked(link) == {}
        assert link.ignored == 1


async def test_an_answer_without_end_ends_the_link(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(overlong, "MAX_PASSED", 16 * 1024 * 1024)
    endless = """
first, second = hear(), hear()
write(b'{"jsonrpc":"2.0","id":%d,"result":"' % second["id"])
while True: write(b"x" * 65_536)
"""
    memory = PeakMemory()
    async with linked(python(endless)) as link, linked(stdio_argv(tmp_path / "g")) as good:
        other = asyncio.ensure_future(asked(link))
        await asyncio.sleep(0)
        with pytest.raises(TooLong):
            await asked(link)
        with pytest.raises(BadMessage, match="longer than 16777216"):
            await other
        assert await called(good, "echo")
        assert not link.alive

    assert memory.growth() < 16


async def test_what_is_passed_over_is_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_stdio, "_UNASKED_SECONDS", 3600)
    code = """write(b'{"jsonrpc":"2.0","id":%d,"result":"' % hear()["id"] + b"x" * 4_600_000)"""
    async with linked(python(code)) as link, linked(python(ANSWERING)) as other:
        with pytest.raises(TooLong):
            await asked(link)
        # If the rest were read, it would be over long before these are.
        assert await asyncio.gather(*(asked(other) for _ in range(3_000))) == [{}] * 3_000
        assert link.alive
        end_at_once(link)


async def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    memory = PeakMemory()
    async with (
        linked(python("hear(); write(b'x' * 65_536 * 1_024)")) as link,
        linked(stdio_argv(tmp_path / "g")) as good,
    ):
        with pytest.raises(BadMessage, match="longer than"):
            await link.request("any", b"{}", seconds=30)
        assert await called(good, "echo")

    assert memory.growth() < 32


# Floods ---------------------------------------------------------------------------------------------------------


async def test_a_flood_of_notifications_neither_fills_the_memory_nor_starves_another_link(tmp_path: Path) -> None:
    count = 0
    enough = asyncio.Event()

    def listen(_: Notification) -> None:
        nonlocal count
        count += 1
        if count == FLOOD:
            enough.set()

    flood = 'line = b\'{"jsonrpc":"2.0","method":"notifications/x","params":{}}\\n\' * 100\nwhile True: write(line)'
    memory = PeakMemory()
    async with (
        linked(python(flood), listener=listen, seconds=300) as flooding,
        linked(stdio_argv(tmp_path / "log"), seconds=300) as other,
    ):
        answered = 0
        while not enough.is_set():
            assert await called(other, "echo", seconds=2, n=answered)
            answered += 1
        assert flooding.alive

    assert answered > FLOOD // 1_000
    assert memory.growth() < 32


@pytest.mark.parametrize(("size", "taken"), [(10, 64), (10_000, 7), (100_000, 1)])
async def test_who_sends_much_unasked_has_to_wait(monkeypatch: pytest.MonkeyPatch, size: int, taken: int) -> None:
    monkeypatch.setattr(link_stdio, "_UNASKED_SECONDS", 3600)
    heard: list[Notification] = []
    so_far = asyncio.Event()

    def listen(notification: Notification) -> None:
        heard.append(notification)
        if len(heard) == taken:
            so_far.set()

    flood = f"while True: say(method='x', params={{'x': 'x' * {size}}})"
    async with linked(python(flood), listener=listen) as flooding, linked(python(ANSWERING)) as other:
        await so_far.wait()
        # Answers are never unasked for, however many there are.
        assert await asyncio.gather(*(asked(other) for _ in range(500))) == [{}] * 500
        assert flooding.alive
        end_at_once(flooding)

    assert len(heard) == taken


async def test_an_answer_is_found_in_a_flood() -> None:
    code = """
number = hear()["id"]
flood = b'{"jsonrpc":"2.0","method":"notifications/x"}\\n' * 1_000
write(flood)
say(id=number, result={})
write(flood)
say(id=hear()["id"], result={})
"""
    async with linked(python(code)) as link:
        assert [await asked(link), await asked(link)] == [{}, {}]


async def test_questions_of_one_that_does_not_read_the_replies_do_not_pile_up() -> None:
    code = """
for number in range(20_000):
    say(id=number, method="ping")
while request := hear():
    if "method" in request:
        say(id=request["id"], result={})
"""
    memory = PeakMemory()
    async with linked(python(code)) as link:
        assert await asked(link) == {}
        assert link.ignored > 0

    assert memory.growth() < 16


# An upstream that does not read ---------------------------------------------------------------------------------

WAKEABLE = """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
say(method="ready")
signal.sigwait([signal.SIGUSR1])
"""
"""A child that reads nothing before it gets a signal."""


async def test_requests_to_one_that_does_not_read_end_in_time_and_leave_no_memory_behind() -> None:
    async with linked(python("time.sleep(1000)")) as link:
        with pytest.raises(LinkTimeout):
            await link.request("first", b'{"x":"%s"}' % (b"x" * 1_000_000), seconds=0.02)
        memory = PeakMemory()
        for _ in range(64):
            with pytest.raises(LinkDown) as failed:
                await link.request("next", b'{"x":"%s"}' % (b"x" * 1_000_000), seconds=0.005)
            assert not failed.value.sent

        assert memory.growth() < 16
        end_at_once(link)


async def test_what_waits_for_room_is_sent_in_order_once_there_is_some() -> None:
    ready = asyncio.Event()
    code = WAKEABLE + "for n in range(40): say(id=hear()['id'], result={'order': n})"
    async with linked(python(code), listener=lambda _: ready.set()) as link:
        await ready.wait()
        big = b'{"x":"%s"}' % (b"x" * 30_000)
        requests = [asyncio.ensure_future(link.request("any", big, seconds=30)) for _ in range(39)]
        told = asyncio.ensure_future(link.notify("told", big))
        last = asyncio.ensure_future(link.request("any", b"{}", seconds=30))
        await asyncio.sleep(0)
        assert not told.done()
        os.kill(link.pid or 0, signal.SIGUSR1)
        orders = [json.loads((await each).result)["order"] for each in requests]
        await told
        last.cancel()

    assert orders == list(range(39))


async def test_a_cancelled_request_that_never_left_is_not_sent_later() -> None:
    ready = asyncio.Event()
    async with linked(python(WAKEABLE + RECORDING), listener=lambda _: ready.set()) as link:
        await ready.wait()
        filling = asyncio.ensure_future(link.request("fill", b'{"x":"%s"}' % (b"x" * 500_000), seconds=30))
        unsent = asyncio.ensure_future(link.request("unsent", b"{}", seconds=30))
        await asyncio.sleep(0)
        unsent.cancel()
        with pytest.raises(asyncio.CancelledError):
            await unsent
        os.kill(link.pid or 0, signal.SIGUSR1)
        heard = await asked(link, "tell")
        filling.cancel()

    assert [each["method"] for each in heard] == ["fill", "tell"]


async def test_a_notification_to_one_that_does_not_read_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_stdio, "NOTIFY_SECONDS", 0.02)
    big = b'{"x":"%s"}' % (b"x" * 500_000)
    async with linked(python("time.sleep(1000)")) as link:
        await link.notify("first", big)
        with pytest.raises(LinkDown) as failed:
            await link.notify("second", b"{}")
        end_at_once(link)

    assert not failed.value.sent
