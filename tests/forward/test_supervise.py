"""The owner of an upstream: what takes it down, what brings it back, and what its callers notice of that."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.core.health import Health
from interlock.forward.fleet import Fleet
from interlock.forward.link import BadMessage, LinkDown, LinkTimeout, TooLong
from interlock.forward.link_stdio import StdioLink
from interlock.forward.listed import Listed
from interlock.forward.pace import Pace
from interlock.forward.supervise import OnTools, Supervisor
from interlock.forward.upstream import Connect, UpstreamSpec, tool_call
from tests.fakes import FakeClock
from tests.forward.children import LOOPS, runs, wait_until
from tests.forward.fleets import QUICK, SECONDS, Watched, small, watched
from tests.forward.raw_server import ACCEPTED, RawServer, Received, each, reply, whole
from tests.upstream.running import http_upstream, only_once, received, stdio_argv

STARTING, READY, DOWN, STOPPED = Health.STARTING, Health.READY, Health.DOWN, Health.STOPPED
FAILURES = QUICK.failures
UNHURRIED = replace(QUICK, first=3600, cap_stdio=3600, cap_http=3600)
"""With this pace nothing is tried again unless a call asks for it."""


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


async def fail(seen: Watched, times: int, tool: str = "echo", arguments: bytes = b"{}", server: str = "up") -> None:
    """So many calls at once that fail in transport."""
    calls = [seen.call(server, tool, arguments) for _ in range(times)]
    outcomes = await asyncio.gather(*calls, return_exceptions=True)

    assert [each for each in outcomes if not isinstance(each, LinkTimeout | LinkDown | BadMessage)] == []


def classic(request: Received) -> bytes:
    """What a classic server answers over HTTP; calls of the tool `bad`, and what it does not know, badly."""
    if request.line.startswith("DELETE") or "id" not in request.message:
        return ACCEPTED
    params, method = request.message["params"], request.message["method"]
    known: dict[str, Any] = {
        "initialize": {"protocolVersion": "2025-11-25"},
        "tools/list": {"tools": []},
        "ping": {},
        "tools/call": {"content": []},
    }
    bad = method not in known or params.get("name") == "bad"
    return whole("200 OK", "application/json", b"{") if bad else reply(request, known[method])


# Death and return -----------------------------------------------------------------------------------------------


async def test_a_process_that_dies_is_noticed_and_started_again_without_a_call() -> None:
    async with watched([small("up")]) as seen:
        before = await seen.pid("up")
        os.kill(before, signal.SIGKILL)
        await seen.became("up", READY, 2)

        assert await seen.pid("up") != before
        assert seen.state("up").restarts == 1
    assert seen.healths("up") == [STARTING, READY, DOWN, STARTING, READY, STOPPED]


async def test_the_reason_stays_until_it_is_ready_again() -> None:
    async with watched([small("up")]) as seen:
        await seen.kill("up")
        await seen.became("up", READY, 2)

    told = [(each.health, each.problem) for each in seen.states if each.id == "up"]
    why = "it was ended by signal 9"
    assert told == [(STARTING, ""), (READY, ""), (DOWN, why), (STARTING, why), (READY, ""), (STOPPED, "")]


async def test_an_upstream_that_is_down_keeps_its_tools_and_refuses_calls(tmp_path: Path) -> None:
    spec = small("up")
    async with watched([replace(spec, argv=tuple(only_once(list(spec.argv), tmp_path / "mark")))]) as seen:
        await seen.kill("up")
        with pytest.raises(LinkDown) as down:
            await seen.call("up")

        assert not down.value.sent
        assert seen.fleet.book.find("up", "echo") is not None
        assert seen.state("up").tools == 1


async def test_a_call_to_one_that_is_down_wakes_it_and_goes_through() -> None:
    async with watched([small("up")], pace=UNHURRIED) as seen:
        await seen.kill("up")

        assert await seen.pid("up")


async def test_calls_that_come_together_wake_it_once() -> None:
    async with watched([UpstreamSpec("up", "up", ("false",))], pace=UNHURRIED) as seen:
        await fail(seen, 50)

        assert seen.fleet.upstreams["up"].starts == 2


async def test_calls_do_not_wake_it_more_often_than_they_may() -> None:
    pace = replace(UNHURRIED, starts_apart=3600, patience=0.05)
    async with watched([UpstreamSpec("up", "up", ("false",))], pace=pace) as seen:
        await fail(seen, 50)

        assert seen.fleet.upstreams["up"].starts == 1


async def test_a_call_waits_no_longer_for_a_start_than_it_may_take_itself(tmp_path: Path) -> None:
    once = only_once(list(small("up").argv), tmp_path / "mark")
    once[2] = once[2].replace("exit 7", "exec sleep 1000")
    async with watched([UpstreamSpec("up", "up", tuple(once), call_seconds=1)]) as seen:
        await seen.kill("up")
        with pytest.raises(LinkDown, match="still starting; before that: it was ended by signal 9") as down:
            await seen.call("up")

        assert not down.value.sent


async def test_one_that_stayed_up_for_a_while_is_started_again_at_once() -> None:
    # Without a new beginning the twelfth wait would be longer than this test may take.
    pace = replace(QUICK, first=0.05, cap_stdio=3600, steady=0)
    async with watched([small("up")], pace=pace) as seen:
        for times in range(12):
            await seen.kill("up")
            await seen.became("up", READY, times + 2)


async def test_a_process_that_did_not_come_up_is_not_left_running_until_the_next_start() -> None:
    spec = small("up", "print(os.getpid(), file=sys.stderr, flush=True)\nhear()\nhear()\ntime.sleep(1000)")
    async with watched([spec], pace=replace(UNHURRIED, discover=0.3, handshake=0.3)) as seen:
        await seen.is_now("up", DOWN)
        pid = int((seen.fleet.logs("up") or ("0",))[0])

        assert await asyncio.to_thread(wait_until, lambda: not runs(pid), 1)


async def test_one_that_has_not_come_up_gets_no_time_to_leave() -> None:
    spec = small("up", "hear()\nprint('heard', file=sys.stderr, flush=True)\ntime.sleep(1000)")
    async with watched([spec], settle=False) as seen:
        while not seen.fleet.logs("up"):  # noqa: ASYNC110 - nobody is told what an upstream writes to its stderr
            await asyncio.sleep(0.01)
        link = seen.fleet.upstreams["up"]._upstream.link  # pyright: ignore[reportPrivateUsage]

    assert isinstance(link, StdioLink)
    assert link.returncode == -signal.SIGKILL


async def test_after_the_end_calls_are_refused() -> None:
    async with watched([small("up")]) as seen:
        pass
    with pytest.raises(LinkDown) as down:
        await seen.call("up")

    assert not down.value.sent


async def test_whoever_waits_for_one_that_is_down_is_told_when_it_is_stopped() -> None:
    async with watched([UpstreamSpec("up", "up", ("false",))], pace=replace(UNHURRIED, starts_apart=3600)) as seen:
        waiting = asyncio.ensure_future(seen.call("up"))
        await asyncio.sleep(0)
    with pytest.raises(LinkDown, match="it was stopped") as down:
        await waiting

    assert not down.value.sent


# In doubt -------------------------------------------------------------------------------------------------------


async def test_after_some_failures_in_a_row_calls_are_refused_at_once_and_not_sent(tmp_path: Path) -> None:
    log = tmp_path / "log"
    slow = UpstreamSpec("up", "up", tuple(stdio_argv(log)), call_seconds=0.2)
    async with watched([slow], pace=UNHURRIED) as seen:
        await fail(seen, FAILURES, "slow", b'{"seconds":60}')
        assert seen.state("up").health is DOWN
        for _ in range(10):
            with pytest.raises(LinkDown, match="5 calls in a row failed") as down:
                await seen.call("up")
            assert not down.value.sent

    assert len([each for each in received(log) if each.method == "tools/call"]) == FAILURES


async def test_a_sign_of_life_lets_calls_through_again_without_a_new_start(tmp_path: Path) -> None:
    slow = UpstreamSpec("up", "up", tuple(stdio_argv(tmp_path / "log")), call_seconds=1)
    async with watched([slow]) as seen:
        await fail(seen, FAILURES, "slow", b'{"seconds":60}')
        await seen.became("up", READY, 2)
        assert (await seen.call("up"))["arguments"] == {}

    assert seen.healths("up") == [STARTING, READY, DOWN, READY, STOPPED]


async def test_a_process_that_gives_no_sign_of_life_is_killed_and_started_anew() -> None:
    hanging = "print(os.getpid(), file=sys.stderr, flush=True)\nserve(call=lambda message: time.sleep(1000))"
    async with watched([small("up", hanging, call_seconds=0.2)]) as seen:
        await fail(seen, FAILURES)
        await seen.became("up", READY, 2)
        first, second = (int(line) for line in seen.fleet.logs("up") or ())

        assert not runs(first)
        assert runs(second)
        os.kill(second, signal.SIGKILL)


@pytest.mark.parametrize("call", ["refuse", "lambda m: result(m, isError=True)"])
async def test_errors_that_an_upstream_reports_do_not_count(call: str) -> None:
    async with watched([small("up", f"serve(call={call})")]) as seen:
        for _ in range(4 * FAILURES):
            await seen.call("up")

    assert seen.healths("up") == [STARTING, READY, STOPPED]


async def test_answers_that_are_too_long_do_not_count() -> None:
    long = "serve(call=lambda m: result(m, text='x' * 5_000_000))"
    async with watched([small("up", long)]) as seen:
        for _ in range(FAILURES + 1):
            with pytest.raises(TooLong):
                await seen.call("up")

    assert seen.healths("up") == [STARTING, READY, STOPPED]


async def test_one_success_makes_up_for_the_failures_before_it() -> None:
    async with RawServer(each(classic)) as server, watched([UpstreamSpec("up", "up", url=server.url)]) as seen:
        for _ in range(2):
            await fail(seen, FAILURES - 1, "bad")
            await seen.call("up", "good")

    assert seen.healths("up") == [STARTING, READY, STOPPED]


async def test_calls_that_nobody_waits_for_any_more_do_not_count(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with watched([UpstreamSpec("up", "up", tuple(stdio_argv(log)))]) as seen:
        for _ in range(2 * FAILURES):
            call = asyncio.ensure_future(seen.call("up", "slow", b'{"seconds":60}'))
            await seen.call("up")
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call

    assert seen.healths("up") == [STARTING, READY, STOPPED]


# Over HTTP ------------------------------------------------------------------------------------------------------


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2].removesuffix("/mcp"))


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_comes_back_is_usable_again_without_a_call(tmp_path: Path, era: str) -> None:
    with http_upstream(tmp_path / "log", era=era) as first:
        spec, port = UpstreamSpec("up", "up", url=first.url), port_of(first.url)
        async with contextlib.AsyncExitStack() as stack:
            seen = await stack.enter_async_context(watched([spec]))
            os.kill(first.pid, signal.SIGKILL)
            await fail(seen, FAILURES)
            await seen.is_now("up", DOWN)
            stack.enter_context(http_upstream(tmp_path / "log2", era=era, port=port))
            await seen.is_now("up", READY)

            assert (await seen.call("up"))["arguments"] == {}


async def test_a_lost_session_costs_one_call_and_is_renewed(tmp_path: Path) -> None:
    with http_upstream(tmp_path / "log", era="legacy") as first:
        spec, port = UpstreamSpec("up", "up", url=first.url), port_of(first.url)
        async with contextlib.AsyncExitStack() as stack:
            seen = await stack.enter_async_context(watched([spec]))
            os.kill(first.pid, signal.SIGKILL)
            stack.enter_context(http_upstream(tmp_path / "log2", era="legacy", port=port))
            with pytest.raises(LinkDown) as lost:
                await seen.call("up")

            assert not lost.value.sent
            assert (await seen.call("up"))["arguments"] == {}


async def test_a_server_that_is_gone_is_noticed_without_a_call(tmp_path: Path) -> None:
    with http_upstream(tmp_path / "log") as running:
        spec = UpstreamSpec("up", "up", url=running.url)
        async with watched([spec], pace=replace(QUICK, refresh_every=0.05)) as seen:
            os.kill(running.pid, signal.SIGKILL)
            await seen.is_now("up", DOWN)

            # While a process dies its sockets close one after another, so the first look may still find one open.
            await seen.until(lambda: (now := seen.state("up")).health is DOWN and "cannot be reached" in now.problem)


async def test_a_credential_that_was_refused_is_not_tried_over_and_over_unless_a_call_asks_for_it() -> None:
    busy, locked = (
        RawServer(each(lambda request, status=status: whole(status, "text/plain", b"no")))
        for status in ("503 Service Unavailable", "401 Unauthorized")
    )
    async with busy, locked:
        specs = [UpstreamSpec("busy", "busy", url=busy.url), UpstreamSpec("locked", "locked", url=locked.url)]
        async with watched(specs, pace=replace(UNHURRIED, cap_http=0.01)) as seen:
            upstreams = seen.fleet.upstreams
            await seen.until(lambda: upstreams["busy"].starts >= 10)
            assert upstreams["locked"].starts == 1
            with pytest.raises(LinkDown, match="wants a credential, or another one"):
                await seen.call("locked")

            assert upstreams["locked"].starts == 2


async def test_answers_that_are_none_put_a_server_in_doubt() -> None:
    async with RawServer(each(classic)) as server, watched([UpstreamSpec("up", "up", url=server.url)]) as seen:
        await fail(seen, FAILURES, "bad")
        await seen.became("up", READY, 2)

    assert seen.healths("up") == [STARTING, READY, DOWN, READY, STOPPED]


# The list of tools ----------------------------------------------------------------------------------------------

ANNOUNCE = "say(method='notifications/tools/list_changed')"


async def test_a_list_that_changed_is_in_the_book_and_told() -> None:
    code = f"""
def call(message):
    TOOLS.append({{"name": f"new{{len(TOOLS)}}"}})
    {ANNOUNCE}
    result(message)

serve(call)
"""
    async with watched([small("up", code), small("other")]) as seen:
        for number in (1, 2):
            await seen.call("up")
            await seen.until(lambda number=number: seen.fleet.book.find("up", f"new{number}") is not None)

        assert [each.tool.name for each in seen.fleet.book if each.tool.server == "up"] == ["echo", "new1", "new2"]
        assert seen.changes.count("up") == 3
        assert seen.changes.count("other") == 1


async def heard_until(seen: Watched, method: str, count: int) -> dict[str, int]:
    """Ask a small server how often it heard what, until there is enough of one thing."""
    async with asyncio.timeout(SECONDS):
        while (heard := (await seen.call("up"))["heard"]).get(method, 0) < count:
            pass
    return heard


async def test_a_flood_of_announcements_gives_one_new_list_in_a_while() -> None:
    code = f"def call(message):\n for _ in range(5_000): {ANNOUNCE}\n echo(message)\nserve(call)"
    async with watched([small("up", code)], pace=replace(QUICK, refresh_apart=3600)) as seen:
        await heard_until(seen, "tools/list", 2)

        assert (await heard_until(seen, "tools/call", 5))["tools/list"] == 2
        assert seen.changes == ["up"]


async def test_there_is_never_more_than_one_request_for_a_list() -> None:
    code = f"""
def call(message):
    for _ in range(100): {ANNOUNCE}
    echo(message)

def listed(message):
    if HEARD["tools/list"] == 1: result(message, tools=TOOLS)

serve(call, listed)
"""
    async with watched([small("up", code)]) as seen:
        await heard_until(seen, "tools/list", 2)

        assert (await heard_until(seen, "tools/call", 20))["tools/list"] == 2


async def test_lists_are_asked_for_now_and_then_without_announcement() -> None:
    async with watched([small("up")], pace=replace(QUICK, refresh_every=0.01)) as seen:
        await heard_until(seen, "tools/list", 4)


async def test_an_announcement_before_it_is_ready_is_not_lost() -> None:
    async with watched([small("up", f"{ANNOUNCE}\nserve()")]) as seen:
        await heard_until(seen, "tools/list", 2)


async def test_a_list_that_cannot_be_had_leaves_the_old_one_and_the_upstream_alone() -> None:
    code = f"""
def call(message):
    {ANNOUNCE}
    echo(message)

def listed(message):
    result(message, tools=TOOLS) if HEARD["tools/list"] == 1 else refuse(message, -32000)

serve(call, listed)
"""
    async with watched([small("up", code)]) as seen:
        await heard_until(seen, "ping", 3)
        assert seen.fleet.book.find("up", "echo") is not None

    assert seen.healths("up") == [STARTING, READY, STOPPED]


# Secrets and defects --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", ["os.environ['KEY']", "os.environ['KEY'].split()[1]", "'key ghp_' + 'x' * 36"])
async def test_a_problem_holds_no_secret_even_if_the_upstream_repeats_it(said: str) -> None:
    code = f"while message := hear(): say(id=message['id'], error={{'code': 1, 'message': 'bad\\n' + {said}}})"
    async with watched([small("up", code, env={"KEY": "Bearer s3cr3t-word"})]) as seen:
        state = await seen.is_now("up", DOWN)

        assert state.problem.startswith("initialize was refused: bad ")
        assert "redacted" in state.problem
        assert "s3cr3t" not in state.problem
        assert "ghp" not in state.problem


async def test_a_problem_is_short_whatever_the_upstream_says() -> None:
    code = "while message := hear(): say(id=message['id'], error={'code': 1, 'message': 'x' * 1_000_000})"
    async with watched([small("up", code)]) as seen:
        assert len((await seen.is_now("up", DOWN)).problem) == 500


def connect_of(fleet: Fleet) -> Connect:
    return fleet._connect  # pyright: ignore[reportPrivateUsage]


@asynccontextmanager
async def owned(spec: UpstreamSpec, take: OnTools, pace: Pace = QUICK) -> AsyncGenerator[Supervisor]:
    """A supervisor at work, without the rest of a fleet."""
    async with Fleet([]) as fleet, asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        supervisor = Supervisor(spec, connect_of(fleet), pace, FakeClock(), on_tools=take)
        owner = group.create_task(supervisor.run())
        await supervisor.settled.wait()
        yield supervisor
        owner.cancel()


def in_time() -> float:
    """A deadline that is far away."""
    return asyncio.get_running_loop().time() + SECONDS


async def test_a_list_that_is_as_before_is_not_handed_on() -> None:
    taken: list[Listed] = []

    async def take(listed: Listed) -> None:
        taken.append(listed)

    async with owned(small("up"), take, replace(QUICK, refresh_every=0.01)) as supervisor:
        heard: dict[str, int] = {}
        while heard.get("tools/list", 0) < 4:
            heard = json.loads((await supervisor.call(tool_call("echo", b"{}"), in_time())).result)["heard"]

    assert len(taken) == 1


async def test_one_that_dies_while_its_list_is_read_is_not_taken_for_ready() -> None:
    code = "TOOLS[0]['pid'] = os.getpid()\nserve()"
    taken: list[int] = []

    async def take(listed: Listed) -> None:
        taken.append(json.loads(listed.entries[0])["pid"])
        if len(taken) == 1:
            os.kill(taken[0], signal.SIGKILL)
            while not upstream.lost:  # noqa: ASYNC110 - it is told to the supervisor only
                await asyncio.sleep(0.01)

    async with Fleet([]) as fleet, asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        supervisor = Supervisor(small("up", code), connect_of(fleet), QUICK, FakeClock(), on_tools=take)
        upstream = supervisor._upstream  # pyright: ignore[reportPrivateUsage]
        owner = group.create_task(supervisor.run())
        await supervisor.settled.wait()
        assert (supervisor.health, supervisor.problem) == (DOWN, "it was ended by signal 9")
        await supervisor.usable(in_time())
        owner.cancel()

    assert len(set(taken)) == 2


async def test_a_call_whose_time_is_over_is_not_sent() -> None:
    async def take(listed: Listed) -> None:
        pass

    async with owned(small("up"), take) as supervisor:
        with pytest.raises(LinkDown, match="the time for this call was over") as refused:
            await supervisor.call(tool_call("echo", b"{}"), asyncio.get_running_loop().time())

    assert not refused.value.sent


async def test_a_list_that_we_cannot_take_over_leaves_the_upstream_alone() -> None:
    reported = asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.set())
    code = f"{ANNOUNCE}\nserve(listed=lambda m: result(m, tools=[{{'name': str(HEARD['tools/list'])}}]))"

    async def take(listed: Listed) -> None:
        if b'"1"' not in listed.entries[0]:
            raise KeyError("a defect")

    async with owned(small("up", code), take) as supervisor:
        await reported.wait()

        assert (supervisor.health, supervisor.starts) == (READY, 1)


async def test_a_defect_of_ours_costs_the_upstream_a_start_and_nothing_else() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
    taken: list[Listed] = []

    async def take(listed: Listed) -> None:
        taken.append(listed)
        if len(taken) == 1:
            raise KeyError("a defect")

    async with owned(small("up"), take) as supervisor:
        assert (supervisor.health, supervisor.problem) == (DOWN, "'a defect'")
        await supervisor.usable(in_time())
        assert await supervisor.call(tool_call("echo", b"{}"), in_time())

    assert [json.loads(text)["name"] for text in taken[1].entries] == ["echo"]
    assert [repr(each["exception"]) for each in reported] == ["KeyError('a defect')"]
