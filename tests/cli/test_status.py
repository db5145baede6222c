"""`interlock status`: whether a gateway runs, where, and how it is doing. It starts nothing."""

import asyncio
import re
from pathlib import Path

import pytest

from interlock import __version__
from interlock.store.folder import DataFolder
from tests import stores
from tests.cli.holding import held
from tests.cli.running import Beside, Interlock, gateway_beside, work_in
from tests.stores import sealed_folder, tamper


def test_without_a_gateway_it_says_how_to_start_one_and_makes_nothing(il: Interlock, tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = il("status", "--data-dir", str(data))

    assert (done.exit, done.out) == (4, "")
    assert done.err == f"No gateway runs on {data}.\n  Start one with `interlock serve`.\n"
    assert not data.exists()


def test_without_a_gateway_in_json(il: Interlock, tmp_path: Path) -> None:
    done = il("status", "--json", "--data-dir", str(tmp_path))

    assert (done.exit, done.json["error"]["code"]) == (4, "UPSTREAM_DOWN")


def test_in_a_folder_that_was_used_before_it_starts_nothing_either(il: Interlock, tmp_path: Path) -> None:
    il("token", "list", "--data-dir", str(tmp_path / "data"))
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "data").glob("*.db"))
    done = il("status", "--data-dir", str(tmp_path / "data"))

    assert done.exit == 4
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "data").glob("*.db")) == before


def test_a_command_at_work_is_no_gateway(il: Interlock, tmp_path: Path) -> None:
    with DataFolder(tmp_path).hold():
        done = il("status", "--data-dir", str(tmp_path))

    assert done.exit == 4
    assert done.err.startswith(
        f"No gateway runs on {tmp_path}. Another command works there; it may be a gateway that is just starting.\n"
    )


def test_a_running_gateway_is_shown_with_its_servers(il: Interlock, beside: Beside) -> None:
    done = il("status")
    company = "" if stores.databases is None else ", used by this gateway alone"

    assert (done.exit, done.err) == (0, "")
    assert done.lines[:4] == [
        f"Gateway:  http://{beside.running.host} (version {__version__})",
        f"Folder:   {beside.running.folder.path}",
        f"Store:    {beside.running.gateway.store.place}{company}",
        "Posture:  guarded",
    ]
    table = [line.split(maxsplit=3) for line in done.lines[7:]]
    assert done.lines[5] == "Waiting:  no call waits for approval"
    assert table[0] == ["SERVER", "HEALTH", "TOOLS", "PROBLEM"]
    assert table[1][:2] == ["up", "ready"]
    assert table[2] == ["odd", "ready", "6", "1 tool quarantined for signs of poison"]
    assert table[3][:3] == ["down", "down", "0"]
    assert table[3][3]


def test_that_the_log_was_cut_off_is_told_after_each_start(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    asyncio.run(sealed_folder(data))
    for statement in ("DELETE FROM entry WHERE seq > 30", "DELETE FROM seal WHERE seq > 30"):
        tamper(data, statement)
    work_in(data, monkeypatch)
    told: list[list[str]] = []
    for _ in range(2):
        with gateway_beside(tmp_path):
            told.append([line for line in il("status").lines if line.startswith("Log:")])
            checks = il("doctor", "--json").json["checks"]
            told.append([each["text"] for each in checks if each["code"] == "IL-DATA-05" and each["state"] == "fail"])

    assert [len(each) for each in told] == [1] * 4
    assert all("ends before entry 40" in line and "was cut off" in line for (line,) in told)


def test_the_last_calls_are_counted_by_status(il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with gateway_beside(tmp_path) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        before = il("status")
        for _ in range(2):
            il("run-tool", "list_notes")
        il("run-tool", "read_note", "--arg", "name=nothing")
        il("run-tool", "read_note")
        done, as_json = il("status"), il("status", "--json")

    assert before.lines[4] == "Calls:    none yet"
    assert done.lines[4] == "Calls:    2 success, 1 blocked, 1 error (the last 4 calls)"
    assert as_json.json["recent_calls"] == {"success": 2, "blocked": 1, "error": 1}


def test_in_json_everything_is_what_rest_says(il: Interlock, beside: Beside) -> None:
    done = il("status", "--json")

    assert (done.exit, done.err) == (0, "")
    assert done.json["address"] == f"http://{beside.running.host}"
    assert done.json["settings"]["version"] == __version__
    assert [each["id"] for each in done.json["servers"]] == ["up", "odd", "down"]


def test_calls_that_wait_and_what_is_frozen_are_told(il: Interlock, beside: Beside) -> None:
    with held(beside.running):
        il("freeze", "--caller", "operator-agent", "--reason", "too\x1b eager")
        il("freeze")
        done, as_json = il("status"), il("status", "--json").json
        il("thaw")
        il("thaw", "--caller", "operator-agent")

    assert re.fullmatch(r"Waiting:  1 call for approval, the first for \d+s; `interlock approval list`", done.lines[5])
    caller, everything = done.lines[6:8]
    assert re.fullmatch(r"Frozen:   caller 'operator-agent', by operator at \S+ \S+Z: too<U\+001B> eager", caller)
    assert re.fullmatch(r"Frozen:   everything, by operator at \S+ \S+Z", everything)
    assert (as_json["approvals"]["pending"], len(as_json["freezes"])) == (1, 2)


@pytest.mark.parametrize(
    ("servers", "exit_code", "said"),
    [
        ("{a: {command: /nowhere/at/all}}", 4, "a       down    0"),
        ("{a: {command: x, enabled: false}}", 0, "Servers:  none enabled"),
    ],
    ids=["none is ready", "none is enabled"],
)
def test_a_gateway_without_a_ready_server_is_no_use(
    il: Interlock, tmp_path: Path, servers: str, exit_code: int, said: str
) -> None:
    with gateway_beside(tmp_path, f"servers: {servers}") as running:
        done = il("status", "--data-dir", str(running.folder.path))

    assert done.exit == exit_code
    assert any(line.startswith(said) for line in done.lines)
