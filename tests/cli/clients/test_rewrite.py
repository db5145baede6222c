"""Replacing files of others: whole, with their rights, and never over a change."""

import os
from pathlib import Path

import pytest

from interlock.cli.clients.rewrite import back_up, digest, private_file, removed, replaced
from interlock.errors import Code, InterlockError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "there" / "settings.json"
    file.parent.mkdir()
    file.write_bytes(b"old")
    file.chmod(0o640)
    return file


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o7777


def test_a_file_keeps_its_mode_and_nothing_is_left_beside_it(file: Path) -> None:
    replaced(file, b"new", b"old")

    assert (file.read_bytes(), mode(file)) == (b"new", 0o640)
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_was_changed_meanwhile_is_left_alone(file: Path) -> None:
    with pytest.raises(InterlockError, match="changed by somebody else") as refused:
        replaced(file, b"new", b"seen")

    assert refused.value.reason.code is Code.STALE_APPROVAL
    assert file.read_bytes() == b"old"
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_came_to_be_meanwhile_is_left_alone(file: Path) -> None:
    with pytest.raises(InterlockError, match="changed by somebody else"):
        replaced(file, b"new", None)

    assert file.read_bytes() == b"old"


def test_a_new_file_is_its_owners_only(tmp_path: Path) -> None:
    new = tmp_path / "folder" / "new.json"

    replaced(new, b"new", None)

    assert (new.read_bytes(), mode(new), mode(new.parent)) == (b"new", 0o600, 0o700)


def test_a_link_stays_a_link_and_its_file_is_written(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "elsewhere" / "link.json"
    link.parent.mkdir()
    link.symlink_to(file)

    replaced(link, b"new", b"old")

    assert link.is_symlink()
    assert file.read_bytes() == b"new"


def test_where_nothing_can_be_written_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for attempt in (
        lambda: replaced(tmp_path / "file" / "x", b"new", None),
        lambda: back_up(tmp_path / "nowhere" / "x", b"", 0),
        lambda: private_file(tmp_path / "file" / "x", b""),
    ):
        with pytest.raises(InterlockError, match=r"cannot be (written|read)"):
            attempt()


def test_a_copy_is_its_owners_only_and_says_when_it_was_made(file: Path) -> None:
    copy = back_up(file, b"old", 1_794_800_000_123_456)

    assert (copy.read_bytes(), mode(copy)) == (b"old", 0o600)
    assert copy.name == "settings.json.interlock-2026-11-16T033320.123456Z.bak"


def test_a_file_is_removed_only_as_it_was_seen(file: Path) -> None:
    with pytest.raises(InterlockError, match="changed by somebody else"):
        removed(file, b"seen")
    removed(file, b"old")

    assert not file.exists()


def test_a_private_file_is_never_written_over(tmp_path: Path) -> None:
    secret = tmp_path / "folder" / "secret"
    secret.parent.mkdir(mode=0o755)
    private_file(secret, b"one")

    with pytest.raises(InterlockError, match="cannot be written"):
        private_file(secret, b"two")
    assert (secret.read_bytes(), mode(secret), mode(secret.parent)) == (b"one", 0o600, 0o700)


def test_a_private_file_does_not_follow_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "secret").symlink_to(tmp_path / "target")

    with pytest.raises(InterlockError, match="cannot be written"):
        private_file(tmp_path / "folder" / "secret", b"one")
    assert not os.path.lexists(tmp_path / "target")


def test_contents_are_told_apart_and_no_file_is_none() -> None:
    assert digest(None) is None
    assert digest(b"") != digest(b"a")
