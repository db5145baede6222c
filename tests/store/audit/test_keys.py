"""The key that signs, and the public halves by which a signature is believed."""

import shutil
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from interlock.store.audit.keys import COMING, PRIVATE, PUBLIC, folder_keys, known_keys, open_key, publish
from interlock.store.audit.seal import Seal, SealKind
from interlock.store.protocol import StoreUnavailable


def seal_by(folder: Path) -> Seal:
    return open_key(folder).seal(SealKind.CHECKPOINT, "c1", 7, b"\xab" * 32, 99)


def test_the_first_opening_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    made = open_key(tmp_path)

    assert open_key(tmp_path).id == made.id
    assert stat.S_IMODE((tmp_path / PRIVATE).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / COMING).stat().st_mode) == 0o600
    assert sorted(each.name for each in tmp_path.iterdir()) == [PRIVATE, COMING]


def test_two_who_ask_for_the_first_key_at_once_get_the_same(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(20)]
    both = threading.Barrier(2)

    def opened(folder: Path) -> str:
        both.wait()
        return open_key(folder).id

    for folder in folders:
        folder.mkdir()
        with ThreadPoolExecutor(2) as pool:
            one, other = pool.map(opened, [folder, folder])
        assert one == other == open_key(folder).id
        assert folder_keys(folder).problem(seal_by(folder)) == ""


def test_a_key_is_published_when_it_has_sealed_and_known_before(tmp_path: Path) -> None:
    seal = seal_by(tmp_path)
    before = folder_keys(tmp_path)
    publish(tmp_path)
    publish(tmp_path)
    after = folder_keys(tmp_path)

    assert (before.problem(seal), before.have_sealed) == ("", False)
    assert (after.problem(seal), after.have_sealed) == ("", True)
    assert sorted(each.name for each in tmp_path.iterdir()) == [PRIVATE, PUBLIC]


def test_what_it_signs_is_genuine_and_nothing_else_is(tmp_path: Path) -> None:
    seal, keys = seal_by(tmp_path), folder_keys(tmp_path)

    assert keys.problem(seal) == ""
    assert keys.problem(replace(seal, text=seal.text.replace("7", "8"))) == "its seal is not genuine"
    assert keys.problem(replace(seal, signature=bytes(64))) == "its seal is not genuine"
    assert keys.problem(replace(seal, signature=b"short")) == "its seal is not genuine"
    assert "not known here" in keys.problem(replace(seal, key="other"))


def test_openssl_comes_to_the_same_result(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    assert openssl is not None
    seal = seal_by(tmp_path)
    publish(tmp_path)
    (tmp_path / "text").write_text(seal.text)
    (tmp_path / "signature").write_bytes(seal.signature)
    words = [openssl, "pkeyutl", "-verify", "-pubin", "-inkey", PUBLIC, "-rawin", "-in", "text", "-sigfile"]
    done = subprocess.run([*words, "signature"], cwd=tmp_path, capture_output=True, text=True, check=False)
    read = subprocess.run([openssl, "pkey", "-in", PRIVATE, "-noout"], cwd=tmp_path, capture_output=True, check=False)

    assert (done.returncode, read.returncode) == (0, 0), done.stderr


def test_a_new_key_is_added_to_the_public_ones(tmp_path: Path) -> None:
    first = seal_by(tmp_path)
    publish(tmp_path)
    (tmp_path / PUBLIC).write_text((tmp_path / PUBLIC).read_text().rstrip())  # as an editor may leave it
    (tmp_path / PRIVATE).unlink()
    second = seal_by(tmp_path)
    (tmp_path / PRIVATE).unlink()
    third = seal_by(tmp_path)
    publish(tmp_path)
    keys = known_keys(tmp_path / PUBLIC)

    assert len(keys) == 3
    assert [keys.problem(each) for each in (first, second, third)] == [""] * 3


def test_a_key_that_others_may_read_is_not_used(tmp_path: Path) -> None:
    open_key(tmp_path)
    (tmp_path / PRIVATE).chmod(0o640)

    with pytest.raises(StoreUnavailable, match="others may read it; take that away with chmod 600"):
        open_key(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff", b"-----BEGIN PRIVATE KEY-----\nMC4=\n-----END PRIVATE KEY-----\n"])
def test_a_key_that_is_none_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / PRIVATE).write_bytes(content)
    (tmp_path / PRIVATE).chmod(0o600)

    with pytest.raises(StoreUnavailable, match="cannot be used"):
        open_key(tmp_path)
    assert (tmp_path / PRIVATE).read_bytes() == content


def test_public_keys_that_are_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / PUBLIC).write_text("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")

    for read in (lambda: known_keys(tmp_path / PUBLIC), lambda: folder_keys(tmp_path)):
        with pytest.raises(ValueError, match="no key of the kind Ed25519"):
            read()


def test_a_folder_may_have_no_keys_and_a_file_that_somebody_names_may_not(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "other").write_text("hello")
    known = folder_keys(tmp_path)

    assert (len(known), known.have_sealed) == (0, False)
    for name, refused in (("none", FileNotFoundError), ("empty", ValueError), ("other", ValueError)):
        with pytest.raises(refused, match=name):
            known_keys(tmp_path / name)


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n"])
def test_a_copy_of_the_keys_may_end_in_any_line_break_or_none(tmp_path: Path, end: str) -> None:
    seal = seal_by(tmp_path)
    (tmp_path / "copy").write_text((tmp_path / COMING).read_text().rstrip() + end, newline="")

    assert known_keys(tmp_path / "copy").problem(seal) == ""
