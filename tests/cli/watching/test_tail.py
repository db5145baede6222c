"""`interlock activity tail`: the last calls, and each one as it ends."""

import asyncio
import contextlib
import io
import json
import queue
import signal
import subprocess
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlock.cli.watching.follow import present_api
from interlock.cli.watching.tail import VERB, Pace, follow_calls
from interlock.errors import ANSWERS, Code, InterlockError
from interlock.store.folder import DataFolder
from tests.cli.running import COMMAND, Beside, Interlock, environment, run_process
from tests.postgres_server import PostgresServer
from tests.running import Running, serving
from tests.store.wire import Wire

SECONDS = 30


def call(il: Interlock, name: str) -> None:
    il("call", "tool-write", "--tool-name", "up:write_note", "--json_args", json.dumps({"name": name, "text": "b"}))


@contextmanager
def tailing(*words: str) -> "Generator[queue.SimpleQueue[str]]":
    """`interlock activity tail` in a process of its own; its lines come through the queue."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    argv = [*COMMAND, "activity", "tail", *words]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=environment()) as process:
        out = process.stdout
        assert out is not None

        def read() -> None:
            for line in out:
                lines.put(line.rstrip("\n"))

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield lines
        finally:
            process.terminate()
            reader.join()


def test_the_last_calls_are_shown_and_then_each_one_that_ends(il: Interlock, beside: Beside) -> None:
    call(il, "a")
    call(il, "secret")
    with tailing("-n", "2") as lines:
        first = [lines.get(timeout=30), lines.get(timeout=30)]
        call(il, "b")
        third = lines.get(timeout=30)

    assert [line.split("  ")[1:6] for line in (*first, third)] == [
        ["success", "up:write_note", "write-capable", "allow", "operator-agent"],
        ["blocked", "up:write_note", "write-capable", "deny", "operator-agent"],
        ["success", "up:write_note", "write-capable", "allow", "operator-agent"],
    ]


def test_filters_hold_for_what_comes_too_and_a_line_is_json_for_scripts(il: Interlock, beside: Beside) -> None:
    with tailing("-n", "1", "--json", "--status", "blocked,denied", "--tool", "up:write_note") as lines:
        call(il, "secret")
        first = lines.get(timeout=30)
        call(il, "c")
        call(il, "secret again")
        second = lines.get(timeout=30)

    assert [json.loads(line)["status"] for line in (first, second)] == ["blocked", "blocked"]


@pytest.mark.parametrize("number", ["-1", "501"])
def test_a_number_that_makes_no_sense_is_a_usage_error(il: Interlock, number: str) -> None:
    assert il("activity", "tail", f"-n={number}").exit == 2


def test_without_a_gateway_the_last_ones_are_shown_with_a_word() -> None:
    run_process("call", "tool-read", "--tool-name", "sample:nothing")
    done = run_process("activity", "tail")

    assert done.exit == 0
    assert len(done.lines) == 1
    assert "No gateway runs" in done.err


# Interruptions ----------------------------------------------------------------------------------------------------

HURRIED = Pace(0.01, 0.02, 0.05)


class Process:
    """A tail in a process of its own, beside a gateway in the loop of the test."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.of = process
        self._out, self._err = process.stdout, process.stderr

    async def tool(self) -> str:
        """The tool of the next call that is shown."""
        async with asyncio.timeout(SECONDS):
            return json.loads(await self._out.readline())["tool"]

    async def notes(self, text: str) -> str:
        """The next line on stderr, which has this text in it."""
        async with asyncio.timeout(SECONDS):
            line = (await self._err.readline()).decode()
        assert text in line
        return line

    async def ends(self) -> tuple[int | None, str, str]:
        async with asyncio.timeout(SECONDS):
            out, err = await self.of.communicate()
        return self.of.returncode, out.decode(), err.decode()


@contextlib.asynccontextmanager
async def tail_of(folder: Path, *words: str, **changed: str) -> AsyncGenerator[Process]:
    argv = [*COMMAND, "activity", "tail", "--json", "--data-dir", str(folder), *words]
    process = await asyncio.create_subprocess_exec(
        *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment(**changed)
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def wanted(number: int) -> Namespace:
    """What the options say: so many of the last calls, and no filter."""
    parser = ArgumentParser()
    VERB.options(parser)
    return parser.parse_args(["-n", str(number)])


async def listeners(running: Running, count: int) -> None:
    """Wait until so many read the stream of a gateway."""
    async with asyncio.timeout(SECONDS):
        while len(running.gateway.parts.feed.readers) != count:  # noqa: ASYNC110 - the feed tells nobody who reads
            await asyncio.sleep(0.001)


async def called(running: Running, tool: str) -> None:
    """A call that ends at once, because there is no such tool."""
    with contextlib.suppress(InterlockError):
        await present_api(running.folder).post("tools", "sample", tool, "call", body={"arguments": {}})


async def test_a_stream_that_ends_is_taken_up_again_where_it_was(tmp_path: Path) -> None:
    async with serving(tmp_path) as running, tail_of(running.folder.path, "-n", "0") as tail:
        await listeners(running, 1)
        for tool in ("a", "b"):  # the first time nothing has been told yet
            running.gateway.parts.feed.end()
            await listeners(running, 0)
            await called(running, tool)
            await tail.notes("has ended the stream")
            await tail.notes("goes on where it was")
            shown = await tail.tool()
            assert shown == tool
        await called(running, "c")
        assert await tail.tool() == "c"


async def test_while_the_database_is_gone_it_waits_and_then_misses_nothing(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    name = await postgres.new_database("template1")
    async with (
        Wire(tmp_path / "w", postgres.folder) as wire,
        serving(tmp_path, f"store: {wire.address(name)}\n") as running,
        tail_of(running.folder.path) as tail,
    ):
        await listeners(running, 1)
        await called(running, "a")
        assert await tail.tool() == "a"
        wire.cut()
        await tail.notes("Waiting")
        with pytest.raises(InterlockError) as refused:
            async with present_api(running.folder).stream("events", query={}):
                pass
        assert refused.value.reason.code is Code.AUDIT_UNAVAILABLE
        await wire.mend()
        await tail.notes("goes on where it was")
        await called(running, "b")
        shown = await tail.tool()
        while shown != "b":  # those that were refused meanwhile are calls too
            assert shown != "a"
            shown = await tail.tool()
    await postgres.drop(name)


async def test_a_gateway_that_is_started_anew_is_gone_on_with(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with serving(tmp_path) as running:
            await called(running, "a")
            tail = await stack.enter_async_context(tail_of(running.folder.path))
            assert await tail.tool() == "a"
        await tail.notes("Waiting")
        async with serving(tmp_path) as running:
            await called(running, "b")
            await tail.notes("goes on where it was")
            await called(running, "c")
            assert [await tail.tool(), await tail.tool()] == ["b", "c"]


@pytest.mark.usefixtures("interrupts_reach_children")
async def test_who_waits_for_a_gateway_can_still_stop(tmp_path: Path) -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with serving(tmp_path) as running:
            tail = await stack.enter_async_context(tail_of(running.folder.path))
            await listeners(running, 1)
        await tail.notes("Waiting")
        tail.of.send_signal(signal.SIGINT)
        ended = await tail.ends()

    assert ended == (130, "", "")


async def test_an_address_at_which_nobody_listens_any_more_is_given_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InterlockError) as given_up:
        await follow_calls(lambda: present_api(DataFolder(tmp_path)), wanted(0), HURRIED)

    assert ANSWERS[given_up.value.reason.code or Code.BAD_REQUEST].exit == 4
    assert capsys.readouterr().err.count("Waiting") == 1


async def test_who_may_no_longer_read_is_told_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        body = {"name": "leaver", "roles": ["auditor"]}
        made = await present_api(running.folder).post("tokens", body=body)
        async with tail_of(running.folder.path, INTERLOCK_TOKEN=made["token"]) as tail:
            await listeners(running, 1)
            await present_api(running.folder).delete("tokens", made["id"])
            await called(running, "a")
            code, _, err = await tail.ends()

    assert code == 3
    assert "The token is not valid." in err
    assert "where it was" not in err


async def test_the_log_of_another_gateway_is_told_from_its_last_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "long").mkdir()
    (tmp_path / "short").mkdir()
    async with serving(tmp_path / "long") as long, serving(tmp_path / "short") as short:
        for tool in ("a", "b", "c"):
            await called(long, tool)
        chosen, out = [long.folder], io.StringIO()

        async def printed(tool: str) -> None:
            async with asyncio.timeout(SECONDS):
                while f"sample:{tool}" not in out.getvalue():
                    out.write(capsys.readouterr().out)
                    await asyncio.sleep(0.001)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(follow_calls(lambda: present_api(chosen[0]), wanted(1), HURRIED))
            await printed("c")
            await called(long, "d")
            await printed("d")
            chosen[0] = short.folder
            await called(short, "e")
            long.gateway.parts.feed.end()
            await printed("e")
            await called(short, "f")
            await printed("f")
            task.cancel()

    assert [line.split("  ")[2] for line in out.getvalue().splitlines()] == [f"sample:{each}" for each in "cdef"]
