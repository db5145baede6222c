"""`interlock activity tail`: the last calls, and each one as it ends."""

import json
import queue
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Beside, Interlock, environment, run_process, serve_process


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


def test_a_gateway_that_goes_away_ends_the_tail(tmp_path: Path) -> None:
    with serve_process(tmp_path / "data") as process:
        argv = [*COMMAND, "activity", "tail", "--data-dir", str(tmp_path / "data")]
        run_process("call", "tool-read", "--tool-name", "sample:x", "--data-dir", str(tmp_path / "data"))
        with subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        ) as tail:
            assert tail.stdout is not None
            assert "sample:x" in tail.stdout.readline()
            process.terminate()
            _, err = tail.communicate(timeout=30)

    assert tail.returncode == 4
    assert "The gateway does not answer" in err
