"""What is repaired without a decision, and what is not."""

import stat
from pathlib import Path

import pytest

from interlock.cli.checkups.repair import DONE, FAILED, PLANNED, repair
from interlock.store.folder import LOCK, DataFolder
from interlock.store.migrate import migrations
from tests.cli.aged import GONE, aged, empty_store, version_of

NEWEST = migrations()[-1].version


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    data = tmp_path / "data"
    data.mkdir(0o700)
    return DataFolder(data)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def neglected(folder: DataFolder) -> None:
    """Everything at once that can be repaired."""
    aged(folder, 1)
    folder.keep_credential("x")
    (folder.path / LOCK).write_text(f"{GONE} http://127.0.0.1:7373")
    for each in (folder.database, folder.credential_file, folder.path / LOCK):
        each.chmod(0o644)
    folder.path.chmod(0o755)


def test_modes_lock_and_database_are_repaired_and_the_second_time_nothing_is(folder: DataFolder) -> None:
    neglected(folder)
    done, again = repair(folder, dry=False), repair(folder, dry=False)

    assert {each.state for each in done} == {DONE}
    assert [each.code for each in done] == ["IL-DATA-01"] * 4 + ["IL-DATA-02", "IL-DATA-04"]
    assert mode(folder.path) == 0o700
    assert {mode(each) for each in folder.path.iterdir()} == {0o600}
    assert (folder.path / LOCK).read_text() == ""
    assert version_of(folder) == NEWEST
    assert folder.credential() == "x"
    assert again == []


def test_a_dry_run_says_the_same_and_changes_nothing(folder: DataFolder) -> None:
    neglected(folder)
    planned = repair(folder, dry=True)

    assert {each.state for each in planned} == {PLANNED}
    assert (mode(folder.path), mode(folder.credential_file), version_of(folder)) == (0o755, 0o644, 1)
    assert [each.text for each in planned] == [each.text for each in repair(folder, dry=False)]


def test_a_folder_that_is_missing_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "above" / "data")
    (planned,) = repair(folder, dry=True)
    assert not folder.path.exists()
    (done,) = repair(folder, dry=False)

    assert (planned.text, done.state, mode(folder.path)) == (f"make {folder.path}", DONE, 0o700)


def test_a_folder_that_its_owner_cannot_enter_is_opened_to_the_owner_first(folder: DataFolder) -> None:
    folder.keep_credential("x")
    folder.credential_file.chmod(0o666)
    folder.path.chmod(0o000)
    done = repair(folder, dry=False)

    assert [each.text for each in done] == [f"chmod 700 {folder.path}", f"chmod 600 {folder.credential_file}"]
    assert (mode(folder.path), mode(folder.credential_file)) == (0o700, 0o600)


def test_a_folder_with_files_of_others_keeps_its_mode_and_so_do_they(folder: DataFolder) -> None:
    (folder.path / "thesis.txt").touch(0o644)
    folder.keep_credential("x")
    folder.credential_file.chmod(0o644)
    folder.path.chmod(0o755)
    repair(folder, dry=False)

    assert (mode(folder.path), mode(folder.path / "thesis.txt"), mode(folder.credential_file)) == (0o755, 0o644, 0o600)


def test_what_a_link_leads_to_is_not_touched(folder: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "theirs").touch(0o644)
    folder.credential_file.symlink_to(tmp_path / "theirs")

    assert repair(folder, dry=False) == []
    assert mode(tmp_path / "theirs") == 0o644


@pytest.mark.parametrize("content", ["", "no database"])
def test_a_database_that_is_broken_stays_as_it_is(folder: DataFolder, content: str) -> None:
    folder.database.touch(0o600)
    folder.database.write_text(content)

    assert repair(folder, dry=False) == []
    assert folder.database.read_text() == content


def test_a_database_of_a_newer_version_stays_as_it_is(folder: DataFolder) -> None:
    empty_store(folder)
    aged(folder, 99)

    assert repair(folder, dry=False) == []
    assert version_of(folder) == 99


def test_where_somebody_works_the_database_is_left_alone_and_that_is_said(folder: DataFolder) -> None:
    aged(folder, 1)
    with folder.hold():
        (failed,) = repair(folder, dry=False)

    assert (failed.state, failed.problem) == (FAILED, "somebody works in the folder now")
    assert version_of(folder) == 1


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (failed,) = repair(DataFolder(tmp_path / "file" / "data"), dry=False)

    assert (failed.state, failed.problem) == (FAILED, "Not a directory")
