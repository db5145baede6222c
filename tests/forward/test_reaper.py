"""Whatever ends the gateway, nothing that it started is left; and nothing else is touched."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from interlock.forward.reaper import Reaper
from tests.forward.children import python, runs, wait_until
from tests.upstream.running import events, received, stdio_argv

HOLDER = """
import asyncio, json, sys
from interlock.forward.link_stdio import StdioLink
from interlock.forward.reaper import Reaper

async def main():
    reaper = Reaper()
    await reaper.start()
    link = StdioLink(json.loads(sys.argv[1]), {}, None, on_notification=print, reaper=reaper)
    await link.start()
    await link.request("tools/list", b"{}", seconds=30)
    print(json.dumps([reaper.pid, link.pid]), flush=True)
    await link.request("tools/call", b'{"name":"slow","arguments":{"seconds":1000}}', seconds=1000)

asyncio.run(main())
"""
"""A gateway that holds one link, with a call under way, until something happens to it."""


@contextmanager
def sleeper() -> Generator[subprocess.Popen[bytes]]:
    """A group of one that does nothing until it is ended, at the latest with the block."""
    with subprocess.Popen(python("time.sleep(1000)"), start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def is_gone(pid: int) -> bool:
    """Whether not even a zombie is left."""
    return not Path(f"/proc/{pid}").exists()


WITH_GRANDCHILDREN = 'sleep 1000 & sleep 1000 & echo $! >"$0"; exec "$@"'
"""For `sh -c`: the file for the pid of a grandchild, then the real program."""


@contextmanager
def holding(argv: list[str]) -> Generator[tuple[subprocess.Popen[str], int, int]]:
    """A gateway in a session of its own; its reaper and its child are given by their pids."""
    command = [sys.executable, "-c", HOLDER, json.dumps(argv)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as gateway:
        try:
            assert gateway.stdout is not None
            reaper, child = json.loads(gateway.stdout.readline())
            yield gateway, reaper, child
        finally:
            gateway.kill()


def test_a_killed_gateway_leaves_no_child(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with holding(stdio_argv(log)) as (gateway, reaper, child):
        assert [runs(pid) for pid in (reaper, child)] == [True, True]
        gateway.send_signal(signal.SIGKILL)

        assert wait_until(lambda: not runs(child))
        assert wait_until(lambda: not runs(reaper))
    assert [each["pid"] for each in events(log, "started")] == [child]
    assert received(log)[0].method == "tools/list"


def test_a_killed_gateway_leaves_no_grandchild(tmp_path: Path) -> None:
    noted = tmp_path / "pid"
    argv = ["/bin/sh", "-c", WITH_GRANDCHILDREN, str(noted), *stdio_argv(tmp_path / "log")]
    with holding(argv) as (gateway, reaper, child):
        grandchild = int(noted.read_text(encoding="ascii"))
        assert runs(grandchild)
        gateway.send_signal(signal.SIGKILL)

        assert wait_until(lambda: not runs(child) and not runs(grandchild))
        assert wait_until(lambda: not runs(reaper))


def test_a_killed_gateway_leaves_no_child_that_ignores_every_request(tmp_path: Path) -> None:
    stubborn = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say(id=hear()['id'], result={}); time.sleep(1000)"
    with holding(python(stubborn)) as (gateway, _, child):
        gateway.send_signal(signal.SIGKILL)

        assert wait_until(lambda: not runs(child))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_group_of_the_gateway_leaves_no_child(tmp_path: Path, number: signal.Signals) -> None:
    with holding(stdio_argv(tmp_path / "log")) as (gateway, reaper, child):
        os.killpg(gateway.pid, number)
        gateway.wait(10)

        assert wait_until(lambda: not runs(child))
        assert wait_until(lambda: not runs(reaper))


async def test_it_does_not_stop_at_what_stops_a_gateway() -> None:
    reaper = Reaper()
    await reaper.start()
    assert reaper.pid is not None
    with sleeper() as child:
        reaper.register(child.pid)
        assert wait_until(lambda: is_deaf(reaper.pid or 0))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(reaper.pid, number)
        await reaper.close()
        code = child.wait(10)

    assert code == -signal.SIGTERM


def is_deaf(pid: int) -> bool:
    """Whether a process ignores SIGTERM, as the kernel has it."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    ignored = next(line for line in status.splitlines() if line.startswith("SigIgn"))
    return bool(int(ignored.split()[1], 16) & 1 << (signal.SIGTERM - 1))


async def test_it_leads_a_session_of_its_own() -> None:
    reaper = Reaper()
    await reaper.start()
    pid = reaper.pid
    assert pid is not None
    session = os.getsid(pid)
    await reaper.close()

    assert session == pid


async def test_a_group_that_was_unregistered_is_left_alone() -> None:
    reaper = Reaper()
    await reaper.start()
    with sleeper() as ours, sleeper() as theirs:
        reaper.register(ours.pid)
        reaper.register(theirs.pid)
        reaper.unregister(theirs.pid)
        await reaper.close()
        ours.wait(10)
        left_alone = theirs.poll() is None

    assert left_alone


async def test_when_somebody_kills_it_the_next_one_knows_all_groups() -> None:
    reaper = Reaper()
    await reaper.start()
    first = reaper.pid
    assert first is not None
    with sleeper() as early, sleeper() as late:
        reaper.register(early.pid)
        os.kill(first, signal.SIGKILL)
        assert wait_until(lambda: not runs(first))
        reaper.register(late.pid)
        second = reaper.pid
        await reaper.close()
        codes = early.wait(10), late.wait(10)

    assert second not in (None, first)
    assert codes == (-signal.SIGTERM, -signal.SIGTERM)


async def test_it_starts_when_it_is_needed() -> None:
    reaper = Reaper()
    assert reaper.pid is None
    with sleeper() as child:
        reaper.register(child.pid)
        assert reaper.pid is not None
        await reaper.close()

        assert child.wait(10) == -signal.SIGTERM


async def test_closing_it_leaves_no_process() -> None:
    reaper = Reaper()
    await reaper.start()
    pid = reaper.pid
    assert pid is not None
    await reaper.start()
    same = reaper.pid
    await reaper.close()
    await reaper.close()
    reaper.unregister(12345)

    assert same == pid
    assert is_gone(pid)
    assert reaper.pid is None


async def test_one_that_hangs_is_killed_when_it_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.forward.reaper._CLOSE_SECONDS", 0.05)
    reaper = Reaper()
    await reaper.start()
    pid = reaper.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)

    await reaper.close()

    assert is_gone(pid)
