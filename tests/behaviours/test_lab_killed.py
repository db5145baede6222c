"""A probe that is killed without a word leaves no process, and nothing that stands in anybody's way."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.lab.archive import Archive
from tests.cli.running import Interlock, Outcome, environment, eventually, run_here
from tests.forward.children import runs

STUCK = """
import json, os, subprocess, sys, time

child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
for line in sys.stdin:
    message = json.loads(line)
    method, result = message["method"], {}
    if method == "tools/call":
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        time.sleep(1000)
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {}}
    if method == "tools/list":
        result = {"tools": [{"name": "write_it", "inputSchema": {"type": "object"}}]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@pytest.fixture
def il(capsys: pytest.CaptureFixture[str]) -> Interlock:
    def run(*words: str) -> Outcome:
        return run_here(capsys, words)

    return run


def killed_in_the_middle(folder: Path) -> list[int]:
    """Kill a probe while a call is under way; the processes that its server was."""
    argv = [sys.executable, "-m", "interlock", "probe", "--timeout", "600", "--data-dir", str(folder / "data")]
    server = [sys.executable, "-c", STUCK, str(folder / "pids")]
    pipe = subprocess.PIPE
    with subprocess.Popen([*argv, "--", *server], stdout=pipe, stderr=pipe, env=environment()) as probe:
        try:
            eventually((folder / "pids").exists)
        finally:
            os.kill(probe.pid, signal.SIGKILL)
        probe.communicate(timeout=30)
    return [int(each) for each in (folder / "pids").read_text().split()]


def test_no_process_of_a_killed_probe_stays_and_its_run_is_not_listed(tmp_path: Path, il: Interlock) -> None:
    pids = killed_in_the_middle(tmp_path)
    eventually(lambda: not any(map(runs, pids)))
    (left,) = (tmp_path / "data" / "lab").iterdir()
    before = Archive(tmp_path / "data").newest()
    data = ("--data-dir", str(tmp_path / "data"))
    after = il("probe", *data, "--", sys.executable, "-m", "interlock.lab.sample")
    called = il("activity", "list", "--type", "tool_call", "--json", "--data-dir", str(left)).json["items"]

    assert (before.runs, before.total, before.unreadable) == ([], 0, 0)
    assert str(after.err).count("The report is kept in") == 1
    assert [each.verb for each in Archive(tmp_path / "data").newest().runs] == ["probe"]
    assert [(each["tool"], each["status"]) for each in called] == [("write_it", "indeterminate")]
