"""`interlock record`: what it refuses before anything is recorded, and what it leaves behind then."""

from pathlib import Path

import pytest

from tests.cli.running import Interlock, Outcome, run_process


def record(folder: Path, *words: str) -> Outcome:
    given = ("-o", str(folder / "c.jsonl"), "--data-dir", str(folder / "data"))
    return run_process("record", *given, *words)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere",), 2, "server 'nowhere' not found."),
        (("--", "/no/such/program"), 4, "'/no/such/program' does not run as an MCP server"),
        (("http://127.0.0.1:1/mcp",), 4, "does not run as an MCP server"),
        (("--", "/bin/cat", "/dev/null"), 4, "does not run as an MCP server: it exited with status 0"),
    ],
)
def test_a_target_that_does_not_run_leaves_nothing_behind(
    tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    done = record(tmp_path, *words)

    assert (done.exit, done.out) == (code, "")
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "c.jsonl").exists()
    assert list((tmp_path / "data").glob("lab/*")) == []


def test_a_file_that_is_there_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text("mine", encoding="utf-8")
    done = record(tmp_path, "sample")

    assert (done.exit, done.out) == (2, "")
    assert "is there already" in done.err
    assert (tmp_path / "c.jsonl").read_text(encoding="utf-8") == "mine"


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    done = run_process("record", "sample", "-o", str(tmp_path / "no" / "c"), "--data-dir", str(tmp_path / "data"))

    assert (done.exit, done.out) == (2, "")
    assert "No such file or directory" in done.err


def test_while_everything_is_frozen_nothing_is_recorded(il: Interlock, tmp_path: Path) -> None:
    assert il("freeze", "--reason", "fire", "--data-dir", str(tmp_path / "data")).exit == 0
    done = record(tmp_path, "sample")

    assert (done.exit, done.out) == (10, "")
    assert "Calls are frozen: fire." in done.err


def test_a_session_without_a_call_is_a_cassette_of_lists(tmp_path: Path) -> None:
    done = record(tmp_path, "sample")

    assert (done.exit, done.out) == (0, "")
    assert "Recorded 0 interactions" in done.err
    assert '"list": "tools"' in (tmp_path / "c.jsonl").read_text(encoding="utf-8")
