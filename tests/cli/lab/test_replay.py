"""`interlock replay`: which files it takes."""

from pathlib import Path

import pytest

from interlock.lab.played import cassette
from tests.cli.running import Interlock, run_process

HEAD = '{"cassette": 1, "server": "s", "protocol": "2025-11-25"}\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [("", ":1: this line is no JSON"), (HEAD + "{}\n", ":2: 'method' must be a text"), ("x\n", ":1: this line is no")],
)
def test_a_file_that_is_no_cassette_is_refused_with_the_line(
    il: Interlock, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "c.jsonl").write_text(text, encoding="utf-8")
    done = il("replay", str(tmp_path / "c.jsonl"))

    assert (done.exit, done.out) == (2, "")
    assert f"{tmp_path / 'c.jsonl'}{said}" in done.err


def test_a_file_that_is_not_there_or_too_long_is_refused(
    il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.jsonl").write_text(HEAD, encoding="utf-8")
    monkeypatch.setattr("interlock.cli.lab.replay.MAX_CASSETTE", 10)

    assert "No such file" in il("replay", str(tmp_path / "nowhere")).err
    assert "longer than 10 bytes" in il("replay", str(tmp_path / "c.jsonl")).err
    assert cassette.MAX_CASSETTE > 10


def test_it_ends_when_its_client_leaves(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text(HEAD, encoding="utf-8")
    done = run_process("replay", str(tmp_path / "c.jsonl"))

    assert (done.exit, done.out, done.err) == (0, "", "The cassette of 's' has 0 interactions.\n")
