"""One process of an upstream: what it sees of us, what we keep of it, and how it ends."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from interlock.forward import child as child_module
from interlock.forward.child import STDERR_BYTES, STDERR_LINES, Child, Tail, environment
from interlock.forward.reaper import Reaper
from tests.forward.children import LOOPS, PeakMemory, python, runs, wait_until


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    return request.param


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps to the end, with less patience between them."""
    monkeypatch.setattr(child_module, "EXIT_SECONDS", 0.1)
    monkeypatch.setattr(child_module, "TERM_SECONDS", 0.1)
    monkeypatch.setattr(child_module, "_LAST_WORDS_SECONDS", 0.1)


class Watched:
    """A child, and what was heard of it."""

    def __init__(self, reaper: Reaper) -> None:
        self.reaper = reaper
        self.said = bytearray()
        self.ends: list[str] = []
        self.ended = asyncio.Event()
        self.spoke = asyncio.Event()
        self.room = asyncio.Event()
        self.child = Child(reaper, on_output=self._hear, on_room=self.room.set, on_end=self._end)

    def _hear(self, piece: bytes) -> None:
        self.said += piece
        self.spoke.set()

    def _end(self, why: str) -> None:
        self.ends.append(why)
        self.ended.set()


@asynccontextmanager
async def started(argv: list[str], env: dict[str, str] | None = None) -> AsyncGenerator[Watched]:
    reaper = Reaper()
    await reaper.start()
    watched = Watched(reaper)
    try:
        async with asyncio.timeout(20):
            await watched.child.start(argv, env or {}, None)
            yield watched
    finally:
        await watched.child.stop()
        await reaper.close()


# What it sees and what is kept ----------------------------------------------------------------------------------


def test_the_environment_is_a_few_variables_of_ours_and_what_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "LC_TIME",
        "SSL_CERT_FILE",
        "NODE_EXTRA_CA_CERTS",
        "AWS_SECRET_ACCESS_KEY",
        "LD_PRELOAD",
        "PYTHONPATH",
    ):
        monkeypatch.setenv(name, "ours")
    monkeypatch.setenv("HOME", "/ours")

    seen = environment({"GIVEN": "1", "HOME": "/given"})

    assert {name: seen[name] for name in ("GIVEN", "HOME", "LC_TIME", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")} == {
        "GIVEN": "1",
        "HOME": "/given",
        "LC_TIME": "ours",
        "SSL_CERT_FILE": "ours",
        "NODE_EXTRA_CA_CERTS": "ours",
    }
    assert not seen.keys() & {"AWS_SECRET_ACCESS_KEY", "LD_PRELOAD", "PYTHONPATH"}


def test_the_tail_keeps_the_last_lines() -> None:
    tail = Tail()
    for number in range(2_000):
        tail.add(b"line %d\n" % number)

    assert tail.lines() == [f"line {number}" for number in range(2_000 - STDERR_LINES, 2_000)]


def test_the_tail_keeps_the_last_bytes() -> None:
    tail = Tail()
    for _ in range(100):
        tail.add(b"x" * 10_000)

    assert [len(line) for line in tail.lines()] == [STDERR_BYTES]


def test_the_tail_replaces_what_is_no_text() -> None:
    tail = Tail()
    tail.add(b"before \xff\xfe after\n")

    assert tail.lines() == ["before �� after"]


async def test_what_it_wrote_before_it_died_is_kept() -> None:
    code = "sys.stderr.write('on the way\\n'); sys.stderr.flush(); raise SystemExit('no disk left')"
    async with started(python(code)) as watched:
        await watched.ended.wait()

    assert watched.child.stderr_lines() == ["on the way", "no disk left"]


async def test_a_flood_on_stderr_is_read_to_its_end_and_not_kept() -> None:
    code = "for _ in range(256): os.write(2, b'x' * 65_535 + b'\\n')\nwrite(b'done'); sys.stdin.read()"
    memory = PeakMemory()
    async with started(python(code)) as watched:
        await watched.spoke.wait()

    assert watched.said == b"done"
    assert sum(map(len, watched.child.stderr_lines())) <= STDERR_BYTES
    assert memory.growth() < 16


async def test_a_flood_on_stderr_has_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "_STDERR_REST", 3600)
    code = """
import select
os.set_blocking(2, False)
written = 0
while written < 4_000_000 and select.select([], [2], [], 0.3)[1]:
    written += os.write(2, b"x" * 4096)
write(b"%d" % written)
"""
    async with started(python(code)) as watched:
        await watched.spoke.wait()
        watched.child.kill()

    assert int(watched.said) < 1_000_000


# How it ends ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("sys.exit(0)", "it exited with status 0"),
        ("sys.exit(7)", "it exited with status 7"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "it was ended by signal 9"),
    ],
)
async def test_it_is_said_once_how_it_left(code: str, why: str) -> None:
    async with started(python(code)) as watched:
        await watched.ended.wait()
        assert (watched.child.open, watched.child.pid) == (False, None)

    assert watched.ends == [why]


async def test_its_last_words_are_heard() -> None:
    async with started(python("write(b'x' * 300_000); os._exit(1)")) as watched:
        await watched.ended.wait()

    assert len(watched.said) == 300_000
    assert watched.child.returncode == 1


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("closed", [0, 1])
async def test_one_that_lives_on_without_listening_or_talking_is_ended(closed: int) -> None:
    async with started(python(f"os.close({closed}); time.sleep(1000)")) as watched:
        await watched.ended.wait()
        assert not watched.child.open

    assert watched.ends == ["it closed its input or output"]
    assert watched.child.returncode == -signal.SIGKILL


async def test_one_that_closes_its_stderr_is_left_in_peace() -> None:
    async with started(python("os.close(2); write(b'ready\\n'); sys.stdin.read(); os._exit(5)")) as watched:
        await watched.spoke.wait()
        assert watched.child.open
        await watched.child.stop()

    assert (watched.child.returncode, watched.ends) == (5, [])


async def test_what_it_leaves_behind_goes_with_it_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_module, "_LAST_WORDS_SECONDS", 3600)
    noted = tmp_path / "pid"
    async with started(["/bin/sh", "-c", 'sleep 1000 & echo $! >"$0"; exit 3', str(noted)]) as watched:
        await watched.ended.wait()

    assert watched.ends == ["it exited with status 3"]
    assert wait_until(lambda: not runs(int(noted.read_text(encoding="ascii"))))


@pytest.mark.usefixtures("hurried")
async def test_one_that_left_the_group_cannot_hold_the_end_back() -> None:
    code = """
reader, writer = os.pipe()
if os.fork():
    os.read(reader, 1)
    os._exit(3)
os.setsid()
write(b"%d" % os.getpid())
os.write(writer, b"x")
time.sleep(1000)
"""
    async with started(python(code)) as watched:
        await watched.ended.wait()
    os.kill(int(watched.said), signal.SIGKILL)

    assert watched.ends == ["it exited with status 3"]


# How it is stopped ----------------------------------------------------------------------------------------------

READY = "write(b'ready\\n')\n"


async def test_one_that_leaves_when_its_input_ends_is_given_the_time() -> None:
    async with started(python(READY + "sys.stdin.read(); sys.exit(4)")) as watched:
        await watched.spoke.wait()
        await watched.child.stop()

    assert (watched.child.returncode, watched.ends) == (4, [])


@pytest.mark.usefixtures("hurried")
async def test_one_that_does_not_leave_is_asked_by_signal() -> None:
    async with started(python(READY + "time.sleep(1000)")) as watched:
        await watched.spoke.wait()
        await watched.child.stop()

    assert (watched.child.returncode, watched.ends) == (-signal.SIGTERM, [])


@pytest.mark.usefixtures("hurried")
async def test_one_that_does_not_listen_is_killed() -> None:
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + READY + "while True: time.sleep(1000)"
    async with started(python(code)) as watched:
        await watched.spoke.wait()
        await watched.child.stop()

    assert (watched.child.returncode, watched.ends) == (-signal.SIGKILL, [])


async def test_the_real_program_behind_a_runner_has_time_to_clean_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(child_module, "EXIT_SECONDS", 0.05)
    code = f"""
def leave(*_):
    time.sleep(0.2)
    open({str(tmp_path / "clean")!r}, "w").close()
    os._exit(0)
signal.signal(signal.SIGTERM, leave)
write(b"ready")
while True: time.sleep(1000)
"""
    async with started(["/bin/sh", "-c", '"$@" & wait', "sh", *python(code)]) as watched:
        await watched.spoke.wait()
        await watched.child.stop()

    assert watched.child.returncode == -signal.SIGTERM
    assert (tmp_path / "clean").exists()


async def test_when_nobody_waits_for_the_stop_any_more_it_is_killed() -> None:
    async with started(python(READY + "time.sleep(1000)")) as watched:
        await watched.spoke.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await watched.child.stop()
        await watched.child.stop()

    assert watched.child.returncode == -signal.SIGKILL


async def test_one_that_keeps_talking_can_still_leave() -> None:
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwrite(b'x' * 1_000_000)\nsys.stdin.read(); os._exit(6)"
    async with started(python(code)) as watched:
        await watched.spoke.wait()
        watched.child.pause()
        await watched.child.stop()

    assert watched.child.returncode == 6


async def test_stopping_what_is_gone_or_never_was_is_nothing() -> None:
    never = Watched(Reaper())
    await never.child.stop()
    never.child.kill()
    async with started(python("")) as watched:
        await watched.ended.wait()
        await watched.child.stop()
        watched.child.write(b"too late")
        watched.child.resume()

    assert watched.child.returncode == 0


# How it is started ----------------------------------------------------------------------------------------------


async def test_it_inherits_nothing_but_its_three_pipes() -> None:
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    code = "write(' '.join(sorted(os.listdir('/proc/self/fd'))).encode())"
    try:
        async with started(python(code)) as watched:
            await watched.ended.wait()
    finally:
        os.close(reader)
        os.close(writer)

    assert watched.said.decode().split() == ["0", "1", "2", "3"]  # 3 is the folder that it reads


async def test_it_leads_a_session_of_its_own() -> None:
    async with started(python("write(b'%d %d' % (os.getsid(0), os.getpgid(0))); sys.stdin.read()")) as watched:
        await watched.spoke.wait()
        pid = watched.child.pid

    assert watched.said.decode().split() == [str(pid), str(pid)]


async def test_the_reaper_knows_its_group_as_long_as_it_is_there() -> None:
    async with started(python(READY + "sys.stdin.read()")) as watched:
        await watched.spoke.wait()
        assert watched.reaper.groups == {watched.child.pid}
        await watched.child.stop()
        assert watched.reaper.groups == set()
    async with started(python("")) as watched:
        await watched.ended.wait()
        assert watched.reaper.groups == set()


async def test_without_descriptors_for_processes_a_thread_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    async with started(python("sys.exit(7)")) as watched:
        await watched.ended.wait()

    assert watched.ends == ["it exited with status 7"]


async def test_without_a_reaper_it_does_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("interlock.forward.reaper._PROGRAM", (str(tmp_path / "missing"),))
    watched = Watched(Reaper())

    with pytest.raises(FileNotFoundError):
        await watched.child.start(python("time.sleep(1000)"), {}, None)
    await watched.child.stop()

    assert (watched.child.returncode, watched.child.open) == (-signal.SIGKILL, False)


# What it reads --------------------------------------------------------------------------------------------------


async def test_one_that_does_not_read_is_full_until_it_does() -> None:
    code = READY + "signal.sigwait([signal.SIGUSR1]); sys.stdin.buffer.read(4_000_000); write(b'read')"
    async with started(python("signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n" + code)) as watched:
        await watched.spoke.wait()
        written = 0
        while not watched.child.full:
            watched.child.write(b"x" * 50_000)
            written += 50_000
        assert written < 1_000_000
        os.kill(watched.child.pid or 0, signal.SIGUSR1)
        await watched.room.wait()

        assert not watched.child.full
        watched.child.kill()
