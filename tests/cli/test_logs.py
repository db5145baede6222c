"""Nobody outside can write a line into the log, or onto the terminal of whoever reads it."""

import logging
import socket
from pathlib import Path

import pytest

from interlock.cli.gateway import running_at
from interlock.cli.logs import logged
from interlock.store.folder import DataFolder
from tests.cli.running import serve_process

HOSTILE = "no\r\nWARNING: all is well\x1b[2J\u202e\x00 \x9b31m \u2028end"


def fail(why: str) -> None:
    raise ValueError(why)


def is_plain(text: str) -> bool:
    return all(char == "\n" or char.isprintable() for char in text)


def test_a_text_from_outside_stays_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with logged():
        logging.getLogger("anybody").warning("It answered: %s", HOSTILE)
    said = capsys.readouterr().err

    assert said.count("\n") == 1
    assert said.startswith("WARNING: It answered: no<U+000D><U+000A>WARNING")
    assert is_plain(said)


def test_so_does_one_in_an_exception(capsys: pytest.CaptureFixture[str]) -> None:
    with logged():
        try:
            fail(HOSTILE)
        except ValueError:
            logging.getLogger("anybody").exception("It failed: %s", HOSTILE)
    first, *others = capsys.readouterr().err.splitlines()

    assert first.startswith("ERROR: It failed: ")
    assert [line for line in others if not line.startswith("    ")] == []
    assert is_plain("\n".join(others))


def test_it_is_told_once_and_afterwards_everything_is_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    before = list(logging.getLogger().handlers)
    with logged(), logged():
        logging.getLogger("anybody").error("once")

    assert capsys.readouterr().err == "ERROR: once\n"
    assert logging.getLogger().handlers == before


def test_serve_logs_in_this_form_whatever_it_is_sent(tmp_path: Path) -> None:
    with serve_process(tmp_path / "data") as process:
        assert process.stderr is not None
        host, _, port = (running_at(DataFolder(tmp_path / "data")) or "").removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(b"\x1b[31m\r\nWARNING: forged\r\n\r\n")
            connection.recv(1000)
        said = ""
        while "Invalid HTTP" not in said:
            said = process.stderr.readline()

    assert said == "WARNING: Invalid HTTP request received.\n"
