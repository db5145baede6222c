"""The bench of the lab is a server behind a gateway: whatever becomes of a call is something that was observed."""

import asyncio
import contextlib
import sys
from pathlib import Path

import pytest

from interlock.cli.lab.target import at_target
from interlock.core.safety import ExecClass, SafetyClass
from interlock.errors import BudgetExhausted, Code, InterlockError
from interlock.lab.plan import plan
from interlock.lab.run import outcome_of
from interlock.lab.worker import NotPlanned, Worker
from tests.cli.lab.places import values_of
from tests.upstream.running import received, stdio_argv


async def test_tools_come_with_what_their_server_wrote_and_with_both_readings(tmp_path: Path) -> None:
    values = values_of("--", *stdio_argv(tmp_path / "log"), data=tmp_path / "data")
    async with at_target(values) as site:
        tools = {each.name: each for each in await site.bench.tools()}
    note = tools["delete_note"]
    assert (note.exec_class, note.gateway_class) == (ExecClass.DESTRUCTIVE, SafetyClass.DANGEROUS)
    assert note.descriptor["name"] == "delete_note"


async def test_what_the_lab_may_not_call_is_refused_by_the_gateway_itself(tmp_path: Path) -> None:
    values = values_of("--", *stdio_argv(tmp_path / "log"), data=tmp_path / "data")
    async with at_target(values) as site:
        observed = await site.bench.call("delete_note", {"name": "x"})
    assert observed.refusal is not None
    assert observed.refusal.code is Code.DENIED_BY_RULE
    assert [each.method for each in received(tmp_path / "log") if each.method == "tools/call"] == []


async def test_a_crash_is_observed_and_the_server_comes_back(tmp_path: Path) -> None:
    values = values_of("--", *stdio_argv(tmp_path / "log"), data=tmp_path / "data")
    async with at_target(values) as site:
        crashed = await site.bench.call("crash", {}, unchecked=True)
        there = await site.bench.recovered()
        after = await site.bench.call("echo", {})
    assert (outcome_of(crashed), there, outcome_of(after)) == ("crash", True, "ok")
    assert crashed.activity


async def test_a_hang_is_observed_and_a_server_that_is_ours_is_started_anew(tmp_path: Path) -> None:
    values = values_of("--timeout", "1", "--", *stdio_argv(tmp_path / "log"), data=tmp_path / "data")
    async with at_target(values) as site:
        hung = await site.bench.call("slow", {"seconds": 60})
        there = await site.bench.recovered(hung=True)
    starts = [each for each in received(tmp_path / "log") if each.method == "server/discover"]
    assert (outcome_of(hung), there, len(starts)) == ("hang", True, 2)


async def test_arguments_that_do_not_fit_are_sent_only_where_that_is_wanted(tmp_path: Path) -> None:
    values = values_of("--", *stdio_argv(tmp_path / "log"), data=tmp_path / "data")
    async with at_target(values) as site:
        checked = await site.bench.call("read_note", {"name": 5})
        sent = await site.bench.call("read_note", {"name": 5}, unchecked=True)
    assert checked.refusal is not None
    assert checked.refusal.code is Code.INVALID_ARGUMENTS
    assert outcome_of(sent) in ("ok", "tool-error", "rpc-error")


async def test_a_name_that_cannot_be_sent_is_an_error_and_no_observation(tmp_path: Path) -> None:
    with pytest.raises(InterlockError):
        async with at_target(values_of("--", sys.executable, "-m", "interlock.lab.sample", data=tmp_path)) as site:
            await site.bench.call("", {})


async def test_sixty_four_workers_at_once_make_exactly_as_many_calls_as_the_budget_has(tmp_path: Path) -> None:
    knobs = ("--max-calls", "100", "--concurrency", "64", "--timeout", "60")
    async with at_target(values_of(*knobs, "--", *stdio_argv(tmp_path / "log"), data=tmp_path / "data")) as site:
        worker = Worker(site.bench, plan(await site.bench.tools(), site.knobs.policy, live=True), site.knobs)

        async def calls() -> int:
            made = 0
            with contextlib.suppress(BudgetExhausted):
                for _ in range(5):
                    await worker.call("echo", {})
                    made += 1
            return made

        made = sum(await asyncio.gather(*(calls() for _ in range(64))))
    sent = [each for each in received(tmp_path / "log") if each.method == "tools/call"]
    assert (made, len(sent)) == (100, 100)


async def test_a_tool_that_is_called_once_reaches_its_server_once_however_many_ask(tmp_path: Path) -> None:
    values = values_of("--concurrency", "16", "--", *stdio_argv(tmp_path / "log"), data=tmp_path / "data")
    async with at_target(values) as site:
        worker = Worker(site.bench, plan(await site.bench.tools(), site.knobs.policy, live=True), site.knobs)
        asked = (worker.call("write_note", {"name": "a", "text": "b"}) for _ in range(32))
        outcomes = await asyncio.gather(*asked, return_exceptions=True)
    sent = [each for each in received(tmp_path / "log") if each.method == "tools/call"]
    assert len(sent) == 1
    assert sum(isinstance(each, NotPlanned) for each in outcomes) == 31


ODD = """
import json, sys
DEEP = '{"a":' * 5000 + "1" + "}" * 5000
TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in ("", "get_deep", "get/../x")]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    info = {"name": "odd", "version": "1"}
    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    result = json.dumps({"tools": TOOLS} if asked["method"] == "tools/list" else result)
    if asked["method"] == "tools/call":
        result = '{"content": [], "structuredContent": %s}' % (DEEP if asked["params"]["name"] == "get_deep" else "1")
    print('{"jsonrpc": "2.0", "id": %s, "result": %s}' % (json.dumps(asked["id"]), result), flush=True)
"""


async def test_names_and_answers_that_nobody_can_use_stop_nothing(tmp_path: Path) -> None:
    async with at_target(values_of("--", sys.executable, "-c", ODD, data=tmp_path)) as site:
        names = [each.name for each in await site.bench.tools()]
        observed = [await site.bench.call(name, {}) for name in names]
    assert names == ["get_deep", "get/../x"]
    assert [outcome_of(each) for each in observed] == ["protocol", "ok"]
