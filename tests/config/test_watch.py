"""When a file counts as changed, and what stays whatever it says."""

from pathlib import Path

import pytest

from interlock.config.load import Config, load, with_listen
from interlock.config.watch import Watch
from interlock.core.safety import Posture
from interlock.errors import ConfigError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "interlock.yaml").write_text("posture: open\n")
    return tmp_path / "interlock.yaml"


def loaded(file: Path) -> Config:
    return with_listen(load(str(file), {}), None, 4711)


def test_a_file_that_nobody_touched_has_not_changed(file: Path) -> None:
    watch = Watch(loaded(file), {})

    assert not watch.changed()


def test_a_change_is_told_once(file: Path) -> None:
    watch = Watch(loaded(file), {})
    file.write_text("posture: strict # more\n")

    assert watch.changed()
    assert not watch.changed()
    assert watch.read().settings.posture is Posture.STRICT


def test_the_address_stays_as_it_was_at_the_start(file: Path) -> None:
    watch = Watch(loaded(file), {})
    file.write_text("listen: {port: 1}\n")

    assert watch.read().settings.listen.port == 4711


def test_a_file_that_is_gone_has_changed_and_cannot_be_read(file: Path) -> None:
    watch = Watch(loaded(file), {})
    file.unlink()

    assert watch.changed()
    with pytest.raises(ConfigError):
        watch.read()
