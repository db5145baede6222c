"""`interlock doctor --prove`: what it prints, and how it ends."""

import contextlib
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from interlock.cli.checkups.prove.prove import PROOFS
from tests.cli.running import COMMAND, Interlock, configure, environment

WORDS = ("doctor", "--prove")


def test_on_a_usual_configuration_nothing_is_broken(il: Interlock) -> None:
    configure("posture: guarded\n")
    done = il(*WORDS, "--json")
    states = {each["proof"]: each["state"] for each in done.json["proofs"]}

    assert (done.exit, done.json["broken"], done.json["notes"]) == (0, 0, [])
    assert list(states) == [each.name for each in PROOFS]
    assert {name for name, state in states.items() if state != "held"} == {"denied", "own-log", "forged-tokens"}
    assert all(each["guarantee"] and each["evidence"] for each in done.json["proofs"])


def test_with_an_open_posture_less_is_guaranteed_and_said_so(il: Interlock) -> None:
    configure("posture: open\n")
    done = il(*WORDS)
    lines = [line for line in done.lines if "not applicable" in line]

    assert (done.exit, len(lines)) == (0, 8), done.out
    assert any("because posture:open may let" in line for line in lines)
    assert done.err.splitlines()[-1].endswith("0 BROKEN. The sandbox is removed.")


def test_something_broken_is_found_and_told_by_the_exit_code(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(tmp_path / "data"))
    configure("posture: guarded\n")
    assert il("token", "create", "--name", "somebody", "--role", "auditor").exit == 0
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "interlock.db", isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute("UPDATE entry SET text = text || ' ' WHERE seq = 1")
    done = il(*WORDS, "--json")
    broken = [each["proof"] for each in done.json["proofs"] if each["state"] == "BROKEN"]

    assert (done.exit, broken) == (20, ["own-log"])


def test_it_repairs_nothing(il: Interlock) -> None:
    assert il(*WORDS, "--fix").exit == 2


def test_whoever_interrupts_it_leaves_no_sandbox(tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    (tmp_path / "interlock.yaml").write_text("posture: guarded\n")
    given = ["--config", str(tmp_path / "interlock.yaml"), "--data-dir", str(tmp_path / "data")]
    with subprocess.Popen(
        [*COMMAND, *WORDS, *given], env=environment(TMPDIR=str(place)), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as command:
        while command.poll() is None and not list(place.glob("*/data/gateway.lock")):
            pass
        command.send_signal(signal.SIGTERM)
        code = command.wait(30)

    assert (code, list(place.iterdir())) == (130, [])
