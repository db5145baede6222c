"""The runs that are kept, read back."""

import os
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from interlock.lab.archive import MAX_REPORT, MOST_RUNS, Archive, Unreadable
from interlock.lab.run import REPORT, RunFolder
from tests.lab.runs import a_run


def keep(folder: Path, run_id: str) -> Path:
    return RunFolder.make(folder, run_id).keep(replace(a_run(), id=run_id))


def test_the_newest_runs_come_first_with_their_counts(tmp_path: Path) -> None:
    for each in ("0001", "0003", "0002"):
        keep(tmp_path, each)
    kept = Archive(tmp_path).newest()

    assert [each.id for each in kept.runs] == ["0003", "0002", "0001"]
    assert (kept.total, kept.unreadable) == (3, 0)
    first = kept.runs[0]
    assert (first.verb, first.target, first.tools, first.calls) == ("probe", "notes", 4, 24)
    assert first.findings == {"high": 1, "medium": 1, "low": 1, "info": 1}


def test_only_so_many_are_listed_and_all_are_counted(tmp_path: Path) -> None:
    for each in range(MOST_RUNS + 5):
        keep(tmp_path, f"{each:04}")
    kept = Archive(tmp_path).newest()

    assert (len(kept.runs), kept.total, kept.runs[0].id) == (MOST_RUNS, MOST_RUNS + 5, f"{MOST_RUNS + 4:04}")


def test_one_run_is_found_by_its_id(tmp_path: Path) -> None:
    keep(tmp_path, "0001")

    assert Archive(tmp_path).run("0001") == replace(a_run(), id="0001")


def test_a_run_is_known_by_its_folder_whatever_it_says(tmp_path: Path) -> None:
    RunFolder.make(tmp_path, "0001").keep(replace(a_run(), id="../../other"))

    found = Archive(tmp_path).run("0001")
    assert found is not None
    assert found.id == "0001"


@pytest.mark.parametrize(
    "run_id", ["", ".", "..", "../0001", "0001/", "a/b", "0001\x00", "0001\n", "x" * 65, "é", "0002"]
)
def test_an_id_is_a_name_and_nothing_more(tmp_path: Path, run_id: str) -> None:
    keep(tmp_path, "0001")

    assert Archive(tmp_path / "lab").run(run_id) is None
    assert Archive(tmp_path).run(run_id) is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b'{"id": 1}', b"\xff", b"[" * 100_000, b" " * (MAX_REPORT + 1)],
    ids=["empty", "nothing in it", "a list", "half", "no text", "deep", "too large"],
)
def test_a_report_that_is_none_is_counted_and_the_others_are_shown(tmp_path: Path, content: bytes) -> None:
    keep(tmp_path, "0001")
    keep(tmp_path, "0002").write_bytes(content)
    archive = Archive(tmp_path)
    kept = archive.newest()

    assert ([each.id for each in kept.runs], kept.unreadable) == (["0001"], 1)
    with pytest.raises(Unreadable):
        archive.run("0002")


def test_a_run_that_has_no_report_yet_is_no_run_yet(tmp_path: Path) -> None:
    RunFolder.make(tmp_path, "0001")

    assert Archive(tmp_path).newest().total == 0


def test_no_link_is_followed(tmp_path: Path) -> None:
    elsewhere = keep(tmp_path / "other", "0001")
    keep(tmp_path, "0002").unlink()
    (tmp_path / "lab" / "0002" / REPORT).symlink_to(elsewhere)
    (tmp_path / "lab" / "0003").symlink_to(elsewhere.parent)
    archive = Archive(tmp_path)

    assert archive.newest().runs == []
    assert (archive.run("0002"), archive.run("0003")) == (None, None)


def test_a_pipe_is_no_report_and_nobody_waits_for_it(tmp_path: Path) -> None:
    folder = RunFolder.make(tmp_path, "0001")
    os.mkfifo(folder.path / REPORT)
    archive = Archive(tmp_path)

    assert (archive.newest().unreadable, archive.run("0001")) == (1, None)


def test_a_report_that_changed_is_read_again(tmp_path: Path) -> None:
    report, archive = keep(tmp_path, "0001"), Archive(tmp_path)
    before = archive.newest().runs[0]
    report.write_bytes(msgspec.json.encode(replace(a_run(), target="another")))

    assert (before.target, archive.newest().runs[0].target) == ("notes", "another")


def test_a_report_that_did_not_change_is_read_once(tmp_path: Path) -> None:
    report, archive = keep(tmp_path, "0001"), Archive(tmp_path)
    before, at = archive.newest(), report.stat()
    report.write_bytes(b"x" * at.st_size)
    os.utime(report, ns=(at.st_atime_ns, at.st_mtime_ns))

    assert archive.newest() == before


def test_without_a_folder_there_are_no_runs(tmp_path: Path) -> None:
    assert Archive().newest().total == 0
    assert Archive().run("0001") is None
    assert Archive(tmp_path / "nothing").newest().total == 0
