"""What Interlock changed, and taking it back."""

from pathlib import Path

import pytest

from interlock.cli.clients.journal import NAME, Journal
from interlock.errors import InterlockError
from tests.fakes import FakeClock


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "there" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(b"old")
    return file


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def journal(tmp_path: Path, clock: FakeClock) -> Journal:
    return Journal(tmp_path / "data", clock)


def test_a_change_is_taken_back_byte_by_byte(journal: Journal, file: Path) -> None:
    backup = journal.write("cursor", file, b"old", b"new")

    assert backup is not None
    assert (file.read_bytes(), backup.read_bytes()) == (b"new", b"old")
    (change,) = journal.changes()
    journal.undo(change, force=False)
    assert (file.read_bytes(), journal.changes()) == (b"old", [])


def test_a_file_that_was_made_is_removed_again(journal: Journal, tmp_path: Path) -> None:
    new = tmp_path / "new.json"
    assert journal.write("cursor", new, None, b"new") is None

    journal.undo(journal.changes()[0], force=False)

    assert not new.exists()


def test_what_was_changed_since_is_not_lost(journal: Journal, file: Path) -> None:
    journal.write("cursor", file, b"old", b"new")
    file.write_bytes(b"newer")
    (change,) = journal.changes()

    with pytest.raises(InterlockError, match="changed since"):
        journal.undo(change, force=False)
    assert (file.read_bytes(), journal.changes()) == (b"newer", [change])


def test_by_force_the_old_one_comes_back_and_the_newer_is_kept_beside_it(
    journal: Journal, file: Path, clock: FakeClock
) -> None:
    journal.write("cursor", file, b"old", b"new")
    file.write_bytes(b"newer")
    (change,) = journal.changes()

    clock.forward(1)
    copy = journal.undo(change, force=True)

    assert copy is not None
    assert (file.read_bytes(), copy.read_bytes()) == (b"old", b"newer")


def test_a_copy_that_was_tampered_with_is_not_put_back(journal: Journal, file: Path) -> None:
    backup = journal.write("cursor", file, b"old", b"new")
    assert backup is not None
    (change,) = journal.changes()

    for spoil in (lambda: backup.write_bytes(b"something else"), backup.unlink):
        spoil()
        with pytest.raises(InterlockError, match="is missing or is not what was copied"):
            journal.undo(change, force=True)
    assert file.read_bytes() == b"new"


def test_a_stale_view_is_written_nowhere(journal: Journal, file: Path) -> None:
    with pytest.raises(InterlockError, match="changed by somebody else"):
        journal.write("cursor", file, b"seen", b"new")

    assert (file.read_bytes(), journal.changes()) == (b"old", [])
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_change_that_never_happened_is_forgotten(journal: Journal, file: Path) -> None:
    journal.write("cursor", file, b"old", b"new")
    file.write_bytes(b"old")

    journal.undo(journal.changes()[0], force=False)

    assert (file.read_bytes(), journal.changes()) == (b"old", [])


def test_the_journal_is_its_owners_only_and_holds_no_content(journal: Journal, file: Path, tmp_path: Path) -> None:
    journal.write("cursor", file, b"old", b"a secret")

    kept = tmp_path / "data" / NAME
    assert kept.stat().st_mode & 0o777 == 0o600
    assert b"a secret" not in kept.read_bytes()


def test_a_broken_journal_is_told(journal: Journal, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / NAME).write_text('[{"client": 5}]')

    with pytest.raises(InterlockError, match="is not the list of changed files"):
        journal.changes()
