"""Every test of the command line works in an empty folder, without any variable of ours."""

from pathlib import Path

import pytest

from tests.cli.running import Interlock, Outcome, run_here
from tests.surroundings import isolate


@pytest.fixture(autouse=True)
def own_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(tmp_path, monkeypatch)


@pytest.fixture
def il(capsys: pytest.CaptureFixture[str]) -> Interlock:
    """The command `interlock`: `il("tool", "classify", "x")` gives exit code, stdout and stderr."""

    def run(*words: str) -> Outcome:
        return run_here(capsys, words)

    return run
