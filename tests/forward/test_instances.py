"""Several instances of one server: for which calls, how many, how long, and how many calls at a time."""

import asyncio
import json
from dataclasses import replace

import pytest

from interlock.core.health import Health
from interlock.core.lexicon import DEFAULT
from interlock.forward.instances import Instances
from interlock.forward.link import LinkDown
from interlock.forward.upstream import Scope, UpstreamSpec, tool_call
from tests.fakes import FakeClock
from tests.forward.askers import Asker
from tests.forward.children import runs, wait_until
from tests.forward.fleets import QUICK, SECONDS, Watched, small, watched
from tests.forward.raw_server import RawServer, Received, each, reply

SHOW = "serve(call=lambda message: result(message, key=os.environ['KEY'], pid=os.getpid()))"
SCOPES = {"prod": Scope(env={"KEY": "prod"}), "test": Scope(env={"KEY": "test"})}
FEW = replace(QUICK, most=2)


def scoped(**more: bool) -> UpstreamSpec:
    return small("up", SHOW, env={"KEY": "main"}, scopes=SCOPES, **more)


def instances_of(seen: Watched) -> Instances:
    return seen.fleet._servers["up"]  # pyright: ignore[reportPrivateUsage]


ASKS = """
def asks(message):
    say(id=7, method="elicitation/create", params={"message": "Sure?", "requestedSchema": {}})
    result(message, heard=hear())

serve(call=asks)
"""


async def test_only_a_session_of_one_caller_may_ask() -> None:
    askers = {"shared": Asker(), "own": Asker()}
    async with watched([small("shared", ASKS), small("own", ASKS, per_caller=True)]) as seen:
        heard = {
            server: json.loads(
                (await seen.fleet.call(server, tool_call("echo", b"{}", asker=asker), caller="a")).result
            )
            for server, asker in askers.items()
        }
        may = [seen.fleet.may_ask(server) for server in ("shared", "own", "none")]

    assert heard["shared"]["heard"]["error"]["code"] == -32601
    assert heard["own"]["heard"]["result"] == {"action": "accept"}
    assert [len(each.heard) for each in askers.values()] == [0, 1]
    assert may == [False, True, False]


async def test_a_server_that_is_removed_does_not_wait_for_an_answer_that_never_comes() -> None:
    asker = Asker()
    asker.go_on.clear()
    async with watched([small("up", ASKS, per_caller=True, call_seconds=0.2)]) as seen:
        calling = asyncio.ensure_future(seen.fleet.call("up", tool_call("echo", b"{}", asker=asker), caller="a"))
        await asker.news.wait()
        await seen.fleet.apply([], {}, DEFAULT)

        with pytest.raises(LinkDown) as lost:
            async with asyncio.timeout(SECONDS):
                await calling
    assert lost.value.sent


async def test_a_process_that_may_still_work_on_a_call_that_was_given_up_is_replaced_when_it_is_idle() -> None:
    spec = small("up", "serve(call=lambda m: m['params'].get('name') == 'echo' and echo(m))", per_caller=True)
    async with watched([replace(spec, call_seconds=SECONDS)]) as seen:

        async def pid(tool: str = "echo") -> int:
            answer = await seen.fleet.call("up", tool_call(tool, b"{}", asker=Asker()), caller="a")
            return json.loads(answer.result)["pid"]

        before, same = await pid(), await pid()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await pid("never")
        after = await pid()

    assert before == same
    assert after != before


# Which instance -------------------------------------------------------------------------------------------------


async def test_each_auth_scope_has_an_instance_with_its_own_credentials() -> None:
    async with watched([scoped()]) as seen:
        answers = [await seen.call("up", auth_scope=scope) for scope in (None, "prod", "test", None, "prod")]

    assert [each["key"] for each in answers] == ["main", "prod", "test", "main", "prod"]
    assert len({each["pid"] for each in answers}) == 3


async def test_the_headers_of_an_auth_scope_replace_those_of_the_server() -> None:
    def answer(request: Received) -> bytes:
        if request.message["method"] == "server/discover":
            return reply(request, {"supportedVersions": ["2026-07-28"]})
        return reply(request, {"tools": [], "key": request.field("X-Key"), "other": request.field("X-Other")})

    async with RawServer(each(answer)) as server:
        headers, scopes = {"X-Key": "main", "X-Other": "kept"}, {"prod": Scope(headers={"x-key": "prod"})}
        spec = UpstreamSpec("up", "up", url=server.url, headers=headers, scopes=scopes)
        async with watched([spec]) as seen:
            answers = [await seen.call("up"), await seen.call("up", auth_scope="prod")]

    assert [(each["key"], each["other"]) for each in answers] == [("main", "kept"), ("prod", "kept")]


async def test_an_auth_scope_that_is_not_configured_is_refused_and_never_replaced_by_another() -> None:
    async with watched([scoped()]) as seen:
        with pytest.raises(LinkDown, match="auth scope 'other' is not configured") as refused:
            await seen.call("up", auth_scope="other")

    assert not refused.value.sent


async def test_callers_share_an_instance_unless_each_is_to_have_its_own() -> None:
    async with watched([scoped()]) as shared, watched([scoped(per_caller=True)]) as own:
        pids = [{await seen.pid("up", caller=caller) for caller in ("a", "b", "a")} for seen in (shared, own)]
        scopes = {await own.pid("up", caller="a", auth_scope=scope) for scope in ("prod", "test")}

    assert [len(each) for each in pids] == [1, 2]
    assert scopes.isdisjoint(pids[1])


async def test_only_the_main_instance_lists_tools() -> None:
    async with watched([small("up", per_caller=True)]) as seen:
        heard = (await seen.call("up", caller="a"))["heard"]

    assert "tools/list" not in heard
    assert seen.changes == ["up"]


async def test_whoever_needs_an_instance_first_waits_until_it_is_started() -> None:
    code = "time.sleep(0.5 if 'SLOW' in os.environ else 0)\nserve()"
    spec = small("up", code, scopes={"slow": Scope(env={"SLOW": "1"})})
    async with watched([spec], pace=replace(QUICK, patience=0)) as seen:
        assert await seen.pid("up", auth_scope="slow")


async def test_an_instance_that_does_not_start_is_told_to_whoever_needs_it_and_disturbs_nobody() -> None:
    code = "if 'BAD' in os.environ: raise SystemExit(3)\nserve()"
    async with watched([small("up", code, scopes={"bad": Scope(env={"BAD": "1"})})]) as seen:
        for _ in range(2):
            with pytest.raises(LinkDown, match="exited with status 3"):
                await seen.call("up", auth_scope="bad")

        assert await seen.pid("up")
        assert seen.state("up").health is Health.READY


# How many, and how long -----------------------------------------------------------------------------------------


async def test_an_instance_that_nobody_needs_is_closed_after_a_while_and_made_again_when_needed() -> None:
    clock = FakeClock()
    async with watched([small("up", per_caller=True)], pace=replace(QUICK, sweep=0.01), clock=clock) as seen:
        main, own = await seen.pid("up"), await seen.pid("up", caller="a")
        supervisor = list(instances_of(seen))[1]
        clock.forward(599_000_000)
        instances_of(seen).sweep()
        assert len(list(instances_of(seen))) == 2
        clock.forward(1_000_000)
        async with asyncio.timeout(SECONDS):
            while supervisor.health is not Health.STOPPED:  # noqa: ASYNC110 - nobody is told of its end
                await asyncio.sleep(0.01)

        assert await asyncio.to_thread(wait_until, lambda: not runs(own))
        assert await seen.pid("up") == main
        assert await seen.pid("up", caller="a") != own


async def test_an_instance_with_a_call_under_way_is_not_closed_for_want_of_use() -> None:
    clock = FakeClock()
    code = "serve(call=lambda m: time.sleep(0.3) or echo(m))"
    async with watched([small("up", code, per_caller=True)], clock=clock) as seen:
        call = asyncio.ensure_future(seen.pid("up", caller="a"))
        await asyncio.sleep(0)
        clock.forward(3_600_000_000)
        instances_of(seen).sweep()

        assert len(list(instances_of(seen))) == 2
        assert await call == await seen.pid("up", caller="a")


async def test_beyond_the_limit_the_one_that_was_idle_longest_makes_room() -> None:
    clock = FakeClock()
    async with watched([small("up", per_caller=True)], pace=FEW, clock=clock) as seen:
        pids: dict[str, int] = {}
        for caller in ("a", "b", "a", "c"):
            pids[caller] = await seen.pid("up", caller=caller)
            clock.forward(1)

        assert await asyncio.to_thread(wait_until, lambda: not runs(pids["b"]))
        assert [await seen.pid("up", caller=caller) for caller in "ac"] == [pids["a"], pids["c"]]


async def test_beyond_the_limit_with_none_idle_a_call_is_refused_and_the_others_go_on() -> None:
    code = "serve(call=lambda m: time.sleep(1) or echo(m))"
    async with watched([small("up", code, per_caller=True)], pace=FEW) as seen:
        calls = [asyncio.ensure_future(seen.pid("up", caller=caller)) for caller in "ab"]
        await asyncio.sleep(0)
        with pytest.raises(LinkDown, match="all of its 2 sessions are in use") as refused:
            await seen.call("up", caller="c")
        assert not refused.value.sent

        assert len({await call for call in calls}) == 2


async def test_all_instances_end_with_the_fleet() -> None:
    async with watched([small("up", per_caller=True)]) as seen:
        pids = [await seen.pid("up", caller=caller) for caller in (None, "a", "b")]

    assert [pid for pid in pids if runs(pid)] == []
    assert len(set(pids)) == 3


# How many calls at a time ---------------------------------------------------------------------------------------

COUNTING = """
import threading
most = now = 0
lock = threading.Lock()

def work(message):
    global most, now
    with lock:
        now += 1
        most = max(most, now)
    time.sleep(message["params"]["arguments"].get("seconds", 0.02))
    with lock:
        now -= 1
        result(message, most=most, number=message["params"]["arguments"].get("n"))

serve(call=lambda message: threading.Thread(target=work, args=(message,), daemon=True).start())
"""


async def test_no_more_calls_are_under_way_than_may_be_and_they_go_in_order() -> None:
    async with watched([small("up", COUNTING, max_concurrent=2)]) as seen:
        done: list[int] = []

        async def call(number: int) -> int:
            answer = await seen.call("up", arguments=b'{"n":%d}' % number)
            done.append(answer["number"])
            return answer["most"]

        most = await asyncio.gather(*(call(number) for number in range(12)))

    assert max(most) == 2
    assert all(abs(number - at) <= 1 for at, number in enumerate(done))


async def test_without_a_limit_calls_do_not_wait_for_each_other() -> None:
    async with watched([small("up", COUNTING)]) as seen:
        answers = await asyncio.gather(*(seen.call("up", arguments=b'{"seconds":0.5}') for _ in range(8)))

    assert max(each["most"] for each in answers) == 8


async def test_a_call_that_waits_too_long_for_its_turn_was_not_sent_and_does_not_count_as_a_failure() -> None:
    spec = small("up", COUNTING, max_concurrent=1)
    async with watched([spec]) as seen:
        first = asyncio.ensure_future(seen.call("up", arguments=b'{"seconds":60}'))
        await asyncio.sleep(0)
        await seen.fleet.apply([replace(spec, call_seconds=0.1)], {}, DEFAULT)
        waiting = [seen.call("up") for _ in range(2 * QUICK.failures)]
        refused = await asyncio.gather(*waiting, return_exceptions=True)
        first.cancel()

        assert {str(each) for each in refused} == {"it takes 1 calls at a time, and none of them ended in time"}
        assert not any(each.sent for each in refused if isinstance(each, LinkDown))
        assert seen.state("up").health is Health.READY


async def test_a_waiter_that_is_cancelled_leaves_no_place_taken() -> None:
    async with watched([small("up", COUNTING, max_concurrent=1)]) as seen:
        first = asyncio.ensure_future(seen.call("up", arguments=b'{"seconds":0.5}'))
        await asyncio.sleep(0)
        waiting = [asyncio.ensure_future(seen.call("up")) for _ in range(5)]
        await asyncio.sleep(0)
        for each_waiting in waiting:
            each_waiting.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await first

        assert (await seen.call("up"))["most"] == 1


async def test_a_caller_that_leaves_in_the_middle_of_a_call_leaves_no_place_taken() -> None:
    async with watched([small("up", COUNTING, max_concurrent=1)]) as seen:
        for _ in range(3):
            call = asyncio.ensure_future(seen.call("up", arguments=b'{"seconds":60}'))
            await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)

        assert (await seen.call("up"))["most"] == 4
