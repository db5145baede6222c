"""What is found in the data folder: its modes, its lock, its database."""

from pathlib import Path

import pytest

from interlock.cli.checkups.checkup import FAIL, OK, WARN
from interlock.cli.checkups.folder import database_check, folder_check, lock_check, schema_check
from interlock.store.folder import LOCK, DataFolder
from tests.cli.aged import GONE, aged, empty_store


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    data = tmp_path / "data"
    data.mkdir(0o700)
    return DataFolder(data)


def test_a_folder_that_others_may_read_is_a_finding(folder: DataFolder) -> None:
    assert folder_check(folder).state == OK
    folder.keep_credential("x")
    folder.credential_file.chmod(0o644)
    told = folder_check(folder)

    assert (told.state, "operator.token" in told.text) == (FAIL, True)
    assert f"chmod go-rwx {folder.credential_file}" in told.fix


def test_a_secret_that_others_may_read_is_a_finding(folder: DataFolder) -> None:
    (folder.path / "secrets").mkdir(0o700)
    (folder.path / "secrets" / "key").touch(0o644)

    assert "key" in folder_check(folder).text


def test_a_folder_that_its_owner_cannot_write_is_a_finding(folder: DataFolder) -> None:
    folder.path.chmod(0o500)
    told = folder_check(folder)
    folder.path.chmod(0o700)

    assert (told.state, told.text) == (FAIL, f"Its owner may not read and write {folder.path}.")


def test_a_folder_with_files_of_others_is_left_to_its_owner(folder: DataFolder) -> None:
    (folder.path / "thesis.txt").touch()
    folder.path.chmod(0o755)
    told = folder_check(folder)

    assert (told.state, "for you to decide" in told.fix, "--fix" in told.fix) == (FAIL, True, False)


def test_a_folder_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    none = DataFolder(tmp_path / "none")

    assert [each(none).state for each in (folder_check, lock_check, schema_check)] == [OK, OK, OK]
    assert database_check(none)[0].state == OK
    assert not none.path.exists()


def test_a_file_in_the_place_of_the_folder_is_a_finding(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    told = folder_check(DataFolder(tmp_path / "file"))

    assert (told.state, told.text) == (FAIL, f"{tmp_path / 'file'}: Not a directory")


def test_a_lock_that_names_a_process_which_is_gone_is_a_finding(folder: DataFolder) -> None:
    (folder.path / LOCK).write_text(f"{GONE} http://127.0.0.1:7373")
    told = lock_check(folder)

    assert (told.state, "--fix" in told.fix) == (WARN, True)


def test_a_lock_that_is_in_use_or_empty_is_none(folder: DataFolder) -> None:
    with folder.hold() as hold:
        hold.announce("http://127.0.0.1:7373")
        used = lock_check(folder)
    (folder.path / LOCK).write_text("")

    assert (used.state, lock_check(folder).state) == (OK, OK)


def test_a_lock_that_is_a_link_is_a_finding(folder: DataFolder, tmp_path: Path) -> None:
    (folder.path / LOCK).symlink_to(tmp_path / "elsewhere")

    assert lock_check(folder).state == FAIL


def test_a_database_that_is_none_is_a_finding(folder: DataFolder) -> None:
    folder.database.write_text("nothing of the kind")

    assert database_check(folder)[0].state == FAIL
    assert schema_check(folder).state == FAIL


def test_a_database_of_an_older_version_is_a_finding_and_stays_as_it_is(folder: DataFolder) -> None:
    aged(folder, 1)
    told = schema_check(folder)

    assert (told.state, told.text[:27]) == (WARN, "The database has version 1,")
    assert database_check(folder)[0].state == OK
    assert schema_check(folder) == told


def test_a_database_of_this_version_is_fine_and_one_of_a_newer_is_not(folder: DataFolder) -> None:
    empty_store(folder)
    now = schema_check(folder)
    aged(folder, 99)
    newer = schema_check(folder)

    assert now.state == OK
    assert (newer.state, "install the Interlock that wrote it" in newer.text) == (FAIL, True)


def test_a_database_in_which_nothing_is_is_told(folder: DataFolder) -> None:
    folder.database.touch()

    assert (schema_check(folder).state, schema_check(folder).fix) == (WARN, "See database.")


def test_a_key_of_the_seals_that_others_may_read_is_a_finding_and_the_public_one_is_not(folder: DataFolder) -> None:
    (folder.path / "seal.pub").touch(0o644)
    fine = folder_check(folder)
    (folder.path / "seal.key").touch(0o644)
    told = folder_check(folder)

    assert fine.state == OK
    assert (told.state, "seal.key" in told.text, "seal.pub" in told.text) == (FAIL, True, False)


def test_what_the_gateway_keeps_in_its_folder_is_not_taken_for_somebody_elses(folder: DataFolder) -> None:
    for name in ("seal.key", "seal.pub", "anchor.jsonl", "marks.key"):
        (folder.path / name).touch(0o600)
    folder.path.chmod(0o755)
    told = folder_check(folder)

    assert (told.state, "--fix" in told.fix) == (FAIL, True)
