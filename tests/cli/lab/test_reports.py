"""A run is kept, printed, and written to the files that were asked for."""

import json
from argparse import Namespace
from pathlib import Path

import pytest

from interlock.cli.lab.reports import hand_out
from interlock.errors import Code, InterlockError
from interlock.lab.run import RunFolder, read_run
from tests.lab.test_run import a_run


def values(**given: object) -> Namespace:
    return Namespace(**{"json": False, "junit": None, "sarif": None, "html": None, **given})


def test_a_run_is_kept_and_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder.make(tmp_path, "01RUN")
    hand_out(a_run(), folder, values())
    assert read_run(folder.path) == a_run()
    assert "<html" in (folder.path / "report.html").read_text()
    assert "get_it" in capsys.readouterr().out


def test_as_json_it_is_what_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = RunFolder.make(tmp_path, "01RUN")
    hand_out(a_run(), folder, values(json=True))
    assert json.loads(capsys.readouterr().out) == json.loads((folder.path / "report.json").read_text())


def test_each_file_that_was_asked_for_is_written(tmp_path: Path) -> None:
    files = {name: str(tmp_path / f"it.{name}") for name in ("junit", "sarif", "html")}
    hand_out(a_run(), RunFolder.make(tmp_path, "01RUN"), values(**files))
    begins = {name: Path(file).read_text()[:40].lower() for name, file in files.items()}
    assert "<?xml" in begins["junit"]
    assert begins["sarif"].startswith("{")
    assert "<!doctype html" in begins["html"]


def test_a_file_that_cannot_be_written_is_one_error_and_the_run_is_kept(tmp_path: Path) -> None:
    folder = RunFolder.make(tmp_path, "01RUN")
    with pytest.raises(InterlockError) as failed:
        hand_out(a_run(), folder, values(junit=str(tmp_path / "nowhere" / "x")))
    assert failed.value.reason.code is Code.BAD_REQUEST
    assert read_run(folder.path)
