"""`interlock probe` as a user runs it: the plan, the report, the exit code, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.lab.places import SAMPLE, SECRETIVE
from tests.cli.running import Interlock, environment, eventually
from tests.cli.seated import descendants
from tests.lab import planted

PLANTED = [sys.executable, str(Path(planted.__file__))]


def logged(log: Path) -> list[str]:
    """The tools that the planted server was asked to call, as it wrote them down itself."""
    return [json.loads(line)["name"] for line in log.read_text().splitlines()] if log.exists() else []


def test_the_plan_shows_every_tool_and_calls_none(tmp_path: Path, il: Interlock) -> None:
    log = tmp_path / "log"
    seen = il("probe", "--plan", "--data-dir", str(tmp_path / "data"), "--", *PLANTED, str(log))
    assert seen.exit == 0
    assert any(line.split()[:3] == ["list_held", "ReadOnly", "Execute"] for line in seen.lines)
    assert any(line.split()[:3] == ["write_held", "Mutating", "ExecuteOnce"] for line in seen.lines)
    assert any("delete_held" in line and "Refuse" in line and "--execute-destructive" in line for line in seen.lines)
    assert logged(log) == []
    assert list((tmp_path / "data" / "lab").iterdir()) == []


def test_the_plan_points_out_presumed_tools_that_the_gateway_would_hold(tmp_path: Path, il: Interlock) -> None:
    seen = il("probe", "--plan", "--data-dir", str(tmp_path), "--", *SAMPLE)
    told = seen.out.partition("Presumed read-only")[2]
    assert "frobnicate" in told
    assert "list_notes" not in told


def test_the_plan_as_json_has_the_typed_fields(tmp_path: Path, il: Interlock) -> None:
    answer = il("probe", "--plan", "--strict", "--json", "--data-dir", str(tmp_path), "--", *SAMPLE).json
    found = {each["tool"]: each for each in answer["items"]}
    assert answer["total"] == 6
    assert (found["frobnicate"]["decision"], found["frobnicate"]["presumed_but_held"]) == ("Refuse", True)
    assert "--strict" in found["frobnicate"]["reason"]


def test_every_planted_defect_is_found_and_nothing_else(tmp_path: Path, il: Interlock) -> None:
    log = tmp_path / "log"
    words = ("--timeout", "2", "--json", "--data-dir", str(tmp_path / "data"))
    seen = il("probe", *words, "--", *PLANTED, str(log))
    found = {(each["code"], each["tool"]) for each in seen.json["findings"]}
    also = {("protocol-error", "get_garbage"), ("description-shared", "get_slow")}
    assert found == set(planted.EXPECTED.items()) | also
    assert seen.exit == 20
    received = Counter(logged(log))
    assert (received["delete_held"], received["write_held"], received["get_crash"]) == (0, 1, 1)
    assert sum(received.values()) == len(seen.json["calls"])


def test_the_clean_twin_has_no_findings(tmp_path: Path, il: Interlock) -> None:
    seen = il("probe", "--json", "--data-dir", str(tmp_path / "data"), "--", *PLANTED, str(tmp_path / "log"), "--clean")
    assert seen.json["findings"] == []
    assert (seen.exit, seen.json["ended"]) == (0, "complete")
    assert any("cleaned up" in note for note in seen.json["notes"])


def test_what_a_server_hides_is_told(tmp_path: Path, il: Interlock) -> None:
    seen = il("probe", "--timeout", "1", "--json", "--data-dir", str(tmp_path), "--", *SECRETIVE)
    found = {(each["code"], each["tool"]): each for each in seen.json["findings"]}
    plan = {each["tool"]: each for each in seen.json["plan"]}
    assert set(found) == {
        *(("tool-left-out", None), ("nothing-works", None), ("stray-output", None), ("name-listed-twice", "get_twice")),
        *(("error-on-valid", "get_one"), ("error-on-valid", "get_two"), ("hang", "get_garbled")),
        *(("description-shared", each) for each in plan),
    }
    assert found["tool-left-out", None]["evidence"]["first"] == "get_<U+202E>deep"
    assert found["hang", "get_garbled"]["evidence"]["stray_lines"] == "1 meanwhile, on its stdout"
    assert found["stray-output", None]["evidence"] == {"lines": "3"}
    assert [plan[each]["decision"] for each in ("get_twice", "get_task")] == ["Refuse", "Refuse"]
    assert "only be called as a task" in plan["get_task"]["reason"]
    assert seen.json["server"] == {
        "id": "secretive",
        "name": "secretive\u202e",
        "version": "7",
        "protocol": "2025-11-25",
        "transport": "stdio",
    }
    assert seen.exit == 20


def test_a_budget_is_kept_to_the_call(tmp_path: Path, il: Interlock) -> None:
    log, data = tmp_path / "log", tmp_path / "data"
    words = ("--max-calls", "7", "--concurrency", "8", "--json", "--data-dir", str(data))
    seen = il("probe", *words, "--", *PLANTED, str(log), "--clean")
    assert (len(logged(log)), seen.json["ended"]) == (7, "budget")


def test_with_the_flag_what_destroys_is_called_once(tmp_path: Path, il: Interlock) -> None:
    log, data = tmp_path / "log", tmp_path / "data"
    il("probe", "--execute-destructive", "--data-dir", str(data), "--", *PLANTED, str(log), "--clean")
    assert Counter(logged(log))["delete_held"] == 1


def test_reports_are_written_and_the_run_is_kept(tmp_path: Path, il: Interlock) -> None:
    files = [f"--{name}={tmp_path / name}" for name in ("junit", "sarif", "html")]
    seen = il("probe", *files, "--data-dir", str(tmp_path / "data"), "--", *SAMPLE)
    (run,) = (tmp_path / "data" / "lab").iterdir()
    assert all((tmp_path / name).stat().st_size for name in ("junit", "sarif", "html"))
    assert json.loads((run / "report.json").read_text())["verb"] == "probe"
    assert (run / "report.html").exists()
    assert str(run) in seen.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--", "/does/not/exist"], 4),
        (["http://127.0.0.1:9/mcp"], 4),
        (["--", sys.executable, "-c", "print('no MCP here')"], 4),
        (["nothing-of-this-name"], 2),
        (["--max-calls", "0", "x"], 2),
    ],
)
def test_a_bad_target_is_one_clear_error(tmp_path: Path, il: Interlock, words: list[str], code: int) -> None:
    seen = il("probe", "--data-dir", str(tmp_path), *words)
    assert (seen.exit, seen.out) == (code, "")
    assert "Traceback" not in seen.err
    assert len(seen.err.splitlines()) == 2


@pytest.mark.usefixtures("interrupts_reach_children")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_a_partial_report_and_no_process(tmp_path: Path, number: signal.Signals) -> None:
    log, data = tmp_path / "log", tmp_path / "data"
    argv = [sys.executable, "-m", "interlock", "probe", "--json", "--timeout", "60", "--data-dir", str(data), "--"]
    with subprocess.Popen(
        [*argv, *PLANTED, str(log)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        text=True,
    ) as process:
        eventually(lambda: "get_hang" in logged(log))
        below = descendants(process.pid)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert json.loads(out)["ended"] == "interrupted"
    assert [each["tool"] for each in json.loads(out)["calls"]][:2] == ["list_held", "list_held"]
    (run,) = (data / "lab").iterdir()
    assert json.loads((run / "report.json").read_text())["ended"] == "interrupted"
    assert below
    eventually(lambda: not any(_runs(each) for each in below))


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
