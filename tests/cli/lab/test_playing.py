"""Where a played server can be reached."""

import contextlib
from pathlib import Path

import pytest

from interlock.cli.openings import bind
from tests.cli.running import Interlock, run_into_a_closed_pipe

GOOD = "mock_server: {name: m, tools: [{name: t}]}\n"


@pytest.fixture
def manifest(tmp_path: Path) -> str:
    (tmp_path / "m.yaml").write_text(GOOD, encoding="utf-8")
    return str(tmp_path / "m.yaml")


@pytest.mark.parametrize("port", ["65536", "-1", "http", "1.5", ""])
def test_a_port_that_is_none_is_refused(il: Interlock, manifest: str, port: str) -> None:
    done = il("mock", "--tools-from", manifest, f"--http={port}")

    assert (done.exit, done.out) == (2, "")
    assert "is no port" in done.err


def test_a_port_that_is_taken_is_refused(il: Interlock, manifest: str) -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as taken:
        taken.listen()
        done = il("mock", "--tools-from", manifest, "--http", str(taken.getsockname()[1]))

    assert done.exit == 2
    assert "Choose another with --http." in done.err


def test_a_client_that_does_not_read_ends_it_without_a_word(manifest: str) -> None:
    done = run_into_a_closed_pipe("mock", "--tools-from", manifest)

    assert done.exit == 0
    assert "Traceback" not in done.err
