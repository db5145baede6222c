"""A stretch of the log as a file that proves itself."""

import json
from pathlib import Path

import pytest

from interlock.store.audit.anchor import ANCHOR
from interlock.store.audit.check import check_export
from interlock.store.audit.export import ExportedLog, write_export
from interlock.store.audit.keys import PUBLIC, folder_keys, known_keys
from interlock.store.audit.seals import Keep
from interlock.store.audit.sqlite_log import open_log
from interlock.store.audit.verify import Beyond, Removed, Span, Unreadable, Verification
from interlock.store.folder import DATABASE
from tests.store.audit.logs import Office, sealed_folder, tamper

pytestmark = pytest.mark.anyio


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    return await sealed_folder(tmp_path / "log")


def export(folder: Path, span: Span = Span()) -> Path:  # noqa: B008 - it cannot be changed
    file = folder / "out.jsonl"
    with open_log(folder / DATABASE) as log, file.open("wb") as out:
        write_export(log, span, out.write, "a test")
    return file


def check(folder: Path, file: Path) -> Verification:
    return check_export(file, known_keys(folder / PUBLIC))


async def test_an_export_is_checked_without_the_database(folder: Path) -> None:
    file = export(folder)
    (folder / DATABASE).unlink()
    found = check(folder, file)

    assert (found.intact, found.records, found.first, found.last, found.checkpoints) == (True, 40, 1, 40, 4)


async def test_a_stretch_comes_with_the_record_before_it_and_goes_on_to_the_next_seal(folder: Path) -> None:
    found = check(folder, export(folder, Span(15, 32)))

    assert (found.intact, found.records, found.first, found.last) == (True, 26, 15, 40)


async def test_a_stretch_that_ends_before_the_first_seal_is_proved_by_it(folder: Path) -> None:
    found = check(folder, export(folder, Span(1, 7)))

    assert (found.intact, found.first, found.last, found.unsealed) == (True, 1, 10, 0)


async def test_what_no_seal_is_on_yet_is_exported_to_the_end_of_the_log(folder: Path) -> None:
    async with Office(folder) as office:
        await office.fill(21, 22)
    found = check(folder, export(folder, Span(35, 42)))

    assert (found.intact, found.last, found.unsealed) == (True, 44, 4)


async def test_a_stretch_without_a_record_is_not_written(folder: Path) -> None:
    with pytest.raises(Beyond):
        export(folder, Span(41))
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "operator")
    with pytest.raises(Removed) as removed:
        export(folder, Span(1, 10))

    assert removed.value.upto == 20
    assert (folder / "out.jsonl").read_bytes() == b""


async def test_an_export_of_a_pruned_log_says_what_was_removed(folder: Path) -> None:
    async with Office(folder) as office:
        await office.sealer.prune(Keep(records=15), "operator")
    found = check(folder, export(folder))

    assert (found.intact, found.pruned, found.first) == (True, 20, 21)


async def test_every_line_that_is_changed_or_left_out_is_found(folder: Path) -> None:
    file = export(folder)
    lines = file.read_bytes().splitlines(keepends=True)
    entries = [at for at, line in enumerate(lines) if line.startswith(b'{"entry"')]
    for at in entries:
        changed = lines[at].replace(b"note", b"nope")
        assert changed != lines[at]
        for tampered in ([changed], []):
            file.write_bytes(b"".join([*lines[:at], *tampered, *lines[at + 1 :]]))
            assert not check(folder, file).intact, at


async def test_a_file_that_breaks_off_is_not_taken_for_whole(folder: Path) -> None:
    file = export(folder)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    found = check(folder, file)

    assert found.broken is not None
    assert (found.broken.seq, found.broken.problem) == (41, "it cannot be read: the file breaks off here")


async def test_bytes_that_are_no_text_come_through_as_they_are(folder: Path) -> None:
    tamper(folder, ("UPDATE entry SET subject = CAST(x'ff00' AS TEXT) WHERE seq = 12", ()))
    log = ExportedLog(export(folder))

    assert [row[3] for row in log.entries(0, None)][11] == b"\xff\0"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"no json\n", "no JSON"),
        (b"[]\n", "no object"),
        (b'{"entry":[1,1,"a","b","c","zz",""]}\n', "a hash in the file is none"),
        (b'{"entry":[1,1,"a","b","\\ud800","",""]}\n', "a text in the file is none"),
        (b'{"records":3}\n', "the file has 0 entries and says that it has 3"),
        (b'{"records":0}\n', "the file goes to entry 0 and says that it goes to 40"),
        (b'{"entry":[1,1,"a","b","c","",""],"entry":[]}\n', "a member of a line stands there twice"),
        (b'{"entry":[1,1,"a","b","c","",""],"note":""}\n', "none of an export"),
        (b'{"records":0,"note":""}\n', "none of an export"),
        (b'{"seal":"x","key":"k","signature":"","note":""}\n', "none of an export"),
        (b'{"note":"forged"}\n', "none of an export"),
    ],
)
async def test_a_line_that_is_something_else_is_told(folder: Path, line: bytes, problem: str) -> None:
    file = export(folder)
    head = file.read_bytes().splitlines(keepends=True)[0]
    file.write_bytes(head + line)

    with pytest.raises(Unreadable, match=problem):
        list(ExportedLog(file).entries(0, None))


def head(**other: object) -> bytes:
    said = {"form": "interlock-log-v1", "chain": "c", "first": 1, "last": 2, "made_by": "a test"}
    return json.dumps({name: value for name, value in (said | other).items() if value is not None}).encode() + b"\n"


@pytest.mark.parametrize(
    "head",
    [b"", b"{}\n", head(form="interlock-log-v2"), head(last=None), head(last=0), head(first=0), head(note="")],
)
async def test_a_file_that_is_no_export_is_refused(tmp_path: Path, head: bytes) -> None:
    (tmp_path / "file").write_bytes(head)

    with pytest.raises(ValueError, match="no export of a log"):
        ExportedLog(tmp_path / "file")


async def test_a_seal_in_it_that_is_none_is_told(folder: Path) -> None:
    file = export(folder)
    head, rest = file.read_bytes().split(b"\n", 1)
    bad = json.dumps({"seal": "x", "key": "k", "signature": ""}).encode()
    file.write_bytes(b"\n".join([head, bad, rest]))
    found = check(folder, file)

    assert found.broken is not None
    assert found.broken.problem == "a seal on the log is none"


# What an edited export is found by -------------------------------------------------------------------------------


def edited(file: Path, **said: int) -> tuple[bytes, list[bytes], list[bytes], bytes]:
    """The parts of an export, with other numbers in its head."""
    top, *lines, end = file.read_bytes().splitlines(keepends=True)
    entries = [each for each in lines if each.startswith(b'{"entry"')]
    seals = [each for each in lines if each not in entries]
    return json.dumps(json.loads(top) | said).encode() + b"\n", seals, entries, end


def count(number: int) -> bytes:
    return b'{"records":%d}\n' % number


@pytest.mark.parametrize("first", [1, 3])
async def test_an_end_cut_off_with_the_count_made_to_agree_is_found(folder: Path, first: int) -> None:
    file = export(folder, Span(first))
    top, seals, entries, _ = edited(file)
    file.write_bytes(b"".join([top, *seals, *entries[:-5], count(41 - first - 5)]))
    found = check(folder, file)

    assert found.broken is not None
    assert (found.broken.seq, "says that it goes to 40" in found.broken.problem) == (36, True)


@pytest.mark.parametrize("last", [7, 35])
async def test_an_end_cut_off_with_the_head_made_to_agree_is_found_because_no_seal_is_on_it(
    folder: Path, last: int
) -> None:
    file = export(folder)
    top, seals, entries, _ = edited(file, last=last)
    file.write_bytes(b"".join([top, *seals, *entries[:last], count(last)]))
    found = check(folder, file)

    assert found.broken is not None
    assert (found.broken.seq, "a seal names entries up to 40" in found.broken.problem) == (last + 1, True)


async def test_what_is_cut_off_at_a_seal_is_an_export_of_less_and_says_so(folder: Path) -> None:
    file = export(folder)
    top, seals, entries, _ = edited(file, last=30)
    file.write_bytes(b"".join([top, *seals, *entries[:30], count(30)]))
    found = check(folder, file)

    assert (found.intact, found.records, found.last) == (True, 30, 30)


async def test_records_that_were_all_written_anew_need_a_seal_to_be_believed(folder: Path) -> None:
    file = export(folder)
    top, _, entries, end = edited(file)
    file.write_bytes(b"".join([top, *entries, end]))
    found = check(folder, file).broken

    assert found is not None
    assert "no seal is on it or on any other" in found.problem


async def test_seals_on_other_records_do_not_prove_these(folder: Path) -> None:
    async with Office(folder) as office:
        await office.fill(21, 25)
    file = export(folder, Span(45))

    with pytest.raises(ValueError, match="no seal is on any of them"):
        check(folder, file)


async def test_an_export_is_proved_by_its_own_seals_and_not_by_an_anchor_alone(folder: Path) -> None:
    file = export(folder)
    top, _, entries, end = edited(file)
    file.write_bytes(b"".join([top, *entries, end]))

    found = check_export(file, known_keys(folder / PUBLIC), folder / ANCHOR).broken
    assert found is not None
    assert (found.seq, found.problem) == (10, "the anchor has its seal, which was taken out of the log")


async def test_an_anchor_may_have_got_seals_since_an_export_was_made(folder: Path) -> None:
    file = export(folder)
    async with Office(folder) as office:
        await office.fill(21, 40, every=5)
    found = check_export(file, known_keys(folder / PUBLIC), folder / ANCHOR)

    assert (found.intact, found.notes, found.anchored) == (True, [], 80)


async def test_an_emptied_export_is_no_success(folder: Path) -> None:
    file = export(folder)
    top, seals, _, _ = edited(file)
    file.write_bytes(b"".join([top, *seals, count(0)]))

    assert not check(folder, file).intact


async def test_nothing_may_follow_the_end(folder: Path) -> None:
    file = export(folder)
    file.write_bytes(file.read_bytes() + b'{"note":"more"}\n')

    with pytest.raises(Unreadable, match="goes on after its end"):
        list(ExportedLog(file).entries(0, None))


async def test_an_export_of_what_was_never_sealed_is_checked_without_keys(tmp_path: Path) -> None:
    async with Office(tmp_path) as office:
        await office.fill(1, 3)
    found = check_export(export(tmp_path), folder_keys(tmp_path))

    assert (found.intact, found.records, found.sealed) == (True, 6, 0)
