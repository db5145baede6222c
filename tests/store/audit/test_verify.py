"""What the check of a log finds, and where."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.check import check_folder
from interlock.store.audit.keys import COMING, PRIVATE, PUBLIC, known_keys, open_key
from interlock.store.audit.seal import SealKind
from interlock.store.audit.seals import Keep
from interlock.store.audit.sqlite_log import open_log
from interlock.store.audit.verify import STEP, Beyond, Removed, Span, verify
from interlock.store.chain import entry_hash
from interlock.store.folder import DATABASE
from tests.store.audit.logs import Office, check, rewrite, sealed_folder, tamper

pytestmark = pytest.mark.anyio
LAST = 40
"""Two entries for each of twenty calls; a checkpoint on every tenth entry."""


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    return await sealed_folder(tmp_path / "log")


async def test_a_log_that_nobody_touched_is_intact_and_sealed_to_its_end(folder: Path) -> None:
    found = check(folder)

    assert (found.intact, found.broken, found.beside, found.notes) == (True, None, [], [])
    assert (found.first, found.last, found.records, found.checkpoints) == (1, LAST, LAST, 4)
    assert (found.sealed, found.anchored, found.unsealed, found.pruned) == (LAST, LAST, 0, 0)


async def test_an_empty_log_is_intact(tmp_path: Path) -> None:
    async with Office(tmp_path):
        pass
    found = check(tmp_path, anchored=False)

    assert (found.intact, found.records, found.first, found.last, found.anchored) == (True, 0, None, None, None)


async def test_what_no_seal_covers_yet_is_counted(folder: Path) -> None:
    async with Office(folder) as office:
        await office.fill(21, 22)

    assert (check(folder).intact, check(folder).unsealed) == (True, 4)


@pytest.mark.parametrize("column", ["at", "kind", "subject", "text", "hash", "prev"])
@pytest.mark.parametrize("seq", [1, 17, LAST])
async def test_a_column_that_was_changed_is_found_at_its_record(folder: Path, column: str, seq: int) -> None:
    other = {"at": 5, "hash": bytes(32), "prev": b"\1" * 32}.get(column, "other")
    tamper(folder, (f"UPDATE entry SET {column} = ? WHERE seq = ?", (other, seq)))  # noqa: S608 - of constants
    found = check(folder)

    assert found.broken is not None
    assert found.broken.seq == seq


@pytest.mark.parametrize("seq", [1, 17, LAST])
async def test_a_record_that_was_taken_out_is_missed_at_its_place(folder: Path, seq: int) -> None:
    tamper(folder, ("DELETE FROM entry WHERE seq = ?", (seq,)))
    found = check(folder)

    assert found.broken is not None
    assert (found.broken.seq, "missing" in found.broken.problem) == (seq, True)


async def test_a_record_that_was_rehashed_after_a_change_breaks_the_next_one(folder: Path) -> None:
    with open_log(folder / DATABASE) as log:
        (_, at, kind, subject, _, prev, _) = next(log.entries(16, 17))
        again = entry_hash(log.chain, 17, at, kind.decode(), subject.decode(), "{}", prev)
    tamper(folder, ("UPDATE entry SET text = '{}', hash = ? WHERE seq = 17", (again,)))
    found = check(folder)

    assert found.broken is not None
    assert found.broken.seq == 18


async def test_a_whole_new_chain_is_found_by_the_first_seal(folder: Path) -> None:
    rewrite(folder, 1)
    found = check(folder)

    assert found.broken is not None
    assert (found.broken.seq, found.broken.problem) == (10, "a seal says that it was another")


async def test_an_end_that_was_cut_off_with_its_seals_shows_against_the_anchor_alone(folder: Path) -> None:
    tamper(folder, ("DELETE FROM entry WHERE seq > 30", ()), ("DELETE FROM seal WHERE seq > 30", ()), *_unlist(30))

    assert check(folder, anchored=False).intact
    found = check(folder)
    assert found.broken is not None
    assert (found.broken.seq, found.broken.problem) == (31, "it is missing: a seal names entries up to 40")


def _unlist(last: int) -> list[tuple[str, tuple[object, ...]]]:
    """The list made to agree with a log that was cut off."""
    return [("DELETE FROM activity WHERE id > ?", (f"call-{last // 2:05}",))]


async def test_a_cut_that_leaves_the_seals_is_found_without_an_anchor(folder: Path) -> None:
    tamper(folder, ("DELETE FROM entry WHERE seq > 35", ()))
    found = check(folder, anchored=False)

    assert found.broken is not None
    assert found.broken.seq == 36


async def test_a_record_slipped_in_before_the_first_is_told(folder: Path) -> None:
    tamper(folder, ("INSERT INTO entry SELECT chain, 0, at, kind, subject, text, prev, hash FROM entry LIMIT 1", ()))
    found = check(folder)

    assert found.beside == ["1 record stands in the log and in no place of its chain."]
    assert not found.intact


# Seals ----------------------------------------------------------------------------------------------------------


async def test_a_seal_that_was_changed_is_none(folder: Path) -> None:
    for column, value in (("text", "{}"), ("seq", 21), ("at", 1), ("key", "nobody"), ("signature", b"\0" * 64)):
        copy = folder.with_name(column)
        shutil.copytree(folder, copy)
        tamper(copy, (f"UPDATE seal SET {column} = ? WHERE seq = 20", (value,)))  # noqa: S608 - of constants
        found = check(copy)

        assert found.broken is not None, column
        assert (found.broken.seq, "seal" in found.broken.problem) == (20, True), column


async def test_a_seal_by_somebody_elses_key_is_not_believed(folder: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    with open_log(folder / DATABASE) as log:
        *_, sealed = next(log.entries(39, 40))
        forged = open_key(theirs).seal(SealKind.CHECKPOINT, log.chain, 40, sealed, 1)
    row = (forged.text, forged.at, forged.key, forged.signature)
    tamper(folder, ("UPDATE seal SET text = ?, at = ?, key = ?, signature = ? WHERE seq = 40", row))
    found = check(folder)

    assert found.broken is not None
    assert found.broken.problem == f"its seal is by a key that is not known here ({forged.key})"


async def test_a_new_key_seals_on_and_the_old_seals_stay_good(folder: Path) -> None:
    (folder / PRIVATE).unlink()
    async with Office(folder) as office:
        await office.fill(21, 25, every=5)

    assert check(folder).intact
    assert len(known_keys(folder / PUBLIC)) == 2


async def test_without_any_public_key_the_seals_are_worth_nothing(folder: Path) -> None:
    (folder / PUBLIC).unlink()
    found = check(folder)

    assert found.broken is not None
    assert (found.broken.seq, found.sealed) == (10, 0)


async def test_an_anchor_of_another_log_does_not_fit(folder: Path, tmp_path: Path) -> None:
    other = await sealed_folder(tmp_path / "other")
    (other / PUBLIC).write_bytes((other / PUBLIC).read_bytes() + (folder / PUBLIC).read_bytes())
    found = check_folder(folder, other / ANCHOR, keys=other / PUBLIC)

    assert found.broken is not None
    assert found.broken.problem == "its seal is of another log (in the anchor)"


async def test_a_line_of_the_anchor_that_a_crash_cut_short_is_noted_and_no_more(folder: Path) -> None:
    lines = (folder / ANCHOR).read_bytes().splitlines(keepends=True)
    (folder / ANCHOR).write_bytes(b"".join([lines[0], lines[1][:50] + b"\n", *lines[2:]]))
    found = check(folder)

    assert (found.intact, found.anchored) == (True, LAST)
    line, seal = found.notes
    assert line.startswith("Line 2 of the anchor is no seal: a crash or a full disk cuts one short")
    assert seal.startswith("The anchor lacks the seal on record 20 that the log has: it was only sent some")


async def test_however_much_of_an_anchor_is_no_seal_little_is_said_about_it(folder: Path) -> None:
    with (folder / ANCHOR).open("ab") as opened:
        opened.write(b"no seal\n" * 1000)
    (note,) = check(folder).notes

    assert note.startswith("Line 5 of the anchor is no seal, nor are 999 others")


async def test_an_anchor_that_lacks_the_newest_seal_is_nothing_to_talk_about(folder: Path) -> None:
    lines = (folder / ANCHOR).read_bytes().splitlines(keepends=True)
    (folder / ANCHOR).write_bytes(b"".join(lines[:-1]))

    assert (check(folder).intact, check(folder).notes) == (True, [])


async def test_an_anchor_that_began_anew_is_told_to_lack_the_older_seals(folder: Path) -> None:
    lines = (folder / ANCHOR).read_bytes().splitlines(keepends=True)
    told: list[str] = []
    for kept in (lines[1:], lines[2:]):
        (folder / ANCHOR).write_bytes(b"".join(kept))
        found = check(folder)
        assert found.intact
        told += found.notes

    one, two = told
    assert one.startswith("The anchor begins with the seal on record 20, and lacks the seal on record 10 that the log")
    assert two.startswith("The anchor begins with the seal on record 30, and lacks 2 seals, the first of them on")


async def test_seals_that_the_anchor_lost_are_told(folder: Path) -> None:
    lines = (folder / ANCHOR).read_bytes().splitlines(keepends=True)
    (folder / ANCHOR).write_bytes(lines[0])
    (note,) = check(folder).notes

    assert note.startswith("The anchor lacks 2 seals, the first of them on record 20, that the log has")


@pytest.mark.parametrize(
    ("taken", "first", "more"),
    [("= 10", 10, ""), ("= 30", 30, ""), (">= 30", 30, ", and 1 more"), ("> 0", 10, ", and 3 more")],
)
async def test_a_seal_that_was_taken_out_of_the_log_is_missed_against_the_anchor(
    folder: Path, taken: str, first: int, more: str
) -> None:
    tamper(folder, (f"DELETE FROM seal WHERE seq {taken}", ()))  # noqa: S608 - of constants
    found = check(folder).broken

    assert found is not None
    assert (found.seq, found.problem) == (first, f"the anchor has its seal, which was taken out of the log{more}")


async def test_the_only_seal_of_a_log_whose_key_has_sealed_is_missed_too(tmp_path: Path) -> None:
    folder = await sealed_folder(tmp_path, calls=5, every=5)
    tamper(folder, ("DELETE FROM seal", ()))
    found = check(folder).broken

    assert found is not None
    assert (found.seq, found.problem) == (10, "the anchor has its seal, which was taken out of the log")


async def test_seals_that_were_all_taken_out_are_missed_also_where_no_key_is_published(folder: Path) -> None:
    tamper(folder, ("DELETE FROM seal", ()))
    (folder / PUBLIC).rename(folder / COMING)
    found = check(folder).broken

    assert found is not None
    assert (found.seq, found.problem) == (10, "the anchor has its seal, which was taken out of the log, and 3 more")


async def test_a_checkpoint_that_was_taken_out_is_missed_though_a_removal_was_sealed_there(folder: Path) -> None:
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "operator")
    tamper(folder, ("DELETE FROM seal WHERE seq = 20 AND kind = 'checkpoint'", ()))
    found = check(folder).broken

    assert found is not None
    assert found.seq == 20


async def test_the_newest_seal_may_be_in_the_anchor_alone_which_is_told(folder: Path) -> None:
    tamper(folder, ("DELETE FROM seal WHERE seq = 40", ()))
    found = check(folder)

    assert (found.intact, found.sealed, found.anchored, found.unsealed) == (True, 30, 40, 0)
    (note,) = found.notes
    assert note.startswith("The newest seal in the anchor, on record 40, is not in the log: a crash just when it was")


async def test_a_removal_that_only_the_anchor_knows_of_is_told(folder: Path) -> None:
    async with Office(folder) as office:
        place = await office.store.seals.place(20)
        assert place is not None
        key, sealed = open_key(folder), place.hash
        office.anchor.append(key.seal(SealKind.PRUNED, office.store.seals.chain, 20, sealed, 1))
    (note,) = check(folder).notes

    assert note.startswith("The anchor says that records up to 20 were to be removed, and the log does not")


async def test_a_log_written_anew_without_its_seals_is_found_by_the_key_that_has_sealed(folder: Path) -> None:
    tamper(folder, ("DELETE FROM seal", ()))
    (folder / ANCHOR).unlink()
    found = check(folder, anchored=False).broken

    assert found is not None
    assert (found.seq, found.problem) == (1, "no seal is on it or on any other, though the key of the log has sealed")


# What is kept beside it -----------------------------------------------------------------------------------------


async def test_a_list_that_tells_something_else_than_the_log_is_found(folder: Path) -> None:
    tamper(folder, ("UPDATE activity SET status = 'error' WHERE id = 'call-00007'", ()))
    found = check(folder)

    assert found.beside == ["The activity call-00007 is listed otherwise than record 14 tells of it."]


async def test_an_earlier_version_put_back_into_the_list_is_found(folder: Path) -> None:
    tamper(folder, ("UPDATE activity SET status = 'sent' WHERE id = 'call-00007'", ()))

    assert not check(folder).intact


async def test_an_activity_taken_off_the_list_or_put_onto_it_is_found(folder: Path) -> None:
    tamper(folder, ("DELETE FROM activity WHERE id = 'call-00003'", ()))
    assert check(folder).beside == ["The activity call-00003 (record 6) is missing in the list."]

    tamper(folder, ("INSERT INTO activity (id, at, type, status, body) SELECT 'new', 1, 'system', 'error', '{}'", ()))
    assert check(folder).beside[-1] == "1 activity is in the list of which the log tells nothing: new."


async def test_of_activities_that_the_log_does_not_know_the_first_are_named(folder: Path) -> None:
    put = "INSERT INTO activity (id, at, type, status, body) VALUES (?, 1, 'system', 'error', '{}')"
    tamper(folder, *((put, (f"new-{number}",)) for number in range(5)))

    assert check(folder).beside == [
        "5 activities are in the list of which the log tells nothing: new-0, new-1, new-2, …."
    ]


async def test_a_guard_that_was_taken_off_is_found(folder: Path) -> None:
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute("DROP TRIGGER entry_stays")
        connection.execute("CREATE TRIGGER mine BEFORE DELETE ON token BEGIN SELECT 1; END")
    connection.close()
    gone, strange = check(folder).beside

    assert gone.startswith("The part 'entry_stays' of the database is gone")
    assert strange.startswith("The part 'mine' of the database is not ours")


# A stretch ------------------------------------------------------------------------------------------------------


async def test_a_stretch_is_checked_by_itself(folder: Path) -> None:
    tamper(folder, ("UPDATE entry SET text = '' WHERE seq = 17", ()))

    def stretch(first: int, last: int | None) -> tuple[int, int | None, int | None, bool]:
        found = check_folder(folder, None, Span(first, last))
        return found.records, found.first, found.last, found.intact

    assert stretch(1, 10) == (10, 1, 10, True)
    assert stretch(1, 16) == (16, 1, 16, False)  # the seal that proves the last of them comes after what was changed
    assert stretch(19, None) == (22, 19, 40, True)
    assert stretch(10, 20) == (7, 10, 16, False)
    assert stretch(18, 20)[3] is False  # what it has to follow was changed


@pytest.mark.parametrize(
    ("first", "last", "missing"),
    [(1, 25, 21), (5, None, 21), (22, None, 22), (21, 25, 21), (1, 20, None)],
)
async def test_a_stretch_that_a_seal_knows_longer_is_broken_at_the_first_that_is_missing(
    folder: Path, first: int, last: int | None, missing: int | None
) -> None:
    tamper(folder, ("DELETE FROM entry WHERE seq > 20", ()))
    found = check_folder(folder, None, Span(first, last)).broken

    assert (None if found is None else found.seq) == missing


@pytest.mark.parametrize(("first", "last", "sealed_at"), [(11, 15, 20), (13, 13, 20), (25, 30, 30), (1, 40, 20)])
async def test_a_stretch_that_was_written_anew_does_not_fit_the_seal_behind_it(
    folder: Path, first: int, last: int, sealed_at: int
) -> None:
    rewrite(folder, 12)
    found = check_folder(folder, None, Span(first, last)).broken

    assert found is not None
    assert (found.seq, found.problem) == (sealed_at, "a seal says that it was another")


async def test_a_stretch_is_checked_as_far_as_the_seal_that_proves_it(folder: Path) -> None:
    found = check_folder(folder, None, Span(13, 15))

    assert (found.intact, found.first, found.last, found.records, found.unsealed) == (True, 13, 20, 8, 0)


async def test_a_seal_that_only_the_anchor_has_proves_a_stretch_too(folder: Path) -> None:
    tamper(folder, ("DELETE FROM seal WHERE seq = 40", ()))
    rewrite(folder, 35)
    found = check_folder(folder, folder / ANCHOR, Span(33, 36)).broken

    assert found is not None
    assert found.seq == 40


async def test_a_stretch_that_no_seal_is_behind_is_counted_as_not_sealed(folder: Path) -> None:
    async with Office(folder) as office:
        await office.fill(21, 25)
    across, after = (check_folder(folder, folder / ANCHOR, Span(*each)) for each in ((38, 44), (43, 46)))

    assert (across.intact, across.first, across.last, across.unsealed) == (True, 38, 44, 4)
    assert (after.intact, after.first, after.last, after.unsealed) == (True, 43, 46, 4)


@pytest.mark.parametrize(("first", "last", "missing"), [(43, 44, 43), (41, 45, 43), (45, 47, 44)])
async def test_what_is_missing_where_no_seal_is_yet_is_missed_in_a_stretch(
    folder: Path, first: int, last: int, missing: int
) -> None:
    async with Office(folder) as office:
        await office.fill(21, 25)
    tamper(folder, ("DELETE FROM entry WHERE seq BETWEEN 43 AND 45", ()))
    found = check_folder(folder, None, Span(first, last)).broken

    assert found is not None
    assert (found.seq, found.problem) == (missing, "it is missing")


def test_a_stretch_does_not_end_before_it_begins() -> None:
    with pytest.raises(ValueError, match="from 9 to 8 ends before it begins"):
        Span(9, 8)


@pytest.mark.parametrize(("first", "last"), [(41, None), (50, 60)])
async def test_a_stretch_that_begins_behind_the_log_is_refused(folder: Path, first: int, last: int | None) -> None:
    with pytest.raises(Beyond) as beyond:
        check_folder(folder, None, Span(first, last))

    assert (beyond.value.first, beyond.value.end) == (first, LAST)


async def test_somebody_who_waits_is_told_how_far_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.store.audit.verify.STEP", 10)
    told: list[int] = []
    with open_log(folder / DATABASE) as log:
        verify(log, known_keys(folder / PUBLIC), progress=told.append)

    assert told == [10, 20, 30, 40, 40]
    assert STEP == 10_000


# After pruning --------------------------------------------------------------------------------------------------


async def test_a_pruned_log_is_intact_and_says_what_was_removed(folder: Path) -> None:
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "operator")
        await office.sealer.checkpoint()
    found = check(folder)

    assert (found.intact, found.pruned, found.first, found.records) == (True, 20, 21, 21)
    assert found.pruned_at is not None


async def test_a_stretch_of_which_nothing_is_left_is_not_called_intact(folder: Path) -> None:
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "operator")
    for span in (Span(1, 5), Span(8, 20)):
        with pytest.raises(Removed) as removed:
            check_folder(folder, None, span)
        assert removed.value.upto == 20

    assert check_folder(folder, None, Span(8, 21)).first == 21


async def test_a_beginning_that_was_taken_off_without_a_seal_is_missed(folder: Path) -> None:
    tamper(folder, ("DELETE FROM entry WHERE seq <= 20", ()))
    found = check(folder)

    assert found.broken is not None
    assert (found.broken.seq, found.broken.problem) == (1, "it is missing")


async def test_more_taken_off_than_the_seal_says_is_missed(folder: Path) -> None:
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "operator")
    tamper(folder, ("DELETE FROM entry WHERE seq <= 25", ()))
    found = check(folder)

    assert found.broken is not None
    assert (found.broken.seq, found.broken.problem) == (21, "it is missing")


async def test_a_seal_on_a_removal_that_nobody_signed_is_not_believed(folder: Path) -> None:
    tamper(
        folder,
        ("INSERT INTO seal SELECT chain, 'pruned', seq, at, text, key, signature FROM seal WHERE seq = 20", ()),
        ("DELETE FROM entry WHERE seq <= 20", ()),
    )
    found = check(folder)

    assert found.broken is not None
    assert found.broken.seq == 1
