"""What is loaded is not looked through for garbage, and everything else is, as before."""

import gc
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from interlock.cli.loading import load_module


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """A module that looks at the collector while it is loaded, and fails if there is a file beside it."""
    module = tmp_path / "looking_at_the_collector.py"
    module.write_text(
        "import gc, os\nIS_ON = gc.isenabled()\nassert not os.path.exists(__file__ + '.bad')\nKEPT = [[]]\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield module
    sys.modules.pop(module.stem, None)
    gc.enable()


def test_the_collector_rests_while_a_module_is_loaded_and_works_afterwards(written: Path) -> None:
    load_module(written.stem)

    assert not sys.modules[written.stem].IS_ON
    assert gc.isenabled()


def test_what_was_loaded_is_left_alone(written: Path) -> None:
    load_module(written.stem)

    kept = sys.modules[written.stem].KEPT
    assert not any(each is kept for each in gc.get_objects())


def test_what_is_loaded_already_changes_nothing(written: Path) -> None:
    load_module(written.stem)
    later: list[list[int]] = [[]]
    load_module(written.stem)

    assert any(each is later for each in gc.get_objects())


def test_a_module_that_cannot_be_loaded_leaves_the_collector_on(written: Path) -> None:
    written.with_suffix(".py.bad").touch()

    with pytest.raises(AssertionError):
        load_module(written.stem)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off(written: Path) -> None:
    gc.disable()
    load_module(written.stem)

    assert not gc.isenabled()
