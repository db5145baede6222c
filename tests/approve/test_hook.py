"""The command that is run for a notice: what it gets, what it does not get, and how it is ended."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from interlock.approve.hook import LAST_WORDS, Hook, environment, run
from interlock.approve.outbox import Attempt, Fate, Message
from interlock.core.redact import KnownSecrets
from tests.approve.receiving import MESSAGE, SECONDS
from tests.forward.children import runs, wait_until

WITNESS = """
import json, os, sys

def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True

seen = {"argv": sys.argv[2:], "env": dict(os.environ), "stdin": sys.stdin.read(), "group": os.getpgrp() == os.getpid()}
seen["open"] = [fd for fd in range(3, 1024) if is_open(fd)]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(seen, file)
"""
"""A command that writes down everything that it was given."""


def python(code: str, *words: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code, *words)


async def ran(argv: tuple[str, ...], message: Message = MESSAGE, seconds: float = SECONDS) -> Attempt:
    async with asyncio.timeout(SECONDS):
        return await Hook(argv, seconds).send(message)


async def test_it_gets_the_notice_on_its_input_and_a_small_environment_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("GITHUB_TOKEN", "swordfish")
    monkeypatch.setenv("INTERLOCK_TOKEN", "swordfish")
    inherited = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    with contextlib.closing(os.fdopen(inherited)):
        attempt = await ran(python(WITNESS, str(tmp_path / "seen"), "$HOME", "; a"))
    seen = json.loads((tmp_path / "seen").read_text(encoding="utf-8"))

    assert attempt == Attempt(Fate.TAKEN, "exit 0")
    assert seen["stdin"].encode() == MESSAGE.body
    assert seen["argv"] == ["$HOME", "; a"]
    assert seen["env"] == {
        "PATH": os.environ["PATH"],
        "HOME": "/home/somebody",
        "LANG": "C.UTF-8",
        "INTERLOCK_EVENT": "approval.created",
        "INTERLOCK_APPROVAL_ID": "apr-1",
        "INTERLOCK_TOOL": "github__delete_repo",
    }
    assert (seen["open"], seen["group"]) == ([], True)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("a\nPATH=/evil\r", "a?PATH=/evil?"),
        ("\x1b]0;owned\x07", "?]0;owned?"),
        ("a\x00b", "a?b"),
        ("right\u202eleft\u2028", "right?left?"),
        ("half\ud800a", "half?a"),
        ("größe $(id) `id`", "größe $(id) `id`"),
        ("x" * 100_000, "x" * 256),
    ],
)
async def test_a_hostile_name_of_a_tool_is_harmless_in_the_environment(tmp_path: Path, name: str, given: str) -> None:
    file = tmp_path / "seen"
    attempt = await ran(python(WITNESS, str(file)), replace(MESSAGE, tool=name))

    assert attempt.fate is Fate.TAKEN
    assert json.loads(file.read_text(encoding="utf-8"))["env"]["INTERLOCK_TOOL"] == given


def test_what_is_not_set_here_is_not_set_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.delenv("HOME", raising=False)

    assert set(environment(MESSAGE)) == {"PATH", "INTERLOCK_EVENT", "INTERLOCK_APPROVAL_ID", "INTERLOCK_TOOL"}


async def test_a_command_that_fails_is_told_with_its_last_words() -> None:
    attempt = await ran(python("import sys; sys.stdin.read(); sys.exit('x' * 5000 + 'no\\n\\x1b[31m  route')"))

    assert attempt.fate is Fate.MISSED
    assert attempt.detail.startswith("exit 1: xxx")
    assert attempt.detail.endswith("no ?[31m route")
    assert len(attempt.detail) == len("exit 1: ") + LAST_WORDS


async def test_a_secret_in_its_last_words_is_not_kept_even_if_they_are_cut_in_the_middle_of_it() -> None:
    token = "ghp_" + "a1B2" * 9
    attempt = await ran(python(f"import sys; sys.exit('{token}' + ' ' + 'z ' * 90)"))

    assert attempt.detail.startswith("exit 1: ")
    assert "a1B2" not in attempt.detail


async def test_a_secret_of_ours_in_its_last_words_is_not_kept_either() -> None:
    argv = python("import sys; sys.exit('open-sesame-open' + 'z' * 190)")
    attempt = await Hook(argv, SECONDS, lambda: KnownSecrets(["open-sesame-open"])).send(MESSAGE)

    assert attempt.detail.startswith("exit 1: ")
    assert attempt.detail.endswith("z" * 190)
    assert "open" not in attempt.detail


@pytest.mark.parametrize(
    ("argv", "detail"),
    [
        (("/nowhere/at/all",), "it cannot be started: No such file or directory"),
        (("sh\0",), "it cannot be started: it holds a character that no command can hold"),
        (python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)"), "ended by signal 15"),
    ],
)
async def test_one_that_cannot_be_started_or_dies_says_why(argv: tuple[str, ...], detail: str) -> None:
    assert await ran(argv) == Attempt(Fate.MISSED, detail)


@pytest.mark.parametrize("code", ["pass", "import os; os.close(0); os.close(2)"])
async def test_one_that_does_not_care_for_its_input_is_fine(code: str) -> None:
    assert (await ran(python(code), replace(MESSAGE, body=b"x" * 1_000_000))).fate is Fate.TAKEN


async def test_one_that_reads_a_long_notice_slowly_gets_all_of_it(tmp_path: Path) -> None:
    file = tmp_path / "count"
    code = f"import os\nn = 0\nwhile piece := os.read(0, 999): n += len(piece)\nopen({str(file)!r}, 'w').write(str(n))"
    await ran(python(code), replace(MESSAGE, body=b"x" * 300_000))

    assert file.read_text(encoding="ascii") == "300000"


async def test_one_that_floods_its_output_is_not_kept() -> None:
    code = "import os\nfor _ in range(500): os.write(1, b'o' * 65536); os.write(2, b'e' * 65536)\nraise SystemExit(3)"

    assert await ran(python(code)) == Attempt(Fate.MISSED, "exit 3: " + "e" * LAST_WORDS)


# How it is ended ------------------------------------------------------------------------------------------------


@dataclass
class Family:
    """A command that tells the numbers of its processes through a pipe with a name."""

    fifo: Path

    def argv(self, script: str) -> tuple[str, ...]:
        return ("sh", "-c", script, str(self.fifo))

    def pids(self) -> list[int]:
        """Waits until they are told."""
        return [int(word) for word in self.fifo.read_text(encoding="ascii").split()]


@pytest.fixture
def family(tmp_path: Path) -> Family:
    fifo = tmp_path / "pids"
    os.mkfifo(fifo)
    return Family(fifo)


HANGING = 'sleep 600 & trap "" TERM; echo $$ $! > "$0"; wait; sleep 600'


def gone(pids: list[int]) -> bool:
    return wait_until(lambda: not any(map(runs, pids)))


async def test_one_that_hangs_is_killed_after_a_while() -> None:
    assert await ran(("sleep", "600"), seconds=0.2) == Attempt(Fate.MISSED, "killed after 0.2 s")


async def test_whoever_it_started_is_killed_with_it(family: Family) -> None:
    stop = threading.Event()
    running = asyncio.to_thread(run, family.argv(HANGING), environment(MESSAGE), b"", stop)
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        task = group.create_task(running)
        pids = await asyncio.to_thread(family.pids)
        alive = all(map(runs, pids))
        stop.set()

    assert (len(pids), alive) == (2, True)
    assert task.result().code == -signal.SIGKILL
    assert await asyncio.to_thread(gone, pids)


async def test_whoever_it_left_behind_is_killed_when_it_leaves(family: Family) -> None:
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        task = group.create_task(ran(family.argv('sleep 600 & echo $! > "$0"; exit 0')))
        pids = await asyncio.to_thread(family.pids)

    assert task.result() == Attempt(Fate.TAKEN, "exit 0")
    assert await asyncio.to_thread(gone, pids)


async def test_when_nobody_waits_for_it_any_more_it_is_killed(family: Family) -> None:
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        task = group.create_task(Hook(family.argv(HANGING), 600).send(MESSAGE))
        pids = await asyncio.to_thread(family.pids)
        task.cancel()
        await asyncio.wait({task})

    assert task.cancelled()
    assert await asyncio.to_thread(gone, pids)


async def test_one_that_escaped_with_its_stderr_holds_nobody_up(family: Family) -> None:
    os.mkfifo(f"{family.fifo}.done")
    escaping = 'setsid sh -c \'echo $$ > "$0"; echo > "$0.done"; exec sleep 600\' "$0"'
    script = f'{escaping} & read line < "$0.done"; exit 0'
    async with asyncio.timeout(SECONDS), asyncio.TaskGroup() as group:
        task = group.create_task(ran(family.argv(script)))
        (escaped,) = await asyncio.to_thread(family.pids)
    os.kill(escaped, signal.SIGKILL)

    assert task.result() == Attempt(Fate.TAKEN, "exit 0")


def test_one_that_is_told_to_stop_before_it_began_is_not_started(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    ended = run(("touch", str(tmp_path / "begun")), {}, b"", stop)

    assert (ended.code, ended.problem) == (None, "there was no time to start it")
    assert not (tmp_path / "begun").exists()
