"""The check of a whole data folder, and of an exported file: what it reads, what it tells, what it cannot use."""

import shutil
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.check import check_export, check_folder
from interlock.store.audit.export import write_export
from interlock.store.audit.keys import PUBLIC, KnownKeys, folder_keys, known_keys
from interlock.store.audit.sqlite_log import NoLog, open_log
from interlock.store.audit.verify import STEP, Span
from interlock.store.folder import DATABASE
from interlock.store.protocol import StoreUnavailable
from tests.store.audit.logs import Office, call, sealed_folder, tamper
from tests.store.examples import TickingClock

pytestmark = pytest.mark.anyio


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    return await sealed_folder(tmp_path / "log")


def exported(folder: Path, span: Span = Span()) -> Path:  # noqa: B008 - it cannot be changed
    """A file that was exported from a folder."""
    file = folder.parent / "log.jsonl"
    with open_log(folder / DATABASE) as log, file.open("wb") as opened:
        write_export(log, span, opened.write, "a test")
    return file


async def test_the_keys_of_the_folder_are_taken_unless_others_are_named(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "kept.pub"
    shutil.move(folder / PUBLIC, elsewhere)
    unknown = check_folder(folder).broken

    assert check_folder(folder, keys=elsewhere).intact
    assert unknown is not None
    assert "a key that is not known here" in unknown.problem


async def test_without_an_anchor_nothing_is_said_of_one(folder: Path) -> None:
    assert check_folder(folder).anchored is None
    assert check_folder(folder, folder / ANCHOR).anchored == 40


async def test_only_the_stretch_that_was_asked_for_is_checked(folder: Path) -> None:
    tamper(folder, ("UPDATE entry SET text = '{}' WHERE seq = 25", ()))
    before, across = (check_folder(folder, span=each) for each in (Span(11, 20), Span(21, 30)))

    assert (before.intact, before.first, before.last) == (True, 11, 20)
    assert across.broken is not None
    assert across.broken.seq == 25


async def test_whoever_waits_is_told_how_far_it_is(tmp_path: Path) -> None:
    count = 2 * STEP + 5
    async with Office(tmp_path) as office:
        await office.store.write([call(number) for number in range(count)])
    told: list[tuple[int, int]] = []
    check_folder(tmp_path, progress=lambda done, total: told.append((done, total)))

    assert told == [(STEP, count), (2 * STEP, count), (count, count)]


def test_a_folder_without_a_database_cannot_be_checked_and_gets_none(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        check_folder(tmp_path)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
async def test_a_log_that_is_gone_is_missed_where_its_anchor_or_its_key_is_left(folder: Path, left: str) -> None:
    (folder / DATABASE).unlink()
    if left != "nothing":
        (folder / DATABASE).touch()
    anchored = check_folder(folder, folder / ANCHOR, own=True)
    (folder / ANCHOR).unlink()
    published = check_folder(folder, folder / ANCHOR, own=True)

    told = [each.broken.problem for each in (anchored, published) if each.broken is not None]
    assert told == [
        "it is missing, and so is the whole log: the anchor has 4 seals on records up to 40",
        "it is missing, and so is the whole log: its key has sealed",
    ]
    assert (anchored.anchored, anchored.records, anchored.intact) == (40, 0, False)
    (folder / PUBLIC).unlink()
    with pytest.raises(NoLog):
        check_folder(folder, folder / ANCHOR, own=True)


async def test_a_log_of_which_every_row_was_deleted_is_missed(folder: Path) -> None:
    tamper(folder, *((f"DELETE FROM {each}", ()) for each in ("entry", "seal", "chain", "activity")))  # noqa: S608

    assert not check_folder(folder, folder / ANCHOR, own=True).intact


async def test_entries_and_seals_that_were_deleted_are_missed_by_the_key_that_has_sealed(folder: Path) -> None:
    tamper(folder, *((f"DELETE FROM {each}", ()) for each in ("entry", "seal", "activity")))  # noqa: S608
    found = check_folder(folder).broken

    assert found is not None
    assert "though the key of the log has sealed" in found.problem


async def test_an_anchor_that_is_not_there_is_no_quiet_success(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        check_folder(folder, folder / "none")


@pytest.mark.parametrize("content", [b"", b"hello\nworld\n"])
async def test_an_anchor_that_somebody_relies_on_has_to_hold_a_seal(folder: Path, content: bytes) -> None:
    elsewhere = folder.parent / "elsewhere"
    elsewhere.write_bytes(content)
    for own in (False, True):
        with pytest.raises(ValueError, match="no genuine seal on this log in the anchor"):
            check_folder(folder, elsewhere, own=own)


async def test_an_anchor_that_is_no_file_is_refused(folder: Path) -> None:
    with pytest.raises(OSError, match="no regular file"):
        check_folder(folder, Path("/dev/null"))


async def test_an_anchor_that_the_gateway_was_told_to_write_and_that_is_gone_is_no_quiet_success(folder: Path) -> None:
    with pytest.raises(ValueError, match="no genuine seal on this log in the anchor"):
        check_folder(folder, folder.parent / "gone", own=True)


async def test_the_usual_anchor_may_be_lost_which_is_told(folder: Path) -> None:
    (folder / ANCHOR).write_bytes(b"")
    emptied = check_folder(folder, folder / ANCHOR, own=True)
    (folder / ANCHOR).unlink()
    gone = check_folder(folder, folder / ANCHOR, own=True)

    assert [(each.intact, each.anchored) for each in (emptied, gone)] == [(True, 0), (True, None)]
    assert all("has none of its seals: it was removed or emptied" in each.notes[-1] for each in (emptied, gone))


async def test_before_the_first_seal_an_own_anchor_need_not_be_there(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        await office.fill(1, 2)
    for anchor in (tmp_path / ANCHOR, tmp_path / "elsewhere"):
        found = check_folder(tmp_path, anchor, own=True)

        assert (found.intact, found.notes) == (True, [])


async def test_what_has_had_no_seal_for_hours_is_told_with_its_possible_reasons(folder: Path) -> None:
    async with Office(folder) as office:
        await office.fill(21, 22)
    (note,) = check_folder(folder).notes

    assert note.startswith("Record 41 has had no seal for more than")
    assert check_folder(folder, clock=TickingClock()).notes == []
    assert check_folder(folder, span=Span(1, 44)).notes == []


async def test_a_seal_that_comes_while_the_log_is_read_is_no_cut(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (folder / ANCHOR).read_bytes().splitlines(keepends=True)
    tamper(folder, ("DELETE FROM entry WHERE seq > 30", ()), ("DELETE FROM seal WHERE seq > 30", ()))
    tamper(folder, ("DELETE FROM activity WHERE id > 'call-00015'", ()))
    (folder / ANCHOR).write_bytes(b"".join(lines[:3]))

    def keys(given: Path) -> KnownKeys:  # what is read when the snapshot is taken
        (given / ANCHOR).write_bytes(b"".join(lines))
        return folder_keys(given)

    monkeypatch.setattr("interlock.store.audit.check.folder_keys", keys)
    found = check_folder(folder, folder / ANCHOR)

    assert (found.intact, found.anchored) == (True, 30)


async def test_keys_that_are_none_are_refused(folder: Path) -> None:
    (folder / PUBLIC).write_text("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", encoding="ascii")

    with pytest.raises(ValueError, match="no key of the kind"):
        check_folder(folder)


async def test_an_exported_file_is_checked_without_the_folder(folder: Path) -> None:
    file = exported(folder, Span(11, 30))
    found = check_export(file, known_keys(folder / PUBLIC))

    assert (found.intact, found.first, found.last, found.records) == (True, 11, 30, 20)


async def test_an_exported_file_is_not_held_against_an_anchor_without_a_seal(folder: Path) -> None:
    (folder / "elsewhere").touch()

    with pytest.raises(ValueError, match="no genuine seal"):
        check_export(exported(folder), known_keys(folder / PUBLIC), folder / "elsewhere")


async def test_an_exported_file_is_held_against_the_anchor_too(folder: Path) -> None:
    file = exported(folder)

    assert check_export(file, known_keys(folder / PUBLIC), folder / ANCHOR).anchored == 40


async def test_a_file_that_is_no_export_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="no export"):
        check_export(folder / ANCHOR, known_keys(folder / PUBLIC))
