"""A link over the pipes of a process: what it carries, what it refuses, and that nothing an upstream does spreads."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.forward import child as child_module
from interlock.forward import link_stdio
from interlock.forward.link import MAX_MESSAGE, Answer, BadMessage, LinkDown, LinkTimeout, Notification, RpcError
from interlock.forward.link_stdio import MAX_JUNK_LINE, MAX_JUNK_LINES, Lines, StdioLink
from interlock.forward.reaper import Reaper
from tests.forward.children import ANSWERING, LOOPS, RECORDING, PeakMemory, deaf, linked, python, runs
from tests.upstream.running import events, received, stdio_argv

FLOOD = 1_000_000 if os.environ.get("HYPOTHESIS_PROFILE") == "torture" else 30_000
"""The full count in `make torture`, a sample in `make test`."""


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


def call(tool: str, **arguments: Any) -> bytes:
    return json.dumps({"name": tool, "arguments": arguments}).encode()


async def called(link: StdioLink, tool: str, *, seconds: float = 30, **arguments: Any) -> Any:
    answer = await link.request("tools/call", call(tool, **arguments), seconds=seconds, name=tool)
    assert answer.error is None
    return json.loads(answer.result)


async def asked(link: StdioLink, method: str = "any") -> Any:
    """The result of a request without params."""
    return json.loads((await link.request(method, b"{}", seconds=30)).result)


# What it carries ------------------------------------------------------------------------------------------------


async def test_params_arrive_byte_for_byte_under_an_id_of_our_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    params = '{"name":"echo" , "arguments":{"a":1.50,"b":1e2,"ü":"\\u00e9é","big":123456789012345678901}}'.encode()
    async with linked(stdio_argv(log)) as link:
        await link.request("tools/call", params, seconds=30)
        await link.request("tools/list", b"{}", seconds=30)

    assert [each.raw for each in received(log)] == [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + params + b"}",
        b'{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}',
    ]


async def test_results_come_back_byte_for_byte_with_fields_that_nobody_knows() -> None:
    result = b'{ "content":[ {"type":"text","x":1.50} ],"_meta":{"v/x":1e2},"new":[null,{"deep":true}] }'
    code = f'write(b\'{{"jsonrpc":"2.0","id":%d,"result":%s, "z":0}}\\n\' % (hear()[\'id\'], {result!r})); hear()'
    async with linked(python(code)) as link:
        assert await link.request("any", b"{}", seconds=30) == Answer(result)


async def test_an_error_comes_back_as_one() -> None:
    error = '{"code":-32602,"message":"Nö","data":{"a":1.50}}'
    code = f'write(\'{{"jsonrpc":"2.0","id":1,"error":{error}}}\\n\'.encode()); hear(); hear()'
    async with linked(python("hear(); " + code)) as link:
        answer = await link.request("any", b"{}", seconds=30)

    assert answer == Answer(error=RpcError(-32602, "Nö", b'{"a":1.50}'))


async def test_a_thousand_concurrent_callers_get_their_own_answers(tmp_path: Path) -> None:
    async with linked(stdio_argv(tmp_path / "log")) as link:
        results = await asyncio.gather(*(called(link, "echo", nonce=number) for number in range(1_000)))

    assert [result["arguments"] for result in results] == [{"nonce": number} for number in range(1_000)]
    assert len({result["nonce"] for result in results}) == 1_000


async def test_answers_in_another_order_find_their_callers() -> None:
    code = "heard = [hear() for _ in range(50)]\nfor each in reversed(heard): say(id=each['id'], result=each['params'])"
    async with linked(python(code)) as link:
        requests = [link.request("any", b'{"n":%d}' % number, seconds=30) for number in range(50)]
        answers = await asyncio.gather(*requests)

    assert [json.loads(answer.result)["n"] for answer in answers] == list(range(50))


async def test_a_notification_is_sent_without_an_id(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with linked(stdio_argv(log)) as link:
        await link.notify("notifications/initialized", b'{"a":1.50}')
        await called(link, "echo")

    assert received(log)[0].raw == b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{"a":1.50}}'


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
async def test_what_would_be_two_messages_is_not_sent(end: str) -> None:
    async with linked(python(RECORDING)) as link:
        with pytest.raises(ValueError, match="one line"):
            await link.request("any", f'{{}}}}{end}{{"jsonrpc":"2.0"'.encode(), seconds=30)
        with pytest.raises(ValueError, match="one line"):
            await link.notify("any", f"{{{end}}}".encode())
        heard = await asked(link, "tell")

    assert [each["method"] for each in heard] == ["tell"]


# What comes unasked ---------------------------------------------------------------------------------------------


async def test_notifications_go_to_the_owner() -> None:
    heard: list[Notification] = []
    code = """
say(method="notifications/tools/list_changed")
say(method="notifications/message", params={"level": "info"})
say(id=hear()["id"], result={})
"""
    async with linked(python(code), listener=heard.append) as link:
        await asked(link)

    assert heard == [
        Notification("notifications/tools/list_changed"),
        Notification("notifications/message", b'{"level": "info"}'),
    ]


async def test_a_ping_is_answered_and_every_other_question_refused() -> None:
    code = """
request = hear()
say(id="p", method="ping")
say(id=1, method="sampling/createMessage", params={})
say(id=request["id"], result=[hear(), hear()])
hear()
"""
    async with linked(python(code)) as link:
        replies = await asked(link)

    assert replies[0] == {"jsonrpc": "2.0", "id": "p", "result": {}}
    assert (replies[1]["id"], replies[1]["error"]["code"]) == (1, -32601)


async def test_progress_goes_to_its_own_call_without_our_token(tmp_path: Path) -> None:
    unasked: list[Notification] = []
    heard: dict[str, list[Notification]] = {"a": [], "b": []}
    async with linked(stdio_argv(tmp_path / "log"), listener=unasked.append) as link:
        params = call("slow", seconds=0.02)
        async with asyncio.TaskGroup() as group:
            for each in heard.values():
                group.create_task(link.request("tools/call", params, seconds=30, listener=each.append))
            group.create_task(link.request("tools/call", params, seconds=30))
        assert link.ignored == 0

    steps = [{"progress": step, "total": 4, "message": f"{step} of 4"} for step in range(5)]
    assert [json.loads(each.params) for each in heard["a"]] == steps
    assert [json.loads(each.params) for each in heard["b"]] == steps
    assert unasked == []


async def test_our_progress_token_is_added_and_nothing_else_is_touched(tmp_path: Path) -> None:
    log = tmp_path / "log"
    params = b'{"name":"echo","arguments":{"a" : 1.50},"_meta":{"x":1e2,"progressToken":"mine"}}'
    async with linked(stdio_argv(log)) as link:
        await link.request("tools/call", params, seconds=30)
        await link.request("tools/call", params, seconds=30, listener=deaf)
        await link.request("tools/call", call("echo"), seconds=30, listener=deaf)

    untouched, replaced, added = received(log)
    assert params in untouched.raw
    assert b'"arguments":{"a" : 1.50},"_meta":{"x":1e2,"progressToken":' in replaced.raw
    tokens = [each.message["params"]["_meta"]["progressToken"] for each in (replaced, added)]
    assert all(isinstance(token, int) for token in tokens)
    assert len(set(tokens)) == 2
    assert added.message["params"]["_meta"] == {"progressToken": tokens[1]}


async def test_progress_with_a_strange_token_is_ignored() -> None:
    unasked: list[Notification] = []
    heard: list[Notification] = []
    code = """
for token in (0, 1, 2, "1", 1.0, None, [1]):
    say(method="notifications/progress", params={"progressToken": token, "progress": 1})
say(method="notifications/progress", params={"progress": 1})
say(method="notifications/progress")
say(id=hear()["id"], result={})
"""
    async with linked(python(code), listener=unasked.append) as link:
        await link.request("any", b"{}", seconds=30, listener=heard.append)
        assert link.ignored == 9

    assert (unasked, heard) == ([], [])


async def test_progress_after_the_answer_is_ignored() -> None:
    heard: list[Notification] = []
    code = """
request = hear()
report = {"progressToken": request["params"]["_meta"]["progressToken"], "progress": 1}
say(method="notifications/progress", params=report)
say(id=request["id"], result={})
second = hear()
say(method="notifications/progress", params=report)
say(id=second["id"], result={})
"""
    async with linked(python(code)) as link:
        await link.request("any", b"{}", seconds=30, listener=heard.append)
        await asked(link)
        assert link.ignored == 1

    assert [each.params for each in heard] == [b'{"progress":1}']


async def test_a_listener_that_fails_does_not_stop_the_link() -> None:
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context.get("exception")))

    def fail(_: Notification) -> None:
        raise KeyError("listener")

    code = "for _ in range(600): say(method='x')\nsay(id=hear()['id'], result={})"
    async with linked(python(code), listener=fail) as link:
        assert await asked(link) == {}

    assert len(failures) == 600


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
        assert link.junk == 4


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
            with pytest.raises(BadMessage, match="longer than"):
                await request
            assert not link.alive


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


def test_lines_are_cut_wherever_the_pieces_end() -> None:
    text = b"one\n\ntwo\r\nthree\nfour"
    for size in range(1, len(text) + 1):
        lines = Lines()
        for start in range(0, len(text), size):
            lines.feed(text[start : start + size])

        assert [lines.next() for _ in range(5)] == [b"one", b"", b"two\r", b"three", None]


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


# Deadlines and cancelling ---------------------------------------------------------------------------------------


async def test_a_request_that_is_not_answered_in_time_is_cancelled_upstream(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with linked(stdio_argv(log)) as link:
        await called(link, "echo")
        with pytest.raises(LinkTimeout):
            await called(link, "slow", seconds=0.05)
        await called(link, "echo")

    assert received(log)[2].message == {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 2},
    }


async def test_a_cancelled_caller_cancels_its_request_upstream_and_only_that(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with linked(stdio_argv(log)) as link:
        begun = asyncio.Event()

        async def slow(seconds: float) -> Answer:
            params = call("slow", seconds=seconds)
            return await link.request("tools/call", params, seconds=60, listener=lambda _: begun.set())

        kept, dropped = asyncio.ensure_future(slow(0.2)), asyncio.ensure_future(slow(60))
        await begun.wait()
        dropped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await dropped
        answer = await kept

    assert json.loads(answer.result)["content"][0]["text"] == "Done."
    assert [each.message["params"] for each in received(log) if each.method == "notifications/cancelled"] == [
        {"requestId": 2}
    ]
    assert events(log, "cancelled") == [{"event": "cancelled", "id": 2}]


async def test_the_handshake_is_never_cancelled() -> None:
    async with linked(python(RECORDING)) as link:
        with pytest.raises(LinkTimeout):
            await link.request("initialize", b"{}", seconds=0.05)
        heard = await asked(link, "tell")

    assert [each["method"] for each in heard] == ["initialize", "tell"]


# An upstream that does not read ---------------------------------------------------------------------------------

WAKEABLE = """
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
say(method="ready")
signal.sigwait([signal.SIGUSR1])
"""
"""A child that reads nothing before it gets a signal."""


async def test_requests_to_one_that_does_not_read_end_in_time_and_leave_no_memory_behind() -> None:
    big = b'{"x":"%s"}' % (b"x" * 1_000_000)
    async with linked(python("time.sleep(1000)")) as link:
        with pytest.raises(LinkTimeout):
            await link.request("first", big, seconds=0.02)
        memory = PeakMemory()
        for _ in range(64):
            with pytest.raises(LinkDown) as failed:
                await link.request("next", big, seconds=0.005)
            assert not failed.value.sent

        assert memory.growth() < 16
        link_kill(link)


def link_kill(link: StdioLink) -> None:
    """Spare the test the patience of a close."""
    os.kill(link.pid or 0, signal.SIGKILL)


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
        link_kill(link)

    assert not failed.value.sent


# The end of the process -----------------------------------------------------------------------------------------


async def test_a_crash_fails_whoever_waits_and_says_how_it_left(tmp_path: Path) -> None:
    async with linked(stdio_argv(tmp_path / "log")) as link:
        waiting = asyncio.ensure_future(called(link, "slow", seconds=60))
        with pytest.raises(LinkDown) as crashed:
            await called(link, "crash")
        with pytest.raises(LinkDown) as waited:
            await waiting
        with pytest.raises(LinkDown) as refused:
            await called(link, "echo")

        assert [failed.value.sent for failed in (crashed, waited, refused)] == [True, True, False]
        assert crashed.value.why == "it exited with status 3"
        assert (link.alive, link.returncode, link.pid) == (False, 3, None)


async def test_answers_before_a_crash_still_count() -> None:
    code = "for _ in range(100): say(id=hear()['id'], result={})\nos._exit(1)"
    async with linked(python(code)) as link:
        assert await asyncio.gather(*(asked(link) for _ in range(100))) == [{}] * 100


async def test_what_it_wrote_to_stderr_can_be_read() -> None:
    code = "for n in range(900): os.write(2, b'line %d \\xff\\n' % n)\n" + ANSWERING
    async with linked(python(code)) as link:
        await asked(link)
        await link.close()

        assert link.stderr_lines() == [f"line {number} �" for number in range(400, 900)]


async def test_a_link_can_be_started_again_as_a_new_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with linked(stdio_argv(log)) as link:
        with pytest.raises(LinkDown):
            await called(link, "crash")
        await link.start()
        assert link.alive
        assert (await called(link, "echo", n=1))["arguments"] == {"n": 1}
        await link.start()
        assert (await called(link, "echo", n=2))["arguments"] == {"n": 2}

    assert len(events(log, "started")) == 3
    assert [each.message["id"] for each in received(log)] == [1, 2, 3]


async def test_closing_lets_the_process_leave_and_fails_whoever_waits(tmp_path: Path) -> None:
    async with linked(stdio_argv(tmp_path / "log")) as link:
        pid = link.pid or 0
        waiting = asyncio.ensure_future(called(link, "slow", seconds=60))
        await called(link, "echo")
        await asyncio.gather(link.close(), link.close())
        with pytest.raises(LinkDown) as failed:
            await waiting

        assert failed.value.sent
        assert (link.returncode, link.alive, runs(pid)) == (0, False, False)


async def test_closing_ends_one_that_ignores_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "EXIT_SECONDS", 0.05)
    monkeypatch.setattr(child_module, "TERM_SECONDS", 0.05)
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ANSWERING + "\nwhile True: time.sleep(1000)"
    async with linked(python(code)) as link:
        await asked(link)
        pid = link.pid or 0
        await link.close()

        assert (link.returncode, runs(pid)) == (-signal.SIGKILL, False)


async def test_a_link_that_was_never_started_can_be_closed_and_refuses() -> None:
    link = StdioLink(python(ANSWERING), {}, None, on_notification=deaf, reaper=Reaper())
    with pytest.raises(LinkDown) as refused:
        await link.request("any", b"{}", seconds=1)
    await link.close()

    assert not refused.value.sent
    assert (link.alive, link.pid, link.returncode, link.stderr_lines()) == (False, None, None, [])


async def test_a_link_that_is_only_starting_refuses() -> None:
    reaper = Reaper()
    link = StdioLink(python(ANSWERING), {}, None, on_notification=deaf, reaper=reaper)
    starting = asyncio.ensure_future(link.start())
    await asyncio.sleep(0)
    with pytest.raises(LinkDown) as refused:
        await link.request("any", b"{}", seconds=1)
    await starting
    assert await asked(link) == {}
    await link.close()
    await reaper.close()

    assert not refused.value.sent


async def test_a_start_that_is_cancelled_leaves_no_process() -> None:
    reaper = Reaper()
    link = StdioLink(python("time.sleep(1000)"), {}, None, on_notification=deaf, reaper=reaper)
    starting = asyncio.ensure_future(link.start())
    await asyncio.sleep(0)
    pid = link.pid or 0
    assert runs(pid)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await link.close()
    await reaper.close()

    assert (runs(pid), link.alive, link.returncode) == (False, False, -signal.SIGKILL)


# How it is started ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "cwd", "why"),
    [
        (["/does/not/exist"], None, "No such file or directory"),
        (["/dev/null"], None, "Permission denied"),
        ([sys.executable], "/does/not/exist", "No such file or directory"),
        ([sys.executable, "a\0b"], None, "embedded null byte"),
    ],
)
async def test_what_cannot_be_started_is_down_and_nothing_was_sent(argv: list[str], cwd: str | None, why: str) -> None:
    link = StdioLink(argv, {}, cwd, on_notification=deaf, reaper=Reaper())
    with pytest.raises(LinkDown, match=why) as failed:
        await link.start()
    with pytest.raises(LinkDown, match="cannot be started"):
        await link.request("any", b"{}", seconds=1)
    await link.close()

    assert not failed.value.sent


async def test_the_process_sees_none_of_our_variables_but_those_on_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("INTERLOCK_TOKEN", "secret")
    monkeypatch.setenv("LC_TEST", "kept")
    async with linked(python("say(id=hear()['id'], result=dict(os.environ))"), {"GIVEN": "1"}) as link:
        seen = await asked(link)

    listed = child_module.INHERITED | {name for name in seen if name.startswith(child_module.INHERITED_PREFIX)}
    assert seen.keys() - listed == {"GIVEN"}
    assert (seen["LC_TEST"], seen["PATH"]) == ("kept", os.environ["PATH"])


async def test_arguments_are_never_read_by_a_shell(tmp_path: Path) -> None:
    words = ["; touch x", "$(touch x)", "`touch x`", "a\nb", "-c", "", "&& touch x", "*", "é"]
    code = "say(id=hear()['id'], result={'argv': sys.argv[1:], 'cwd': os.getcwd()})"
    async with linked(python(code, *words), cwd=tmp_path) as link:
        result = await asked(link)

    assert result == {"argv": words, "cwd": str(tmp_path)}
    assert list_of(tmp_path) == []


def list_of(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]
