"""`interlock approval watch` as a person and a program start it; test_screen.py has the keys one by one."""

import contextlib
import fcntl
import json
import os
import pty
import queue
import select
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.holding import held
from tests.cli.running import (
    COMMAND,
    Beside,
    Interlock,
    environment,
    eventually,
    gateway_beside,
    run_process,
    serve_process,
)

SECONDS = 30
TITLE = "\x1b]0;pwned\x07"


# For a program --------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def watching(*words: str) -> "Generator[queue.SimpleQueue[str]]":
    """`interlock approval watch --json` in a process of its own; its lines on stdout and stderr come by the queue."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    argv = [*COMMAND, "approval", "watch", "--json", *words]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
    ) as process:
        out = process.stdout
        assert out is not None

        def read() -> None:
            for line in out:
                lines.put(line)

        reader = threading.Thread(target=read)
        reader.start()
        try:
            yield lines
        finally:
            process.terminate()
            reader.join()


def event(lines: "queue.SimpleQueue[str]") -> tuple[str, str]:
    told: dict[str, Any] = json.loads(lines.get(timeout=SECONDS))
    return told["event"], told["id"]


def test_what_waits_and_what_happens_is_a_line_of_json_each(il: Interlock, beside: Beside) -> None:
    with held(beside.running) as first, watching() as lines:
        begun = event(lines)
        with held(beside.running) as second:
            created = event(lines)
            il("approval", "approve", second.end)
            approved = event(lines)
        il("approval", "deny", first.end)
        denied = event(lines)

    assert begun == ("approval.created", first.id)
    assert created == ("approval.created", second.id)
    assert approved == ("approval.approved", second.id)
    assert denied == ("approval.denied", first.id)


@contextlib.contextmanager
def waiting_call(name: str, *words: str) -> Generator[None]:
    """A call in a process of its own that is held at a gateway with the sample server."""
    argv = [*COMMAND, "call", "tool-destructive", "--tool-name", "sample:delete_note", *words]
    given = ["--json_args", json.dumps({"name": name}), "--reason", "x"]
    with subprocess.Popen([*argv, *given], stderr=subprocess.DEVNULL, env=environment()) as process:
        yield
        process.terminate()


def test_after_the_gateway_was_gone_it_goes_on(tmp_path: Path) -> None:
    data = ("--data-dir", str(tmp_path / "data"))
    with contextlib.ExitStack() as stack:
        with serve_process(tmp_path / "data"):
            lines = stack.enter_context(watching(*data))
            with waiting_call("todo", *data):
                first = event(lines)
        told: list[str] = []
        while not told or "Looking for it again." not in told[-1]:
            told.append(lines.get(timeout=SECONDS))
        with serve_process(tmp_path / "data"), waiting_call("welcome", *data):
            while '"event": "approval.created"' not in told[-1]:
                told.append(lines.get(timeout=SECONDS))
    second = json.loads(told[-1])

    assert first[0] == "approval.created"
    assert second["arguments"] == {"name": "welcome"}
    assert first[1] != second["id"]


def test_it_ends_when_nobody_reads_any_more(beside: Beside) -> None:
    argv = [*COMMAND, "approval", "watch", "--json"]
    with (
        held(beside.running),
        subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        with held(beside.running):
            code = process.wait(timeout=SECONDS)
        err = process.stderr.read()

    assert (code, err) == (0, b"")


# Where it cannot be ---------------------------------------------------------------------------------------------


def test_without_a_terminal_it_refuses_and_says_what_does(beside: Beside) -> None:
    done = run_process("approval", "watch")

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("watch needs a terminal of its own\n  Use `interlock approval watch --json`")


def test_without_a_gateway_it_refuses_and_starts_none(il: Interlock, tmp_path: Path) -> None:
    done = il("approval", "watch", "--json", "--data-dir", str(tmp_path / "data"))

    assert done.exit == 4
    assert done.err.startswith("No gateway runs on ")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("words", [("approval", "list", "--help"), ("approval", "list"), ("status",)])
def test_no_other_command_loads_what_draws_the_screen(words: tuple[str, ...], beside: Beside) -> None:
    program = (
        f"import sys; from interlock.cli.main import main; main({list(words)!r});"
        " sys.exit(3 if any(each.startswith('textual') for each in sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment(), capture_output=True, check=False)

    assert done.returncode == 0


# In a terminal --------------------------------------------------------------------------------------------------


class Terminal:
    """A pseudo-terminal of 80 columns and 24 lines in which `interlock approval watch` runs."""

    def __init__(self, master: int, process: "subprocess.Popen[bytes]") -> None:
        self._master = master
        self.process = process
        self.written = b""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def look(self) -> bytes:
        """Everything that was written so far."""
        while select.select([self._master], [], [], 0)[0]:
            try:
                piece = os.read(self._master, 65_536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            self.written += piece
        return self.written


@contextlib.contextmanager
def terminal(*words: str) -> Generator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    argv = [*COMMAND, "approval", "watch", *words]
    environ = environment(TERM="xterm-256color")
    with subprocess.Popen(
        argv, stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            yield Terminal(master, process)
        finally:
            process.kill()
            os.close(master)


def test_keys_in_a_real_terminal_answer_calls_and_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gateway_beside(tmp_path) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        with terminal() as screen:
            eventually(lambda: b"Nothing waits for approval" in screen.look())
            with held(running, {"script": "x"}, TITLE, tool="sample/run_script") as call:
                eventually(lambda: b"sample__run_script" in screen.look())
                screen.press("j")  # whoever chose it has looked at it: one press counts as one
                screen.press("a")
                eventually(lambda: b"Approved:" in screen.look())
                answer = call.answer()
            screen.press("q")
            code = screen.process.wait(timeout=SECONDS)
            written = screen.look()

    assert answer.json()["result"]["content"][0]["text"] == "pretended to run 1 characters"
    assert code == 0
    assert b"\a" in written
    assert b"\x1b]0;pwned" not in written
    assert b"<U+001B>]0;pwned" in written
    assert b"\x1b[?1049l" in written


def test_ctrl_c_leaves_with_its_own_code(beside: Beside) -> None:
    with terminal("--quiet") as screen:
        eventually(lambda: b"Nothing waits for approval" in screen.look())
        screen.press("\x03")
        code = screen.process.wait(timeout=SECONDS)

    assert code == 130
