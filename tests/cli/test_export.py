"""`interlock activity export`."""

import csv
import json
import stat
from pathlib import Path

from tests.cli.running import Beside, Interlock, run_process


def call(il: Interlock) -> None:
    il("call", "tool-read", "--tool-name", "up:echo", "--json_args", '{"a": "\\u202e"}')


def test_the_record_goes_to_stdout_as_lines_of_json(il: Interlock, beside: Beside) -> None:
    call(il)
    done = il("activity", "export", "--tool", "up:echo")

    assert done.exit == 0
    assert {json.loads(line)["tool"] for line in done.lines} == {"echo"}
    assert done.out.isascii()


def test_a_file_is_whole_and_its_owners_alone(il: Interlock, beside: Beside, tmp_path: Path) -> None:
    call(il)
    file = tmp_path / "out.csv"
    file.write_text("old")
    done = il("activity", "export", "--format", "csv", "-o", str(file), "--tool", "echo")
    with file.open(newline="") as opened:
        rows = list(csv.DictReader(opened))

    assert (done.exit, done.out) == (0, "")
    assert {each["tool"] for each in rows} == {"echo"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.glob("*.part")) == []


def test_a_refused_export_leaves_the_file_that_was_there(il: Interlock, beside: Beside, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    file.write_text("old")
    done = il("activity", "export", "-o", str(file), "--since", "soon")

    assert done.exit == 2
    assert [each.read_text() for each in tmp_path.glob("out*")] == ["old"]


def test_a_file_that_cannot_be_written_is_a_usage_error(il: Interlock, beside: Beside) -> None:
    done = il("activity", "export", "-o", "/nowhere/at/all")

    assert done.exit == 2
    assert done.err.startswith("/nowhere/at/all: cannot be written")


def test_the_record_can_be_exported_when_no_gateway_runs() -> None:
    done = run_process("activity", "export")

    assert [json.loads(line)["type"] for line in done.lines] == ["token_change"]
