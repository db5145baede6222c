"""A run is kept whole, for its owner only, without secrets."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from interlock import errors
from interlock.core.redact import KnownSecrets
from interlock.core.safety import LabPolicy
from interlock.errors import Reason
from interlock.lab.model import Finding, Observed, Severity
from interlock.lab.plan import plan
from interlock.lab.run import Knobs, Run, RunFolder, called, outcome_of, read_run, shown, without
from tests.lab.bench import named


def a_run() -> Run:
    planned = plan(named("get_it", "drop_it"), LabPolicy(), live=True)
    return Run(
        id="01RUN",
        verb="probe",
        target="records",
        server={"name": "records"},
        began="2026-11-16T10:00:00.000000Z",
        seconds=1.5,
        ended="complete",
        knobs=Knobs(),
        plan=[shown(each) for each in planned],
        calls=[called(Observed("get_it", {}, 1.25, result={"content": []}, size=14), "valid")],
        findings=[Finding("slow", Severity.LOW, "It is slow.", "get_it")],
        notes=["note"],
    )


def test_a_run_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    folder = RunFolder.make(tmp_path / "data", "01RUN")
    folder.keep(a_run())
    assert read_run(folder.path) == a_run()


def test_nobody_else_can_read_what_is_kept(tmp_path: Path) -> None:
    folder = RunFolder.make(tmp_path / "data", "01RUN")
    report = folder.keep(a_run())
    assert [each.stat().st_mode & 0o777 for each in (folder.path.parent, folder.path, report)] == [0o700, 0o700, 0o600]


def test_a_report_may_be_written_again(tmp_path: Path) -> None:
    folder = RunFolder.make(tmp_path, "01RUN")
    folder.keep(a_run())
    folder.keep(a_run())
    assert [each.name for each in folder.path.iterdir()] == ["report.json"]


def test_arguments_are_kept_without_secrets() -> None:
    kept = called(Observed("log_in", {"password": "hunter22"}, 1.0, result={}), "valid")
    assert "hunter22" not in str(kept.arguments)


def test_a_line_of_a_plan_says_why_nothing_is_called_and_what_to_do() -> None:
    line = shown(plan(named("drop_it"), LabPolicy(), live=True)[0])
    assert (line.decision, line.exec_class) == ("Refuse", "Destructive")
    assert line.reason is not None
    assert "--execute-destructive" in line.reason


SERVER = {"server": "x", "problem": "why"}


@pytest.mark.parametrize(
    ("observed", "word"),
    [
        (Observed("t", {}, 1.0, result={"content": []}), "ok"),
        (Observed("t", {}, 1.0, result={"content": [], "isError": True}), "tool-error"),
        (Observed("t", {}, 1.0, error={"code": -32602, "message": "no"}), "rpc-error"),
        (Observed("t", {}, 1.0, refusal=errors.UPSTREAM_LOST(**SERVER)), "crash"),
        (Observed("t", {}, 1.0, refusal=errors.OUT_OF_PROTOCOL(**SERVER)), "protocol"),
        (Observed("t", {}, 1.0, refusal=errors.ANSWER_TOO_LONG(**SERVER)), "protocol"),
        (Observed("t", {}, 1.0, refusal=errors.UPSTREAM_TIMEOUT(server="x", seconds=10.0)), "hang"),
        (Observed("t", {}, 1.0, refusal=errors.UPSTREAM_DOWN(**SERVER)), "refused"),
        (Observed("t", {}, 1.0, refusal=errors.DENIED_BY_RULE(tool="x:t")), "refused"),
        (Observed("t", {}, 1.0, refusal=Reason("Server 'x' was lost during the call: why")), "refused"),
    ],
)
def test_what_came_of_a_call_is_told_in_one_word(observed: Observed, word: str) -> None:
    assert outcome_of(observed) == word


def test_a_secret_that_a_server_repeated_stands_nowhere_in_a_run() -> None:
    secret = 'tok-"quoted"-0123456789'  # noqa: S105 - it is none
    finding = Finding("test-failed", Severity.HIGH, f"saw {secret}", evidence={"a": [secret]})
    run = without(replace(a_run(), findings=[finding]), KnownSecrets([secret]))

    assert "0123456789" not in msgspec.json.encode(run).decode()
    assert without(run, KnownSecrets(["not in there at all"])) is run
