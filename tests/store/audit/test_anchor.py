"""The file of seals that is kept elsewhere."""

import os
import stat
from pathlib import Path

import pytest

from interlock.store.audit.anchor import Anchor, BadLine, seals_in
from interlock.store.audit.keys import open_key
from interlock.store.audit.seal import Seal, SealKind, line_of


@pytest.fixture
def seals(tmp_path: Path) -> list[Seal]:
    key = open_key(tmp_path)
    return [key.seal(SealKind.CHECKPOINT, "c1", seq, bytes(32), seq) for seq in (1, 2, 3)]


def test_each_seal_is_a_line_and_the_newest_ones_are_found(tmp_path: Path, seals: list[Seal]) -> None:
    anchor = Anchor(tmp_path / "anchor")
    before = anchor.newest()
    for each in seals:
        anchor.append(each)

    assert (before, anchor.newest()) == ([], seals)
    assert list(seals_in(anchor.file)) == seals
    assert stat.S_IMODE(anchor.file.stat().st_mode) == 0o600


def test_a_line_cut_short_spoils_neither_the_one_before_nor_the_one_after(tmp_path: Path, seals: list[Seal]) -> None:
    anchor = Anchor(tmp_path / "anchor")
    anchor.append(seals[0])
    with anchor.file.open("ab") as opened:
        opened.write(line_of(seals[1]).encode()[:40])
    torn = anchor.newest(), list(seals_in(anchor.file))
    anchor.append(seals[2])

    assert torn == ([seals[0]], [seals[0]])
    assert list(seals_in(anchor.file)) == [seals[0], BadLine(2, "it is no seal"), seals[2]]
    assert anchor.newest() == [seals[0], seals[2]]


def test_of_a_long_file_only_the_end_is_read_at_a_start(
    tmp_path: Path, seals: list[Seal], monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor = Anchor(tmp_path / "anchor")
    for each in seals:
        anchor.append(each)
    monkeypatch.setattr("interlock.store.audit.anchor.NEWEST_BYTES", 2 * len(line_of(seals[0])))

    assert anchor.newest() == seals[2:]


def test_a_disk_that_takes_only_a_part_of_a_seal_is_a_failure(
    tmp_path: Path, seals: list[Seal], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.write

    def a_part(opened: int, line: bytes) -> int:
        return whole(opened, line[:40])

    monkeypatch.setattr("os.write", a_part)
    with pytest.raises(OSError, match="no room for the whole seal"):
        Anchor(tmp_path / "anchor").append(seals[0])
    monkeypatch.undo()
    Anchor(tmp_path / "anchor").append(seals[1])

    assert list(seals_in(tmp_path / "anchor")) == [BadLine(1, "it is no seal"), seals[1]]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path, seals: list[Seal]) -> None:
    file = tmp_path / "anchor"
    file.write_bytes(b"x" * 10_000 + b"\n" + line_of(seals[0]).encode() + b"\n")
    found = list(seals_in(file))

    assert found[-1] == seals[0]
    assert all(isinstance(each, BadLine) for each in found[:-1])


def test_a_link_is_not_followed(tmp_path: Path, seals: list[Seal]) -> None:
    (tmp_path / "anchor").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"):
        Anchor(tmp_path / "anchor").append(seals[0])
    assert not (tmp_path / "elsewhere").exists()
