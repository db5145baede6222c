"""What stays of a gateway in the folder of a run is its record."""

from pathlib import Path

import pytest

from interlock.cli.lab.tidy import leaving_the_record
from interlock.store.folder import DataFolder

SECRET = "il_secret"  # noqa: S105 - of no gateway


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    made = DataFolder(tmp_path / "run")
    with made.hold():
        made.keep_credential(SECRET)
    made.database.write_bytes(b"kept")
    return made


def left(folder: DataFolder) -> set[str]:
    return {each.name for each in folder.path.iterdir()}


def test_credential_and_lock_go_and_the_record_stays(folder: DataFolder) -> None:
    with folder.hold(), leaving_the_record(folder):
        during = left(folder)

    assert during == {"interlock.db", "operator.token", "gateway.lock"}
    assert left(folder) == {"interlock.db"}


def test_they_go_too_when_something_failed(folder: DataFolder) -> None:
    with pytest.raises(ValueError, match="it failed"), leaving_the_record(folder):
        raise ValueError("it failed")

    assert left(folder) == {"interlock.db"}


def test_a_journal_goes_only_if_it_is_empty(folder: DataFolder) -> None:
    (folder.path / "interlock.db-wal").write_bytes(b"not yet in the file")
    (folder.path / "interlock.db-shm").touch()
    with leaving_the_record(folder):
        pass

    assert left(folder) == {"interlock.db", "interlock.db-wal"}


def test_where_there_is_nothing_nothing_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with leaving_the_record(DataFolder(tmp_path / "run")):
        pass

    assert list((tmp_path / "run").iterdir()) == []
