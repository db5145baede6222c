"""One upstream: which era it speaks, its tools, one call; over stdio and HTTP."""

import asyncio
import json
import shlex
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from interlock.forward.fleet import Fleet
from interlock.forward.link import BadMessage, LinkDown, LinkTimeout, Notification
from interlock.forward.link_stdio import StdioLink
from interlock.forward.listed import Listed, read_tools
from interlock.forward.pace import Pace
from interlock.forward.upstream import MAX_LISTED, MAX_PAGES, Scope, Upstream, UpstreamSpec, tool_call
from tests.forward.children import end_at_once, python
from tests.forward.fleets import SERVER, small
from tests.forward.raw_server import ACCEPTED, RawServer, Received, each, reply, whole
from tests.upstream.running import http_upstream, received, stdio_argv
from tests.upstream.tools import TOOLS

PATIENT = Pace(discover=60)


@dataclass
class Told:
    """What an upstream told whoever owns it."""

    lost: list[str] = field(default_factory=list[str])
    changes: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def gone(self, why: str) -> None:
        self.lost.append(why)
        self.news.set()

    def told(self, notification: Notification) -> None:
        self.changes += notification.method == "notifications/tools/list_changed"
        self.news.set()


@asynccontextmanager
async def made(spec: UpstreamSpec, told: Told | None = None, pace: Pace = PATIENT) -> AsyncGenerator[Upstream]:
    """An upstream that is not started yet, with links as the fleet makes them."""
    told = told or Told()
    async with Fleet([]) as fleet, asyncio.timeout(60):
        connect = fleet._connect  # pyright: ignore[reportPrivateUsage]
        upstream = Upstream(spec, connect, pace, on_lost=told.gone, on_told=told.told)
        try:
            yield upstream
        finally:
            await upstream.close()


@asynccontextmanager
async def started(spec: UpstreamSpec, told: Told | None = None, pace: Pace = PATIENT) -> AsyncGenerator[Upstream]:
    async with made(spec, told, pace) as upstream:
        await upstream.start()
        yield upstream


def over_stdio(argv: list[str]) -> UpstreamSpec:
    return UpstreamSpec("up", "up", tuple(argv))


def link_of(upstream: Upstream) -> StdioLink:
    assert isinstance(upstream.link, StdioLink)
    return upstream.link


# Eras -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("era", "version"), [("legacy", "2025-11-25"), ("modern", "2026-07-28"), ("both", "2026-07-28")]
)
async def test_the_newest_era_that_a_stdio_upstream_speaks_is_taken(tmp_path: Path, era: str, version: str) -> None:
    log = tmp_path / "log"
    async with started(over_stdio(stdio_argv(log, era=era))) as upstream:
        tools = (await upstream.list_tools()).entries
        answer = await upstream.call(tool_call("echo", b'{"a":1.50}'), 60)

    assert (upstream.protocol_version, len(tools)) == (version, len(TOOLS))
    assert answer.error is None
    call = next(each for each in received(log) if each.method == "tools/call")
    assert b'"arguments":{"a":1.50}' in call.raw.replace(b" ", b"")
    assert ("_meta" in call.message["params"]) is (version == "2026-07-28")


@pytest.mark.parametrize(
    ("era", "version"), [("legacy", "2025-11-25"), ("modern", "2026-07-28"), ("both", "2026-07-28")]
)
async def test_the_newest_era_that_an_http_upstream_speaks_is_taken(tmp_path: Path, era: str, version: str) -> None:
    with http_upstream(tmp_path / "log", era=era) as running:
        async with started(UpstreamSpec("far", "far", url=running.url)) as upstream:
            tools = (await upstream.list_tools()).entries
            answer = await upstream.call(tool_call("echo", b'{"a":1}'), 60)
        call = next(each for each in running.received() if each.method == "tools/call")

    assert (upstream.protocol_version, len(tools)) == (version, len(TOOLS))
    assert answer.error is None
    assert call.header("mcp-protocol-version") == version
    assert call.header("mcp-name") == ("echo" if version == "2026-07-28" else None)
    assert (call.header("mcp-session-id") is not None) is (version != "2026-07-28")


async def test_a_server_that_dies_of_what_it_does_not_know_is_started_again_and_greeted_the_old_way() -> None:
    async with started(small("up", "serve(discover=lambda message: os._exit(3))")) as upstream:
        answer = await upstream.call(tool_call("echo", b"{}"), 60)

    assert answer.error is None


async def test_a_server_that_does_not_answer_what_it_does_not_know_is_asked_only_once() -> None:
    spec = small("up", "serve(discover=lambda message: None)")
    async with started(spec, pace=Pace(discover=0.1)) as upstream:
        upstream.drop()
        await upstream.start()
        answer = await upstream.call(tool_call("echo", b"{}"), 60)

    assert next(iter(json.loads(answer.result)["heard"])) == "initialize"


async def test_a_modern_server_that_was_not_up_yet_when_it_was_asked_is_asked_again() -> None:
    # A real one: it has heard the first question by then, and takes no classic handshake after it.
    late = ["sh", "-c", "sleep 1; exec " + shlex.join([sys.executable, "-m", "mcp_server_time"])]
    async with started(over_stdio(late), pace=Pace(discover=0.1)) as upstream:
        listed = await upstream.list_tools()

    assert upstream.protocol_version == "2026-07-28"
    assert len(listed.entries) > 0


async def test_a_server_that_only_says_that_it_is_modern_is_down() -> None:
    told = "say(id=message['id'], error={'code': -32022, 'message': 'no', 'data': {'supported': ['2026-07-28']}})"
    code = f"while message := hear():\n    if 'id' in message: {told}"
    with pytest.raises(LinkDown, match="initialize was refused: no"):
        async with started(small("up", code)):
            pass


async def test_a_server_that_spoke_the_old_way_and_does_no_longer_is_asked_again(tmp_path: Path) -> None:
    mark, modern = tmp_path / "mark", stdio_argv(tmp_path / "log", era="modern")
    first = ["sh", "-c", 'test -e "$0" && exec "$@"; : > "$0"; exec ' + shlex.join(small("up").argv), str(mark)]
    async with started(over_stdio([*first, *modern])) as upstream:
        assert not upstream.modern
        upstream.drop()
        with pytest.raises(LinkDown):
            await upstream.start()
        await upstream.start()

        assert upstream.modern


@pytest.mark.parametrize("answer", ["[]", "None", "7", "{}", "{'supportedVersions': 7}", "{'supportedVersions': [{}]}"])
async def test_a_strange_answer_to_the_first_question_is_a_no(answer: str) -> None:
    strange = f"serve(discover=lambda message: say(id=message['id'], result={answer}))"
    async with started(small("up", strange)) as upstream:
        assert upstream.protocol_version == "2025-11-25"


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_what_a_server_says_of_itself_is_known_in_both_eras(tmp_path: Path, era: str) -> None:
    async with started(over_stdio(stdio_argv(tmp_path / "log", era=era))) as upstream:
        said = upstream.introduction

    assert (said.name, said.version) == ("test-upstream", "1.0.0")


@pytest.mark.parametrize("meta", ["7", "[]", "{}"])
async def test_a_server_that_does_not_say_who_it_is_is_met_all_the_same(meta: str) -> None:
    answer = f"{{'supportedVersions': ['2026-07-28'], 'capabilities': {{}}, '_meta': {meta}}}"
    async with started(
        small("up", f"serve(discover=lambda message: say(id=message['id'], result={answer}))")
    ) as upstream:
        assert (upstream.modern, upstream.introduction.name) == (True, "")


@pytest.mark.parametrize("version", ["'1999-01-01'", "[]", "{}", "7", "None"])
async def test_a_version_that_we_do_not_speak_is_refused(version: str) -> None:
    code = f"while m := hear(): say(id=m['id'], result={{'protocolVersion': {version}}})"
    async with made(small("up", code)) as upstream:
        with pytest.raises(LinkDown, match="it speaks protocol"):
            await upstream.start()


@pytest.mark.parametrize("answer", ["[]", "'x'", "7"])
async def test_a_handshake_that_is_none_is_refused(answer: str) -> None:
    async with made(small("up", f"while m := hear(): say(id=m['id'], result={answer})")) as upstream:
        with pytest.raises(BadMessage):
            await upstream.start()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("time.sleep(60)", "it answered neither server/discover nor initialize within 0.5 s"),
        (
            "say(id=hear()['id'], error={'code': -32601, 'message': 'no'}); hear(); time.sleep(60)",
            "initialize within 0.4 s",
        ),
    ],
)
async def test_a_server_that_stays_silent_is_told_with_what_it_was_asked(code: str, why: str) -> None:
    pace = Pace(discover=0.1, handshake=0.4) if "neither" in why else Pace(handshake=0.4)
    async with made(small("up", code), pace=pace) as upstream:
        with pytest.raises(LinkTimeout, match=why):
            await upstream.start()


@pytest.mark.parametrize("argv", [["/no/such/program"], ["false"], ["sh", "-c", "echo not json; exec cat >/dev/null"]])
async def test_an_upstream_that_does_not_start_says_why(argv: list[str]) -> None:
    async with made(over_stdio(argv), pace=Pace(discover=0.2, handshake=0.2)) as upstream:
        with pytest.raises((LinkDown, LinkTimeout)) as failed:
            await upstream.start()

    assert str(failed.value)
    assert upstream.protocol_version == ""


@pytest.mark.parametrize(
    "spec",
    [
        UpstreamSpec("far", "far", url="ftp://host/?key=hunter2hunter2"),
        UpstreamSpec("far", "far", url="http://127.0.0.1:1/mcp", headers={"X-Key": "hunter2\nhunter2"}),
    ],
)
async def test_an_address_that_cannot_be_used_is_told_without_its_secrets(spec: UpstreamSpec) -> None:
    async with made(spec) as upstream:
        with pytest.raises(LinkDown) as failed:
            await upstream.start()

    assert not failed.value.sent
    assert "hunter2" not in failed.value.why


def test_a_spec_that_is_printed_shows_no_secret() -> None:
    scope = Scope({"A": "hunter2"}, {"B": "hunter2"})
    spec = UpstreamSpec("a", "a", ("p", "--key=hunter2"), "http://h/?hunter2", {"A": "hunter2"}, {"B": "hunter2"})
    scoped = UpstreamSpec("a", "a", scopes={"s": scope}).under(scope)

    assert "hunter2" not in f"{spec!r} {scope!r} {scoped!r}"
    assert (scoped.env, scoped.headers) == ({"A": "hunter2"}, {"B": "hunter2"})


# The end of a link ----------------------------------------------------------------------------------------------


async def test_the_end_of_a_process_is_told_without_a_call() -> None:
    told = Told()
    async with started(small("up"), told) as upstream:
        assert not upstream.lost
        end_at_once(link_of(upstream))
        await told.news.wait()

        assert (told.lost, upstream.lost) == (["it was ended by signal 9"], "it was ended by signal 9")


async def test_a_session_that_is_gone_is_told_and_the_next_start_makes_a_new_one() -> None:
    sessions = 0

    def answer(request: Received) -> bytes:
        nonlocal sessions
        if request.line.startswith("DELETE"):
            return ACCEPTED
        method = request.message["method"]
        if method == "server/discover":
            return whole("400 Bad Request", "text/plain", b"no")
        if method == "initialize":
            sessions += 1
            return reply(request, {"protocolVersion": "2025-11-25"}, f"Mcp-Session-Id: s{sessions}")
        if method == "notifications/initialized":
            return ACCEPTED
        if request.field("Mcp-Session-Id") == "s1":
            return whole("404 Not Found", "text/plain", b"no")
        return reply(request, {"content": []})

    told = Told()
    async with RawServer(each(answer)) as server, started(UpstreamSpec("far", "far", url=server.url), told) as upstream:
        with pytest.raises(LinkDown) as gone:
            await upstream.call(tool_call("echo", b"{}"), 60)
        assert not gone.value.sent
        assert told.lost == [upstream.lost] == [gone.value.why]
        await upstream.start()

        assert (await upstream.call(tool_call("echo", b"{}"), 60)).error is None
        assert not upstream.lost


async def test_a_dropped_process_is_killed_at_once_and_not_asked_to_leave() -> None:
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nserve()\nwhile True: time.sleep(1000)"
    async with started(small("up", stubborn)) as upstream:
        link = link_of(upstream)
        upstream.drop()
        await upstream.close()

        assert link.returncode == -signal.SIGKILL


async def test_what_a_process_wrote_to_stderr_is_there_after_the_next_one_was_started() -> None:
    async with started(small("up", "print('pid', os.getpid(), file=sys.stderr, flush=True)\nserve()")) as upstream:
        pids = [json.loads((await upstream.call(tool_call("echo", b"{}"), 60)).result)["pid"]]
        upstream.drop()
        await upstream.start()
        pids.append(json.loads((await upstream.call(tool_call("echo", b"{}"), 60)).result)["pid"])

        assert list(upstream.logs()) == [f"pid {pid}" for pid in pids]


@pytest.mark.parametrize("code", ["serve()", "serve(ping=refuse)"])
async def test_any_answer_is_a_sign_of_life(code: str) -> None:
    async with started(small("up", code)) as upstream:
        await upstream.probe()


async def test_no_answer_is_no_sign_of_life() -> None:
    silent = small("up", "serve(ping=lambda message: None)")
    async with started(silent, pace=Pace(discover=60, probe=0.05)) as upstream:
        with pytest.raises(LinkTimeout):
            await upstream.probe()
        upstream.drop()


async def test_a_modern_upstream_is_probed_with_what_it_knows(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with started(over_stdio(stdio_argv(log, era="modern"))) as upstream:
        await upstream.probe()

    assert [each.method for each in received(log)] == ["server/discover"] * 2


# Tools ----------------------------------------------------------------------------------------------------------


async def listed(code: str, pace: Pace = PATIENT) -> Listed:
    """What is listed by a small server whose list is made by `page(message, number)`."""
    counted = "numbers = iter(range(10**9))\n"
    serve = "\nserve(listed=lambda message: page(message, next(numbers)))"
    async with started(UpstreamSpec("up", "up", tuple(python(SERVER + counted + code + serve))), pace=pace) as upstream:
        return await upstream.list_tools()


async def test_all_pages_are_taken_in_their_order() -> None:
    more = "def page(m, n): result(m, tools=[{'name': f't{n}'}], **({'nextCursor': str(n)} if n < 3 else {}))"

    found = await listed(more)

    assert [each["name"] for each in read_tools(found).tools] == ["t0", "t1", "t2", "t3"]
    assert not found.more


async def test_an_empty_cursor_is_the_end_of_a_list() -> None:
    found = await listed("def page(m, n): result(m, tools=[{'name': f't{n}'}], nextCursor='')")

    assert (len(found.entries), found.more) == (1, False)


async def test_a_list_that_leads_to_the_same_page_again_is_not_whole() -> None:
    found = await listed("def page(m, n): result(m, tools=[{'name': f't{n}'}], nextCursor='again')")

    assert (len(found.entries), found.more) == (2, True)


async def test_a_list_that_never_ends_is_cut_off() -> None:
    endless = "def page(m, n): result(m, tools=[{'name': f't{n}'}], nextCursor=str(n))"

    found = await listed(endless)

    assert (len(found.entries), found.more) == (MAX_PAGES, True)


async def test_a_list_with_too_many_tools_is_cut_off() -> None:
    tools = "[{'name': f't{i}'} for i in range(3_000)]"
    many = f"def page(m, n): result(m, tools={tools}, nextCursor=str(n)) if n < 4 else refuse(m, -32000)"

    found = await listed(many)

    assert (len(found.entries), found.more) == (MAX_LISTED, True)


async def test_a_list_with_too_many_bytes_is_cut_off() -> None:
    big = "def page(m, n): result(m, tools=[{'name': f't{n}', 'description': 'x' * 3_000_000}], nextCursor=str(n))"

    found = await listed(big)

    assert (len(found.entries), found.more) == (6, True)


async def test_a_list_that_takes_too_long_as_a_whole_is_given_up() -> None:
    slow = "def page(m, n): time.sleep(0.1); result(m, tools=[], nextCursor=str(n))"
    with pytest.raises(LinkTimeout):
        await listed(slow, Pace(discover=60, listing=0.3))


@pytest.mark.parametrize("answer", ["[]", "'x'", "7", "None"])
async def test_a_result_that_is_no_object_is_a_bad_message(answer: str) -> None:
    async with started(small("up", f"serve(call=lambda message: say(id=message['id'], result={answer}))")) as upstream:
        with pytest.raises(BadMessage):
            await upstream.call(tool_call("echo", b"{}"), 60)


async def test_a_server_that_knows_no_tools_has_none() -> None:
    assert await listed("def page(m, n): refuse(m)") == Listed()


async def test_a_server_that_refuses_to_list_its_tools_says_so() -> None:
    with pytest.raises(LinkDown, match=r"tools/list was refused: no"):
        await listed("def page(m, n): refuse(m, -32000)")


@pytest.mark.parametrize("tools", ["7", "'x'", "{'a': 1}", "None"])
async def test_a_list_that_is_none_is_refused(tools: str) -> None:
    with pytest.raises(BadMessage):
        await listed(f"def page(m, n): result(m, tools={tools})")


async def test_a_tool_keeps_fields_that_we_do_not_know(tmp_path: Path) -> None:
    async with started(over_stdio(stdio_argv(tmp_path / "log"))) as upstream:
        echo = next(tool for tool in read_tools(await upstream.list_tools()).tools if tool["name"] == "echo")

    assert echo["vendorField"] == {"kept": True}


async def test_an_upstream_that_says_its_tools_changed_is_heard() -> None:
    told = Told()
    say = "say(method='notifications/message', params={}); say(method='notifications/tools/list_changed')"
    async with started(small("up", f"{say}\nserve()"), told):
        pass

    assert told.changes == 1
