"""Many upstreams: started together, changed while they run, none disturbing another, the book kept up to date."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from interlock.core.health import Health, Introduction, LeftOut
from interlock.core.lexicon import DEFAULT
from interlock.core.model import Standing
from interlock.core.safety import SafetyClass
from interlock.forward.fleet import Fleet
from interlock.forward.link import LinkDown
from interlock.forward.upstream import CALL_SECONDS, Scope, UpstreamSpec, tool_call
from tests.forward.children import runs
from tests.forward.fleets import QUICK, SECONDS, Watched, children, open_files, small, watched
from tests.upstream.running import http_upstream, stdio_argv

SILENT = UpstreamSpec("silent", "silent", ("sleep", "1000"))
"""A server that never says anything, and never leaves by itself."""
HURRIED = replace(QUICK, takeover=0.2)


async def applied(seen: Watched, *specs: UpstreamSpec, **overrides: dict[str, SafetyClass]) -> None:
    await seen.fleet.apply(specs, overrides, DEFAULT)


def named(code: str) -> str:
    """A small server whose one tool has another name."""
    return f"TOOLS[0]['name'] = '{code}'\nserve()"


# Start ----------------------------------------------------------------------------------------------------------


async def test_all_upstreams_are_started_and_their_tools_are_in_one_book(tmp_path: Path) -> None:
    with http_upstream(tmp_path / "far") as running:
        specs = [
            UpstreamSpec("up", "up", tuple(stdio_argv(tmp_path / "up"))),
            UpstreamSpec("far", "ns", url=running.url),
        ]
        async with watched(specs, overrides={"up": {"frobnicate": SafetyClass.READ_ONLY}}) as seen:
            book = seen.fleet.book
            up, far = book.find("up", "frobnicate"), book.find("far", "frobnicate")

    assert up is not None
    assert far is not None
    assert (up.classification.gateway, far.classification.gateway) == (SafetyClass.READ_ONLY, SafetyClass.UNKNOWN)
    assert far.tool.qualified == "ns__frobnicate"
    assert book.split("ns__frobnicate") == ("far", "frobnicate")


async def test_nobody_waits_for_an_upstream_that_never_answers() -> None:
    specs = [SILENT, *(small(f"up{number}") for number in range(19))]
    async with watched(specs, settle=False) as seen:
        at_first = {each.health for each in seen.fleet.states()}
        await seen.until(lambda: [each.health for each in seen.fleet.states()].count(Health.READY) == 19)
        await seen.fleet.settled(0)
        answers = await asyncio.gather(*(seen.call(f"up{number}") for number in range(19)))

        assert len(answers) == 19
        assert seen.state("silent").health is Health.STARTING
    assert Health.READY not in at_first


async def test_settled_waits_for_those_that_start_and_those_that_fail() -> None:
    async with watched([UpstreamSpec("dead", "dead", ("/no/such/program",)), small("up")]) as seen:
        states = {each.id: (each.health, each.problem) for each in seen.fleet.states()}

    assert states["up"] == (Health.READY, "")
    assert states["dead"][0] in (Health.DOWN, Health.STARTING)
    assert states["dead"][1] == "/no/such/program cannot be started: No such file or directory"


async def test_a_dead_upstream_does_not_disturb_the_others(tmp_path: Path) -> None:
    specs = [UpstreamSpec("dead", "dead", ("/no/such/program",)), small("up")]
    async with watched(specs) as seen:
        assert await seen.call("up")
        with pytest.raises(LinkDown) as down:
            await seen.call("dead")

    assert not down.value.sent


async def test_an_upstream_that_cannot_even_be_addressed_does_not_disturb_the_others() -> None:
    async with watched([UpstreamSpec("bad", "bad", url="gopher://h"), small("up")]) as seen:
        assert await seen.call("up")
        assert seen.state("bad").problem == "a URL must start with http:// or https://"


async def test_the_book_is_in_the_order_of_the_configuration_whoever_starts_first() -> None:
    slow = small("slow", "time.sleep(0.3)\nserve()")
    async with watched([slow, small("quick")]) as seen:
        assert [each.tool.server for each in seen.fleet.book] == ["slow", "quick"]


async def test_a_server_that_is_not_there_is_down_and_nothing_was_sent() -> None:
    async with watched([]) as seen:
        with pytest.raises(LinkDown) as down:
            await seen.call("nobody")

        assert seen.fleet.logs("nobody") is None
        assert seen.fleet.seconds("nobody") == CALL_SECONDS
    assert not down.value.sent


async def test_each_upstream_has_its_own_patience() -> None:
    async with Fleet([UpstreamSpec("a", "a", ("false",), call_seconds=7.0)]) as fleet:
        assert fleet.seconds("a") == 7.0


# End ------------------------------------------------------------------------------------------------------------


async def test_what_goes_wrong_outside_comes_out_as_it_was() -> None:
    with pytest.raises(KeyError):
        async with watched([small("up")]):
            raise KeyError


async def test_nothing_is_left_behind() -> None:
    async with watched([]):
        pass  # what the first fleet of a process leaves behind is the loop's: threads, and how they wake it
    files, processes = open_files(), children()
    specs = [small("a"), small("b", "serve(discover=lambda message: os._exit(3))"), UpstreamSpec("c", "c", ("false",))]
    for _ in range(3):
        async with watched([*specs, SILENT], settle=False) as seen:
            await seen.is_now("a", Health.READY)
            await seen.kill("a")
        assert {each.health for each in seen.fleet.states()} == {Health.STOPPED}

    assert (open_files(), children()) == (files, processes)


async def test_whoever_listens_badly_disturbs_nobody() -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def fail(told: object) -> None:
        raise KeyError(told)

    fleet = Fleet([small("up")], pace=QUICK)
    fleet.on_health = fleet.on_change = fail
    async with fleet:
        await fleet.settled(SECONDS)
        answer = await fleet.call("up", tool_call("echo", b"{}"))

    assert answer.error is None
    assert {each["message"] for each in reported} == {"a listener failed"}


# Another configuration ------------------------------------------------------------------------------------------


async def test_a_server_that_did_not_change_keeps_running_and_loses_no_call() -> None:
    slow = small("same", "serve(call=lambda m: time.sleep(0.5) or echo(m))")
    async with watched([slow, small("gone")]) as seen:
        under_way = asyncio.ensure_future(seen.pid("same"))
        await asyncio.sleep(0)
        await applied(seen, slow, small("new"))

        assert await under_way == await seen.pid("same")
        assert seen.healths("same") == [Health.STARTING, Health.READY]


async def test_an_added_server_can_be_called_as_soon_as_that_is_done() -> None:
    async with watched([]) as seen:
        await applied(seen, small("new"))

        assert await seen.pid("new")
        assert seen.fleet.book.find("new", "echo") is not None
        assert seen.changes == ["new"]


async def test_a_removed_server_takes_no_new_call_lets_the_old_one_end_and_leaves() -> None:
    async with watched([small("gone", "serve(call=lambda m: time.sleep(0.5) or echo(m))"), small("up")]) as seen:
        under_way = asyncio.ensure_future(seen.pid("gone"))
        await asyncio.sleep(0)
        await applied(seen, small("up"))
        with pytest.raises(LinkDown, match="no such server"):
            await seen.call("gone")
        assert seen.fleet.book.find("gone", "echo") is None
        assert seen.fleet.book.split("gone__echo") == ("gone", "echo")
        assert [each.id for each in seen.fleet.states()] == ["up"]
        assert seen.changes[-1] == "gone"
        pid = await under_way
        async with asyncio.timeout(SECONDS):
            while runs(pid):  # noqa: ASYNC110 - nobody is told of its end
                await asyncio.sleep(0.01)


async def test_the_time_that_calls_to_a_removed_server_have_is_known_while_they_last() -> None:
    gone = small("gone", "serve(call=lambda m: time.sleep(0.3) or echo(m))", call_seconds=7.0)
    async with watched([gone]) as seen:
        under_way = asyncio.ensure_future(seen.pid("gone"))
        await asyncio.sleep(0)
        await applied(seen)

        assert seen.fleet.seconds("gone") == 7.0
        assert await under_way


async def test_a_changed_server_is_replaced_when_the_new_one_has_started() -> None:
    async with watched([small("up", named("old"))]) as seen:
        before = await seen.pid("up")
        applying = asyncio.ensure_future(applied(seen, small("up", "time.sleep(0.3)\n" + named("new"))))
        await asyncio.sleep(0)
        assert await seen.pid("up") == before
        await applying

        assert [each.tool.name for each in seen.fleet.book] == ["new"]
        assert await seen.pid("up") != before


async def test_a_call_under_way_at_a_changed_server_ends_where_it_began() -> None:
    code = "serve(call=lambda m: time.sleep(0.5) or echo(m))"
    async with watched([small("up", code)]) as seen:
        under_way = asyncio.ensure_future(seen.pid("up"))
        await asyncio.sleep(0)
        await applied(seen, small("up"))

        assert await seen.pid("up") != await under_way


@pytest.mark.parametrize("argv", [("/no/such/program",), ("sleep", "1000")])
async def test_a_changed_server_that_does_not_start_takes_over_all_the_same(argv: tuple[str, ...]) -> None:
    async with watched([small("up")], pace=HURRIED) as seen:
        await applied(seen, UpstreamSpec("up", "up", argv, call_seconds=0.1))
        with pytest.raises(LinkDown):
            await seen.call("up")

        assert seen.state("up").health is not Health.READY
        assert seen.fleet.book.find("up", "echo") is not None


async def test_trust_overrides_and_words_count_anew_without_a_new_start() -> None:
    tools = "{'name': 'frobnicate'}, {'name': 'zap_x'}, {'name': 'y', 'annotations': {'readOnlyHint': True}}"
    spec = small("up", f"TOOLS[:] = [{tools}]\nserve()")
    async with watched([spec]) as seen:
        before = await seen.pid("up")
        trusted = replace(spec, trusted=True, namespace="other", call_seconds=5.0, max_concurrent=1)
        words = DEFAULT.extended({SafetyClass.DANGEROUS: ["zap"]})
        await seen.fleet.apply([trusted], {"up": {"frobnicate": SafetyClass.READ_ONLY}}, words)

        classes = [each.classification.gateway for each in seen.fleet.book]
        assert classes == [SafetyClass.READ_ONLY, SafetyClass.DANGEROUS, SafetyClass.READ_ONLY]
        assert seen.fleet.book.split("other:y") == ("up", "y")
        assert seen.state("up").trusted
        assert seen.fleet.seconds("up") == 5.0
        assert await seen.pid("up") == before
        assert seen.changes == ["up", "up"]


LOSSY = (
    "deep = {}\n"
    "for _ in range(200): deep = {'x': deep}\n"
    "TOOLS.extend([{'name': 'deep', 'inputSchema': deep}, {'name': ''}])\n"
)


async def test_what_is_left_out_of_a_list_is_told_and_stays_told_under_another_configuration() -> None:
    spec = small("up", LOSSY + "serve()")
    left_out = (LeftOut("nested too deeply", 1, "deep"), LeftOut("without a name", 1))
    async with watched([spec]) as seen:
        before = seen.state("up")
        await applied(seen, replace(spec, trusted=True))

        assert (before.tools, before.problem, before.left_out) == (1, "", left_out)
        assert seen.state("up").left_out == left_out


async def test_a_list_that_loses_a_tool_later_is_told_then() -> None:
    later = "\ndef listed(m):\n    result(m, tools=TOOLS)\n" + LOSSY.replace("TOOLS.extend(", "MORE = list(")
    later += "def call(m):\n    TOOLS[1:] = MORE\n    say(method='notifications/tools/list_changed')\n    echo(m)\n"
    async with watched([small("up", later + "serve(call=call, listed=listed)")]) as seen:
        await seen.call("up")
        async with asyncio.timeout(SECONDS):
            while not any(each.left_out for each in seen.states):  # noqa: ASYNC110 - another process brings it about
                await asyncio.sleep(0.01)


async def test_a_server_says_what_it_is_called_and_how_much_it_chatters() -> None:
    async with watched([small("up", "write(b'a banner\\n')\nserve()")]) as seen:
        state = seen.state("up")

    assert (state.introduction, state.stray_lines) == (Introduction("x", "1"), 1)


async def test_what_is_listed_twice_stays_so_under_another_configuration() -> None:
    spec = small("up", "TOOLS[:] = [{'name': 'x', 'v': 1}, {'name': 'x', 'v': 2}]\nserve()")
    async with watched([spec]) as seen:
        before = seen.fleet.book.find("up", "x")
        await applied(seen, replace(spec, trusted=True))
        after = seen.fleet.book.find("up", "x")

    assert before is not None
    assert after is not None
    assert (before.tool.standing, after.tool.standing) == (Standing.TWICE, Standing.TWICE)


async def test_a_configuration_that_says_the_same_changes_nothing() -> None:
    async with watched([small("up")]) as seen:
        book = seen.fleet.book
        await applied(seen, small("up"))

        assert list(seen.fleet.book) == list(book)
        assert seen.changes == ["up"]


async def test_changed_credentials_of_an_auth_scope_are_not_used_again() -> None:
    def spec(**keys: str) -> UpstreamSpec:
        code = "serve(call=lambda m: result(m, key=os.environ['KEY'], pid=os.getpid()))"
        scopes = {name: Scope(env={"KEY": key}) for name, key in keys.items()}
        return small("up", code, env={"KEY": "main"}, scopes=scopes)

    async with watched([spec(a="1", b="1", c="1")]) as seen:
        main = await seen.pid("up")
        kept, _, _ = [await seen.pid("up", auth_scope=scope) for scope in "abc"]
        await applied(seen, spec(a="1", b="2"))

        assert await seen.pid("up") == main
        assert await seen.pid("up", auth_scope="a") == kept
        assert (await seen.call("up", auth_scope="b"))["key"] == "2"
        with pytest.raises(LinkDown, match="not configured"):
            await seen.call("up", auth_scope="c")


async def test_giving_up_on_a_new_configuration_leaves_the_whole_of_it_and_nothing_running_besides() -> None:
    processes = children()
    async with watched([small("up")]) as seen:
        before = await seen.pid("up")
        applying = asyncio.ensure_future(applied(seen, replace(SILENT, id="up", namespace="up")))
        await asyncio.sleep(0)
        applying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await applying
        async with asyncio.timeout(SECONDS):
            while runs(before):  # noqa: ASYNC110 - nobody is told of its end
                await asyncio.sleep(0.01)

        await seen.is_now("up", Health.STARTING)
    assert children() == processes


async def test_new_configurations_are_taken_up_one_after_the_other() -> None:
    async with watched([]) as seen:
        slow, quick = small("slow", "time.sleep(0.3)\nserve()"), small("quick")
        await asyncio.gather(applied(seen, slow), applied(seen, quick))

        assert [each.id for each in seen.fleet.states()] == ["quick"]
        assert await seen.pid("quick")
