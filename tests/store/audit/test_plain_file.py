"""What stands in the place of a file and is none is refused at once."""

import asyncio
import os
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR, Anchor, seals_in
from interlock.store.audit.export import ExportedLog
from interlock.store.audit.keys import folder_keys, known_keys, open_key
from interlock.store.audit.plain_file import open_file
from interlock.store.audit.seal import SealKind
from interlock.store.audit.verify import Unreadable
from interlock.store.protocol import StoreUnavailable
from tests.store.audit.logs import check, sealed_folder

pytestmark = pytest.mark.anyio


def pipe(file: Path) -> Path:
    os.mkfifo(file, 0o600)
    return file


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"text")
    with open_file(tmp_path / "a") as opened:
        assert opened.read() == b"text"


@pytest.mark.parametrize("other", ["/dev/zero", "/dev/null", "pipe", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, other: str) -> None:
    found = pipe(tmp_path / "pipe") if other == "pipe" else Path(other)

    with pytest.raises(OSError, match="no regular file"):
        open_file(found)


def test_nobody_waits_for_a_pipe_in_the_place_of_an_anchor(tmp_path: Path) -> None:
    seal = open_key(tmp_path).seal(SealKind.CHECKPOINT, "c1", 1, bytes(32), 1)
    anchor = Anchor(pipe(tmp_path / "anchor"))

    with pytest.raises(OSError, match="no regular file"):
        anchor.append(seal)
    with pytest.raises(OSError, match="no regular file"):
        anchor.newest()
    with pytest.raises(OSError, match="no regular file"):
        list(seals_in(anchor.file))


def test_nobody_waits_for_a_pipe_in_the_place_of_a_key(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no regular file"):
        known_keys(pipe(tmp_path / "seal.pub"))
    pipe(tmp_path / "seal.key")
    with pytest.raises(StoreUnavailable, match="no regular file"):
        open_key(tmp_path)


@pytest.mark.parametrize("name", ["seal.pub", "seal.pub.new"])
def test_a_file_that_is_too_long_for_keys_is_not_read_to_its_end(tmp_path: Path, name: str) -> None:
    sparse(tmp_path / name)

    with pytest.raises(ValueError, match="too long"):
        folder_keys(tmp_path)


async def test_an_anchor_and_an_export_without_a_line_are_not_read_to_their_end(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path)
    sparse(tmp_path / ANCHOR)
    sparse(tmp_path / "export")

    with pytest.raises(ValueError, match="does not end"):
        await asyncio.to_thread(check, folder)
    with pytest.raises(Unreadable, match="too long"):
        ExportedLog(tmp_path / "export")


def sparse(file: Path) -> None:
    """A file of a terabyte that takes no room."""
    with file.open("wb") as opened:
        opened.truncate(1 << 40)
