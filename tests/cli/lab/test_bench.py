"""The bench of the lab is a server behind a gateway: whatever becomes of a call is something that was observed."""

import sys
from pathlib import Path

import pytest

from interlock.cli.lab.target import at_target
from interlock.core.safety import ExecClass, SafetyClass
from interlock.errors import Code, InterlockError
from interlock.lab.run import outcome_of
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
