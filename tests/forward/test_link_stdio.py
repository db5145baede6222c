"""A link over the pipes of a process: what it carries, how it ends, and what the process sees of us."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from interlock.forward import child as child_module
from interlock.forward.link import Answer, LinkDown, LinkTimeout, Notification, RpcError
from interlock.forward.link_stdio import StdioLink
from interlock.forward.reaper import Reaper
from tests.forward.askers import Asker
from tests.forward.children import (
    ANSWERING,
    LOOPS,
    RECORDING,
    asked,
    call,
    called,
    deaf,
    linked,
    python,
    runs,
)
from tests.upstream.running import events, received, stdio_argv


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


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


# What an upstream asks ------------------------------------------------------------------------------------------

ASKING = """
FORM = {"message": "Sure?", "requestedSchema": {}}
def ask(number):
    say(id=number, method="elicitation/create", params=FORM)
"""
TWO = """
a, b = hear()["id"], hear()["id"]
ask(7)
heard = hear()
say(id=a, result=heard)
say(id=b, result=1)
hear()
"""
"""Asks while two requests are under way, and answers the first with what it was told."""


async def requested(link: StdioLink, asker: Asker | None = None, method: str = "any", seconds: float = 30) -> Any:
    return json.loads((await link.request(method, b"{}", seconds=seconds, asker=asker)).result)


async def test_a_question_goes_to_the_asker_of_the_one_request_that_is_under_way() -> None:
    asker = Asker()
    async with linked(python(ASKING + "n = hear()['id']; ask('q'); say(id=n, result=hear()); hear()")) as link:
        heard = await requested(link, asker)

    assert heard == {"jsonrpc": "2.0", "id": "q", "result": {"action": "accept"}}
    assert [each["question"].params["message"] for each in asker.heard] == ["Sure?"]


async def test_while_two_requests_are_under_way_nobody_is_asked() -> None:
    askers = [Asker(), Asker()]
    async with linked(python(ASKING + TWO)) as link, asyncio.TaskGroup() as group:
        first, _ = [group.create_task(requested(link, each)) for each in askers]

    assert first.result()["error"]["code"] == -32600
    assert [each.heard for each in askers] == [[], []]


async def test_a_request_that_cannot_be_asked_keeps_others_from_being_asked() -> None:
    asker = Asker()
    async with linked(python(ASKING + TWO)) as link, asyncio.TaskGroup() as group:
        first = group.create_task(requested(link))
        group.create_task(requested(link, asker))

    assert first.result()["error"]["code"] == -32600
    assert asker.heard == []


async def test_after_a_request_was_given_up_nobody_is_asked_until_it_was_answered() -> None:
    code = """
first = hear()["id"]
hear()
second = hear()["id"]
ask(7)
refused = hear()
say(id=first, result={})
ask(8)
say(id=second, result=[refused, hear()])
hear()
"""
    asker = Asker()
    async with linked(python(ASKING + code)) as link:
        with pytest.raises(LinkTimeout):
            await requested(link, Asker(), seconds=0.05)
        doubted = link.in_doubt
        refused, answered = await requested(link, asker)
        trusted = not link.in_doubt

    assert doubted
    assert trusted
    assert refused["error"]["code"] == -32600
    assert answered["result"] == {"action": "accept"}
    assert len(asker.heard) == 1


async def test_a_question_that_the_upstream_takes_back_is_withdrawn() -> None:
    code = """
n = hear()["id"]
ask(7)
say(method="notifications/cancelled", params={"requestId": 7})
say(id=n, result=1)
hear()
"""
    asker = Asker()
    asker.go_on.clear()
    async with linked(python(ASKING + code)) as link:
        assert await requested(link, asker) == 1

    assert asker.withdrawn == len(asker.heard)


async def test_the_time_of_a_request_stands_still_while_somebody_is_asked() -> None:
    asker = Asker()
    asker.go_on.clear()
    async with (
        linked(python(ASKING + "n = hear()['id']; ask(7); hear(); say(id=n, result=1); hear()")) as link,
        asyncio.TaskGroup() as group,
    ):
        task = group.create_task(requested(link, asker, seconds=2))
        await asker.news.wait()
        await asyncio.sleep(2.1)
        asker.go_on.set()

    assert task.result() == 1


async def test_a_link_that_ends_withdraws_what_was_asked() -> None:
    asker = Asker()
    asker.go_on.clear()
    async with linked(python(ASKING + "hear(); ask(7); hear()")) as link, asyncio.TaskGroup() as group:
        task = group.create_task(_failure(link, asker))
        await asker.news.wait()
        link.drop()

    assert isinstance(task.result(), LinkDown)
    assert asker.withdrawn == 1


async def _failure(link: StdioLink, asker: Asker) -> Exception | None:
    try:
        await requested(link, asker)
    except LinkDown as down:
        return down
    return None


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
